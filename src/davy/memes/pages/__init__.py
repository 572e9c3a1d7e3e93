"""The pages of memes."""
