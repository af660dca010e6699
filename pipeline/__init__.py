"""Raw rows to curated shards."""
