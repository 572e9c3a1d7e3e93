"""Tables and queries of challenges."""
