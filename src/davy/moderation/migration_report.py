"""What `davy migrate compare` writes: figures, curves, a page of disagreements to read, and a place to sign.

A comparison in, a folder of files out. Disagreements are drawn with the comparison's seed and shown masked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from davy.files.atomic import make_folder, write_json, write_text
from davy.moderation.migrate import AttributeComparison, Migration
from davy.moderation.threshold_file import thresholds_yaml
from davy.report.page import Page, Provenance
from davy.report.plots import line
from davy.report.tables import Column, Table

SHOWN = 20
"""Disagreements of one kind that are shown."""


def write_migration(migration: Migration, out: Path, *, log: str = "", command: str = "") -> list[Path]:
    """Write `thresholds.yaml`, `compare.json`, `report.html` and `disagreements.html` into a folder; return them."""
    make_folder(out)
    provenance = Provenance(
        data=Path(log).name,
        model=f"{migration.model['name']} {migration.model['version']}",
        seed=migration.seed,
        command=command,
    )
    return [
        write_text(out / "thresholds.yaml", thresholds_yaml(migration)),
        write_json(out / "compare.json", migration.to_dict()),
        _report(migration, log, provenance).write(out / "report.html"),
        _disagreements(migration, provenance).write(out / "disagreements.html"),
    ]


def _report(migration: Migration, log: str, provenance: Provenance) -> Page:
    page = Page(
        "Perspective's scores and ours",
        lead=f"{migration.posts:,} posts of {Path(log).name}, scored again by {migration.model['name']}.",
        provenance=provenance,
    )
    page.section(
        "Figures",
        "The new threshold flags the same share of posts as the old one did on the old scores. It does not flag the "
        "same posts. Kept is the share of the old flags that are flagged again. Same is the share of posts whose "
        "decision stays. It is high wherever few posts are flagged, so read κ beside it.",
        "The page disagreements.html shows posts that are decided differently. Read them before you sign.",
    )
    page.table(migration.table())
    for note in migration.notes():
        page.say(note)
    for it in migration.attributes:
        page.section(it.attribute, f"Behind it: {it.source.text}.")
        for one in (it, *it.languages):
            where = "all languages" if not one.lang else one.lang
            page.plot(_flag_curves(one), f"{where}: the share flagged at each threshold. Old: {one.old_threshold:g}.")
    page.section("Signed", "One line per threshold. Take it, or say what has to come first.")
    page.table(_signatures(migration))
    return page


def _signatures(migration: Migration) -> Table:
    columns = (
        *(Column("attribute"), Column("language"), Column("threshold", "metric")),
        *(Column(name) for name in ("taken", "by", "on")),
    )
    rows = [(it.attribute, it.lang or "all", it.figures.threshold, "", "", "") for it in migration.comparisons]
    return Table(columns, tuple(rows))


def _disagreements(migration: Migration, provenance: Provenance) -> Page:
    page = Page(
        "Posts that are decided differently",
        lead=f"At most {SHOWN} of each kind, drawn with the seed {migration.seed}. A row is a post's place in the log.",
        provenance=provenance,
        texts=True,
    )
    for it in migration.attributes:
        for one in it.languages or (it,):
            cut = one.figures.threshold.value
            if cut is None:
                continue
            page.section(one.title, f"Old threshold {one.old_threshold:g}, new threshold {cut:.3f}.")
            before, now = one.old >= one.old_threshold, one.new >= cut
            for title, which in (
                ("Flagged before, not now", before & ~now),
                ("Flagged now, not before", now & ~before),
            ):
                shown = f". {SHOWN} of them are shown" if which.sum() > SHOWN else ""
                page.heading(f"{title}: {int(which.sum()):,} of {len(one.old):,} posts{shown}")
                if which.any():
                    page.table(_drawn(migration, one, np.flatnonzero(which)))
    return page


def _drawn(migration: Migration, it: AttributeComparison, places: Any) -> Table:
    draw = np.random.default_rng(migration.seed)
    shown = np.sort(draw.choice(places, min(SHOWN, len(places)), replace=False))
    columns = (
        Column("row", "count"),
        Column("text", "text"),
        Column("old score", "number"),
        Column("new score", "number"),
    )
    return Table(
        columns,
        tuple(
            (int(it.rows[place]) + 1, migration.texts[it.rows[place]], float(it.old[place]), float(it.new[place]))
            for place in shown
        ),
    )


def _flag_curves(it: AttributeComparison) -> Any:
    grid = np.linspace(0, 1, 51)
    curves = {
        "Perspective": [(float(x), float((it.old >= x).mean())) for x in grid],
        "Davy": [(float(x), float((it.new >= x).mean())) for x in grid],
    }
    return line(curves, x="threshold", y="share flagged")
