"""Word lists: the masking lexicon that we ship, encoded, and plain text files that users bring."""

from davy.text.lexicons.read import Lexicon, LexiconEntry, load

__all__ = ["Lexicon", "LexiconEntry", "load"]
