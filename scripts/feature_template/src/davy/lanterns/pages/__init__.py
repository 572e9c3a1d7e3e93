"""The pages of lanterns."""
