"""The expert's pages: what waits, and one case at a time with the answers of people without names.

A case is leased to who opens it. Questions depend on what is answered: htmx asks for them
again at each choice, and without scripts the form comes back with what is still open.
Nothing is kept until a decision is whole and has its reason.
"""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.pages.questions import question_views
from davy.annotation.labelling.pages.sheets import display_choice_of, guideline_view
from davy.annotation.labelling.pages.steps import require_consent
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import posts
from davy.annotation.settling import expert_cases
from davy.annotation.settling.expert_cases import CaseRefused, CaseReview
from davy.annotation.settling.pages.case_view import case_values, read_decision
from davy.annotation.settling.pages.decided import decided_rows, post_facts
from davy.annotation.settling.store import cases
from davy.core import Post, Scheme
from davy.people.pages.visitor import Form, LargeForm, field
from davy.store import Connection
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError

router = APIRouter(include_in_schema=False)

Settles = Annotated[ProjectAccess, Depends(in_project("settle cases"))]


@router.get("/projects/{project_id}/expert")
def queue(request: Request, place: Settles) -> Response:
    """Return what waits for this expert, by kind and why, and the way to the next case."""
    if away := require_consent(request, place):
        return away
    with context_of(request).store.read() as db:
        offered = cases.count_offered(db, place.project.id, member_of(place).user)
        counts = cases.counts(db, place.project.id)
        scheme = scheme_of(db, place.project)
        words = render.translator_of(request)
        decided = decided_rows(db, context_of(request), words, place.project, member_of(place), scheme)
    titles = {
        question.name: question.title
        for question in question_views(scheme, scheme.guideline, render.translator_of(request).lang)
    }
    rows: Counter[tuple[str, str, str]] = Counter()
    for (kind, why, questions), n in offered.items():
        rows[kind, why.split("|")[0], titles.get(questions.split("|")[0], "")] += n
    return project_page(
        request,
        place,
        "expert.html",
        rows=[(*key, n) for key, n in sorted(rows.items(), key=lambda row: (row[0][0] == "audit", -row[1]))],
        waiting=sum(offered.values()),
        decided=decided,
        others=sum(n for (_, state), n in counts.items() if state == "open") - sum(offered.values()),
        done=sum(n for (_, state), n in counts.items() if state != "open"),
        known=("split", "severe", "undecided", "one voice", "nobody", "unrealistic", "other target", "unsure"),
    )


@router.post("/projects/{project_id}/expert")
def begin(request: Request, place: Settles, form: Form) -> Response:
    """Lease the next case to this expert and lead to it."""
    if away := require_consent(request, place):
        return away
    with context_of(request).store.write() as db:
        path, said = _next(db, place)
    return render.redirect(request, path, said)


@router.get("/projects/{project_id}/expert/{case_id}")
def one(request: Request, place: Settles, case_id: str) -> Response:
    """Return a case, which is this expert's for a while from now on."""
    if away := require_consent(request, place):
        return away
    try:
        with context_of(request).store.write() as db:
            scheme = scheme_of(db, place.project)
            before, reason = expert_cases.last_undone(cases.get(db, case_id), member_of(place))
            here = expert_cases.open_case(db, place.project, member_of(place), case_id, scheme, before)
            post = posts.get(db, here.case.post)
    except CaseRefused as error:
        return _refused(request, place, error)
    return _page(request, place, scheme, here, post, reason=reason)


@router.post("/projects/{project_id}/expert/{case_id}/undo")
def undo(request: Request, place: Settles, case_id: str, form: Form) -> Response:
    """Take back this expert's decision on a case and lead to it."""
    if away := require_consent(request, place):
        return away
    with context_of(request).store.write() as db:
        expert_cases.undo(db, place.project, member_of(place), case_id, scheme_of(db, place.project))
    return render.redirect(request, f"{place.address}/expert/{case_id}", "case_undone")


@router.post("/projects/{project_id}/expert/{case_id}/look")
def look(request: Request, place: Settles, case_id: str, form: LargeForm) -> Response:
    """Return the questions that the answers so far leave open, as a part."""
    context, words = context_of(request), render.translator_of(request)
    with context.store.write() as db:
        scheme = scheme_of(db, place.project)
        here = _sitting(db, place, case_id, scheme, form)
        post = posts.get(db, here.case.post)
    return render.page(request, "parts/case_questions.html", **case_values(context, words, scheme, here, post))


@router.post("/projects/{project_id}/expert/{case_id}")
def decide(request: Request, place: Settles, case_id: str, form: LargeForm) -> Response:
    """Settle a case, drop its post or give it back, and go on to the next."""
    if away := require_consent(request, place):
        return away
    try:
        with context_of(request).store.write() as db:
            done = _act(db, place, case_id, form)
            if isinstance(done, str):
                path, _ = _next(db, place, skipping=case_id)
                return _went_on(request, db, place, case_id, done, path)
    except CaseRefused as error:
        return _refused(request, place, error)
    scheme, here, post, wrong = done
    return _page(request, place, scheme, here, post, form=form, wrong=wrong)


def _went_on(request: Request, db: Connection, place: ProjectAccess, case_id: str, done: str, path: str) -> Response:
    """Lead on after a decision, with what it was, what can be told about the post now, and a way to take it back."""
    if done == "skipped":
        return render.redirect(request, path, "case_skipped")
    words, post = render.translator_of(request), posts.get(db, cases.get(db, case_id).post)
    _, facts = post_facts(db, place.project, post.id, words)
    undo_path = f"{place.address}/expert/{case_id}/undo"
    return render.redirect(request, path, "case_done", undo=undo_path, said=words(f"note.case_{done}"), facts=facts)


def _act(
    db: Connection, place: ProjectAccess, case_id: str, form: FormData
) -> str | tuple[Scheme, CaseReview, Post, str]:
    """Do what the form asks; return what became of the case, or what to show again and why."""
    member, reason = member_of(place), _reason(form)
    act = field(form, "do") or "save"
    if act == "skip":
        expert_cases.give_back(db, place.project, member, case_id)
        return "skipped"
    if act not in ("save", "refuse"):
        raise LocalizedError("choice")
    scheme = scheme_of(db, place.project)
    here = _sitting(db, place, case_id, scheme, form)
    post = posts.get(db, here.case.post)
    wrong = "missing" if act == "save" and here.missing else "" if reason else "reason"
    if wrong or (act == "refuse" and field(form, "sure") != "yes"):
        return scheme, here, post, wrong or "armed"
    if act == "refuse":
        expert_cases.drop_post(db, place.project, case_id, member, reason)
        done = "dropped"
    else:
        try:
            done = expert_cases.decide(db, place.project, case_id, member, scheme, here.answers, reason, _also(form))
        except CaseRefused as error:
            if error.why not in ("undecided", "missing"):
                raise
            return scheme, here, post, error.why
    hard = care.is_hard(place.project, scheme, here.answers, post=post)
    care.after_save(db, place.project, member, hard=hard)
    return done


def _sitting(db: Connection, place: ProjectAccess, case_id: str, scheme: Scheme, form: FormData) -> CaseReview:
    asks_words = any(question.marks_text for question in scheme.questions)
    text = posts.get(db, cases.get(db, case_id).post).text if asks_words else ""
    return expert_cases.open_case(
        db, place.project, member_of(place), case_id, scheme, read_decision(scheme, form, text), _also(form)
    )


def _reason(form: FormData) -> str:
    """Return the reason that was written, else the earlier one that was chosen."""
    most = expert_cases.MOST_REASON
    return field(form, "reason", most=most) or field(form, "reason_again", most=most)


def _also(form: FormData) -> set[str]:
    """Return the settled questions that the expert wants to decide again."""
    return {value for value in form.getlist("also") if isinstance(value, str)}


def _next(db: Connection, place: ProjectAccess, *, skipping: str | None = None) -> tuple[str, str | None]:
    """Return where this expert goes on, and what to say there if it is not to a case."""
    member = member_of(place)
    if care.before_next(db, place.project, member) is not None:
        return f"{place.address}/rest", None
    case = cases.take(db, place.project.id, member.user, not_this=skipping)
    return (f"{place.address}/expert/{case.id}", None) if case else (f"{place.address}/expert", "no_case")


def _refused(request: Request, place: ProjectAccess, error: CaseRefused) -> Response:
    """Return the way back to the queue with what happened; what nobody may do is refused."""
    match error.why:
        case "labelled":
            raise LocalizedError("case_labelled", status=403)
        case "decided":
            raise LocalizedError("case_decided", status=403)
        case "held" | "settled":
            return render.redirect(request, f"{place.address}/expert", f"case_is_{error.why}")
    raise error


def _page(
    request: Request,
    place: ProjectAccess,
    scheme: Scheme,
    here: CaseReview,
    post: Post,
    *,
    form: FormData | None = None,
    wrong: str = "",
    reason: str = "",
) -> Response:
    context, words = context_of(request), render.translator_of(request)
    missing = here.missing if wrong == "missing" else ()
    with context.store.read() as db:
        reasons = cases.recent_reasons(db, place.project.id, place.account.id)
        facts, _ = post_facts(db, place.project, post.id, words)
    values: dict[str, Any] = case_values(context, words, scheme, here, post, missing=missing)
    return project_page(
        request,
        place,
        "case.html",
        status=422 if wrong and wrong != "armed" else 200,
        post=post,
        masked=context.mask(post.text),
        display=display_choice_of(place.project, member_of(place)),
        guide=guideline_view(scheme, scheme.guideline, words),
        project_id=place.project.id,
        oob=False,
        said="",
        reason=field(form, "reason", most=expert_cases.MOST_REASON) if form is not None else reason,
        facts=facts,
        longest_reason=expert_cases.MOST_REASON,
        reasons=reasons,
        wrong_what=wrong,
        armed=wrong == "armed",
        also=_also(form) if form is not None else set(),
        address_of=f"{place.address}/expert/{here.case.id}",
        **values,
    )
