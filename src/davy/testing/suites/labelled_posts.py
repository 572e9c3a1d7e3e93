"""A public suite's file as a suite: labelled posts in, cases out.

Takes posts as the corpus reader makes them: `text`, `Q.gold`, and what else was
published (functionality, set, target, template) as JSON in `meta`. Rows that the
publishers did not include in their suite are left out.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.testing.suite import DISPUTED, Case, Suite
from davy.testing.suites.display import RELEASED
from davy.testing.suites.near_twins import find_twins
from davy.testing.suites.published_titles import published_titles

if TYPE_CHECKING:
    import polars as pl

_SETS = {released: name for name, released in RELEASED.items()}
_GROUPS = ("test_grp_id", "test_group_id")
_TARGETS = ("target", "target_ident")
_NOBODY = ("", "none", "nan", "null")
_EXCLUDED = ("0", "0.0", "false", "no")
_YES = ("1", "1.0", "true", "yes")


def from_posts(
    posts: pl.DataFrame, question: Question, *, name: str, version: str, title: str = "", lang: str | None = None
) -> Suite:
    """Return the suite of a public file; rows without a settled answer are named in `missing`.

    `lang` is the language of all cases, where the file does not say it or says it wrongly.
    """
    gold = f"{question.name}.gold"
    if gold not in posts.columns or question.positive is None:
        raise UserError(f"{name} has no column {gold!r}, so there is nothing to test against.")
    cases: list[Case] = []
    missing: list[str] = []
    excluded = 0
    for row in posts.select("id", "text", "lang", "parent", "meta", gold).iter_rows(named=True):
        meta = json.loads(row["meta"]) if row["meta"] else {}
        if str(meta.get("included_in_test_suite", "")).strip().lower() in _EXCLUDED:
            excluded += 1
            continue
        if row["text"] is None or row[gold] is None:
            missing.append(f"{name}: case {row['id']} has no text or no label")
            continue
        cases.append(_case({**row, "lang": lang or row["lang"]}, row[gold], meta))
    if not cases:
        raise UserError(f"{name} holds no cases with a text and a label. Is it the right file?")
    no = next(label for label in question.label_names if label != question.positive)
    langs = {case.lang for case in cases if case.lang}
    return Suite(
        name=name,
        version=version,
        question=question.name,
        lang=langs.pop() if len(langs) == 1 else "und",
        cases=tuple(cases),
        labels=(question.positive, no),
        title=title,
        titles={key: words for key, words in published_titles().items() if key in {c.functionality for c in cases}},
        links=tuple(_links(cases)),
        missing=tuple(missing),
        for_training=False,
        source=f"{excluded:,} rows with included_in_test_suite = 0 are left out" if excluded else "",
    )


def _case(row: dict[str, Any], expected: str, meta: dict[str, Any]) -> Case:
    target = next((str(meta[key]) for key in _TARGETS if meta.get(key) is not None), "")
    group = next((str(meta[key]) for key in _GROUPS if meta.get(key) is not None), None)
    template = group or (str(meta["templ_id"]) if meta.get("templ_id") is not None else None)
    published = str(meta.get("set") or "")
    set_ = _SETS.get(published, published) or "original"
    return Case(
        id=str(row["id"]),
        text=str(row["text"]),
        functionality=str(meta.get("functionality") or "all"),
        expected=expected,
        set=set_,
        target=None if target.strip().lower() in _NOBODY else target.strip().lower(),
        template=template,
        pair=row["parent"],
        meta={**({"group": group} if group else {}), **_dispute(meta)},
        lang=row["lang"],
    )


def _dispute(meta: dict[str, Any]) -> dict[str, str]:
    """Return whether annotators disagreed on a case, where its file says so: in a column, or by their labels."""
    stated = str(meta.get("disagreement_in_case") or "").strip().lower()
    if stated in (*_YES, *_EXCLUDED):
        return {DISPUTED: "yes" if stated in _YES else "no"}
    labels = re.findall(r"[A-Za-z][A-Za-z -]*[A-Za-z]|\d+", str(meta.get("label_annotated") or ""))
    return {DISPUTED: "yes" if len(set(labels)) > 1 else "no"} if len(labels) > 1 else {}


def _links(cases: list[Case]) -> list[tuple[str, str]]:
    """Return (original, perturbed) ids: near twins where the file has test groups, else by the case named."""
    known = {case.id for case in cases}
    named = [(str(case.pair), case.id) for case in cases if "group" not in case.meta and case.pair in known]
    return [*find_twins(cases), *named]
