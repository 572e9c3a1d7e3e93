"""The demo's memes: a library of pictures that we drew, source memes, and what three colleagues made of some of them.

Memes of every kind are there, and work for whoever signs in: to filter, to build, to rate and to confound. Everything
is made through the same functions that pages use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from davy.annotation.labelling import labelling
from davy.annotation.project import images as pictures
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.images import Credit
from davy.annotation.project.project import Member, Project
from davy.annotation.project.store import images, members, phases
from davy.core import Post
from davy.core.meme import FLIP_ANSWERS, FilterAnswers
from davy.image.picture import read_picture
from davy.memes import meme_tasks
from davy.memes.building import keep_meme, start_layout
from davy.memes.image_library import add_to_library
from davy.memes.meme_layout import MemeLayout, caption, stack, with_pictures
from davy.memes.meme_render import render_png
from davy.memes.meme_tasks import MemeTask
from davy.memes.store import image_library
from davy.people.store import users
from davy.store import Store, events
from davy.store.columns import new_id

PROJECT = "valley-memes"
CREDIT = Credit("Apache-2.0", "drawn by the Davy developers", "demo")
ANSWERS = {
    "h": {
        "rating": ("definitely hateful",),
        "protected": ("nationality",),
        "attack": ("negative stereotype",),
    },
    "n": {"rating": ("definitely not hateful",)},
    "u": {"rating": ("not sure",)},
}
"""What a letter of a source meme's `ratings` means."""


@dataclass
class _Team:
    """The project under way: who works on it, and how each meme is rated, by its post's id."""

    store: Store
    project: Project
    people: list[Member]
    rows: Mapping[str, dict[str, Any]]
    keys: Mapping[str, str]
    """Keys of the library's pictures, by file name."""
    ratings: dict[str, str] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The row that each built meme came from, by its post's id."""


def add_memes(store: Store, people: Mapping[str, str], folder: Path) -> None:
    """Add the library and the project; `people` are the ids of humphry, jane and michael."""
    add_to_library(store, folder / "library" / "library.csv", credit=CREDIT, by=events.SYSTEM)
    with store.read() as db:
        keys = {row.image.name: row.key for row in image_library.all_images(db)}
    rows = [json.loads(line) for line in (folder / "source_memes.jsonl").read_text(encoding="utf-8").splitlines()]
    team = _project(store, people, folder, {row["id"]: row for row in rows}, keys)
    builder, second, third = team.people
    _each(team, builder, "filter", _filter)
    _each(team, builder, "build", _build)
    for rater in (second, third):
        _rate(team, rater)
    _each(team, second, "confounders", _confound)
    for rater in (builder, third):
        _rate(team, rater)
    with store.write() as db:
        members.set_roles(db, PROJECT, people["humphry"], ["manager", "annotator"], by=events.SYSTEM)
        members.add(db, PROJECT, people["jane"], ["expert", "wellbeing"], by=events.SYSTEM)
        members.add(db, PROJECT, people["michael"], ["annotator"], by=events.SYSTEM)


def _project(
    store: Store, people: Mapping[str, str], folder: Path, rows: Mapping[str, dict[str, Any]], keys: Mapping[str, str]
) -> _Team:
    import polars as pl

    plan = project_file.read_plan(folder / f"{PROJECT}.yaml")
    drawn = {row["id"]: _draw_source(store, row, keys[row["scene"]]) for row in rows.values()}
    frame = pl.DataFrame(
        [
            {"id": row["id"], "text": row["text"], "lang": "en", "image": drawn[row["id"]].key, "source": "demo"}
            for row in rows.values()
        ]
    )
    with store.write() as db:
        project = project_creation.create_project(db, plan, by=people["humphry"], posts_in=[frame]).project
        images.add(db, project.id, drawn.values(), by=events.SYSTEM)
        colleagues = [users.find(db, login) for login in ("ada", "karl", "lena")]
        team = [members.add(db, project.id, one.id, ["annotator"], by=events.SYSTEM) for one in colleagues if one]
        for member in team:
            members.consent(db, project.id, member.user)
        for phase in phases.of_project(db, project.id):
            phases.open_phase(db, phase.id, by=people["humphry"])
    return _Team(store, project, team, rows, keys)


def _draw_source(store: Store, row: Mapping[str, Any], scene: str) -> images.StoredImage:
    """Draw a source meme as others make theirs: another font, yellow."""
    top, _, bottom = row["text"].partition("\n")
    folder = pictures.folder_of(store)
    about = folder.read(scene).image
    layout = caption(stack([(scene, *about.size)], 480), top, bottom, font="DejaVu Sans", colour="#ffe14d")
    kept = folder.put(read_picture(render_png(layout, folder.read)))
    return images.StoredImage(
        kept.key, f"{row['id']}.png", kept.width, kept.height, kept.size, kept.mime, CREDIT.licence, CREDIT.credit
    )


def _each(team: _Team, member: Member, task: str, work: Callable[[_Team, Member, MemeTask], bool]) -> None:
    """Give somebody every meme that waits in a phase; those that `work` leaves alone wait on for others."""
    seen: set[str] = set()
    while True:
        with team.store.write() as db:
            held = meme_tasks.next_task(db, team.project, member, task)
        if held is None:
            return
        known = held.id in seen
        if known or not work(team, member, held):
            with team.store.write() as db:
                meme_tasks.skip(db, held)
        if known:
            return
        seen.add(held.id)


def _filter(team: _Team, member: Member, task: MemeTask) -> bool:  # noqa: ARG001 — as every kind of work
    row = team.rows[task.post.id]
    if "discard" in row:
        answers = FilterAnswers(row["discard"] != "language", slurs=row["discard"] == "slur")
    elif "replace" in row:
        chosen = tuple(team.keys[name] for name in row["replace"])
        answers = FilterAnswers(True, replacements=chosen, preserves=True)
    else:
        return False
    with team.store.write() as db:
        meme_tasks.save_filter(db, task, answers, seconds=140)
    return True


def _build(team: _Team, member: Member, task: MemeTask) -> bool:
    row = team.rows[task.post.id]
    if "ratings" not in row:
        return False
    layout = start_layout(team.store, team.project.id, task.images, task.post.text)
    made = _save(team, member, task, layout, seconds=390)
    team.ratings[made.id], team.sources[made.id] = row["ratings"], row
    return True


def _confound(team: _Team, member: Member, task: MemeTask) -> bool:
    row = team.sources[task.post.id]
    if "image" not in row:
        return False
    assert task.layout is not None
    base = MemeLayout.from_dict(task.layout)
    for side, wanted in (("image", row["image"]), ("text", row["words"])):
        if wanted in FLIP_ANSWERS:
            with team.store.write() as db:
                meme_tasks.answer_side(db, task, side, wanted, seconds=60)
            continue
        what, ratings = wanted
        if side == "image":
            with team.store.read() as db:
                (found,) = images.of_posts(db, team.project.id, [team.keys[what]])
            layout = with_pictures(base, [(found.key, found.width, found.height)])
        else:
            layout = caption(base.with_texts(()), *what.split("\n"))
        team.ratings[_save(team, member, task, layout, seconds=210, side=side).id] = ratings
    return True


def _save(team: _Team, member: Member, task: MemeTask, layout: MemeLayout, **more: Any) -> Post:
    built = keep_meme(team.store, team.project.id, layout, by=member.user)
    with team.store.write() as db:
        held = meme_tasks.open_task(db, team.project, member, task.id)
        return meme_tasks.save_meme(db, held, layout, image=built.key, **more)


def _rate(team: _Team, member: Member) -> None:
    """Let somebody rate every meme that still has a rating to get; the others wait on."""
    seen: set[str] = set()
    while True:
        with team.store.write() as db:
            sheet = labelling.next_sheet(db, team.project, member)
            if sheet is None:
                return
            left = team.ratings.get(sheet.post.id, "")
            if not left:
                labelling.skip(db, sheet)
                if sheet.assignment.id in seen:
                    return
                seen.add(sheet.assignment.id)
                continue
            labelling.save(db, sheet, ANSWERS[left[0]], annotation_id=new_id(), seconds=45)
            team.ratings[sheet.post.id] = left[1:]
