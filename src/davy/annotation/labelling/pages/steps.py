"""What a person sees next while they label: a post, an answer of theirs, a rest, or why there is nothing.

A `LabellingStep` in, a response out. htmx gets the next post as a part. A rest and an empty page
are pages of their own, so that nothing of the work is left around them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from davy.annotation.care.care import RestPeriod, WorkDay
from davy.annotation.labelling import eligibility
from davy.annotation.labelling.labelling import Sheet
from davy.annotation.labelling.pages.sheets import (
    AnsweredSheet,
    FormState,
    answered_sheet_values,
    guideline_view,
    sheet_view,
)
from davy.annotation.labelling.store import tallies
from davy.annotation.project import next_steps
from davy.annotation.project.next_steps import Step
from davy.annotation.project.pages.project_access import ProjectAccess, project_page
from davy.annotation.project.project import Member, Phase, Project
from davy.annotation.project.settings import pay_of, rate_of
from davy.annotation.project.store import phases
from davy.annotation.settling.store import phase_answers
from davy.people.store.users import User
from davy.people.work_choices import choices_of
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import is_htmx
from davy.web.i18n import Translator


@dataclass(frozen=True, slots=True)
class NoWork:
    """Why somebody has nothing to label: all phases, and how much they did in the one that is open."""

    project: Project
    member: Member
    phases: tuple[Phase, ...]
    done: int = 0
    refused: int = 0
    discussed: tuple[str, ...] = ()
    """Discussions that are open although every post has its shared answer."""
    steps: tuple[Step, ...] = ()
    """What else this person can work on now."""

    @property
    def is_open(self) -> bool:
        """Whether there is a phase that answers can still change in."""
        return self.project.state == "open" and any(phase.state == "open" for phase in self.phases)


@dataclass(frozen=True, slots=True)
class LabellingStep:
    """What to show next."""

    shown: Sheet | AnsweredSheet | NoWork | RestPeriod
    outcome: str = ""
    """What happened: read aloud on the page, a note after a redirect."""
    problem: str = ""
    """Why something did not happen."""
    form: FormState | None = None
    status: int = 200
    guideline: str = ""
    """The version of the guideline that the browser shows."""
    day: WorkDay | None = None
    """The person's day so far, where what is shown should say it anew."""


def require_consent(request: Request, place: ProjectAccess) -> Response | None:
    """Return the way to the consent page for people who have not agreed yet, else None. It leads on to this page."""
    if place.member is not None and place.member.consented_at is not None:
        return None
    leads_on = request.method == "GET" and request.url.path != f"{place.address}/label"
    return redirect_page(
        request, f"{place.address}/consent" + (f"?next={render.quoted_path(request)}" if leads_on else "")
    )


def redirect_page(request: Request, path: str, note: str = "") -> Response:
    """Return a redirect that loads a whole page, also for htmx; the page shows `note.NOTE`."""
    response = render.redirect(request, path, note or None)
    if is_htmx(request):
        response.status_code = 200
        del response.headers["location"]
        response.headers["HX-Redirect"] = path
    return response


def respond_to_form(request: Request, place: ProjectAccess, step: LabellingStep) -> Response:
    """Return what follows a form: the next post as a part, or a redirect to it, or the form again."""
    if isinstance(step.shown, RestPeriod | NoWork) and not step.problem:
        return redirect_page(request, step_path(place, step), step.outcome)
    if is_htmx(request) or step.form is not None or step.problem:
        return respond(request, place, step)
    return redirect_page(request, step_path(place, step), step.outcome)


def respond(request: Request, place: ProjectAccess, step: LabellingStep) -> Response:
    """Return the step: a part for htmx, else a page."""
    if isinstance(step.shown, RestPeriod):
        return RedirectResponse(step_path(place, step), 303)
    words = render.translator_of(request)
    part, view = _part(request, words, step)
    sheet = step.shown if isinstance(step.shown, Sheet) else getattr(step.shown, "sheet", None)
    values: dict[str, Any] = {
        "it": view,
        "address_of": step_path(place, step),
        "base": f"{place.address}/label",
        "project_id": place.project.id,
        "outcome": _outcome_text(words, step.outcome),
        "problem": _problem_text(words, step.problem),
        "undo": _may_undo(step),
        "day": day_values(place, step.day, render.account_of(request)),
    }
    if is_htmx(request):
        seen = str(sheet.guideline.version if sheet and sheet.guideline else 0)
        stale = bool(sheet and step.guideline and step.guideline != seen)
        guide = guideline_view(sheet.scheme, sheet.guideline, words) if sheet and stale else None
        if guide and not values["problem"]:
            values["problem"] = f"{words('label.guideline_new', n=guide.version)} {guide.changes}".strip()
        values |= {"place": place, "guide": guide, "guide_changed": stale}
        return render.page(request, part, status=step.status, oob=True, **values)
    guide = guideline_view(sheet.scheme, sheet.guideline, words) if sheet else None
    return project_page(
        request,
        place,
        "label.html",
        status=step.status,
        part=part,
        oob=False,
        guide=guide,
        guide_changed=False,
        **values,
    )


def day_values(place: ProjectAccess, day: WorkDay | None, account: User | None) -> dict[str, Any] | None:
    """Return what `parts/day.html` shows: the day's posts, time and pay, and how long it is to the next rest."""
    chosen = choices_of(account)
    if day is None or chosen.day == "off":
        return None
    roles = place.member.roles if place.member else ()
    pay = pay_of(place.project)
    earned = day.seconds_here / 3600 * rate_of(place.project, roles) if pay else None
    return {
        "posts": day.items,
        "goal": chosen.goal,
        "seconds": day.seconds,
        "pay": (earned, pay["currency"]) if pay else None,
        "minutes_to_rest": day.minutes_to_rest,
        "rest_path": f"{place.address}/rest",
        "answers_path": f"{place.address}/mine/answers",
    }


def step_path(place: ProjectAccess, step: LabellingStep) -> str:
    """Return the address of what is shown."""
    match step.shown:
        case Sheet(assignment=assignment) | AnsweredSheet(sheet=Sheet(assignment=assignment)):
            return f"{place.address}/label/{assignment.id}"
        case RestPeriod():
            return f"{place.address}/rest"
    return f"{place.address}/label"


def _part(request: Request, words: Translator, step: LabellingStep) -> tuple[str, Any]:
    context = context_of(request)
    match step.shown:
        case Sheet():
            return "parts/sheet.html", sheet_view(context, words, step.shown, step.form)
        case AnsweredSheet():
            return "parts/answered.html", answered_sheet_values(context, words, step.shown)
        case NoWork():
            return "parts/nothing.html", no_work_values(words, step.shown)
    raise AssertionError(step.shown)


def _may_undo(step: LabellingStep) -> bool | str:
    """Return whether there is an undo button; on a post that was answered, the assignment that it opens."""
    match step.shown:
        case Sheet() as sheet:
            return sheet.number > 1 or sheet.tally.refused + sheet.tally.skipped > 0 or bool(step.outcome)
        case AnsweredSheet() as answered:
            return answered.sheet.assignment.id if answered.feedback is None else False
        case NoWork() as none:
            return none.done + none.refused > 0 and none.is_open
    return False


def _outcome_text(words: Translator, outcome: str) -> str:
    sentences = {
        "saved": words("label.saved"),
        "skipped": words("label.skipped"),
        "refused": words("label.refused_said"),
        "undone": words("label.undone"),
    }
    return sentences.get(outcome, "")


def _problem_text(words: Translator, problem: str) -> str:
    sentences = {
        "already": words("label.already"),
        "gone": words("label.gone"),
        "closed": words("label.closed_meanwhile"),
    }
    return sentences.get(problem, "")


def explain_no_work(db: Connection, place: ProjectAccess, member: Member) -> NoWork:
    """Return what explains that there is nothing for this person."""
    project = place.project
    every = tuple(phases.of_project(db, project.id))
    mine = [tallies.get(db, phase.id, member.user) for phase in every if phase.state == "open"]
    talks = [phase for phase in every if phase.behaviour.shared and phase.state == "open"]
    discussed = tuple(phase.id for phase in talks if not phase_answers.count_states(db, phase.id).get("open"))
    given, refused = sum(tally.given for tally in mine), sum(tally.refused for tally in mine)
    own = next_steps.own_steps(db, project, member, place.may, every) if project.state == "open" else []
    return NoWork(project, member, every, given, refused, discussed, tuple(step for step in own if step.act != "label"))


def no_work_values(words: Translator, none: NoWork) -> dict[str, Any]:
    """Return what `parts/nothing.html` shows."""
    address = f"/projects/{none.project.id}"
    overview = {"href": address, "do": words("label.none.overview"), "progress": None, "steps": none.steps}
    again = {**overview, "href": f"{address}/label", "do": words("label.none.check"), "again": True}
    open_ones = [phase for phase in none.phases if phase.state == "open" and phase.id not in none.discussed]
    waiting = [phase for phase in none.phases if phase.state == "waiting"]
    if none.project.state == "closed":
        text = words("label.none.project_closed_text")
        return {"title": words("label.none.closed"), "lines": [text], **overview}
    shared = [phase for phase in open_ones if phase.behaviour.shared]
    if shared:
        text = words("label.none.discussion_text", phase=shared[0].name)
        on = {**overview, "href": f"{address}/discussion", "do": words("label.none.discuss")}
        return {"title": words("label.none.discussion"), "lines": [text], **on}
    if open_ones and not any(eligibility.may_work(none.member, phase, none.phases) for phase in open_ones):
        if none.member.choices.get(eligibility.SCREENING_PASSED) == "failed":
            return {"title": words("label.none.thanks"), "lines": [words("label.none.thanks_text")], **overview}
        if none.member.choices.get(eligibility.SCREENING_PASSED) == "passed":
            return {"title": words("label.none.passed"), "lines": [words("label.none.passed_text")], **again}
        text = words("label.none.not_yours_text", phase=open_ones[0].name)
        return {"title": words("label.none.not_yours"), "lines": [text], **again}
    if any(phase.behaviour.task and eligibility.may_work(none.member, phase, none.phases) for phase in open_ones):
        on = {**overview, "href": f"{address}/memes", "do": words("step.do.memes")}
        return {"title": words("label.none.memes"), "lines": [words("label.none.memes_text")], **on}
    if open_ones:
        text = words("label.none.all_done_text", phase=open_ones[0].name)
        total = sum(phase.size for phase in open_ones)
        progress = (none.done, total) if none.done and total >= none.done else None
        return {"title": words("label.none.all_done"), "lines": [text], **again, "progress": progress}
    if none.discussed:
        return {"title": words("label.none.discussed"), "lines": [words("label.none.discussed_text")], **again}
    if waiting:
        text = words("label.none.waiting_text", phase=waiting[0].name)
        return {"title": words("label.none.waiting"), "lines": [text], **again}
    if not none.phases:
        text = words("label.none.no_phase_text")
        return {"title": words("label.none.waiting"), "lines": [text], **again}
    return {"title": words("label.none.closed"), "lines": [words("label.none.closed_text")], **overview}
