"""`davy model shadow`: where a server's second detector decides otherwise than the one that answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import open_store

if TYPE_CHECKING:
    from davy.moderation.shadow import ShadowComparison


def shadow(
    differences: Annotated[
        int, typer.Option("--differences", help="Also print so many posts on which they differ.", min=0, max=1000)
    ] = 0,
    database: Database = None,
    json: Json = False,
) -> None:
    """Report where a shadow (davy serve --shadow) decides otherwise than the detector that answered.

    Texts are in the report only where the server keeps them (--shadow-texts); they are printed masked.

    Examples:

        davy model shadow

        davy model shadow --differences 20 --json
    """
    from davy.moderation.shadow import compare_shadows

    with open_store(database) as store:
        found = compare_shadows(store, differences=differences)
    if json:
        console.json([comparison.to_dict() for comparison in found])
        return
    if not found:
        console.note("No shadow has scored anything yet. Start one: davy serve --shadow MODEL")
    for comparison in found:
        rows = [
            (
                row.question,
                row.lang,
                row.n,
                row.both,
                row.only_model,
                row.only_shadow,
                row.other,
                f"{100 * row.share:.1f} ({100 * row.low:.1f}–{100 * row.high:.1f})",
                "–" if row.distance is None else f"{row.distance:.3f}",
            )
            for row in comparison.rows
        ]
        title = f"{comparison.model}, and {comparison.shadow} as its shadow"
        numbers = ["posts", "both", "only it", "shadow", "other", "differ, %", "apart"]
        console.table(["question", "lang", *numbers], rows, title=title, right=numbers)
        console.note(
            "both: both said yes; only it, shadow: one alone did; other: another label; apart: mean distance of scores."
        )
        _print_differences(comparison)


def _print_differences(comparison: ShadowComparison) -> None:
    rows = [
        (
            f"{it.at:%Y-%m-%d %H:%M}",
            it.question,
            it.label,
            it.shadow_label,
            "" if it.probability is None else f"{it.probability:.3f}",
            "" if it.shadow_probability is None else f"{it.shadow_probability:.3f}",
            console.masked_text(it.text) if it.text else "not kept",
        )
        for it in comparison.differences
    ]
    if rows:
        console.table(["when", "question", "answered", "shadow", "score", "shadow's", "text"], rows)
