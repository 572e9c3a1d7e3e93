"""Make a challenge: a plan and its data files in, a challenge in the store out, all of it or nothing.

The one thing to know: a task whose posts are a part of another's gives the other's labels away, so it is refused
unless the plan says that it comes after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from davy.annotation.project.images import (
    PictureFiles,
    StoredPictures,
    add_pictures,
    pictures_in_folder,
    storing_pictures,
    wanted_names,
)
from davy.challenges.challenge import Challenge, ChallengeEntry, ChallengeTask
from davy.challenges.challenge_file import ChallengePlan, DataFile
from davy.challenges.store import challenges, teams
from davy.core.errors import UserError
from davy.core.reporter import SILENT, Reporter
from davy.corpus.gold import settled_answers
from davy.corpus.post_source import PostSource, load_posts
from davy.files.data_hash import rows_hash
from davy.store import Store

if TYPE_CHECKING:
    import polars as pl


def create_challenge(
    store: Store,
    plan: ChallengePlan,
    folder: Path,
    *,
    by: str,
    organiser: str | None,
    images: Path | None = None,
    reporter: Reporter = SILENT,
) -> Challenge:
    """Make a challenge of a plan whose files are in a folder; `organiser` is the account that runs it.

    `images` is the folder of the posts' pictures, where the plan does not name it.
    """
    plan, frames = _load_data(plan, folder, reporter)
    if images is None and plan.images:
        images = _within(folder, plan.images, "images")
    pictures = pictures_in_folder(images) if images is not None else None
    return create_from_frames(store, plan, frames, by=by, organiser=organiser, pictures=pictures, reporter=reporter)


def create_from_frames(
    store: Store,
    plan: ChallengePlan,
    frames: Mapping[str, pl.DataFrame],
    *,
    by: str,
    organiser: str | None,
    pictures: PictureFiles | None = None,
    reporter: Reporter = SILENT,
) -> Challenge:
    """Make a challenge of a plan and the posts of each of its data sets, with their pictures where they are given."""
    entries = {name: _entries(plan, name, frame) for name, frame in frames.items()}
    _check_labels(plan, entries)
    _check_release(plan, entries)
    wanted = _wanted_pictures(frames, pictures, reporter)
    keeping = nullcontext(None) if pictures is None else storing_pictures(store, pictures, wanted)
    with keeping as stored, store.write() as db:
        add_pictures(db, None, stored, by=by)
        entries = _with_pictures(entries, frames, stored)
        _note_leakage(plan, entries, reporter)
        made = challenges.create(
            db,
            id=plan.name,
            title=plan.title,
            visibility=plan.visibility,
            tasks=plan.tasks,
            phases=plan.phases,
            settings=dict(plan.texts),
            by=by,
        )
        for name, rows in entries.items():
            public = plan.data[name].labels == "public"
            hashed = rows_hash(frames[name].drop("davy.row", strict=False))
            challenges.add_data(db, made.id, name, rows, labels_public=public, data_hash=hashed)
        if organiser is not None:
            teams.add_person(db, made.id, organiser, by=by, organiser=True)
    return made


def _load_data(plan: ChallengePlan, folder: Path, reporter: Reporter) -> tuple[ChallengePlan, dict[str, pl.DataFrame]]:
    """Return the plan, fitted to the splits that a corpus has, and the posts of each data set."""
    import polars as pl

    if plan.corpus is not None:
        posts = load_posts(PostSource(str(folder), corpus=plan.corpus)).frame
        splits = posts["split"].unique().to_list() if "split" in posts.columns else []
        plan = _fit_splits(plan, splits, reporter)
        return plan, {name: posts.filter(pl.col("split") == data.split) for name, data in plan.data.items()}
    frames = {}
    for name, data in plan.data.items():
        path = _inside(folder, data.file, name)
        frame = load_posts(PostSource(str(path))).frame
        if data.split is not None:
            if "split" not in frame.columns:
                raise UserError(f"{data.file} has no column 'split' to take {data.split!r} from (data {name!r}).")
            frame = frame.filter(pl.col("split") == data.split)
        if not len(frame):
            raise UserError(f"The data {name!r} has no posts; see its file and its split.")
        frames[name] = frame
    return plan, frames


def _fit_splits(plan: ChallengePlan, splits: Sequence[str], reporter: Reporter) -> ChallengePlan:
    """Return the plan for the splits that there are: where the hidden one is missing, dev is hidden in its place."""
    missing = [name for name, data in plan.data.items() if data.split not in splits]
    if not missing:
        return plan
    hidden = next((name for name, data in plan.data.items() if data.labels == "hidden"), "")
    if missing != [hidden] or "dev" not in splits:
        raise UserError(f"The files lack the split {plan.data[missing[0]].split!r}; they have {', '.join(splits)}.")
    reporter.note(f"The files have no split {hidden!r}: dev is the hidden set, and there is no phase on public dev.")
    data = {name: each for name, each in plan.data.items() if each.split not in ("dev", plan.data[hidden].split)}
    data[hidden] = DataFile(split="dev", labels="hidden")
    left = [phase for phase in plan.phases if phase.data == hidden]
    return replace(plan, data=data, phases=tuple(replace(each, position=place) for place, each in enumerate(left)))


def _wanted_pictures(frames: Mapping[str, pl.DataFrame], pictures: PictureFiles | None, reporter: Reporter) -> set[str]:
    """Return the pictures that posts name; one that is not there is an error, and no pictures at all are a note."""
    wanted = wanted_names(frames.values())
    if pictures is None:
        if wanted:
            reporter.note(
                f"Posts name {len(wanted):,} pictures, and the kit will have none. Name their folder: --images DIR"
            )
        return wanted
    if not wanted:
        raise UserError(
            f"No post names a picture of {pictures.place}. Give posts a column `image`, or leave images out."
        )
    lost = [name for name, source in pictures.matches(sorted(wanted)).items() if source is None]
    if lost:
        raise UserError(
            f"{len(lost):,} of the {len(wanted):,} pictures that posts name are not in {pictures.place}, such as "
            f"{lost[0][:80]!r}. Add them, or leave images out."
        )
    return wanted


def _with_pictures(
    entries: Mapping[str, Sequence[ChallengeEntry]], frames: Mapping[str, pl.DataFrame], stored: StoredPictures | None
) -> dict[str, list[ChallengeEntry]]:
    """Return the posts of each set with the keys of their pictures."""
    keys = {name: image.key for name, image in (stored or {}).items()}
    found = {}
    for part, frame in frames.items():
        names = frame["image"].to_list() if keys and "image" in frame.columns else [None] * len(frame)
        found[part] = [
            replace(entry, image=keys.get(name or "")) for entry, name in zip(entries[part], names, strict=True)
        ]
    return found


def _within(folder: Path, place: str, what: str) -> Path:
    """Return a file or folder that the plan names, which must lie in the challenge's own folder."""
    path = (folder / place).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise UserError(f"The {what} is at {place!r}, outside the challenge's folder. Put it beside its file.")
    return path


def _inside(folder: Path, file: str, name: str) -> Path:
    """Return a data set's file."""
    if not file:
        raise UserError(f"The data {name!r} names no file. Write {name}: {{file: {name}.csv}}.")
    path = _within(folder, file, f"data {name!r}")
    if not path.is_file():
        raise UserError(f"There is no file {file!r} for the data {name!r} in {folder.name or 'the folder'}.")
    return path


def _entries(plan: ChallengePlan, name: str, frame: pl.DataFrame) -> list[ChallengeEntry]:
    """Return a set's posts with the label of each task that asks about them."""
    labels: dict[str, list[str | None]] = {}
    if plan.data[name].labels != "none":
        columns = {task.name: _column(plan, task, name, frame) for task in plan.tasks}
        labels = {task: values for task, values in _labels(plan, columns, name, frame).items() if values is not None}
    texts, ids = frame["text"].fill_null("").to_list(), frame["id"].to_list()
    return [
        ChallengeEntry(
            str(entry),
            text,
            {task: label for task, values in labels.items() if (label := values[row]) is not None},
        )
        for row, (entry, text) in enumerate(zip(ids, texts, strict=True))
    ]


def _labels(
    plan: ChallengePlan, columns: Mapping[str, str], name: str, frame: pl.DataFrame
) -> dict[str, list[str | None]]:
    """Return each task's labels in the order of the posts; None where it does not ask about a post."""
    import polars as pl

    file = plan.data[name].file or plan.corpus or name
    if plan.scheme is not None:
        by_question = {task.question: columns[task.name] for task in plan.tasks}
        golds = {gold.question.name: gold for gold in settled_answers(frame, plan.scheme, by_question, file=file)}
        labels: dict[str, list[str | None]] = {}
        for task in plan.tasks:
            gold = golds.get(task.question)
            values: list[str | None] = [None] * len(frame)
            for row, given in zip(gold.rows if gold else (), gold.labels if gold else (), strict=True):
                if len(given) != 1:
                    raise UserError(
                        f"{file}: task {task.name!r} needs one label a post; row {row + 1} has {len(given)}."
                    )
                values[row] = given[0]
            labels[task.name] = values
        return labels
    return {
        task.name: [
            value.strip() if value is not None and value.strip() else None
            for value in frame[columns[task.name]].cast(pl.String).to_list()
        ]
        for task in plan.tasks
    }


def _column(plan: ChallengePlan, task: ChallengeTask, name: str, frame: pl.DataFrame) -> str:
    named = plan.columns.get(task.name)
    tried = [named] if named else [f"{task.question}.gold", f"label_{task.question}", task.question, task.name, "label"]
    column = next((each for each in tried if each in frame.columns), None)
    if column is None:
        seen = ", ".join(frame.columns[1:12])
        raise UserError(
            f"The data {name!r} has no column with labels of task {task.name!r} (tried {', '.join(tried)}); it has "
            f"{seen}. Name it: column: C"
        )
    return column


def _check_labels(plan: ChallengePlan, entries: Mapping[str, Sequence[ChallengeEntry]]) -> None:
    """Refuse labels outside a task's, and a task that has no post or one label only in a set that is ranked on."""
    ranked = {phase.data for phase in plan.phases}
    for name, rows in entries.items():
        for task in plan.tasks:
            given = {entry.labels[task.name] for entry in rows if task.name in entry.labels}
            if unknown := sorted(given - set(task.labels)):
                raise UserError(
                    f"The data {name!r} has the label {unknown[0][:60]!r}, which task {task.name!r} does not list; it "
                    f"has {', '.join(task.labels)}."
                )
            if name in ranked and len(given) < 2:
                raise UserError(
                    f"The data {name!r} has fewer than two labels of task {task.name!r}, too few to rank by."
                )


def _check_release(plan: ChallengePlan, entries: Mapping[str, Sequence[ChallengeEntry]]) -> None:
    """Refuse a task whose posts would give away another's labels before it has closed."""
    for phase in plan.phases:
        if plan.data[phase.data].labels == "public":
            continue
        asked = {
            task.name: {entry.id for entry in entries[phase.data] if task.name in entry.labels}
            for task in plan.tasks
            if task.name in phase.windows
        }
        for task in plan.tasks:
            for other, ids in asked.items():
                part = task.name in asked and asked[task.name] < ids
                if part and other not in task.after:
                    raise UserError(
                        f"Task {task.name!r} asks about a part of the posts of {other!r} in {phase.data!r}, which "
                        f"gives labels of {other!r} away. Say so: after: [{other}] under {task.name!r}."
                    )


def _note_leakage(plan: ChallengePlan, entries: Mapping[str, Sequence[ChallengeEntry]], reporter: Reporter) -> None:
    """Say how many posts of a hidden set stand in a public one with their labels."""
    for name, data in plan.data.items():
        if data.labels != "hidden":
            continue
        shown = {(entry.text, entry.image) for entry in entries[name]}
        for other, theirs in plan.data.items():
            if theirs.labels != "public":
                continue
            alike = [entry for entry in entries[other] if (entry.text, entry.image) in shown]
            what = "text and picture" if any(entry.image for entry in alike) else "text"
            if alike:
                reporter.note(
                    f"{len(alike):,} posts of {other!r}, whose labels are public, have the {what} of one in {name!r}."
                )
