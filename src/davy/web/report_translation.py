"""A finished report in its reader's language: a page that a run left in, the same in other words out.

Stages write reports in English, for the shell as well. Pages show them with the sentences that
the features' `locale/reports.de.yaml` have for the English ones and with figures in the language's own way, reports
of long ago too. Texts of posts, code and names of models stay as they are; pictures and a report's files for saving
stay English.
"""

from __future__ import annotations

import re
from html import escape, unescape

from davy.core.scheme import Wording
from davy.web.translations import translate, translated_title, translations_of

_TOKEN = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>|[^<]+", re.DOTALL)
_ATTRIBUTE = re.compile(r' (title|alt|aria-label|data-head|data-show|data-hide|data-words-\w+)="([^"]*)"')
_KEPT = re.compile(r'<(?:(code)\b|(span) class="text"|(blockquote)\b)')
"""What holds words that are not the report's: values of its origin, and texts of posts."""
_NUMBER = re.compile(r"(?<![\w.,:/@])(?<!\w-)\d{1,3}(?:(?:,\d{3})+|\d*)(?:\.\d+)?(?![\w:/@-]|[.,]\d)")
_INTERVAL = re.compile(r"\[([-−+]?\d[\d.]*), ([-−+]?\d[\d.]*)\]")


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
