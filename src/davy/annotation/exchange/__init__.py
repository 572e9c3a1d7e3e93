"""Projects in and out: one module a format, between a file and the neutral rows of `rows.py`.

`gather` makes rows from the store, `place` puts rows into a project; neither
knows a format, and no format knows the store. docs/project/exchange.md says what each holds.
"""
