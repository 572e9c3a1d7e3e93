"""The commands of reviews."""
