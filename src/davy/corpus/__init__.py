"""Posts to posts: read, clean, sample, split, describe and collect corpora."""
