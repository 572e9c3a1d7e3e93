"""Settling several cases at once: a list to choose from, one decision and reason for all, and a look before it is done.

The list is about one question (or about flags), so that one answer means the same in each. The form
is sent twice: first it comes back with what would become of each case, then it is carried out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care import care
from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.pages.questions import QuestionView, question_views
from davy.annotation.labelling.pages.sheets import answer_titles, display_choice_of
from davy.annotation.labelling.pages.steps import require_consent
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import posts
from davy.annotation.settling import many_cases
from davy.annotation.settling.expert_cases import MOST_REASON, CaseRefused, review_case
from davy.annotation.settling.many_cases import LEFT, MOST_CASES, CaseDecision, SharedDecision
from davy.annotation.settling.store import cases
from davy.annotation.settling.store.cases import AdjudicationCase
from davy.core import Post, Scheme
from davy.people.pages.visitor import LargeForm, field
from davy.store import Connection
from davy.web import render
from davy.web.context import Context, context_of
from davy.web.errors import LocalizedError
from davy.web.i18n import Translator

router = APIRouter(include_in_schema=False)

Settles = Annotated[ProjectAccess, Depends(in_project("settle cases"))]
EXCERPT = 60
"""Characters by which a post is named in a line."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What a list of cases is about: their kind, and the first question that they ask (none for flags)."""

    kind: str
    question: str

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.question}"


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case in the list: its post, why it came, and how many people gave which answer to the topic's question."""

    case: AdjudicationCase
    post: Post
    masked: str
    why: str
    votes: tuple[tuple[str, int], ...]


@router.get("/projects/{project_id}/expert/many")
def choose(
    request: Request,
    place: Settles,
    about: Annotated[str, Query(max_length=300)] = "",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    choose_all: Annotated[bool, Query(alias="all")] = False,
) -> Response:
    """Return the cases about one question that this expert may settle, to choose from."""
    if away := require_consent(request, place):
        return away
    with context_of(request).store.write() as db:
        if care.before_next(db, place.project, member_of(place)) is not None:
            return render.redirect(request, f"{place.address}/rest")
    return _list(request, place, about=about, page=page, choose_all=choose_all)


@router.post("/projects/{project_id}/expert/many")
def settle(request: Request, place: Settles, form: LargeForm) -> Response:
    """Return what a decision would do with the chosen cases, or do it where that was seen and confirmed."""
    if away := require_consent(request, place):
        return away
    chosen = [value for value in form.getlist("case") if isinstance(value, str)]
    reason = field(form, "reason", most=MOST_REASON) or field(form, "reason_again", most=MOST_REASON)
    wrong = "missing" if not chosen or not field(form, "decision") else "" if reason else "reason"
    if wrong or field(form, "do") == "back":
        page = max(int(number), 1) if (number := field(form, "page")[:6]).isdecimal() else 1
        return _list(request, place, about=field(form, "about"), page=page, form=form, wrong=wrong)
    if field(form, "sure") == "yes":
        return _carry_out(request, place, form, chosen, reason)
    with context_of(request).store.read() as db:
        scheme = scheme_of(db, place.project)
        shared = _shared_decision(scheme, form)
        planned = many_cases.plan_decisions(db, place.project, member_of(place), scheme, chosen, shared)
        texts = {one.case.id: posts.get(db, one.case.post).text for one in planned}
    return _confirmation(request, place, scheme, form, shared, planned, texts, reason)


def _carry_out(request: Request, place: ProjectAccess, form: FormData, chosen: Sequence[str], reason: str) -> Response:
    member, words = member_of(place), render.translator_of(request)
    with context_of(request).store.write() as db:
        scheme = scheme_of(db, place.project)
        shared = _shared_decision(scheme, form)
        done = many_cases.settle_many(db, place.project, member, scheme, chosen, shared, reason)
        for one in (it for it in done if not it.left):
            hard = care.is_hard(place.project, scheme, one.answers, post=posts.get(db, one.case.post))
            care.after_save(db, place.project, member, hard=hard)
        rests = care.before_next(db, place.project, member) is not None
    about = quote(field(form, "about"), safe="")
    path = f"{place.address}/rest" if rests else f"{place.address}/expert/many?about={about}"
    return render.redirect(request, path, "many", said=_outcome_sentence(words, done))


def _outcome_sentence(words: Translator, done: Sequence[CaseDecision]) -> str:
    """Return what became of the cases, and how many were left for which reason; no word of any post."""
    became = Counter(one.outcome for one in done if not one.left)
    said = [words(f"many.done.{outcome}", n=words.number(n)) for outcome, n in sorted(became.items())]
    left = Counter(one.left for one in done if one.left)
    whys = [f"{words.number(left[it])} × {words(_why_key(it))}" for it in LEFT if left[it]]
    return " ".join([*said, *([words("many.left", why="; ".join(whys))] if whys else [])])


def _why_key(why: str) -> str:
    return f"many.why.{why.replace(' ', '_')}"


def _shared_decision(scheme: Scheme, form: FormData) -> SharedDecision:
    """Return what the form decides; an answer is one label of the question that the list is about, or none of them."""
    what, _, label = field(form, "decision").partition(":")
    if what in ("majority", "keep", "drop"):
        return SharedDecision(what)
    name = field(form, "about").partition(":")[2]
    question = next((it for it in scheme.questions if it.name == name and it.derived is None), None)
    if what != "answer" or question is None or (label not in question.label_names if label else question.is_required):
        raise LocalizedError("choice")
    return SharedDecision("answer", {name: (label,) if label else ()})


def _list(
    request: Request,
    place: ProjectAccess,
    *,
    about: str,
    page: int,
    choose_all: bool = False,
    form: FormData | None = None,
    wrong: str = "",
) -> Response:
    context, words, member = context_of(request), render.translator_of(request), member_of(place)
    with context.store.read() as db:
        scheme = scheme_of(db, place.project)
        views = {view.name: view for view in question_views(scheme, scheme.guideline, words.lang)}
        topics = _topics(db, place)
        topic = next((it for it in topics if it.key == about), next(iter(topics), Topic("disagreement", "")))
        rows = _rows(db, context, words, place, scheme, topic, views.get(topic.question), page)
        reasons = cases.recent_reasons(db, place.project.id, member.user)
    return project_page(
        request,
        place,
        "expert_many.html",
        status=422 if wrong else 200,
        topics=[(it.key, _topic_title(words, it, views), n) for it, n in topics.items()],
        topic=topic,
        rows=rows,
        page=page,
        first=(page - 1) * MOST_CASES + 1,
        more=topics.get(topic, 0) > page * MOST_CASES,
        choices=_choices(words, topic, views.get(topic.question)),
        chosen={it.case.id for it in rows} if choose_all else set(form.getlist("case") if form is not None else ()),
        decision=field(form, "decision") if form is not None else "",
        reason=field(form, "reason", most=MOST_REASON) if form is not None else "",
        reasons=reasons,
        longest_reason=MOST_REASON,
        display=display_choice_of(place.project, member),
        wrong=wrong,
    )


def _topics(db: Connection, place: ProjectAccess) -> dict[Topic, int]:
    """Return what the waiting cases are about, the most frequent first."""
    counts: Counter[Topic] = Counter()
    for (kind, _, questions), n in cases.count_offered(db, place.project.id, member_of(place).user).items():
        counts[Topic(kind, questions.split("|")[0])] += n
    return dict(counts.most_common())


def _topic_title(words: Translator, topic: Topic, views: dict[str, QuestionView]) -> str:
    kind = words(f"case.kind.{topic.kind}")
    view = views.get(topic.question)
    return f"{kind}: {view.title}" if view is not None else kind


def _rows(
    db: Connection,
    context: Context,
    words: Translator,
    place: ProjectAccess,
    scheme: Scheme,
    topic: Topic,
    view: QuestionView | None,
    page: int,
) -> list[CaseRow]:
    member, rows = member_of(place), []
    for case in cases.list_waiting(
        db,
        place.project.id,
        member.user,
        kind=topic.kind,
        question=topic.question,
        skip=(page - 1) * MOST_CASES,
        limit=MOST_CASES,
    ):
        try:
            here = review_case(db, place.project, member, case, scheme, {})
        except CaseRefused:  # its lease ran out or began in this moment
            continue
        post = posts.get(db, case.post)
        votes: Counter[str] = Counter()
        if view is not None and not view.marks_text:
            given = [voice.answers[view.name] for voice in here.voices if view.name in voice.answers]
            for label in (label for labels in given for label in labels or ("",)):
                votes[view.title_of(label) if label else words("label.nothing")] += 1
        why = case.why[0] if case.why else ""
        rows.append(CaseRow(case, post, context.mask(post.text), why, tuple(votes.most_common())))
    return rows


def _choices(words: Translator, topic: Topic, view: QuestionView | None) -> list[tuple[str, str, str]]:
    """Return the decisions to choose from, as (value, title, explanation)."""
    drop = ("drop", words("many.drop"), "")
    if view is None:
        return [("keep", words("many.keep"), ""), drop] if topic.kind == "flag" else [drop]
    options = [(f"answer:{it.name}", it.shown, "") for it in view.options] if view.of_labels else []
    if not view.required:
        options.append(("answer:", words("label.nothing"), ""))
    return [("majority", words("many.majority"), words("many.majority_hint")), *options, drop]


def _confirmation(
    request: Request,
    place: ProjectAccess,
    scheme: Scheme,
    form: FormData,
    shared: SharedDecision,
    planned: Sequence[CaseDecision],
    texts: dict[str, str],
    reason: str,
) -> Response:
    context, words = context_of(request), render.translator_of(request)
    views = question_views(scheme, scheme.guideline, words.lang)
    masked = {case_id: context.mask(text) for case_id, text in texts.items()}
    ready = [one for one in planned if not one.left]
    answers: Counter[str] = Counter(
        " · ".join(
            f"{view.title} {answer_titles(view, one.answers[view.name], masked[one.case.id]) or words('label.nothing')}"
            for view in views
            if view.name in one.answers
        )
        for one in ready
    )
    values: dict[str, Any] = {
        "n": len(ready),
        "drops": shared.what == "drop",
        "title": words(f"many.{shared.what}") if shared.what != "answer" else "",
        "answers": [(answer, n) for answer, n in answers.most_common() if answer],
        "left": [
            (words(_why_key(one.left)), one.case.id, _excerpt(masked[one.case.id]) or words("many.picture"))
            for one in planned
            if one.left
        ],
        "chosen": [one.case.id for one in ready],
        "reason": reason,
        **{name: field(form, name) for name in ("decision", "about", "page")},
    }
    return project_page(request, place, "expert_many_confirm.html", **values)


def _excerpt(masked: str) -> str:
    words = " ".join(masked.split())
    return words if len(words) <= EXCERPT else f"{words[:EXCERPT].rstrip()}…"
