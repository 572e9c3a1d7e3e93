"""Posts from files and named public corpora: see files.py and corpora/."""
