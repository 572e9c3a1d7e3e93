"""The pages of web."""
