"""The commands of server."""
