"""The pages of settling."""
