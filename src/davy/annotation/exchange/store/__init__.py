"""Tables and queries of exchange."""
