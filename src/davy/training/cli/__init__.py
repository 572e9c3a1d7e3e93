"""The commands of training."""
