"""The pages of labelling."""
