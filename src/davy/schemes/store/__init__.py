"""Tables and queries of schemes."""
