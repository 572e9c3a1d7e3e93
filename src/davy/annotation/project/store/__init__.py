"""Tables and queries of project."""
