"""Tables and queries of people."""
