"""The commands of people."""
