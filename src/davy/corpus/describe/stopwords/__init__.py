"""Function words by language, as data."""
