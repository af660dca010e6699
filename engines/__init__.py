"""Prompts to completions, with log-probabilities."""
