"""The pages of project."""
