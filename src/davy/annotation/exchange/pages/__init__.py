"""The pages of exchange."""
