"""The stages of curation, one file each."""
