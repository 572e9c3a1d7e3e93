"""The kinds of job of rounds."""
