"""The commands of corpus."""
