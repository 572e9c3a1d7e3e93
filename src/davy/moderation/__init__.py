"""Decide for communities and answer other services' clients: the API in three shapes, review, shadow, drift."""
