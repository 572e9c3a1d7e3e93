"""Tables and queries of labelling."""
