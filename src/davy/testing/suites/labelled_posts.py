"""A public suite's file as a suite: labelled posts in, cases out.

Takes posts as the corpus reader makes them: `text`, `Q.gold`, and what else was published (functionality, set, target,
template) as JSON in `meta`. Rows that the publishers did not include in their suite are left out. Cases of a group are
near twins if they differ in one thing: identity, emoji or text. Most originals differ from a perturbation in two, and
such a pair would not say which one mattered. F-numbers of HateCheck are those of its first paper (Röttger et al. 2021),
in the multilingual files too.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.testing.suite import DISPUTED, Case, Suite
from davy.testing.suites.display import RELEASED
from davy.text import emoji

if TYPE_CHECKING:
    import polars as pl


_WORD = re.compile(r"\w+(?:['’*-]\w+)*|[^\w\s]")

Token = tuple[str, bool]
"""A word or a sign, and whether it is an emoji."""


def find_twins(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """Yield (original, perturbed) ids of each test group, which is in `meta["group"]`.

    A perturbation goes with the originals that are about the same group of people (identity perturbations may be about
    another, or nobody) and differ from it in words alone or in emoji alone, in as few places as any of them does.
    """
    originals: dict[str, list[tuple[Case, list[Token]]]] = defaultdict(list)
    for case in cases:
        if case.set == "original" and "group" in case.meta:
            originals[case.meta["group"]].append((case, tokens(case.text)))
    for case in cases:
        if case.set == "original" or "group" not in case.meta:
            continue
        words = tokens(case.text)
        near: dict[str, int] = {}
        for original, theirs in originals[case.meta["group"]]:
            places = None
            if case.set == "identity" or case.target in (None, original.target):
                places = count_differences(theirs, words)
            # An identity stands in one place; more than one means that something else differs too.
            if places is not None and (places == 1 or original.target == case.target):
                near[original.id] = places
        for original_id, places in near.items():
            if places == min(near.values()):
                yield original_id, case.id


def tokens(text: str) -> list[Token]:
    """Return words, signs and emoji in order, in lower case: a word that moves to the front is the same word."""
    found: list[Token] = []
    for part, is_emoji in emoji.split(text):
        found += [(part, True)] if is_emoji else [(word.lower(), False) for word in _WORD.findall(part)]
    return found


def count_differences(first: Sequence[Token], second: Sequence[Token]) -> int | None:
    """Return in how many places two texts differ, or None where both words and emoji do, or nothing does.

    A run of words is one place, and so is each emoji.
    """
    changes = [
        (first[a:b], second[c:d])
        for change, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if change != "equal"
    ]
    kinds = {_kind(*sides) for sides in changes}
    if len(kinds) != 1 or "both" in kinds:
        return None
    return sum(max(1, *(sum(is_emoji for _, is_emoji in side) for side in sides)) for sides in changes)


def _kind(first: Sequence[Token], second: Sequence[Token]) -> str:
    """Return what differs here. An emoji that stands where there are words, or nothing, is a matter of emoji."""
    words, icons = (
        [[t for t, is_emoji in side if is_emoji is kind] for side in (first, second)] for kind in (False, True)
    )
    if icons[0] == icons[1]:
        return "words"
    only_icons = not words[0] or not words[1]
    return "emoji" if words[0] == words[1] or (only_icons and not (icons[0] and icons[1])) else "both"


HATEMOJICHECK: tuple[str, ...] = (
    "verb_swap",
    "identity_swap",
    "descriptor_swap",
    "double_swap",
    "append",
    "positive_confounder",
    "emoji_leetspeak",
)

HATECHECK: tuple[tuple[str, str, str], ...] = (
    ("derog_neg_emote_h", "Derogation", "strong negative emotions"),
    ("derog_neg_attrib_h", "Derogation", "very negative attributes"),
    ("derog_dehum_h", "Derogation", "dehumanisation"),
    ("derog_impl_h", "Derogation", "implicit"),
    ("threat_dir_h", "Threat", "direct"),
    ("threat_norm_h", "Threat", "as a normative statement"),
    ("slur_h", "Slurs", "hateful"),
    ("slur_homonym_nh", "Slurs", "homonyms, not hateful"),
    ("slur_reclaimed_nh", "Slurs", "reclaimed, not hateful"),
    ("profanity_h", "Profanity", "hateful"),
    ("profanity_nh", "Profanity", "not hateful"),
    ("ref_subs_clause_h", "Pronouns", "reference in a later clause"),
    ("ref_subs_sent_h", "Pronouns", "reference in a later sentence"),
    ("negate_pos_h", "Negation", "negated positive statement, hateful"),
    ("negate_neg_nh", "Negation", "negated hateful statement, not hateful"),
    ("phrase_question_h", "Phrasing", "as a question"),
    ("phrase_opinion_h", "Phrasing", "as an opinion"),
    ("ident_neutral_nh", "Identity terms", "neutral statements"),
    ("ident_pos_nh", "Identity terms", "positive statements"),
    ("counter_quote_nh", "Counter speech", "quotes hate"),
    ("counter_ref_nh", "Counter speech", "refers to hate"),
    ("target_obj_nh", "Other targets", "objects"),
    ("target_indiv_nh", "Other targets", "individuals"),
    ("target_group_nh", "Other targets", "groups that are not protected"),
    ("spell_char_swap_h", "Spelling", "swapped characters"),
    ("spell_char_del_h", "Spelling", "missing characters"),
    ("spell_space_del_h", "Spelling", "missing spaces"),
    ("spell_space_add_h", "Spelling", "added spaces"),
    ("spell_leet_h", "Spelling", "leetspeak"),
)


def published_titles() -> dict[str, str]:
    """Return what to call each published functionality: `F15 Negation: negated hateful statement, not hateful`."""
    emoji = {name: f"F{i} {name.replace('_', ' ').capitalize()}" for i, name in enumerate(HATEMOJICHECK, 1)}
    return emoji | {name: f"F{i} {kind}: {title}" for i, (name, kind, title) in enumerate(HATECHECK, 1)}


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
