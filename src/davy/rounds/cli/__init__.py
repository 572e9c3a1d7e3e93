"""The commands of rounds."""
