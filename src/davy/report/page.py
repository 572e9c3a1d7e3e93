"""One self-contained HTML file: opens anywhere, asks the network for nothing, warns before it shows hard texts.

Sections in, a page out. Style, script and pictures are inside; the page's own
Content-Security-Policy allows exactly these, by hash. Whoever builds a page
hands over plain values: everything is escaped here or in `tables.py`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from importlib import resources
from pathlib import Path

from davy.core.metric import Report
from davy.files.atomic import write_text
from davy.report.plots import Plot
from davy.report.tables import Column, Table, hidden_text
from davy.version import __version__

_WORDS = {
    "en": {
        "warning": "This page shows hateful texts",
        "advice": "Hurtful words are masked. Press a masked word to see it, or show them all. Stop whenever you like.",
        "show": "Show all words",
        "hide": "Mask all words",
        "contents": "Contents",
        "provenance": "Where these figures come from",
    },
    "de": {
        "warning": "Diese Seite zeigt hasserfüllte Texte",
        "advice": "Verletzende Wörter sind verdeckt. Ein Druck auf ein Wort zeigt es. Hören Sie jederzeit auf.",
        "show": "Alle Wörter zeigen",
        "hide": "Alle Wörter verdecken",
        "contents": "Inhalt",
        "provenance": "Woher diese Zahlen stammen",
    },
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a page's figures rest on; shown at its foot."""

    data: str = ""
    model: str = ""
    seed: int | None = None
    command: str = ""
    made_at: datetime | None = None
    more: Mapping[str, str] = field(default_factory=dict)

    def items(self) -> list[tuple[str, str]]:
        """Return what is known as (name, value), the version of Davy last."""
        known = {
            "Data": self.data,
            "Model": self.model,
            "Seed": "" if self.seed is None else str(self.seed),
            "Command": self.command,
            **self.more,
            "Made": (self.made_at or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M %Z"),
            "Davy": __version__,
        }
        return [(name, value) for name, value in known.items() if value]


class Page:
    """A page that grows section by section; `html()` or `write()` at the end."""

    def __init__(
        self, title: str, *, lead: str = "", provenance: Provenance | None = None, lang: str = "en", texts: bool = False
    ) -> None:
        """Start a page. `texts` says that posts are shown, so that it opens with a warning even if none is veiled."""
        if lang not in _WORDS:
            raise ValueError(f"lang {lang!r}; one of {', '.join(_WORDS)}")
        self.title = title
        self.lead = lead
        self.lang = lang
        self.provenance = provenance or Provenance()
        self._texts = texts
        self._body: list[str] = []
        self._style: list[str] = []
        self._script: list[str] = []
        self._sections: list[tuple[str, str]] = []

    def section(self, title: str, *paragraphs: str) -> None:
        """Begin a section; it appears in the contents."""
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
        taken = {known for known, _ in self._sections}
        while slug in taken:
            slug += "-"
        self._sections.append((slug, title))
        self._body.append(f'<h2 id="{slug}">{escape(title)}</h2>\n')
        self.say(*paragraphs)

    def heading(self, title: str) -> None:
        """Add a heading inside the section."""
        self._body.append(f"<h3>{escape(title)}</h3>\n")

    def say(self, *paragraphs: str) -> None:
        """Add paragraphs of plain text."""
        self._body.extend(f"<p>{escape(paragraph)}</p>\n" for paragraph in paragraphs)

    def markdown(self, text: str) -> None:
        """Add Markdown of ours or a user's; HTML in it is shown, not run, and images are left out."""
        from markdown_it import MarkdownIt

        self._body.append(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(text))

    def post(self, text: str) -> None:
        """Add one post, veiled."""
        self._texts = True
        self._body.append(f"<blockquote>{hidden_text(text)}</blockquote>\n")

    def table(self, table: Table) -> None:
        """Add a table; one with texts makes the page open with a warning."""
        self._texts = self._texts or any(column.kind == "text" for column in table.columns)
        self._body.append(table.html())

    def metrics(self, report: Report, *, scale: tuple[float, float] = (0.0, 1.0)) -> None:
        """Add a report's metrics, each with its interval as a picture."""
        columns = (Column("Metric"), Column("Value", "metric", scale=scale))
        self.table(Table(columns, tuple((metric.name, metric) for metric in report.metrics), report.title))

    def plot(self, plot: Plot, caption: str = "") -> None:
        """Add a plot, drawn for light and for dark; `caption` also says in words what it shows."""
        words = escape(caption or plot.title or "Plot")
        pictures = "".join(
            f'<img class="{css}" alt="{words}" src="data:image/svg+xml;base64,{_base64(plot.svg(theme).encode())}">'
            for css, theme in (("light-only", "light"), ("dark-only", "dark"))
        )
        self._body.append(f"<figure>{pictures}<figcaption>{escape(caption)}</figcaption></figure>\n")

    def part(self, html: str, *, style: str = "", script: str = "", texts: bool = False) -> None:
        """Add HTML that its builder has escaped, with the style and script that it needs; a second time adds no more.

        `texts` says that it shows posts. Inline `style` and `on…` attributes do nothing: the policy forbids them.
        """
        self._texts = self._texts or texts
        self._body.append(html)
        self._style += [style] if style and style not in self._style else []
        self._script += [script] if script and script not in self._script else []

    def html(self) -> str:
        """Return the whole page."""
        style = _asset("tokens.css") + _asset("report.css") + "".join(self._style)
        script = _asset("report.js") + "".join(self._script)
        policy = (
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )
        lead = f'<p class="lead">{escape(self.lead)}</p>\n' if self.lead else ""
        return (
            f'<!doctype html>\n<html lang="{self.lang}" class="no-script">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
            f'<title>{escape(self.title)}</title>\n<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n'
            f"<body>\n<header><h1>{escape(self.title)}</h1>\n{lead}{self._warning()}{self._contents()}</header>\n"
            f"<main>\n{''.join(self._body)}</main>\n{self._footer()}<script>{script}</script>\n</body>\n</html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the page whole or not at all, and return its path."""
        return write_text(path, self.html())

    def _warning(self) -> str:
        if not self._texts:
            return ""
        words = _WORDS[self.lang]
        button = (
            f'<p><button type="button" class="button" id="show-all" aria-pressed="false" data-show="{words["show"]}" '
            f'data-hide="{words["hide"]}">{words["show"]}</button></p>'
        )
        text = f"<p><strong>{words['warning']}</strong></p><p>{words['advice']}</p>"
        return f'<div class="warning" role="note">{text}{button}</div>\n'

    def _contents(self) -> str:
        if len(self._sections) < 2:
            return ""
        links = "".join(f'<li><a href="#{slug}">{escape(title)}</a></li>' for slug, title in self._sections)
        return f'<nav class="contents" aria-label="{_WORDS[self.lang]["contents"]}"><ol>{links}</ol></nav>\n'

    def _footer(self) -> str:
        rows = "".join(
            f"<dt>{escape(name)}</dt><dd><code>{escape(value)}</code></dd>" for name, value in self.provenance.items()
        )
        return f"<footer><strong>{_WORDS[self.lang]['provenance']}</strong><dl>{rows}</dl></footer>\n"


def _asset(name: str) -> str:
    return resources.files("davy.report").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + _base64(hashlib.sha256(text.encode()).digest())


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
