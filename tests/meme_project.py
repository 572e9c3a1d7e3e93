"""A small project of memes for tests: source memes, pictures to build from, people, and every phase open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from davy.annotation.labelling import labelling
from davy.annotation.project import images as pictures
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.project import Member, Project
from davy.annotation.project.store import images, members, phases
from davy.annotation.project.store.images import StoredImage
from davy.core import Post
from davy.core.meme import FilterAnswers
from davy.image.picture import read_picture
from davy.memes import meme_tasks
from davy.memes.meme_layout import MemeLayout, caption, stack
from davy.memes.meme_render import render_png
from davy.people.store import users
from davy.store import Connection, Store
from davy.store.columns import new_id
from drawn_memes import draw

PLAN = b"{name: memes, title: Memes, preset: meme-construction, phases: {rating: {answers: 2}}}"
HATEFUL = {"rating": ("definitely hateful",), "protected": ("religion",), "attack": ("slur",)}
HARMLESS = {"rating": ("definitely not hateful",)}
PEOPLE = ("ada", "bo", "cy", "di")


@dataclass
class MemeBench:
    """A project of memes. `library` are the keys of pictures that it may build from."""

    store: Store
    project: Project
    people: dict[str, Member]
    library: list[str]
    source: dict[str, str] = field(default_factory=dict)
    """Keys of the source memes' own pictures, by the id of their post."""

    def filter(self, name: str, answers: FilterAnswers | None = None, *, seconds: float = 60) -> tuple[Post, str]:
        """Let a person filter their next source meme, and return it with what became of it."""
        with self.store.write() as db:
            task = meme_tasks.next_task(db, self.project, self.people[name], "filter")
            assert task is not None
            passed = FilterAnswers(True, replacements=(self.library[0],), preserves=True)
            return task.post, meme_tasks.save_filter(db, task, answers or passed, seconds=seconds)

    def build(self, name: str, words: str = "look at this lamp", *, seconds: float = 120) -> Post:
        """Let a person build their next meme."""
        with self.store.write() as db:
            task = meme_tasks.next_task(db, self.project, self.people[name], "build")
        assert task is not None
        layout = caption(stack([(key, 320, 240) for key in task.images], 320), words)
        return self.save(name, task.id, layout, seconds=seconds)

    def confound(self, name: str, side: str, *, words: str = "lamps are fine", seconds: float = 30) -> Post:
        """Let a person replace one side of the hateful meme that they have, or get."""
        with self.store.write() as db:
            task = meme_tasks.next_task(db, self.project, self.people[name], "confounders")
        assert task is not None
        assert task.layout is not None
        layout = MemeLayout.from_dict(task.layout)
        if side == "text":
            layout = caption(layout.with_texts(()), words)
        else:
            other = next(key for key in self.library if key not in task.images)
            layout = caption(stack([(other, 320, 240)], 320), task.post.text)
        return self.save(name, task.id, layout, side=side, seconds=seconds)

    def save(self, name: str, task_id: str, layout: MemeLayout, **more: Any) -> Post:
        """Render a layout and keep it as the meme that came of a task."""
        kept = keep(self.store, render_png(layout, pictures.folder_of(self.store).read), "built.png")
        with self.store.write() as db:
            images.add(db, self.project.id, [kept], by="shell")
            task = meme_tasks.open_task(db, self.project, self.people[name], task_id)
            return meme_tasks.save_meme(db, task, layout, image=kept.key, **more)

    def rate(self, post: Post, names: Sequence[str], *answers: Any) -> None:
        """Let people rate a meme; the last answers are those of all who come after."""
        for place, name in enumerate(names):
            with self.store.write() as db:
                sheet = labelling.next_sheet(db, self.project, self.people[name])
                assert sheet is not None
                assert sheet.post.id == post.id
                given = answers[min(place, len(answers) - 1)]
                labelling.save(db, sheet, given, annotation_id=new_id(), seconds=20)


def keep(store: Store, data: bytes, name: str, licence: str = "CC0-1.0") -> StoredImage:
    """Keep a picture's file, and return what `images.add` takes."""
    kept = pictures.folder_of(store).put(read_picture(data))
    return StoredImage(kept.key, name, kept.width, kept.height, kept.size, kept.mime, licence, "drawn for tests")


def add_annotator(bench: MemeBench, name: str) -> None:
    """Let one more person work in the project."""
    with bench.store.write() as db:
        bench.people[name] = _join(db, bench.project, name)


def _join(db: Connection, project: Project, name: str) -> Member:
    user = users.add(db, login=f"{name}@example.org", name=name, role="annotator", by="shell")
    member = members.add(db, project.id, user.id, ["annotator"], by="shell")
    members.consent(db, project.id, user.id)
    return member


def make_memes(store: Store, *, n: int = 3, people: Sequence[str] = PEOPLE, plan: bytes = PLAN) -> MemeBench:
    """Return a project with `n` source memes and three pictures to build from."""
    frame = pl.DataFrame(
        {"id": [f"s{number}" for number in range(n)], "text": [f"source {number}" for number in range(n)],
         "lang": ["en"] * n, "image": [f"s{number}.png" for number in range(n)]}
    )  # fmt: skip
    sources = [keep(store, draw(number), f"s{number}.png") for number in range(n)]
    library = [keep(store, draw(10 + number), f"lib{number}.png") for number in range(3)]
    with store.write() as db:
        read = project_file.parse_plan(plan, "memes.yaml")
        project = project_creation.create_project(db, read, by="shell", posts_in=[frame]).project
        images.add(db, project.id, [*sources, *library], by="shell")
        images.link(db, project.id, {it.name: it.key for it in sources})
        roster = {}
        for name in people:
            roster[name] = _join(db, project, name)
        for phase in phases.of_project(db, project.id):
            if phase.kind != "training":
                phases.open_phase(db, phase.id, by="shell")
    keys = {f"s{number}": it.key for number, it in enumerate(sources)}
    return MemeBench(store, project, roster, [it.key for it in library], keys)
