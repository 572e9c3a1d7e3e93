"""Lanterns: say here what they are and who uses them."""
