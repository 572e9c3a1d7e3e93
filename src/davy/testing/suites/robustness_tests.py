"""Robustness tests made from any labelled posts: a small change to a text must not change the answer.

Posts in, a suite out: each post as it is (an MFT, where it has a label), and once
for each kind of change (an INV against the post). Rows of the report are the
changes, its sets the posts' own labels, so that it shows which side breaks.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.testing.suite import SAME, Case, Suite
from davy.text.language import detect
from davy.text.perturb import CHANGES, SWAPS, perturb, swap

if TYPE_CHECKING:
    import polars as pl

AS_WRITTEN = "as written"
ABOUT_WOMEN = ("sexist", "misogynistic", "category", "vector")
"""Questions whose answer may change when she becomes he, so that pronouns are not swapped for them."""


def robustness(
    posts: pl.DataFrame, question: Question, *, label: str, most: int = 500, seed: int = 0, name: str = "robustness"
) -> Suite:
    """Return the suite of at most `most` posts, drawn evenly from both labels; `label` is the column of answers."""
    if question.positive is None or len(question.labels) != 2:
        raise UserError(f"{question.name!r} is not a yes/no question, so robustness can't be tested on it.")
    rows = _drawn(_labelled(posts, question, label), most, seed)
    no = next(each for each in question.label_names if each != question.positive)
    cases: list[Case] = []
    links: list[tuple[str, str]] = []
    for post, text, lang, gold in rows:
        cases.append(Case(post, text, AS_WRITTEN, gold, set=gold, lang=lang))
        for change, changed in _changed(text, lang, question, seed):
            if changed is not None:
                one = Case(
                    f"{post}/{change}", changed, change, SAME, set=gold, pair=post, test="INV", lang=lang, template=post
                )
                cases.append(one)
                links.append((post, one.id))
    return Suite(
        name=name,
        version=f"seed {seed}",
        question=question.name,
        lang="und",
        cases=tuple(cases),
        labels=(question.positive, no),
        title="Small changes that must not change the answer",
        links=tuple(links),
    )


def _changed(text: str, lang: str | None, question: Question, seed: int) -> Iterator[tuple[str, str | None]]:
    """Yield every change with what it makes of a text; pronouns stay where the question is about women."""
    yield from ((change, perturb(text, change, seed=seed)) for change in CHANGES)
    known = lang or detect(text)[0]
    for kind in SWAPS:
        if kind != "other pronouns" or question.name not in ABOUT_WOMEN:
            yield kind, swap(text, kind, known, seed=seed)


def _labelled(posts: pl.DataFrame, question: Question, label: str) -> list[tuple[str, str, str | None, str]]:
    """Return (id, text, language, label) of the posts that have a text and a label, each text once."""
    rows = []
    seen: set[str] = set()
    langs = posts["lang"] if "lang" in posts.columns else [None] * len(posts)
    for number, (post, text, lang, cell) in enumerate(
        zip(posts["id"], posts["text"], langs, posts[label], strict=True), 1
    ):
        if text is None or cell is None or not str(cell).strip() or text in seen:
            continue
        seen.add(text)
        try:
            rows.append((str(post), str(text), lang, question.label(str(cell)).name))
        except KeyError:
            known = ", ".join(question.label_names)
            raise UserError(
                f"Row {number} has {str(cell)[:40]!r} in column {label!r}, which is no label of {question.name!r}; "
                f"it has {known}. Name another column with --gold, or another question with --question."
            ) from None
    if not rows:
        raise UserError(f"No post has both a text and a label in column {label!r}.")
    return rows


def _drawn(
    rows: list[tuple[str, str, str | None, str]], most: int, seed: int
) -> list[tuple[str, str, str | None, str]]:
    """Return at most `most` rows, as even between the labels as they allow, in the file's order."""
    if len(rows) <= most:
        return rows
    by_label: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        by_label[row[3]].append(place)
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    kept: list[int] = []
    for left, places in zip(range(len(by_label), 0, -1), sorted(by_label.values(), key=len), strict=True):
        kept += chance.sample(places, min(len(places), (most - len(kept)) // left))
    return [rows[place] for place in sorted(kept)]
