"""Tables and queries of rounds."""
