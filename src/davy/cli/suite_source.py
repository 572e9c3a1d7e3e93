"""What `davy check` and `davy suite` take for SUITE: a shipped name, a YAML file, or a public suite's file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from davy.core.errors import UserError

if TYPE_CHECKING:
    from davy.core import Suite

TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".gz", ".xz", ".zst")


def found(name: str) -> Suite:
    """Return the suite that a command line names."""
    from davy import suites

    kind, colon, rest = name.partition(":")
    if colon and kind in ("hatemojicheck", "hatecheck"):
        return _corpus(kind, rest)
    if name not in suites.names() and Path(name).suffix.lower() in TABLES:
        return _corpus(_guessed(name), name)
    return suites.load(name)


def _corpus(corpus: str, path: str) -> Suite:
    import hashlib

    from davy import schemes
    from davy.collect import corpora
    from davy.suites.posts import from_posts

    if not path:
        raise UserError(f"Give the file behind the colon: {corpus}:FILE.csv")
    read = corpora.load(corpus, path)
    posts = read.posts.collect()
    version = hashlib.sha256("\n".join(map(str, posts["text"])).encode()).hexdigest()[:8]
    question = schemes.load(read.scheme).question("hate")
    return from_posts(posts, question, name=Path(path).stem, version=version, title=corpora.describe(corpus).title)


def _guessed(path: str) -> str:
    """Return which public suite a table is, by its columns."""
    from davy.collect import files

    with files.opened(path) as table:
        columns = set(table.columns)
    if {"functionality", "set", "text", "label_gold"} <= columns:
        return "hatemojicheck"
    if {"functionality", "test_case", "label_gold"} <= columns:
        return "hatecheck"
    raise UserError(
        f"{path} is no suite that Davy knows: it wants HatemojiCheck's columns (text, functionality, set, label_gold) "
        "or HateCheck's (test_case, functionality, label_gold)."
    )
