"""Work on memes besides rating them: filter source memes, build memes from them, look for confounders.

A person takes the next meme of such a phase as they take a post to label, for a while and alone, and what comes of it
goes on by itself: what passes the filter waits to be built, what is built waits to be rated, and what is settled as
hateful waits for confounders, which are rated like any meme. All functions work in the caller's transaction. The
builder of a meme is its author, so that they never rate it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from davy.annotation.care import care
from davy.annotation.labelling import eligibility
from davy.annotation.labelling.store import assignments, item_selection, items, tallies
from davy.annotation.labelling.store.item_selection import HeldAssignment
from davy.annotation.project import settings as project_settings
from davy.annotation.project.project import Member, Phase, Project
from davy.annotation.project.settings import ConfounderBounds
from davy.annotation.project.store import images, phases, picture_locks, posts
from davy.core import Post, Source, UserError
from davy.core.meme import FLIP_ANSWERS, FLIPPED, PASSED, SIDES, FilterAnswers
from davy.memes import meme_families
from davy.memes.meme_families import meme_phases
from davy.memes.meme_layout import MemeLayout
from davy.memes.store import meme_steps
from davy.store import Connection
from davy.store.columns import new_id, now
from davy.text.word_edits import count_edits

LONGEST_STEP = 3 * 3600.0
"""No step counts for more seconds than this, whatever the browser says."""
UNDONE = "undone"
"""The result of a step that takes the one before it back."""


@dataclass(frozen=True, slots=True)
class MemeTask:
    """One meme before one person: a source meme to filter or to build from, or a hateful one to confound."""

    project: Project
    member: Member
    held: HeldAssignment
    images: tuple[str, ...] = ()
    """The keys of the pictures that were chosen to replace its own; of a hateful meme, those that it is made of."""
    layout: Mapping[str, Any] | None = None
    """The layout to begin from, where the meme has one."""

    @property
    def id(self) -> str:
        """The assignment, by which pages name it."""
        return self.held.assignment.id

    @property
    def phase(self) -> Phase:
        """The phase that it belongs to."""
        return self.held.phase

    @property
    def task(self) -> str:
        """What is to be done: one of `core.phase_kind.TASKS`."""
        return self.phase.behaviour.task or ""

    @property
    def post(self) -> Post:
        """The meme."""
        return self.held.post

    @property
    def key(self) -> str:
        """The key of the meme's post."""
        return self.held.item.post


def next_task(db: Connection, project: Project, member: Member, task: str) -> MemeTask | None:
    """Return the next meme for a person, kept for them for a while; None where there is nothing for them now."""
    every = phases.of_project(db, project.id)
    if project.state != "open":
        return None
    at = now()
    for phase in every:
        if phase.behaviour.task != task or not eligibility.may_work(member, phase, every):
            continue
        meme_families.add_hateful(db, project, phase)
        lease = eligibility.lease_of(phase)
        held = item_selection.find_in_phase(db, phase.id, member.user)
        held = held and assignments.renew(db, held, lease=lease, at=at)
        if held is None and eligibility.has_time(phase, at):
            held = assignments.take(db, phase, member.user, lease=lease, at=at, quota=eligibility.quota(phase))
        if held is not None:
            return _task(db, project, member, held)
    return None


def has_task(db: Connection, member: Member, phase: Phase) -> bool:
    """Return whether a phase has a meme for a person now: one that they hold, or one that nobody else has."""
    if item_selection.find_in_phase(db, phase.id, member.user) is not None:
        return True
    tally = tallies.get(db, phase.id, member.user)
    if item_selection.find_fresh(db, tally, (), after=tallies.NOWHERE) is not None:
        return True
    return item_selection.find_left_over(db, phase.id, member.user, ()) is not None


def open_task(db: Connection, project: Project, member: Member, assignment_id: str) -> MemeTask:
    """Return a meme by its assignment: 403 for somebody else's, 409 where it is no longer this person's."""
    held = item_selection.get_held(db, assignment_id, lock=False)
    if held is None or held.phase.project != project.id or held.phase.behaviour.task is None:
        raise UserError("There is no such meme in this project. Go on with the next one.", status=404)
    if held.assignment.annotator != member.user:
        raise UserError("This meme is before somebody else. Go on with your own next one.", status=403)
    if member.left_at is not None or project.state != "open" or held.phase.state != "open":
        raise UserError(f"Phase {held.phase.name!r} is closed, so nothing more is saved in it.", status=409)
    if held.assignment.state in ("lapsed", "skipped"):
        again = assignments.retake(db, held, lease=eligibility.lease_of(held.phase), at=now())
        if again is None:
            raise UserError("This meme went to others in the meantime. Go on with the next one.", status=409)
        held = again
    if held.assignment.state != "held":
        raise UserError("You dealt with this meme already. Go on with the next one.", status=409)
    return _task(db, project, member, held)


def skip(db: Connection, task: MemeTask) -> None:
    """Put a meme off: others may have it, and this person gets it again when nothing else is left."""
    assignments.skip(db, task.held, at=now())


def undo(db: Connection, project: Project, member: Member, task: str) -> MemeTask:
    """Put the meme that a person dealt with last in a phase before them again, while nobody has gone on from there."""
    own = [it.id for it in phases.of_project(db, project.id) if it.behaviour.task == task and it.state == "open"]
    last = assignments.last_assignment(db, member.user, own)
    held = item_selection.get_held(db, last, lock=True) if last else None
    if held is None or project.state != "open":
        raise UserError("There is nothing of yours that could be taken back here.", status=409)
    if held.assignment.state == "skipped":
        return open_task(db, project, member, held.assignment.id)
    if held.post.image and picture_locks.is_locked(db, held.post.image):
        raise UserError("This picture is locked. That can't be taken back.", status=409)
    if task == "confounders" and _others_went_on(db, held):
        raise _gone_on_error()
    done = meme_steps.newest(db, held.item.post, task) if task != "confounders" else None
    following = {"filter": meme_phases(db, project).build, "build": meme_phases(db, project).rating}.get(task)
    onward = None if done is None else done.made or held.item.post
    if following is not None and onward is not None and not items.remove_untouched(db, following.id, onward):
        raise _gone_on_error()
    if done is not None:
        meme_steps.add(
            db, held.phase, held.item.post, task, UNDONE, details=done.details, made=done.made, by=member.user
        )
    again = assignments.take_back(db, held, lease=eligibility.lease_of(held.phase), at=now())
    return _task(db, project, member, again)


def _others_went_on(db: Connection, held: HeldAssignment) -> bool:
    """Return whether another person has a meme that was offered again, or answered a side of it since."""
    in_hand = held.item.state == "open" and held.item.room < 1
    done_at = held.assignment.done_at
    steps = (it for it in meme_steps.of_post(db, held.item.post) if it.by != held.assignment.annotator)
    return in_hand or any(done_at is None or it.at is None or it.at > done_at for it in steps)


def _gone_on_error() -> UserError:
    return UserError("Others have gone on with this meme already, so it stays as it is.", status=409)


def keep_answers(db: Connection, task: MemeTask) -> None:
    """Leave both sides of a hateful meme as they were answered, after they were opened again."""
    _need(task, "confounders")
    if meme_families.family_of(db, task.project, task.key).open_sides:
        raise UserError("A side of this meme has no answer yet. Answer it first.", status=422)
    _finish(db, task, "settled", None)


def save_filter(db: Connection, task: MemeTask, answers: FilterAnswers, *, seconds: float | None = None) -> str:
    """Keep what a person says of a source meme, and return its result; one that passes waits to be built."""
    _need(task, "filter")
    result = answers.result
    for key in answers.replacements if result == PASSED else ():
        if images.find(db, task.project.id, key) is None:
            raise UserError("A picture that you chose is not there any more. Choose another one.", status=409)
    details = {
        "violations": list(answers.violations),
        "slurs": answers.slurs,
        "replacements": list(answers.replacements) if result == PASSED else [],
    }
    _step(db, task, "filter", result, details=details, seconds=seconds)
    _finish(db, task, "settled" if result == PASSED else "dropped", seconds)
    build = meme_phases(db, task.project).build
    if result == PASSED and build is not None:
        meme_steps.enqueue(db, build, [task.key], by=task.member.user)
    return result


def save_meme(
    db: Connection,
    task: MemeTask,
    layout: MemeLayout,
    *,
    image: str,
    seconds: float | None = None,
    side: str | None = None,
    distance: int | None = None,
) -> Post:
    """Keep a meme that was built, and return its post, which waits to be rated; `image` is its rendering's key.

    With `side` it is a confounder that replaces this side of a hateful meme and leaves the other as it is; `distance`
    says in how many bits its picture's hash differs from the meme's. How much it changed is kept in its `meta`.
    """
    _need(task, "confounders" if side else "build")
    rating = meme_phases(db, task.project).rating
    if rating is None:
        raise UserError("This project has no phase where memes are rated. Add one of kind rating.", status=409)
    if not layout.text or not layout.images:
        raise UserError("A meme has a picture and a text. Add what is missing.", status=422)
    if images.find(db, task.project.id, image) is None:
        raise UserError("The meme's picture is not there. Save it again.", status=409)
    about: dict[str, Any] = {"source_meme": task.post.id}
    if side is not None:
        _check_side(task, layout, side)
        about = {"side": side, "change": measure_change(task, layout, side, distance)}
    made = Post(
        new_id(),
        layout.text,
        task.post.lang,
        image,
        Source("confounder" if side else "built meme", licence=_licence(db, task.project, layout)),
        task.post.id if side else None,
        {"author": task.member.user, "layout": layout.to_dict(), **about},
    )
    key = posts.add(db, made, project=task.project.id, by=task.member.user)
    meme_steps.enqueue(db, rating, [key], by=task.member.user)
    if side is None:
        _step(db, task, "build", "built", made=key, seconds=seconds)
        _finish(db, task, "settled", seconds)
    else:
        _answer(db, task, side, FLIPPED, made=key, seconds=seconds)
    return made


def answer_side(db: Connection, task: MemeTask, side: str, answer: str, *, seconds: float | None = None) -> None:
    """Keep that nothing can flip a side of a hateful meme, or that no replacement was found for it."""
    _need(task, "confounders")
    if side not in SIDES or answer not in FLIP_ANSWERS or answer == FLIPPED:
        raise UserError("Say of the picture or the text that nothing can flip it, or that none was found.", status=422)
    _answer(db, task, side, answer, seconds=seconds)


def _answer(
    db: Connection, task: MemeTask, side: str, answer: str, *, made: str | None = None, seconds: float | None
) -> None:
    """Keep the answer for a side; when both have one, the meme is done."""
    earlier, rating = meme_steps.newest(db, task.key, side), meme_phases(db, task.project).rating
    if earlier is not None and earlier.made and rating is not None:
        items.remove_untouched(db, rating.id, earlier.made)  # a second thought before anybody rated the first
    _step(db, task, side, answer, made=made, seconds=seconds)
    family = meme_families.family_of(db, task.project, task.key)
    if not family.open_sides:
        spent = sum(it.seconds or 0 for it in meme_steps.of_post(db, task.key) if it.by == task.member.user)
        _finish(db, task, "settled", spent, counted=seconds)
    else:
        care.after_save(db, task.project, task.member, None, seconds, hard=False)


def _check_side(task: MemeTask, layout: MemeLayout, side: str) -> None:
    """Refuse a confounder that changes both sides, or none: the smallest replacement leaves the other side alone."""
    if side not in SIDES:
        raise UserError(f"A confounder replaces {' or '.join(SIDES)}.", status=422)
    same_text = layout.text == task.post.text
    same_images = tuple(placed.image for placed in layout.images) == task.images
    if side == "image" and not same_text:
        raise UserError(
            "The text is another one. Replace the picture alone, and the text as a second meme.", status=422
        )
    if side == "text" and not same_images:
        raise UserError(
            "The picture is another one. Replace the text alone, and the picture in a second meme.", status=422
        )
    if same_text and same_images:
        raise UserError("This is the same meme again. Replace the picture or the text.", status=422)


def measure_change(task: MemeTask, layout: MemeLayout, side: str, distance: int | None) -> dict[str, int]:
    """Return how much a confounder changed: words of its text, or bits of its picture; refuse more than is allowed."""
    bounds = project_settings.from_dict(task.project.settings).confounders or ConfounderBounds()
    if side == "image":
        if distance is None:
            return {}
        if bounds.most_picture is not None and distance > bounds.most_picture:
            raise UserError(
                f"The picture differs in {distance} of 256 bits; at most {bounds.most_picture} here. "
                "Choose one that is closer to the meme's own.",
                status=422,
            )
        return {"picture_bits": distance}
    before, after = (re.findall(r"\w+", text.casefold()) for text in (task.post.text, layout.text))
    changed = count_edits(before, after)
    if bounds.most_words is not None and changed > bounds.most_words:
        raise UserError(
            f"{changed} words changed; at most {bounds.most_words} here. Change as few words as possible.", status=422
        )
    return {"words": changed, "of_words": len(before)}


def _licence(db: Connection, project: Project, layout: MemeLayout) -> str | None:
    """Return the licences of the pictures that a meme is made of."""
    found = images.of_posts(db, project.id, {placed.image for placed in layout.images})
    return ", ".join(sorted({row.licence for row in found if row.licence})) or None


def _task(db: Connection, project: Project, member: Member, held: HeldAssignment) -> MemeTask:
    task = MemeTask(project, member, held)
    if task.task == "build":
        filtered, built = (meme_steps.newest(db, task.key, step) for step in ("filter", "build"))
        before = posts.get(db, built.made).meta.get("layout") if built and built.made else None
        chosen = tuple(filtered.details.get("replacements", ())) if filtered else ()
        return replace(task, images=chosen, layout=before if isinstance(before, Mapping) else None)
    layout = held.post.meta.get("layout")
    if not isinstance(layout, Mapping):
        return task
    return replace(task, layout=layout, images=tuple(str(placed["image"]) for placed in layout.get("images", ())))


def _need(task: MemeTask, wanted: str) -> None:
    if task.task != wanted:
        raise UserError("This form belongs to another phase. Load the page again.", status=409)


def _step(db: Connection, task: MemeTask, step: str, result: str, *, seconds: float | None, **more: Any) -> None:
    seconds = None if seconds is None else min(max(seconds, 0.0), LONGEST_STEP)
    meme_steps.add(db, task.phase, task.key, step, result, by=task.member.user, seconds=seconds, **more)


def _finish(db: Connection, task: MemeTask, state: str, seconds: float | None, *, counted: float | None = None) -> None:
    """Note that a meme is done in its phase; `counted` are the seconds that a sitting has not counted yet."""
    assignments.finish(db, task.held, None, wanted=1, seconds=seconds, at=now())
    items.set_state(db, task.held.item.id, state)
    care.after_save(db, task.project, task.member, None, counted if counted is not None else seconds, hard=False)
