"""Strategies: the ways in which a corpus finds its posts, as data.

A YAML file in (or the options of `davy collect`), a list of strategies out, in
the order in which they take posts. Four kinds, as GMHP7k used them: `search` (a
rule, with a cap against the bias of its words), `profiles` (listed accounts),
`trend` (words or tags in a span of days), `corpus` (posts chosen from an earlier
corpus, see earlier_corpora.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from davy.core.errors import UserError, nearest
from davy.core.options import Option
from davy.corpus.collect.rule import FilterRule
from davy.files.atomic import read_text
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, file_text, line_at, parse_node, plain_values

KINDS: tuple[str, ...] = ("search", "profiles", "trend", "corpus")
_FIELDS: dict[str, tuple[str, ...]] = {
    "search": ("rule", "cap", "from", "until"),
    "profiles": ("profiles", "rule", "cap", "from", "until"),
    "trend": ("terms", "rule", "cap", "from", "until"),
    "corpus": ("path", "corpus", "keep", "labels", "rule", "cap", "source", "licence", "text", "id", "ids", "lang"),
}


@dataclass(frozen=True)
class Strategy:
    """One way to find posts. `found` is what every post that it takes says about how it was found."""

    name: str
    kind: str = "search"
    rule: FilterRule | None = None
    cap: int | None = None
    profiles: frozenset[str] = frozenset()
    since: str | None = None
    until: str | None = None
    corpus: dict[str, Any] = field(default_factory=dict)

    @property
    def found(self) -> str:
        """How its posts were found: kind and name, then the rule and the span."""
        note = f"{self.kind}: {self.name}" if self.name != self.kind else self.kind
        if self.profiles:
            note += f", {len(self.profiles)} listed accounts"
        if self.rule is not None:
            note += f", rule {self.rule.shown}"
        if self.since or self.until:
            note += f", {_day(self.since, 0)} to {_day(self.until, 1)}"
        return note

    def described(self) -> dict[str, Any]:
        """Return what the strategy depends on, as JSON: two runs with the same go on from one another."""
        return {
            "name": self.name, "kind": self.kind, "rule": self.rule.text if self.rule else None, "cap": self.cap,
            "profiles": sorted(self.profiles), "since": self.since, "until": self.until,
            "corpus": {name: str(value) for name, value in self.corpus.items()},
        }  # fmt: skip

    def matches(self, records: pl.DataFrame) -> pl.Series:
        """Return for each record whether the strategy wants it."""
        wanted = pl.Series([True], dtype=pl.Boolean).new_from_index(0, len(records))
        if self.profiles:
            accounts = list(self.profiles)
            named = records["author"].is_in(accounts) | records["author_id"].is_in(accounts)
            wanted = wanted & named.fill_null(False)
        if self.since is not None:
            wanted = wanted & (records["time"] >= self.since).fill_null(False)
        if self.until is not None:
            wanted = wanted & (records["time"] < self.until).fill_null(False)
        if self.rule is not None and wanted.any():
            rows = wanted.arg_true()
            wanted = wanted.scatter(rows, self.rule.matches(records[rows]))
        return wanted


def read(path: Path) -> list[Strategy]:
    """Return the strategies of a YAML file, in their order; every value is the text that the author typed."""
    problems = Problems(str(path), what="file of strategies", example="docs/data/collecting.md")
    text = file_text(path, problems)
    root = parse_node(text, problems) if text is not None else None
    problems.raise_first()
    listed = root.get("strategies") if isinstance(root, YamlMap) else root
    if not isinstance(listed, YamlList) or not listed:
        raise UserError(f"{path} has no list of strategies. Write `strategies:` and one item for each.")
    strategies = [
        _strategy(plain_values(entry, numbers=False), f"{path}:{line_at(entry, 1)}, strategy {number}", path.parent)
        for number, entry in enumerate(listed, 1)
    ]
    names = [strategy.name for strategy in strategies]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UserError(f"{path}: two strategies are called {twice!r}. Give each a name of its own.")
    return strategies


def strategies_of(
    file: Annotated[
        Path | None,
        Option("Several ways to find posts, as YAML: docs/data/collecting.md.", "--strategies", metavar="F"),
    ] = None,
    rule: Annotated[str | None, Option("Keep what this rule matches, in X's stream syntax.", metavar="R")] = None,
    rule_file: Annotated[Path | None, Option("The same, from a file.", metavar="F")] = None,
    profiles: Annotated[
        Path | None, Option("Keep posts by the accounts in this file, one a line.", metavar="F")
    ] = None,
    since: Annotated[str | None, Option("Keep posts from this day on.", "--from", metavar="DAY")] = None,
    until: Annotated[str | None, Option("Keep posts up to this day, which counts.", metavar="DAY")] = None,
    cap: Annotated[int | None, Option("Keep at most this many posts.", "--most", metavar="N", min=1)] = None,
) -> list[Strategy]:
    """Return the strategies of a file, or the one that the options of `davy collect` describe."""
    if file is not None:
        return read(file)
    start, end = parse_span(since, until, "--from and --until")
    listed = read_accounts(profiles, "--profiles") if profiles else frozenset()
    text = rule if rule_file is None else read_text(rule_file, "rule")
    made = FilterRule.of(text) if text is not None else None
    kind = "profiles" if listed else "search"
    name = kind if made or listed or start or end else "everything"
    return [Strategy(name, kind, made, cap, listed, start, end)]


def parse_span(since: str | None, until: str | None, where: str) -> tuple[str | None, str | None]:
    """Return a span of days as times; the last day counts in full, a time such as 2022-03-16T12:00 is taken as is."""
    start, end = _moment(since, where, last=False), _moment(until, where, last=True)
    if start is not None and end is not None and start >= end:
        raise UserError(f"{where}: {since} lies after {until}, so nothing can match. Swap them.")
    return start, end


def account_names(names: Any) -> frozenset[str]:
    """Return listed accounts as records name them: in lower case, without `@` and `u/`."""
    return frozenset(str(name).strip().lstrip("@").removeprefix("u/").lower() for name in names if str(name).strip())


def _strategy(entry: Any, where: str, folder: Path) -> Strategy:
    if not isinstance(entry, dict):
        raise UserError(f"{where} is not a mapping. Write kind, name and what the kind needs.")
    kind = entry.get("kind", "search")
    if kind not in KINDS:
        raise UserError(
            f"{where}: kind {str(kind)!r} is not known; known: {', '.join(KINDS)}.{nearest(str(kind), list(KINDS))}"
        )
    known = ("name", "kind", *_FIELDS[kind])
    for name in entry:
        if name not in known:
            raise UserError(
                f"{where}: {kind} has no {name!r}; it has {', '.join(known)}.{nearest(str(name), list(known))}"
            )
    cap = entry.get("cap")
    if cap is not None and not (isinstance(cap, str) and re.fullmatch(r"[1-9][0-9]{0,11}", cap)):
        raise UserError(f"{where}: cap is {cap!r}; give a whole number from 1 on.")
    needed = {"search": "rule", "profiles": "profiles", "trend": "terms", "corpus": "path"}[kind]
    if not entry.get(needed):
        raise UserError(f"{where}: a strategy of kind {kind} needs {needed!r}.")
    first, last = (None if entry.get(name) is None else str(entry[name]) for name in ("from", "until"))
    since, until = parse_span(first, last, where)
    corpus = {name: entry[name] for name in _FIELDS["corpus"] if name in entry} if kind == "corpus" else {}
    if corpus:
        corpus["path"] = folder / str(corpus["path"])
    return Strategy(
        str(entry.get("name") or kind), kind, _rule(entry, where), None if cap is None else int(cap),
        _profiles(entry.get("profiles"), folder, where), since, until, corpus,
    )  # fmt: skip


def _rule(entry: dict[str, Any], where: str) -> FilterRule | None:
    terms = entry.get("terms") or []
    terms = terms if isinstance(terms, list) else [terms]
    texts = [f"({' OR '.join(_term(str(term)) for term in terms)})"] if terms else []
    if entry.get("rule"):
        texts.append(str(entry["rule"]))
    if not texts:
        return None
    try:
        return FilterRule.of(texts[0] if len(texts) == 1 else f"{texts[0]} ({texts[1]})")
    except UserError as error:
        raise UserError(f"{where}: {error.message}") from None


def _term(term: str) -> str:
    return term if term.startswith("#") and " " not in term else '"' + term.replace('"', '\\"') + '"'


def _profiles(given: Any, folder: Path, where: str) -> frozenset[str]:
    if given is None:
        return frozenset()
    if isinstance(given, list):
        return account_names(given)
    return read_accounts(folder / str(given), where)


def read_accounts(path: Path, where: str) -> frozenset[str]:
    """Return the accounts of a text file, one a line; `#` starts a comment."""
    lines = read_text(path, "list of accounts").splitlines()
    found = account_names(line for line in lines if not line.lstrip().startswith("#"))
    if not found:
        raise UserError(f"{where}: {path} lists no accounts. Write one a line.")
    return found


def _day(moment: str | None, back: int) -> str:
    """Return the day of a moment; the end of a span lies `back` seconds behind the last one that counts."""
    if moment is None:
        return "…"
    return (datetime.fromisoformat(moment) - timedelta(seconds=back)).strftime("%Y-%m-%d")


def _moment(value: str | None, where: str, *, last: bool) -> str | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise UserError(f"{where}: {value[:40]!r} is no day such as 2022-03-16.") from None
    if last and len(value) <= len("2022-03-16"):
        moment += timedelta(days=1)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
