"""The front of the house: commands and reports."""
