"""The commands of collect."""
