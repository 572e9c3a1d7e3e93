"""Markdown that people wrote, as HTML that can't hurt: guidelines, consent and debrief texts.

HTML in it is shown as text and never run, images are left out, links lead only to the
web or to mail. Made once a text and kept.
"""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup


@lru_cache(maxsize=256)
def render_markdown(text: str) -> Markup:
    """Return Markdown as safe HTML."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    # Wide tables scroll on a phone: with the focus on them, keys scroll too.
    reader.add_render_rule("table_open", lambda *_: '<table tabindex="0">\n')
    # markdown-it escapes every text and refuses javascript:, vbscript: and data: links by itself.
    return Markup(reader.render(text))  # noqa: S704
