"""The commands of testing."""
