"""The words of a post that a platform sends as HTML."""

from __future__ import annotations

import html
import re

_BREAK = re.compile(r"<br\s*/?>|</li>", re.I)
_PARAGRAPH = re.compile(r"</p>\s*(?=<p|<)|</p>|</div>|</blockquote>", re.I)
_TAG = re.compile(r"<[^<>]*>")


def strip_markup(markup: str) -> str:
    """Return what a reader sees: breaks as line ends, paragraphs with an empty line between them, no tags."""
    if "<" not in markup:
        return html.unescape(markup).strip()
    text = _PARAGRAPH.sub("\n\n", _BREAK.sub("\n", markup))
    text = _TAG.sub("", text)
    return html.unescape(text).strip()
