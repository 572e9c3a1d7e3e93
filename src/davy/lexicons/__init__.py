"""Word lists: the masking lexicon that we ship, encoded, and plain text files that users bring."""

from davy.lexicons.read import Entry, Lexicon, load

__all__ = ["Entry", "Lexicon", "load"]
