"""Tables and queries of settling."""
