"""One pure loss a file."""
