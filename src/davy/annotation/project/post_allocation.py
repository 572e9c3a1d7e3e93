"""Which posts each phase gets: the pool, shuffled once by the plan's seed, dealt out phase by phase.

A plan, its scheme and frames in; rows of (post, right answers, batch) for each phase out. Nothing is stored here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from davy.annotation.project.project import Phase
from davy.annotation.project.project_file import REST, PhasePlan, ProjectPlan
from davy.core import Scheme, UserError
from davy.core.annotation import Answers
from davy.core.gold import right_answers

if TYPE_CHECKING:
    import polars as pl

Row = tuple[str, Answers | None, str | None]
"""(post id, right answers or None, batch or None): what `items.add` takes."""


def allocate_posts(
    plan: ProjectPlan, scheme: Scheme, posts_in: Sequence[pl.DataFrame], files: Mapping[str, pl.DataFrame]
) -> dict[str, list[Row]]:
    """Return which posts each phase gets. Without any posts at all every phase starts empty."""
    gold = any(phase.behaviour.needs_gold and not phase.file for phase in plan.phases)
    left = [row for frame in posts_in for row in rows_of(frame, scheme, gold=gold)]
    _refuse_repeats(left)
    random.Random(plan.seed).shuffle(left)  # noqa: S311 — an order, not a secret
    drawn: dict[str, list[Row]] = {}
    empty = not posts_in
    for phase in sorted(plan.phases, key=lambda phase: phase.posts == REST):  # whoever takes the rest comes last
        if phase.file is not None:
            drawn[phase.name] = _of_file(phase, files, scheme)
        elif phase.posts == REST:
            drawn[phase.name], left = left, []
        elif empty:
            drawn[phase.name] = []
        else:
            drawn[phase.name] = _take(phase, left)
            taken = {post for post, _, _ in drawn[phase.name]}
            left = [row for row in left if row[0] not in taken]
        need_gold(phase, drawn[phase.name])
        if not phase.behaviour.needs_gold:
            drawn[phase.name] = [(post, None, batch) for post, _, batch in drawn[phase.name]]
        drawn[phase.name] = _batched(phase, drawn[phase.name])
    return drawn


def _take(phase: PhasePlan, left: list[Row]) -> list[Row]:
    """Return the posts that a phase takes from those left; a screening gets some of every class."""
    wanted = phase.count or 0
    usable = [row for row in left if row[1]] if phase.behaviour.needs_gold else left
    if len(usable) < wanted:
        which = " with right answers (columns such as QUESTION.gold)" if phase.behaviour.needs_gold else ""
        raise UserError(
            f"Phase {phase.name!r} takes {wanted:,} posts{which}, and the pool has {len(usable):,} left for it. "
            f"Give more posts, or let the phase take at most {len(usable):,}."
        )
    if not phase.behaviour.needs_gold:
        return usable[:wanted]
    classes: dict[Any, list[Row]] = {}
    for row in usable:
        classes.setdefault(tuple(sorted((row[1] or {}).items())), []).append(row)
    # Half by turns over the classes, so that each is there; the rest as they come, so that common ones stay common.
    turns = [row for turn in range(wanted) for rows in classes.values() for row in rows[turn : turn + 1]]
    chosen = {row[0] for row in turns[: (wanted + 1) // 2]}
    rest = [row[0] for row in usable if row[0] not in chosen][: wanted - len(chosen)]
    return [row for row in usable if row[0] in chosen.union(rest)]


def _of_file(phase: PhasePlan, files: Mapping[str, pl.DataFrame], scheme: Scheme) -> list[Row]:
    frame = files.get(phase.file or "")
    if frame is None:
        raise UserError(f"Phase {phase.name!r} takes its posts from {phase.file!r}, which was not given.")
    rows = rows_of(frame, scheme, gold=phase.behaviour.needs_gold)
    _refuse_repeats(rows)
    return rows


def _batched(phase: PhasePlan, rows: list[Row]) -> list[Row]:
    """Return rows with the names of their batches: those they have, else dealt out in order."""
    if not rows or not phase.batches or any(batch for _, _, batch in rows):
        return rows
    fixed = sum(batch.posts or 0 for batch in phase.batches.values())
    if fixed > len(rows):
        raise UserError(f"The batches of phase {phase.name!r} take {fixed:,} posts, and it has {len(rows):,}.")
    open_ones = [name for name, batch in phase.batches.items() if batch.posts is None]
    share, more = divmod(len(rows) - fixed, len(open_ones)) if open_ones else (0, 0)
    names: list[str | None] = []
    for name, batch in phase.batches.items():
        extra = 1 if name in open_ones[:more] else 0
        names += [name] * (batch.posts if batch.posts is not None else share + extra)
    names += [None] * (len(rows) - len(names))
    return [(post, gold, name) for (post, gold, _), name in zip(rows, names, strict=True)]


def rows_of(frame: pl.DataFrame, scheme: Scheme, *, gold: bool) -> list[Row]:
    """Return a frame's posts, with their right answers where `gold` asks for them."""
    ids = [str(post) for post in frame["id"]]
    answers: Sequence[Answers | None] = right_answers(frame, scheme) if gold else [None] * len(ids)
    batches = (
        [str(batch) if batch else None for batch in frame["batch"]] if "batch" in frame.columns else [None] * len(ids)
    )
    return list(zip(ids, answers, batches, strict=True))


def _refuse_repeats(rows: list[Row]) -> None:
    seen: set[str] = set()
    for post, _, _ in rows:
        if post in seen:
            raise UserError(f"Post id {post!r} is there twice in the posts that were given. Ids must differ.")
        seen.add(post)


def need_gold(phase: Phase | PhasePlan, rows: list[Row]) -> None:
    """Refuse a post without right answers in a phase that judges by them."""
    for post, gold, _ in rows:
        if phase.behaviour.needs_gold and not gold:
            raise UserError(
                f"Phase {phase.name!r} is a {phase.kind}, so every post needs its right answers, and {post!r} has "
                "none. Give them as columns such as QUESTION.gold."
            )
