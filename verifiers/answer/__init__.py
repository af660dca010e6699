"""Typed answers: tokens, expression trees, structure, values and their comparison."""
