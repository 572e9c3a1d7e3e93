"""The pages' words and figures, in English and German.

A key and values in, a sentence out. Each feature's `locale` folder has a flat YAML file per language, with the same
keys and placeholders (a test holds them to it); plain text, never HTML, so that templates escape whatever is filled in.
Sentences from below the pages are made in English, and so are reports. Both are looked up by their words, with `{}`
where a value is: `errors.de.yaml`, `events.de.yaml` and `reports.de.yaml` of the feature that says them. One that is
not there stays English. Texts of posts, code and names of models stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cache
from html import escape, unescape
from string import Formatter
from types import MappingProxyType

from davy import schemes
from davy.core.scheme import Label, Scheme, Wording
from davy.web.feature_files import load_words

_DEEPEST = 2
"""A value may be a sentence itself, such as what is wrong with an answer."""

_TOKEN = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>|[^<]+", re.DOTALL)
_ATTRIBUTE = re.compile(r' (title|alt|aria-label|data-head|data-show|data-hide|data-words-\w+)="([^"]*)"')
_KEPT = re.compile(r'<(?:(code)\b|(span) class="text"|(blockquote)\b)')
"""What holds words that are not the report's: values of its origin, and texts of posts."""
_NUMBER = re.compile(r"(?<![\w.,:/@])(?<!\w-)\d{1,3}(?:(?:,\d{3})+|\d*)(?:\.\d+)?(?![\w:/@-]|[.,]\d)")
_INTERVAL = re.compile(r"\[([-−+]?\d[\d.]*), ([-−+]?\d[\d.]*)\]")

LANGUAGES: Mapping[str, str] = MappingProxyType({"en": "English", "de": "Deutsch"})
_COUNT = re.compile(r" \([\d.,]+\)$")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def translate(kind: str, sentence: str, lang: str, *, deepest: int = _DEEPEST) -> str:
    """Return a sentence of `errors` or `events` in a language; one that is not known there comes back as it is."""
    if lang == "en":
        return sentence
    words = sentence.lstrip()  # one that goes on another begins with a space
    for pattern, found in _patterns(kind, lang):
        if match := pattern.fullmatch(words):
            values = [translate(kind, it, lang, deepest=deepest - 1) if deepest else it for it in match.groups()]
            return sentence.removesuffix(words) + found.format(*values)
    return sentence


def translated_title(title: Wording, name: str, lang: str) -> str:
    """Return what a question or a label is called: its own title, else what shipped ones are called, else its name."""
    own = title.said_in(lang) or name
    return own if lang == "en" or lang in title else shipped_titles(lang).get(own.casefold(), own)


def translated_label(label: Label, lang: str) -> str:
    """Return what people read: the title, with the code that guidelines speak in before it."""
    title = translated_title(label.title, label.name, lang)
    return f"{label.code} {title}" if label.code else title


def question_titles(scheme: Scheme, lang: str) -> dict[str, str]:
    """Return what a scheme's questions are called, by name."""
    return {it.name: translated_title(it.title, it.name, lang) for it in scheme.questions}


def label_titles(scheme: Scheme, lang: str) -> dict[str, dict[str, str]]:
    """Return what the labels of a scheme's questions are called, by question and name."""
    return {it.name: {label.name: translated_label(label, lang) for label in it.labels} for it in scheme.questions}


@cache
def shipped_titles(lang: str) -> Mapping[str, str]:
    """Return what shipped questions and labels are called in a language, by their English titles and labels' names.

    `schemes/locale/labels.de.yaml` says it of names that schemes title in several ways, and of what has no title.
    """
    asked = [question for name in schemes.names() for question in schemes.load(name).questions]
    named = [(question.title, question.title.said_in("en")) for question in asked]
    for question in asked:
        named += [(label.title, it) for label in question.labels for it in (label.title.said_in("en"), label.name)]
    titles = {english.casefold(): title[lang] for title, english in reversed(named) if lang in title}
    return {**titles, **translations_of("labels", lang)}


@cache
def translations_of(kind: str, lang: str) -> Mapping[str, str]:
    """Return a language's sentences by the English ones, both with `{}` or `{0}` for values."""
    return load_words(f"{kind}.{lang}.yaml")


@cache
def _patterns(kind: str, lang: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return what to look for, the sentences with most words of their own first."""
    by_words = sorted(translations_of(kind, lang).items(), key=lambda item: -len(item[0].replace("{}", "")))
    return tuple((_pattern(english), found) for english, found in by_words)


def _pattern(sentence: str) -> re.Pattern[str]:
    parts = Formatter().parse(sentence)
    return re.compile("".join(re.escape(it) + ("" if name is None else "(.*?)") for it, name, _, _ in parts), re.DOTALL)


def translate_report(html: str, lang: str) -> str:
    """Return a report's page in a language; what is not known there stays as it is."""
    if lang == "en":
        return html
    said: list[str] = []
    until = ""
    for token in _TOKEN.finditer(html):
        part = token[0]
        if token[1]:
            said.append(part)
        elif part.startswith("<"):
            if part == until:
                until = ""
            elif not until and (kept := _KEPT.match(part)):
                until = f"</{kept[1] or kept[2] or kept[3]}>"
            said.append(part if until else _tag(part, lang))
        else:
            said.append(part if until else _words(part, lang))
    return "".join(said)


def _tag(tag: str, lang: str) -> str:
    if tag.startswith("<html "):
        return tag.replace('lang="en"', f'lang="{lang}"')
    return _ATTRIBUTE.sub(lambda it: f' {it[1]}="{_words(it[2], lang)}"', tag)


def _words(part: str, lang: str) -> str:
    """Return a piece of text in a language, spaces around it kept."""
    words = part.strip()
    if not words:
        return part
    before, after = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
    return before + escape(_said(unescape(words), lang)) + after


def _said(words: str, lang: str) -> str:
    if re.search(r"[^\W\d_]{2}", words) is None:
        return german_figures(words)
    found = translations_of("reports", lang).get(words) or translate("reports", words, lang)
    if found != words:
        return german_figures(found)
    for between in (". ", "; "):  # notes of a table, one after the other
        if between in words:
            return between.join(_said(part, lang) for part in words.split(between))
    return translated_title(Wording(), words, lang)


def german_figures(words: str) -> str:
    """Return words with their numbers as German writes them: 1.234 and 0,5, the ends of an interval as [0,4; 0,6]."""
    apart = _INTERVAL.sub(r"[\1; \2]", words)
    return _NUMBER.sub(lambda it: it[0].translate({ord(","): ".", ord("."): ","}), apart)


@cache
def catalogue(lang: str) -> Mapping[str, str]:
    """Return one language's sentences by key."""
    return MappingProxyType(load_words(f"{lang}.yaml"))


@dataclass(frozen=True, slots=True)
class Translator:
    """Speaks one language. Call it with a key: `words("home.title", name="Ada")`."""

    lang: str
    zone: tzinfo = UTC
    """The time zone that moments are given in: a project's on its pages."""

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
        """Return a word of tables or reports, a strategy of rounds or a shipped label; a count in brackets stays."""
        found = _COUNT.search(part)
        count = found[0] if found else ""
        name = part.removesuffix(count)
        for key in (f"table.{name}", f"rounds.strategy.{name.replace(' ', '_').replace(',', '')}"):
            if self.has(key):
                return self(key) + count
        return translations_of("reports", self.lang).get(name, self.label(name)) + count

    def when(self, at: datetime) -> str:
        """Return a moment as people write it, in the reader's time zone."""
        local = at if at.tzinfo is None else at.astimezone(self.zone)
        name = local.tzname() or "UTC"
        return f"{self._day_and_time(local)} {name if name.isalpha() else f'UTC{name}'}"

    def _day_and_time(self, at: datetime) -> str:
        return f"{at:%d.%m.%Y, %H:%M}" if self.lang == "de" else f"{at.day} {_MONTHS[at.month - 1]} {at:%Y, %H:%M}"

    def clock(self, at: datetime) -> str:
        """Return the day and the time of a moment, with the name of the time zone that it is given in."""
        return f"{self._day_and_time(at)} ({at.tzname() or 'UTC'})"

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
