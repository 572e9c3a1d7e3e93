"""Tables and queries of memes."""
