"""The commands of memes."""
