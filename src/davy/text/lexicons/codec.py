"""Encode lexicon lines, so that browsing the repository does not show the words.

A line in, a line out. This is a curtain, not a lock: rot13, then base64. Line
by line, so that a change to one entry is a change to one line.
"""

import base64
import codecs

HEADER = """\
# Davy's masking lexicon, {lang}. Words that hurt, kept so that people are not shown them unasked.
# Encoded line by line so that nobody meets them by browsing. To look or to change:
#   python -m davy.text.lexicons decode {lang} > FILE     (shows them in clear; keep FILE out of the repository)
#   python -m davy.text.lexicons encode {lang} < FILE
# Compiled by the Davy developers from general knowledge. Apache-2.0.
"""


def encode_line(line: str) -> str:
    """Return one line of clear text, encoded."""
    return base64.b64encode(codecs.encode(line, "rot13").encode()).decode()


def decode_line(line: str) -> str:
    """Return one encoded line in clear."""
    return codecs.decode(base64.b64decode(line, validate=True).decode(), "rot13")


def encode(text: str, lang: str) -> str:
    """Return a lexicon file: the header, then every entry once, sorted and encoded."""
    lines = sorted({line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#")})
    return HEADER.format(lang=lang) + "".join(encode_line(line) + "\n" for line in lines)
