"""Shards to a better policy."""
