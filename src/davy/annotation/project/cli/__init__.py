"""The commands of project."""
