"""The demo: a fresh database with people, posts, memes and projects under way."""
