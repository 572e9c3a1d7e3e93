"""The pages of server."""
