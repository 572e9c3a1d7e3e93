"""The pages' words, in English and German.

A key and values in, a sentence out. Catalogues are flat YAML files with the same
keys and placeholders (a test holds them to it); they hold plain text, never HTML,
so that templates escape whatever is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import MappingProxyType

from davy.core.scheme import Wording
from davy.files.yaml_nodes import load_shipped
from davy.serve.found_sentences import said_title, translate

LANGUAGES: Mapping[str, str] = MappingProxyType({"en": "English", "de": "Deutsch"})
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@cache
def catalogue(lang: str) -> Mapping[str, str]:
    """Return one language's sentences by key."""
    return MappingProxyType(load_shipped("davy.serve", f"locale/{lang}.yaml"))


@dataclass(frozen=True, slots=True)
class Translator:
    """Speaks one language. Call it with a key: `words("home.title", name="Ada")`."""

    lang: str

    def __call__(self, key: str, **values: object) -> str:
        """Return the sentence; with `count=` given, `key.one` or `key.other`."""
        if "count" in values:
            key = f"{key}.one" if values["count"] == 1 else f"{key}.other"
        sentence = catalogue(self.lang)[key]
        return sentence.format(**values) if values else sentence

    def has(self, key: str) -> bool:
        """Return whether there is such a sentence."""
        return key in catalogue(self.lang)

    def error(self, message: str) -> str:
        """Return what a stage or the store refused, said in this language where its sentence is known."""
        return translate("errors", message, self.lang)

    def event(self, words: str) -> str:
        """Return an event of the audit, or the name of one of its details, in this language."""
        return translate("events", words, self.lang)

    def label(self, name: str) -> str:
        """Return what a question or label that shipped schemes know is called here; others keep their name."""
        return said_title(Wording(), name, self.lang)

    def table_word(self, text: object) -> str:
        """Return a report's head or cell in this language; parts before and after a colon are looked up alone."""
        parts = str(text).split(": ")
        return ": ".join(self(f"table.{part}") if self.has(f"table.{part}") else part for part in parts)

    def when(self, at: datetime) -> str:
        """Return a moment as people write it, in UTC."""
        if self.lang == "de":
            return f"{at:%d.%m.%Y, %H:%M} UTC"
        return f"{at.day} {_MONTHS[at.month - 1]} {at:%Y, %H:%M} UTC"

    def clock(self, at: datetime) -> str:
        """Return the day and the time of a moment, with the name of the time zone that it is given in."""
        return f"{self.when(at).removesuffix(' UTC')} ({at.tzname() or 'UTC'})"

    def amount(self, value: float) -> str:
        """Return an amount of money with two digits after the language's sign, without a currency."""
        number = f"{value:,.2f}"
        return number.translate({ord(","): ".", ord("."): ","}) if self.lang == "de" else number

    def share(self, value: float) -> str:
        """Return a probability as a percentage, with the language's sign."""
        number = f"{value * 100:.1f}"
        return number.replace(".", ",") + " %" if self.lang == "de" else number + "%"

    def decimal(self, value: float | None, digits: int = 3) -> str:
        """Return a figure with the language's sign and a true minus; a dash where there is none."""
        if value is None:
            return "–"
        text = f"{value:.{digits}f}".replace("-", "−")
        return text.replace(".", ",") if self.lang == "de" else text

    def number(self, value: int) -> str:
        """Return a whole number with the language's grouping."""
        grouped = f"{value:,}"
        return grouped.replace(",", ".") if self.lang == "de" else grouped


def choose_language(account: str | None, cookie: str | None, header: str | None) -> str:
    """Return the language to speak: the account's, else the cookie's, else the browser's, else English."""
    for wanted in (account, cookie):
        if wanted in LANGUAGES:
            return str(wanted)
    return _accepted(header or "")


def _accepted(header: str) -> str:
    ranked: list[tuple[float, int, str]] = []
    for place, part in enumerate(header[:200].split(",")):
        name, _, quality = part.partition(";")
        try:
            weight = float(quality.strip().removeprefix("q=")) if quality.strip() else 1.0
        except ValueError:
            continue
        tag = name.strip().lower().partition("-")[0]
        if tag in LANGUAGES and weight > 0:
            ranked.append((-weight, place, tag))
    return min(ranked)[2] if ranked else "en"
