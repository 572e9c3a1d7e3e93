"""What is in a corpus: counts, words, pictures, and the papers that should travel with it."""
