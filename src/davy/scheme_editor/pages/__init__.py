"""The pages of scheme editor."""
