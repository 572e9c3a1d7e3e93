"""A new project in three steps: what it begins with and its title, its posts, its people.

Each step is a form that carries what was typed before it; the file waits on the server. A form without a step has all
of it and makes the project at once. Nothing that was typed or sent is lost when something is wrong.
"""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.labelling.pages.questions import question_views
from davy.annotation.project import images, post_allocation, project_creation, project_file
from davy.annotation.project.pages.add_posts import UploadedPosts, form_values, read_sent
from davy.annotation.project.pages.projects import Makes
from davy.annotation.project.pages.role_words import roster_of
from davy.annotation.project.pages.upload_form import UploadForm, credit_in, sends_pictures
from davy.annotation.project.phase_kind import MAIN_KIND
from davy.annotation.project.project import PROJECT_ROLES
from davy.annotation.project.settings import Contact, ProjectSettings
from davy.annotation.project.store import post_pages, posts, projects
from davy.annotation.settling.store import verdicts
from davy.core import Scheme
from davy.core.errors import UserError
from davy.people.pages.visitor import field
from davy.people.store.users import User
from davy.scheme_editor.pages import schemes
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown
from davy.web.refused_by import refusal

if TYPE_CHECKING:
    import polars as pl


router = APIRouter(include_in_schema=False)

MOST_FROM_STORE = 200_000
TYPED = (
    *("start", "name", "title", "roster", "posts", "lang", "answers"),
    *("picture_licence", "picture_credit"),
)
"""What a form for a new project holds besides its files; it stays when something is wrong."""
OWN = "own:"
"""How a start names a scheme that its author wrote here, before its id."""
STEPS: dict[str, tuple[str, ...]] = {
    "start": ("title", "name"),
    "posts": (
        *("posts", "lang", "answers", "picture_licence", "picture_credit", "upload", "columns", "encoding"),
        *("all_lang", "id_prefix", "distinct", "posts.", "answers.", "column.", "gold."),
    ),
    "people": ("roster",),
}
"""The steps in their order, each with the fields that it shows; a name that ends in a dot is how several begin."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A project that is being made: what was typed, its scheme and its file."""

    typed: dict[str, str]
    scheme: Scheme | None = None
    sent: UploadedPosts | None = None

    @property
    def preset(self) -> str | None:
        """The preset that it begins with, or None."""
        kind, _, chosen = self.typed.get("start", "").partition(":")
        return chosen if kind == "preset" and chosen in project_file.preset_names() else None

    @property
    def writes(self) -> bool:
        """Whether people write the posts themselves, so that no phase of the preset takes a file's."""
        plan = project_file.read_plan(self.preset) if self.preset else None
        return plan is not None and not any(phase.posts == project_file.REST for phase in plan.phases)

    def carried(self, step: str) -> list[tuple[str, str]]:
        """Return the fields that a step's form carries from the other steps."""
        shown = tuple(STEPS[step])
        own = [name for name in shown if not name.endswith(".")]
        begin = tuple(name for name in shown if name.endswith("."))
        kept = {name: value for name, value in self.typed.items() if name not in own and not name.startswith(begin)}
        if step != "posts" and self.sent is not None and self.sent.kept.id:
            kept["upload"] = self.sent.kept.id
        return [(name, value) for name, value in kept.items() if value]


@router.get("/projects/new")
def new(request: Request, who: Makes, start: str = "") -> Response:
    """Return what a project can begin with, or the first step with what was chosen to be read."""
    return _page(request, who, Draft({"start": start}, _scheme_of(request, who, start)), "start")


@router.post("/projects/new/upload")
async def make(request: Request, who: Makes, form: UploadForm) -> Response:
    """Go a step on or back, or make the project; what is wrong is shown at the step where it can be put right."""
    texts = [name for name, value in form.multi_items() if isinstance(value, str)]
    typed = {name: field(form, name, most=20_000) for name in texts if name not in ("csrf", "step", "do")}
    step, act = field(form, "step"), field(form, "do")
    draft = Draft(typed, await to_thread.run_sync(_scheme_of, request, who, field(form, "start")))
    at = step if step in STEPS else "posts"
    try:
        if step == "start":
            await to_thread.run_sync(_check_start, request, draft)
            if draft.writes and not typed.get("posts"):  # posts can be brought later, or by going a step back
                draft = replace(draft, typed={**typed, "posts": "later"})
                return await to_thread.run_sync(_page, request, who, draft, "people")
            return await to_thread.run_sync(_page, request, who, draft, "posts")
        if typed.get("posts") == "file":
            draft = replace(draft, sent=await read_sent(request, form, who.id, draft.scheme))
        if act == "back":
            before = "start" if step == "posts" else "posts"
            return await to_thread.run_sync(_page, request, who, draft, before)
        if not await to_thread.run_sync(_has_posts, form, draft, step):
            return await to_thread.run_sync(partial(_page, request, who, draft, "posts", first="columns" not in form))
        at = "posts"
        plan = await to_thread.run_sync(_plan, request, form, draft)
        if step == "posts":
            await to_thread.run_sync(_check_allocation, draft, plan)
            return await to_thread.run_sync(_page, request, who, draft, "people")
        at = step or "posts"
        plan = replace(plan, roster=roster_of(typed.get("roster", ""), render.translator_of(request)))
        made = await to_thread.run_sync(_make, request, who, plan, draft, credit_in(form))
    except UserError as error:
        return await to_thread.run_sync(partial(_page, request, who, draft, at, **refusal(request, error)))
    if draft.sent is not None:
        await to_thread.run_sync(draft.sent.kept.discard)
    if made.links:
        links = [(login, context_of(request).link(f"/invitation/{token}")) for login, token in made.links]
        return render.page(request, "project_made.html", project=made.project, links=links, left_out=made.left_out)
    if made.left_out:
        gone = ", ".join(made.left_out)
        return render.redirect(request, f"/projects/{made.project.id}", "project_made_without", phases=gone)
    return render.redirect(request, f"/projects/{made.project.id}", "project_made")


def _has_posts(form: FormData, draft: Draft, step: str) -> bool:
    """Return whether the posts are settled; where not, the step is shown again with the first rows of the file."""
    sent = draft.sent
    if sent is None:
        if sends_pictures(form):
            raise LocalizedError("pictures_need_posts", status=422)
        return True
    if sent.wrong is not None:
        raise sent.wrong
    if sent.asks or (step == "posts" and sent.look is not None and "columns" not in form):
        return False
    if sent.frame is None:
        raise LocalizedError("no_file", status=422)
    return True


def _check_start(request: Request, draft: Draft) -> None:
    """Refuse a start, a title or an address that no project can have; an empty address is made from the title."""
    if draft.scheme is None:
        raise LocalizedError("choose_start", status=422)
    typed = draft.typed
    with context_of(request).store.read() as db:
        projects.check_title(typed.get("title", ""))
        if not typed.get("name"):
            typed["name"] = project_creation.free_name(db, typed.get("title", ""))
        project_creation.check_name(db, typed["name"])


def _check_allocation(draft: Draft, plan: project_file.ProjectPlan) -> None:
    """Refuse sizes that the posts don't fill, before people are asked for."""
    if draft.scheme is None or draft.sent is None or draft.sent.frame is None:
        return
    frames = [draft.sent.frame]
    if draft.preset:
        plan, _ = project_creation.without_gold_phases(plan, frames)
    post_allocation.allocate_posts(plan, draft.scheme, frames, {})


def _make(
    request: Request, who: User, plan: project_file.ProjectPlan, draft: Draft, credit: images.Credit
) -> project_creation.CreatedProject:
    store, sent, typed = context_of(request).store, draft.sent, draft.typed
    frame = sent.frame if sent else None
    files = sent.kept.picture_files() if sent else None
    with ExitStack() as stack:
        pictures = None
        if files is not None and frame is not None:
            wanted = images.wanted_names([frame])
            pictures = stack.enter_context(images.storing_pictures(store, files, wanted, credit=credit))
        db = stack.enter_context(store.write())
        pool = [frame] if frame is not None else []
        from_store = typed.get("posts") == "store"
        if from_store:
            pool = _from_store(db, typed.get("lang", ""))
        own = None
        if typed["start"].startswith(OWN):
            own = schemes.scheme_for_project(db, who, typed["start"].removeprefix(OWN))
            plan = replace(plan, scheme=own[0].name)
        preset = draft.preset is not None
        made = project_creation.create_project(
            db, plan, by=who.id, posts_in=pool, scheme=own, preset=preset, consent_unread=preset
        )
        images.add_pictures(db, made.project.id, pictures, by=who.id)
        if from_store:
            verdicts.copy_published(db, made.project.id)
        return made


def _scheme_of(request: Request, who: User, start: str) -> Scheme | None:
    """Return the scheme that a start leads to; None where there is none yet."""
    kind, _, chosen = start.partition(":")
    with context_of(request).store.read() as db:
        try:
            return schemes.scheme_at(db, who, kind, chosen)
        except UserError:
            return None


def _from_store(db: Any, lang: str) -> list[pl.DataFrame]:
    """Return the posts that everybody here shares in a language, or all of them."""
    import polars as pl

    parts, n = [], 0
    for frame in posts.frames(db, project=None):
        part = frame.filter(pl.col("lang") == lang) if lang else frame
        n += part.height
        if n > MOST_FROM_STORE:
            raise LocalizedError("too_many_posts", status=413, most=MOST_FROM_STORE)
        parts.append(part)
    if not n:
        raise LocalizedError("no_posts", status=422)
    return parts


def _plan(request: Request, form: FormData, draft: Draft) -> project_file.ProjectPlan:
    """Return what the form describes: a preset with its phases resized, or a scheme with one production phase."""
    typed = draft.typed
    kind, _, chosen = typed.get("start", "").partition(":")
    if draft.preset:
        plan = project_file.read_plan(draft.preset)
        plan = replace(plan, phases=tuple(_resized(phase, form) for phase in plan.phases))
    elif kind in ("own", "scheme"):
        if kind == "scheme" and chosen not in _shared(request):
            raise LocalizedError("no_scheme", status=404)
        answers = typed.get("answers") or "3"
        if not re.fullmatch(r"[1-9][0-9]?", answers):
            raise LocalizedError("whole_number", status=422)
        phase = project_file.PhasePlan("main", MAIN_KIND, project_file.REST, answers)
        plan = project_file.ProjectPlan("", "", chosen, ProjectSettings(support=_contacts()), (phase,))
    else:
        raise LocalizedError("choose_start", status=422)
    return replace(plan, name=typed.get("name", ""), title=typed.get("title", ""))


def _resized(phase: project_file.PhasePlan, form: FormData) -> project_file.PhasePlan:
    """Return a phase with the number of posts, and of answers to each, that the form wants."""
    wanted, answers = field(form, f"posts.{phase.name}"), field(form, f"answers.{phase.name}")
    if phase.count is not None and wanted:
        if not re.fullmatch(r"[0-9]{1,6}", wanted):
            raise LocalizedError("whole_number", status=422)
        phase = replace(phase, posts=wanted)
    if _several(phase) and answers:
        if not re.fullmatch(r"[1-9][0-9]?", answers):
            raise LocalizedError("whole_number", status=422)
        phase = replace(phase, answers=answers)
    return phase


def _several(phase: project_file.PhasePlan) -> bool:
    """Return whether a fixed number of people answer each post of a phase, so that the form asks how many."""
    return (phase.people or 0) > 1


def _shared(request: Request) -> set[str]:
    with context_of(request).store.read() as db:
        return {name for name, _ in schemes.shared_schemes(db, "en")}


def _page(
    request: Request,
    who: User,
    draft: Draft,
    step: str,
    *,
    first: bool = False,
    wrong: str = "",
    status: int = 200,
) -> Response:
    """Return a step; `first`: the file is seen for the first time, so that sizes are made to fit it."""
    lang = render.translator_of(request).lang
    chosen, typed = draft.typed.get("start", ""), draft.typed
    with context_of(request).store.read() as db:
        own = schemes.own_drafts(db, who, lang)
        shared = schemes.shared_schemes(db, lang)
        langs = post_pages.languages(db, None)
    chosen_own = [it for it in own if chosen == f"{OWN}{it['id']}"]
    preset = project_file.read_plan(draft.preset) if draft.preset else None
    n, known = _counts(draft.sent)
    sizes = {phase.name: typed.get(f"posts.{phase.name}") for phase in preset.phases} if preset else {}
    fitted = post_allocation.fit_sizes(preset, n, known) if preset and first and n else {}
    return render.page(
        request,
        "project_new.html",
        status=status,
        wrong=wrong,
        step=step,
        steps=list(STEPS),
        typed={**dict.fromkeys(TYPED, ""), **typed},
        carried=draft.carried(step),
        presets=project_file.preset_names(),
        preset=preset,
        sizes={**sizes, **fitted},
        fitted={name for name, size in fitted.items() if preset and size != _count(preset, name)},
        n_posts=n,
        n_known=known,
        needs_gold=[phase for phase in preset.phases if phase.behaviour.needs_gold and phase.count] if preset else [],
        writes=draft.writes,
        people_needed=_people_needed(preset, typed),
        experts_needed=max((it.experts for it in preset.settings.adjudication.values()), default=0) if preset else 0,
        builds=preset is not None and any(phase.behaviour.task == "build" for phase in preset.phases),
        several=_several,
        roles=PROJECT_ROLES,
        schemes=shared,
        readable=dict(shared),
        own=own,
        scheme=draft.scheme,
        questions=question_views(draft.scheme, None, lang) if draft.scheme else (),
        guideline=render_markdown(draft.scheme.guideline.text.said_in(lang))
        if draft.scheme and draft.scheme.guideline
        else "",
        start_name=chosen_own[0]["title"] if chosen_own else chosen.partition(":")[2],
        langs=langs,
        **form_values(request, draft.sent, draft.scheme),
    )


def _count(plan: project_file.ProjectPlan, name: str) -> int | None:
    return next(phase.count for phase in plan.phases if phase.name == name)


def _people_needed(preset: project_file.ProjectPlan | None, typed: dict[str, str]) -> int:
    """Return how many annotators a project takes at least; 0 where that is not known."""
    if preset is None:
        return _whole(typed.get("answers", ""), 0)
    asked = (_whole(typed.get(f"answers.{phase.name}", ""), _fewest(phase)) for phase in preset.phases)
    return max(asked, default=0)


def _fewest(phase: project_file.PhasePlan) -> int:
    return phase.people or phase.behaviour.fewest_people or 0


def _whole(text: str, otherwise: int) -> int:
    return int(text) if re.fullmatch(r"[1-9][0-9]?", text) else otherwise


def _counts(sent: UploadedPosts | None) -> tuple[int, int]:
    """Return how many posts a file has, and how many of them come with a right answer."""
    frame = sent.frame if sent else None
    if frame is None:
        return (sent.look.rows if sent and sent.look else 0), 0
    return frame.height, post_allocation.count_known(frame)


def _contacts() -> tuple[Contact, ...]:
    """Return whom a project from a bare scheme begins with, until its manager names others."""
    return tuple(
        contact for preset in ("edos", "gmhp7k") for contact in project_file.read_plan(preset).settings.support
    )
