"""`davy round attack`: an automatic opponent tries the papers' strategies against a detector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from davy.actions.round_attack import MOST_SEEDS, attack_target
from davy.cli import console
from davy.core.round import RELEASE_TERMS
from davy.rounds.attacker import STRATEGIES, TRIES, AttackResult

SHOWN = 10


def attack(
    seeds: Annotated[str, typer.Argument(metavar="SEEDS", help="A file of texts to start from, labelled or not.")],
    target: Annotated[str, typer.Option("--target", "-t", metavar="M", help="The detector to get past.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write what got through.")] = None,
    question: Annotated[str | None, typer.Option("--question", help="The yes/no question; default: the first.")] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="The column with the seeds' true labels; default: QUESTION.gold.")
    ] = None,
    strategy: Annotated[
        list[str] | None, typer.Option("--strategy", help=f"One of {', '.join(STRATEGIES)}; again for more.")
    ] = None,
    tries: Annotated[int, typer.Option("--tries", min=1, max=50, help="Texts a seed and strategy.")] = TRIES,
    most: Annotated[int, typer.Option("--most", min=1, help="How many seeds to take.")] = MOST_SEEDS,
    seed: Annotated[int, typer.Option("--seed", help="Seed of what is drawn by chance.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Try the papers' strategies on seed texts against a detector, and list what got through.

    It proposes; only people label. Put what got through into a round, where people say what it truly is.
    Seeds without a label count as what the target says of them; seeds that the target gets wrong already are left out.
    At most 100,000 texts are tried: seeds x strategies x tries.

    Examples:

        davy round attack seeds.csv --target embedded --out through.jsonl

        davy round attack seeds.csv --target embedded --strategy "emoji letters" --tries 20
    """

    with console.ShellReporter() as reporter:
        result = attack_target(
            seeds,
            target,
            out=out,
            question=question,
            label=label,
            strategies=strategy or (),
            tries=tries,
            most=most,
            seed=seed,
            reporter=reporter,
        )
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
