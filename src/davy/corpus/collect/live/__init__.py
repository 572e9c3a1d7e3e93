"""Live connectors: platforms' own streams and pages into archives that `davy collect` reads."""
