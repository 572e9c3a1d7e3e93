"""Frames of entries made in a test: what happened to each entry in, the frame that a close reads out."""

from __future__ import annotations

from typing import Any

import polars as pl

from davy import schemes
from davy.core.scheme import Question, Scheme
from davy.rounds.frame import entry_schema
from davy.rounds.round import PAIR_DROPPED

YES, NO = "hateful", "not hateful"
SCHEME: Scheme = schemes.load("hatemoji")
QUESTION: Question = SCHEME.question("hate")


def make_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return rows as entries; what a row does not say is what an undisputed, kept entry has."""
    made = [_row(number, row) for number, row in enumerate(rows)]
    return pl.DataFrame(made, schema=entry_schema(SCHEME))


def _row(number: int, given: dict[str, Any]) -> dict[str, Any]:
    gold = given.get("hate.gold", YES)
    common = {
        "id": f"e{number}",
        "text": f"Wuzzle number {number} 🦞",
        "lang": "en",
        "round": 1,
        "set": "original",
        "author": "Heron",
        "model": "target@1",
        "model.label": NO,
        "labels": f"{gold}|{gold}|{gold}",
        "reviewed": False,
        "hate.gold": gold,
    }
    row = dict.fromkeys(entry_schema(SCHEME)) | common | given
    return row | {"pair": row["pair"] or row["id"]}


def paper_round(number: int, entries: int, dropped: tuple[int, int], reviewed: tuple[int, int]) -> pl.DataFrame:
    """Return a round with the paper's counts: originals, some dropped, a contrast for each that is left."""
    rows = []
    originals, contrasts = dropped
    for i in range(entries):
        gold = YES if i % 2 else NO
        gone = i < originals
        left = i >= entries - contrasts  # these leave with their contrasts
        reason = "unclear" if gone else PAIR_DROPPED if left else None
        rows.append(
            {"id": f"o{i}", "round": number, "dropped": reason, "reviewed": i < reviewed[0],
             "hate.gold": None if gone else gold, "labels": f"{gold}|{gold}|{gold}"}
        )  # fmt: skip
        if not gone:
            other = NO if gold == YES else YES
            place = i - originals
            rows.append(
                {"id": f"c{i}", "pair": f"o{i}", "set": "contrast", "change": "emoji", "round": number,
                 "dropped": "does not flip" if left else None, "reviewed": place < reviewed[1], "hate.gold": other,
                 "labels": f"{other}|{other}|{other}"}
            )  # fmt: skip
    return make_frame(rows)
