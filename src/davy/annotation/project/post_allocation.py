"""Which posts each phase gets and in which order: the pool, shuffled once by the plan's seed, dealt out phase by phase.

A plan, its scheme and frames in; rows of (post, right answers, batch) for each phase out. Nothing is stored here.
Posts that are hard to read are spread out (`spread_severe`, by seed). How hard a post is comes from a column `severity`
or `severity` in `meta`. Else it is 1 if a settled (`Q.gold`) or guessed (`Q.label`) answer is a label that the scheme
calls severe.
"""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from davy.annotation.project.project import Phase
from davy.annotation.project.project_file import REST, PhasePlan, ProjectPlan
from davy.core import Scheme, UserError
from davy.core.annotation import Answers
from davy.core.gold import right_answers
from davy.core.scheme import fold_spelling

if TYPE_CHECKING:
    import polars as pl


Row = tuple[str, Answers | None, str | None]
"""(post id, right answers or None, batch or None): what `items.add` takes."""
SEVERITY_LEVELS = 8


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


def count_known(frame: pl.DataFrame) -> int:
    """Return how many posts of a frame come with a right answer (columns such as `hate.gold`)."""
    import polars as pl

    names = [name for name in frame.columns if name.endswith(".gold")]
    gold = [pl.col(name).cast(pl.String).str.len_chars().fill_null(0) > 0 for name in names]
    return frame.filter(pl.any_horizontal(gold)).height if gold else 0


def fit_sizes(plan: ProjectPlan, n: int, known: int) -> dict[str, int]:
    """Return how many of `n` posts each phase with a size takes: the plan's sizes, or smaller ones if n is too few.

    `known` posts have right answers. Where a phase takes the rest, at least half of the posts stay for it.
    """
    sizes = {phase.name: phase.count for phase in plan.phases if phase.count is not None}
    for phase in plan.phases:
        if phase.behaviour.needs_gold and phase.name in sizes:
            sizes[phase.name] = min(sizes[phase.name], known)
            known -= sizes[phase.name]
            n -= sizes[phase.name]
    others = [phase.name for phase in plan.phases if phase.name in sizes and not phase.behaviour.needs_gold]
    wanted = sum(sizes[name] for name in others)
    room = n // 2 if any(phase.posts == REST for phase in plan.phases) else n
    if wanted > room:
        sizes |= {name: max(1, sizes[name] * room // wanted) for name in others if sizes[name]}
    return sizes


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


def spread_severe(severities: Sequence[float], *, seed: int) -> Sequence[int]:
    """Return places in which posts of each severity are by chance but evenly spaced, the hardest most evenly.

    Of n posts with h hard ones, no stretch of n/h posts has more than two hard ones. Finer severities than
    eight levels are put into eight of equal width.
    """
    chance = random.Random(seed)  # noqa: S311 — an order, not a secret
    n = len(severities)
    places = array("i", bytes(4 * n))
    by_severity: dict[float, list[int]] = {}
    for number, severity in enumerate(_severity_levels(severities)):
        by_severity.setdefault(severity, []).append(number)
    free = array("i", range(n))
    for severity in sorted(by_severity, reverse=True):
        rows = by_severity[severity]
        chance.shuffle(rows)
        step = len(free) / len(rows)
        # One in each stretch of the free places, in its middle half; where stretches are short, so that no two meet.
        wide = min(0.25, 0.499 * (1 - 1 / step))
        chosen = [int((number + chance.uniform(0.5 - wide, 0.5 + wide)) * step) for number in range(len(rows))]
        for row, place in zip(rows, chosen, strict=True):
            places[row] = free[place]
        taken = set(chosen)
        free = array("i", (place for number, place in enumerate(free) if number not in taken))
    return places


def _severity_levels(severities: Sequence[float]) -> Sequence[float]:
    """Return severities in at most `LEVELS` steps, since each step is spread out by a pass over all places."""
    if len(set(severities)) <= SEVERITY_LEVELS:
        return severities
    low, high = min(severities), max(severities)
    return [min(SEVERITY_LEVELS - 1, int((it - low) / (high - low) * SEVERITY_LEVELS)) for it in severities]


def severities(frames: Iterable[pl.DataFrame], scheme: Scheme) -> dict[str, float]:
    """Return the severity of each post that has one above nothing, by id."""
    by_post: dict[str, float] = {}
    for frame in frames:
        ids = [str(it) for it in frame["id"]]
        for post, value in zip(ids, _severities_in(frame, scheme), strict=True):
            if value > 0:
                by_post[post] = value
    return by_post


def _severities_in(frame: pl.DataFrame, scheme: Scheme) -> list[float]:
    if "severity" in frame.columns:
        return [_severity(it) for it in frame["severity"]]
    hard = [0.0] * frame.height
    if "meta" in frame.columns:
        hard = [_severity_in_meta(it) for it in frame["meta"]]
    for question in scheme.questions:
        severe = {fold_spelling(name) for label in question.labels if label.severe for name in label.spellings}
        for column in (f"{question.name}.gold", f"{question.name}.label"):
            if severe and column in frame.columns:
                cells = [{fold_spelling(part) for part in str(it or "").split("|")} for it in frame[column]]
                hard = [max(value, float(bool(severe & cell))) for value, cell in zip(hard, cells, strict=True)]
    return hard


def _severity(value: object) -> float:
    if value is None or value == "":
        return 0.0
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise UserError(f"A post's severity is {str(value)[:40]!r}. Write a number from 0, or leave it empty.")
    return number


def _severity_in_meta(meta: object) -> float:
    if not isinstance(meta, str) or '"severity"' not in meta:
        return 0.0
    try:
        read = json.loads(meta)
    except ValueError:  # the store says so, with the post's id
        return 0.0
    return _severity(read.get("severity")) if isinstance(read, dict) else 0.0
