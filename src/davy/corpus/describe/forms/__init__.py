"""The questions of the data statement and the datasheet, as data."""
