"""Davy's scores in other programs, over HTTP."""
