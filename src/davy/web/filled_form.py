"""A refused form as it was sent: a page's HTML and the sent fields in, the HTML with that form filled in again out.

The form is the one that has the address and the hidden fields that were sent. Passwords, files and hidden fields stay
as the page made them. The error stands beside its field: the one that it names, else the only one that it quotes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape, unescape
from html.parser import HTMLParser

from davy.core.errors import UserError

Fields = list[tuple[str, str]]

_KEPT_FROM_PAGE = ("hidden", "password", "file", "submit", "button", "image", "reset")
_TICKED = ("checkbox", "radio")
_FORM_CHECK = "csrf"
_QUOTES = (("'", "'"), ('"', '"'), ("“", "”"), ("„", "“"))
_SHORTEST_QUOTE = 2
"""Characters that a value has at least to be recognised in an error."""


@dataclass
class _Tag:
    """One field of a form, or an option of one, with its place in the page."""

    name: str
    attributes: dict[str, str]
    start: int
    end: int
    closed: int = 0
    """Where a text area's or an option's words end; they begin at `end`."""
    options: list[_Tag] = field(default_factory=list)

    @property
    def field(self) -> str:
        return self.attributes.get("name", "")

    @property
    def kind(self) -> str:
        return self.attributes.get("type", "text").lower() if self.name == "input" else self.name

    def with_attributes(self, **changed: str | None) -> tuple[int, int, str]:
        """Return the edit that gives the tag these attributes; None takes one away."""
        kept = {name: value for name, value in self.attributes.items() if name.replace("-", "_") not in changed}
        kept |= {name.replace("_", "-"): value for name, value in changed.items() if value is not None}
        written = "".join(f' {name}="{escape(value)}"' for name, value in kept.items())
        return self.start, self.end, f"<{self.name}{written}>"


@dataclass
class _PageForm:
    action: str
    id: str
    fields: list[_Tag] = field(default_factory=list)

    def was_sent(self, action: str, sent: Fields) -> bool:
        """Return whether this is the form: pages have several for one address, which hidden fields tell apart."""
        hidden = [(it.field, it.attributes.get("value", "")) for it in self.fields if it.kind == "hidden"]
        return self.action == action and all(it in sent for it in hidden if it[0] != _FORM_CHECK)


def fill_form(html: str, action: str, fields: Iterable[tuple[str, str]], error: UserError, message: str) -> str:
    """Return the page with what was sent to `action` in its form again, and the message beside its field."""
    sent = list(fields)
    form = next((each for each in _Reader(html).forms if each.was_sent(action, sent)), None)
    if form is None:
        return html
    wrong = _wrong_field(error, form, sent)
    edits = []
    for each in form.fields:
        values = [value for name, value in sent if name == each.field]
        if each.kind not in _TICKED and "multiple" not in each.attributes:  # the second of a name has the second value
            same = [it for it in form.fields if it.field == each.field and it.kind not in _TICKED]
            values = values[same.index(each) :][:1]
        edits += _edits(each, values, html, each is wrong)
    if wrong is not None:
        note = f'<p class="wrong" id="{_note_id(wrong)}">{escape(message)}</p>'
        edits.append((wrong.start, wrong.start, note))
    for start, end, text in sorted(edits, reverse=True):
        html = html[:start] + text + html[end:]
    return html


def _wrong_field(error: UserError, form: _PageForm, sent: Fields) -> _Tag | None:
    """Return the field that an error is about, where that is known."""
    visible = [it for it in form.fields if it.field and it.kind != "hidden" and it.kind not in _TICKED]
    quoted = {
        name
        for name, value in sent
        if len(value.strip()) >= _SHORTEST_QUOTE
        and any(f"{first}{value.strip()}{last}" in error.message for first, last in _QUOTES)
    }
    names = {error.field} if error.field else quoted
    found = [it for it in visible if it.field in names]
    return found[0] if len(found) == 1 else None


def _edits(tag: _Tag, values: list[str], html: str, wrong: bool) -> list[tuple[int, int, str]]:
    """Return what changes in the page for one field."""
    marks: dict[str, str | None] = {}
    if wrong:
        described = f"{tag.attributes.get('aria-describedby', '')} {_note_id(tag)}".strip()
        marks = {"aria_invalid": "true", "aria_describedby": described}
    if tag.kind in _TICKED:
        ticked = tag.attributes.get("value", "on") in values
        return [tag.with_attributes(checked="" if ticked else None)]
    if values and tag.name == "textarea":
        return [tag.with_attributes(**marks), (tag.end, tag.closed, "\n" + escape(values[0], quote=False))]
    if values and tag.name == "select":
        chosen = [(it, it.attributes.get("value", unescape(html[it.end : it.closed]).strip())) for it in tag.options]
        edits = [it.with_attributes(selected="" if value in values else None) for it, value in chosen]
        return [tag.with_attributes(**marks), *edits]
    if values and tag.kind not in _KEPT_FROM_PAGE:
        return [tag.with_attributes(value=values[0], **marks)]
    return [tag.with_attributes(**marks)] if marks else []


def _note_id(tag: _Tag) -> str:
    return f"{tag.attributes.get('id') or tag.field}-refused"


class _Reader(HTMLParser):
    """Finds the forms of a page and the places of their fields."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=False)
        self.forms: list[_PageForm] = []
        self._form: _PageForm | None = None
        self._select: _Tag | None = None
        self._open: _Tag | None = None
        self._apart: list[tuple[str, _Tag]] = []
        """Fields that stand outside their form and name it."""
        self._lines = [0]
        for line in html.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self.feed(html)
        for form_id, tag in self._apart:
            for form in self.forms:
                form.fields += [tag] if form.id == form_id else []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form, or a field with its place."""
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = _PageForm(attributes.get("action", ""), attributes.get("id", ""))
            self.forms.append(self._form)
        if tag not in ("input", "select", "textarea", "option"):
            return
        start = self._place()
        found = _Tag(tag, attributes, start, start + len(self.get_starttag_text() or ""))
        if tag == "option" and self._select is not None:
            self._select.options.append(found)
        elif "form" in attributes:
            self._apart.append((attributes["form"], found))
        elif self._form is not None:
            self._form.fields.append(found)
        if tag == "select":
            self._select = found
        elif tag != "input":
            self._open = found

    def handle_endtag(self, tag: str) -> None:
        """Note where a field's words end."""
        if self._open is not None and tag == self._open.name:
            self._open.closed = self._place()
            self._open = None
        if tag == "select":
            self._select = None
        if tag == "form":
            self._form = None

    def _place(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column
