"""Projects that follow the papers, as YAML in our own words: who labels what, in which order, by which rules."""
