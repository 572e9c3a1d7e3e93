"""`davy round attack`: an automatic opponent tries the papers' strategies against a detector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from davy.core.options import Option
from davy.rounds.attack import attack_target
from davy.rounds.attacker import AttackResult
from davy.rounds.round import RELEASE_TERMS
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

SHOWN = 10


@verb_command(attack_target, "seeds target out question label strategy tries most seed json")
def attack(
    run: Run[AttackResult],
    out: Path | None,
    json: Annotated[bool, Option("Print the figures as JSON.")] = False,
) -> None:
    """Try the papers' strategies on seed texts against a detector, and list what got through.

    It proposes; only people label. Put what got through into a round, where people say what it truly is.
    Seeds without a label count as what the target says of them; seeds that the target gets wrong already are left out.
    At most 100,000 texts are tried: seeds x strategies x tries.

    Examples:

        davy round attack seeds.csv --target embedded --out through.jsonl

        davy round attack seeds.csv --target embedded --strategy "emoji letters" --tries 20
    """

    result = run()
    if json:
        console.json(as_json(result))
    else:
        _show(result)
    if out is not None:
        console.note(f"Wrote {len(result.proposals):,} texts to {out}. Nobody has confirmed them.\n{RELEASE_TERMS}")


def as_json(result: AttackResult) -> dict[str, object]:
    """Return the figures of an attack without any text."""
    return {
        "target": result.target,
        "question": result.question,
        "seeds": result.seeds,
        "already_wrong": result.already_wrong,
        "strategies": [
            {"strategy": it.strategy, "seeds": it.seeds, "texts": it.texts, "through": it.through}
            for it in result.counts
        ],
        "release_terms": RELEASE_TERMS,
    }


def _show(result: AttackResult) -> None:
    rows = [
        (it.strategy, it.seeds, it.texts, it.through, f"{it.through / it.seeds:.0%}" if it.seeds else "–")
        for it in result.counts
    ]
    columns = ("strategy", "seeds", "texts", "got through", "share of seeds")
    console.table(columns, rows, right=columns[1:], title=f"{result.question} by {result.target}")
    if result.already_wrong:
        print(
            f"{result.already_wrong:,} of {result.seeds:,} seeds were left out: the target gets them wrong as they are."
        )
    drops = sorted(result.proposals, key=lambda it: it.after - it.before)[:SHOWN]
    if drops:
        console.table(
            ("strategy", "text", "before", "after"),
            [(it.strategy, it.text, f"{it.before:.3f}", f"{it.after:.3f}") for it in drops],
            right=("before", "after"),
            title="The largest drops",
        )
