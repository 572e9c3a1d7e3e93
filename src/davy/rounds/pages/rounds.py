"""Rounds of a project: the list, one round's progress, and the report on all rounds.

Managers open a round and give it texts to start from. Everybody sees the goal and their own part. What others did is
for managers, by pseudonym and never as a ranking. The report names no person and shows no text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project import phase_gates
from davy.annotation.project.pages.project_access import Here, Manages, ProjectAccess, project_page
from davy.annotation.project.pages.upload_form import UploadForm, read_posts
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import members, phases
from davy.core import Scheme, UserError
from davy.core.metric import FEWEST
from davy.people.pages.visitor import Form, field, whole_number
from davy.rounds.close_round import round_story
from davy.rounds.open_round import SEED_KINDS, add_seeds, open_round, worse_targets, wrong_rows
from davy.rounds.pages.round_gaps import gaps_shown
from davy.rounds.pages.round_targets import ask_targets, few_measured, new_target, possible_targets, refusal_text
from davy.rounds.round import GOALS, EntryRules, Round, RoundGoals
from davy.rounds.store import entries, round_seeds, rounds
from davy.rounds.store.entries import AuthorCount, EntryText
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import Translator, translated_title
from davy.web.refused_by import refused_by

if TYPE_CHECKING:
    import polars as pl

router = APIRouter(include_in_schema=False)


OWN_SHOWN = 20
WAITING_SHOWN = 12
MOST_SEEDS = 2_000


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How far a round is: entries by what became of them."""

    entries: int
    settled: int
    dropped: int
    contrasts: int
    waiting: int
    """Entries that others still have to label, or an expert to settle."""


def unused_tabs(db: Connection, place: ProjectAccess) -> set[str]:
    """Return the tab of rounds where there are none, and the project is not made for them or this person opens none."""
    if rounds.of_project(db, place.project.id):
        return set()
    every = phases.of_project(db, place.project.id)
    other_work = any(phase.behaviour.gives_verdicts or phase.behaviour.task for phase in every)
    return {"rounds"} if other_work or not place.may("manage") else set()


@router.get("/projects/{project_id}/rounds")
def show(request: Request, place: Here) -> Response:
    """Return the project's rounds, and for managers the form that opens the next one."""
    return _list(request, place)


def _list(
    request: Request,
    place: ProjectAccess,
    *,
    form: FormData | None = None,
    error: UserError | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    with context_of(request).store.read() as db:
        every = rounds.of_project(db, place.project.id)
        progress = {it.id: progress_of(db, it) for it in every}
        question = scheme_of(db, place.project).questions[0].name
        targets = possible_targets(request, db, question) if place.may("manage") else []
        few = few_measured(db, place.project.id, every)
    targets.sort(key=lambda name: name != new_target(every))
    return project_page(
        request,
        place,
        "rounds.html",
        status=status,
        rounds=every,
        progress=progress,
        targets=targets,
        few={name: n for name, n in few.items() if name in targets},
        worse={name for name in worse_targets(every) if name in targets},
        question=question,
        usual=EntryRules(languages=tuple(place.project.settings.get("languages") or ("en",))),
        may_open=place.may("manage") and place.project.state == "open" and all(it.state == "closed" for it in every),
        goals=GOALS,
        filled=form,
        chosen=form.getlist("target") if form is not None else targets[:1],
        wrong=wrong,
        not_yet=isinstance(error, phase_gates.PhaseNotReady),
    )


@router.post("/projects/{project_id}/rounds")
@refused_by(_list)
def open_next(request: Request, place: Manages, form: Form) -> Response:
    """Open a round: its targets, its rules, its goals."""
    targets = [value for value in form.getlist("target") if isinstance(value, str)]
    with context_of(request).store.write() as db:
        question = scheme_of(db, place.project).questions[0].name
        if not targets or not set(targets) <= set(possible_targets(request, db, question)):
            raise LocalizedError("no_target", status=422)
        few = few_measured(db, place.project.id, rounds.of_project(db, place.project.id))
        if field(form, "worse") != "yes":
            worse = worse_targets(rounds.of_project(db, place.project.id))
            if named := next((name for name in targets if name in worse), None):
                raise LocalizedError("worse_target", status=409, name=named)
        chosen_few = [name for name in targets if name in few]
        if chosen_few and field(form, "few") != "yes":
            raise LocalizedError("few_target", status=422, count=few[chosen_few[0]], name=chosen_few[0], fewest=FEWEST)
        made = open_round(
            db,
            place.project,
            targets=targets,
            by=place.account.id,
            name=field(form, "name", most=80) or None,
            rules=_rules(form),
            goals=RoundGoals(**{name: whole_number(form, name) for name in GOALS}),
            anyway=field(form, "anyway", most=500) or None,
            accept_worse=field(form, "worse") == "yes",
        )
    return render.redirect(request, f"{place.address}/rounds/{made.number}", "round_opened", n=str(made.number))


@router.get("/projects/{project_id}/rounds/story")  # before the one round, since `story` is no number
def story(request: Request, place: Here) -> Response:
    """Return the story of the project's rounds so far."""
    with context_of(request).store.read() as db:
        told = round_story(db, place.project.id)
        every = rounds.of_project(db, place.project.id)
    return project_page(request, place, "round_story.html", story=told, rounds=every)


@router.get("/projects/{project_id}/rounds/{round_number}")
def one(request: Request, place: Here, round_number: str) -> Response:
    """Return one round: its goal, what waits, one's own entries, and for managers everybody's part."""
    return _one(request, place, round_number)


@router.post("/projects/{project_id}/rounds/{round_number}/seeds/upload")
async def upload_seeds(request: Request, place: Manages, round_number: str, form: UploadForm) -> Response:
    """Add texts to start from: seeds as they are, of a list only what the target gets wrong."""
    try:
        kind = field(form, "support")
        if kind not in SEED_KINDS:
            raise LocalizedError("choice")
        frame = await read_posts(request, form)
        if frame is None:
            raise LocalizedError("no_file", status=422)
        if len(frame) > MOST_SEEDS:
            raise LocalizedError("too_many_seeds", status=422, most=MOST_SEEDS, got=len(frame))
        n = await _add_seeds(request, place, round_number, kind, frame)
    except UserError as error:
        wrong, status = refusal_text(render.translator_of(request), error), error.status
        return await to_thread.run_sync(lambda: _one(request, place, round_number, wrong=wrong, status=status))
    words = render.translator_of(request)
    return render.redirect(request, f"{place.address}/rounds/{round_number}", "seeds_added", n=words.number(n))


async def _add_seeds(request: Request, place: ProjectAccess, round_number: str, kind: str, frame: pl.DataFrame) -> int:
    round_, scheme = await to_thread.run_sync(_round_and_scheme, request, place, round_number)
    question = scheme.question(round_.question)
    texts = [text or "" for text in frame["text"].to_list()]
    langs = frame["lang"].to_list() if "lang" in frame.columns else [None] * len(texts)
    said = []
    for start in range(0, len(texts), 64):  # a few at a time, so that people who enter texts need not wait for all
        part = slice(start, start + 64)
        said += await ask_targets(request, round_, question, texts[part], langs[part], "")
    rows = wrong_rows(frame, said, question) if kind == "news" else list(range(len(frame)))

    def write() -> int:
        with context_of(request).store.write() as db:
            return add_seeds(db, round_, kind, frame[rows], [said[row] for row in rows], by=place.account.id)

    return await to_thread.run_sync(write)


def _round_and_scheme(request: Request, place: ProjectAccess, round_number: str) -> tuple[Round, Scheme]:
    with context_of(request).store.read() as db:
        return find_round(db, place, round_number), scheme_of(db, place.project)


def find_round(db: Connection, place: ProjectAccess, round_number: str) -> Round:
    """Return a project's round by the number in an address."""
    if not re.fullmatch(r"[1-9][0-9]{0,5}", round_number):
        raise LocalizedError("no_such", status=404)
    return rounds.by_number(db, place.project.id, int(round_number))


def label_title(words: Translator, scheme: Scheme, round_: Round, label: str | None) -> str:
    """Return what a label of the round's question is called in a language; one that is not listed is its own name."""
    question = scheme.question(round_.question)
    known = label in question.label_names
    return translated_title(question.label(label or "").title, label or "", words.lang) if known else label or ""


def progress_of(db: Connection, round_: Round) -> RoundProgress:
    """Return how far a round is."""
    counts = entries.count_states(db, round_.id)

    def total(which: str | None = None, *states: str) -> int:
        return sum(
            n for (kind, state), n in counts.items() if which in (None, kind) and (not states or state in states)
        )

    return RoundProgress(
        entries=total("original"),
        settled=total("original", "settled"),
        dropped=total(None, "dropped"),
        contrasts=total("contrast"),
        waiting=total(None, "open", "full"),
    )


def own_count(db: Connection, round_: Round, user: str) -> AuthorCount:
    """Return what one person did in a round."""
    found = entries.count_authors(db, round_.id, author=user)
    return found[0] if found else AuthorCount(user, 0, 0, 0, None, None)


def _one(request: Request, place: ProjectAccess, round_number: str, *, wrong: str = "", status: int = 200) -> Response:
    context = context_of(request)
    with context.store.read() as db:
        round_, scheme = find_round(db, place, round_number), scheme_of(db, place.project)
        names = {it.user: it.pseudonym for it in members.of_project(db, place.project.id, left=True)}
        values: dict[str, Any] = {
            "progress": progress_of(db, round_),
            "gaps": gaps_shown(db, round_, scheme, render.translator_of(request)),
            "mine": own_count(db, round_, place.account.id),
            "own": entries.of_round(db, round_.id, author=place.account.id, newest=OWN_SHOWN),
            "waiting": entries.to_contrast(db, round_.id, limit=WAITING_SHOWN) if place.may("enter texts") else [],
            "seeds": round_seeds.counts(db, round_.id),
            "guidelines": rounds.guideline_versions(db, round_),
            "people": entries.count_authors(db, round_.id) if place.may("manage") else [],
        }
    values["people"] = sorted(values["people"], key=lambda it: names.get(it.author, ""))
    return project_page(
        request,
        place,
        "round.html",
        status=status,
        round=round_,
        names=names,
        title=lambda label: label_title(render.translator_of(request), scheme, round_, label),
        masked=lambda row: _masked(context.mask, row, place.account.id),
        seed_kinds=SEED_KINDS,
        wrong=wrong,
        **values,
    )


def _masked(mask: Any, row: EntryText, user: str) -> str:
    """Return a text as a reader first sees it: their own as they wrote it, others' masked."""
    return row.text if row.entry.author == user else str(mask(row.text))


def _rules(form: FormData) -> EntryRules:
    languages = tuple(dict.fromkeys(re.findall(r"[a-z]{2,3}", field(form, "languages", most=60).lower())))
    usual = EntryRules()
    try:
        return EntryRules(
            needs_emoji=field(form, "needs_emoji") == "yes",
            languages=languages,
            shortest=whole_number(form, "shortest") or usual.shortest,
            longest=whole_number(form, "longest") or usual.longest,
        )
    except ValueError:
        raise LocalizedError("lengths", status=422) from None
