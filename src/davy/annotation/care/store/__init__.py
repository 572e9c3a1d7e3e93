"""Tables and queries of care."""
