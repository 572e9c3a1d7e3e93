"""Entering a text: checked, scored by whoever calls, and kept with its author's answers.

`check` comes first and needs no target, `enter` last and writes everything in the caller's transaction. The form's id
is the entry's, so a form that is sent twice is one entry.
"""

from __future__ import annotations

from collections.abc import Sequence

from davy.core import Scheme, UserError
from davy.core.annotation import Answers
from davy.rounds.contrasts import check_contrast
from davy.rounds.round import Entry, Round, TargetPrediction
from davy.rounds.rules import EntryRefused, check_new, check_text
from davy.rounds.store import entries as stored
from davy.rounds.store.entries import EntryText
from davy.store import Connection

LONGEST_STRATEGY = 80


def check(
    db: Connection,
    round_: Round,
    text: str,
    *,
    lang: str | None = None,
    original: EntryText | None = None,
) -> str | None:
    """Return the language of a text that may be entered in a round; refuse one that may not."""
    if round_.state != "open":
        raise EntryRefused("closed", status=409, n=round_.number)
    found = check_text(text, round_.rules, lang=lang)
    check_new(db, round_.project, text, but=original.entry.id if original else None)
    return found


def enter(
    db: Connection,
    round_: Round,
    scheme: Scheme,
    *,
    entry_id: str,
    author: str,
    text: str,
    answers: Answers,
    predictions: Sequence[TargetPrediction],
    lang: str | None = None,
    strategy: str | None = None,
    support: str = "own",
    seconds: float | None = None,
    original: EntryText | None = None,
    change: str | None = None,
    derived_from: str | None = None,
    guideline_version: int = 0,
) -> Entry:
    """Keep an entry and return it. With `original` it is that one's contrast, and `change` the rule that it follows.

    It has fooled the target where the first prediction is not the author's label; others still have to confirm that.
    """
    if known := stored.find(db, round_.project, entry_id):
        return _repeated(known, round_, author)
    text = text.strip()
    lang = check(db, round_, text, lang=lang, original=original)
    faults = scheme.faults(answers, complete=True, text="")  # nobody marks words of a text that is being written
    if faults:
        raise UserError(f"The answers don't fit the questions: {faults[0]}.", status=422)
    if not predictions:
        raise EntryRefused("target", status=503, name=round_.targets[0], reason="no answer")
    label = answers[round_.question][0]
    if original is not None:
        change = check_contrast(original, text, label, change=change)
        if stored.contrast_of(db, round_.project, original.entry.id):
            raise EntryRefused("taken", status=409)
    key, bands = check_new(db, round_.project, text, but=original.entry.id if original else None)
    entry = Entry(
        entry_id,
        round_.id,
        entry_id,
        author,
        label,
        set="contrast" if original else "original",
        change=change if original else None,
        parent=original.entry.id if original else None,
        strategy=_tidy(strategy),
        support=support,
        predictions=tuple(predictions),
        fooled=predictions[0].label != label,
        seconds=seconds,
    )
    return stored.add(
        db,
        round_,
        entry,
        scheme,
        answers,
        text=text,
        lang=lang,
        key=key,
        bands=bands,
        guideline_version=guideline_version,
        derived_from=derived_from,
    )


def take_back(db: Connection, round_: Round, row: EntryText, *, by: str) -> None:
    """Drop an original for its author, who may enter its text again; refuse where the round or others have gone on.

    The raw rate still counts it, so that nobody takes back what did not fool the target to look better.
    """
    if round_.state != "open":
        raise EntryRefused("closed", status=409, n=round_.number)
    if row.entry.set == "contrast":
        raise EntryRefused("contrast_stays", status=409)
    if row.entry.dropped is not None or not stored.take_back(db, round_, row.entry.id, by=by):
        raise EntryRefused("looked_at", status=409)


def _repeated(known: Entry, round_: Round, author: str) -> Entry:
    """Return the entry that a form made when it was sent before; refuse somebody else's id."""
    if (known.round, known.author) != (round_.id, author):
        raise UserError("This form belongs to another entry. Load the page again.", status=409)
    return known


def _tidy(strategy: str | None) -> str | None:
    named = " ".join((strategy or "").split())
    if len(named) > LONGEST_STRATEGY:
        raise UserError(f"A strategy has at most {LONGEST_STRATEGY} characters, this one has {len(named)}.", status=422)
    return named or None
