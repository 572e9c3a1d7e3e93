"""Davy: a workbench for people who fight online hate.

The rooms are described in docs/design.md. Importing the package loads nothing
heavy; ask a room for what you need (`from davy.schemes import load`).
"""

__version__ = "0.1.0"
