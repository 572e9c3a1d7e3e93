"""The commands of challenges."""
