"""The pages of challenges."""
