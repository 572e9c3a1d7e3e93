"""The pages' words, in English and German.

A key and values in, a sentence out. Each feature's `locale` folder has a flat YAML
file a language, with the same keys and placeholders (a test holds them to it). They
hold plain text, never HTML, so that templates escape whatever is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import MappingProxyType

from davy.core.scheme import Wording
from davy.web.feature_files import load_words
from davy.web.report_translation import german_figures
from davy.web.translations import translate, translated_title

LANGUAGES: Mapping[str, str] = MappingProxyType({"en": "English", "de": "Deutsch"})
_COUNT = re.compile(r" \([\d.,]+\)$")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@cache
def catalogue(lang: str) -> Mapping[str, str]:
    """Return one language's sentences by key."""
    return MappingProxyType(load_words(f"{lang}.yaml"))


@dataclass(frozen=True, slots=True)
class Translator:
    """Speaks one language. Call it with a key: `words("home.title", name="Ada")`."""

    lang: str

    def __call__(self, key: str, **values: object) -> str:
        """Return the sentence: with `count=`, `key.one` or `key.other`; with `n=1`, `key.one` where there is one."""
        if "count" in values:
            key = f"{key}.one" if values["count"] == 1 else f"{key}.other"
        elif values.get("n") == 1 and self.has(f"{key}.one"):
            key = f"{key}.one"
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

    def report(self, sentence: str) -> str:
        """Return a sentence of a report, such as a table's note, in this language."""
        return translate("reports", sentence, self.lang)

    def label(self, name: str) -> str:
        """Return what a question or label that shipped schemes know is called here; others keep their name."""
        return translated_title(Wording(), name, self.lang)

    def language(self, code: str) -> str:
        """Return the name of the language with this ISO code, such as French; the code where it has no name here."""
        key = f"language.{code}"
        return self(key) if self.has(key) else code

    def table_word(self, text: object) -> str:
        """Return a report's head or cell in this language; parts before and after a colon are looked up alone."""
        return self.figures(": ".join(self._table_part(part) for part in str(text).split(": ")))

    def _table_part(self, part: str) -> str:
        """Return a word of tables, a strategy of rounds or a shipped label; a count in brackets after it stays."""
        found = _COUNT.search(part)
        count = found[0] if found else ""
        name = part.removesuffix(count)
        for key in (f"table.{name}", f"rounds.strategy.{name.replace(' ', '_').replace(',', '')}"):
            if self.has(key):
                return self(key) + count
        return self.label(name) + count

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
        text = f"{value:z.{digits}f}".replace("-", "−")
        return text.replace(".", ",") if self.lang == "de" else text

    def interval(self, low: float, high: float, digits: int = 3) -> str:
        """Return an interval in brackets; a semicolon parts its ends where a comma is the decimal sign."""
        between = ";" if self.lang == "de" else ","
        return f"[{self.decimal(low, digits)}{between} {self.decimal(high, digits)}]"

    def figures(self, text: str) -> str:
        """Return a table's cell, such as "0.612 [0.540, 0.671]", with its figures as this language writes them."""
        return german_figures(text) if self.lang == "de" else text

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
