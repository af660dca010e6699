"""Verifiers over HTTP: bodies to rows, a fair queue, killable workers, and the server around them."""
