"""One thin file a verb."""
