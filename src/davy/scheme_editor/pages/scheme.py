"""One scheme in the editor: its own words, its questions, a preview of the labelling page, and its earlier states.

What is saved may be incomplete; the page says what is still missing, and no project can be made from it before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy import schemes as shipped
from davy.annotation.labelling.pages.questions import PostText, question_views, read_answers, shown_marks
from davy.annotation.labelling.pages.sheets import FormState, questions_html
from davy.core import Wording
from davy.core.question_kind import DEFAULT_KIND, QUESTION_KINDS, kind_called
from davy.core.scheme import Scheme
from davy.people.pages.visitor import Form, LargeForm, allowed, field
from davy.people.store.users import User
from davy.scheme_editor import draft
from davy.scheme_editor import store as scheme_drafts
from davy.scheme_editor.draft import DraftProblem, Values
from davy.scheme_editor.pages import scheme_form, schemes
from davy.scheme_editor.store import SchemeDraft
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.markdown import render_markdown

router = APIRouter(include_in_schema=False)

Makes = Annotated[User, Depends(allowed("make projects"))]


@router.get("/schemes/{draft_id}")
def overview(request: Request, who: Makes, draft_id: str) -> Response:
    """Return the scheme's page: its words, its questions, and what is missing; one for all by its name, to be read."""
    words = render.translator_of(request)
    with context_of(request).store.read() as db:
        if draft_id in dict(schemes.shared_schemes(db, words.lang)):
            return _shared_page(request, schemes.scheme_at(db, who, "scheme", draft_id))
        own = schemes.own_draft(db, who, draft_id)
        edits = scheme_drafts.edits(db, who.id, draft_id)
    return _page(
        request,
        own,
        "scheme.html",
        edits=[(it.edit, it.saved_at, len(it.content["questions"])) for it in edits],
        questions=_listed(own.content, words.lang),
        longest={"title": scheme_form.LONGEST_TITLE, "words": scheme_form.LONGEST_WORDS},
        guideline=(own.content.get("guidelines") or [{}])[-1].get("text") or {},
    )


def _shared_page(request: Request, scheme: Scheme) -> Response:
    lang = render.translator_of(request).lang
    guideline = scheme.guideline.text.said_in(lang) if scheme.guideline else ""
    return render.page(
        request,
        "scheme_shared.html",
        scheme=scheme,
        title=scheme.title.said_in(lang) or scheme.name,
        questions=question_views(scheme, None, lang),
        guideline=render_markdown(guideline) if guideline else "",
    )


@router.post("/schemes/{draft_id}")
def save(request: Request, who: Makes, draft_id: str, form: Form) -> Response:
    """Save the scheme's own words."""
    return _change(request, who, draft_id, lambda values: scheme_form.read_about(values, form))


@router.post("/schemes/{draft_id}/questions")
def add_question(request: Request, who: Makes, draft_id: str, form: Form) -> Response:
    """Add a question and go to its page."""
    title = field(form, "title", most=scheme_form.LONGEST_TITLE)
    lang = render.translator_of(request).lang
    with context_of(request).store.write() as db:
        found = schemes.own_draft(db, who, draft_id)
        if not title:
            raise LocalizedError("question_title", status=422)
        made = scheme_drafts.save(db, found, scheme_form.with_question(found.content, title, lang))
    return render.redirect(request, f"/schemes/{draft_id}/questions/{len(made.content['questions'])}")


@router.get("/schemes/{draft_id}/questions/{question_number}")
def question(request: Request, who: Makes, draft_id: str, question_number: int) -> Response:
    """Return the form of one question."""
    with context_of(request).store.read() as db:
        own = schemes.own_draft(db, who, draft_id)
    at = _at(own.content, question_number)
    return _page(
        request,
        own,
        "scheme_question.html",
        number=question_number,
        q=own.content["questions"][at],
        above=[it for it in own.content["questions"][:at] if kind_called(it.get("kind")).of_labels],
        kinds=tuple(QUESTION_KINDS),
        blank_rows=scheme_form.BLANK_ROWS,
        most=scheme_form.MOST_LABELS,
        longest={"title": scheme_form.LONGEST_TITLE, "words": scheme_form.LONGEST_WORDS},
    )


@router.post("/schemes/{draft_id}/questions/{question_number}")
def save_question(request: Request, who: Makes, draft_id: str, question_number: int, form: LargeForm) -> Response:
    """Save one question; with `more` its page comes back with room for further labels."""
    was = field(form, "was", most=scheme_form.LONGEST_NAME)

    def change(values: Values) -> Values:
        at = next((at for at, it in enumerate(values["questions"]) if it["name"] == was), None)
        if at is None:
            raise LocalizedError("scheme_changed", status=409)
        return scheme_form.read_question(values, at, form)

    again = f"/schemes/{draft_id}/questions/{question_number}" if field(form, "do") == "more" else None
    return _change(request, who, draft_id, change, to=again)


@router.post("/schemes/{draft_id}/questions/{question_number}/{act}")
def move_question(request: Request, who: Makes, draft_id: str, question_number: int, act: str, form: Form) -> Response:
    """Move a question up or down, or remove it."""
    was = field(form, "was", most=scheme_form.LONGEST_NAME)

    def change(values: Values) -> Values:
        at = _at(values, question_number)
        if values["questions"][at]["name"] != was:
            raise LocalizedError("scheme_changed", status=409)
        if act == "remove":
            return scheme_form.without_question(values, at)
        if act not in ("up", "down"):
            raise LocalizedError("choice")
        return scheme_form.moved(values, at, -1 if act == "up" else 1)

    return _change(request, who, draft_id, change)


@router.post("/schemes/{draft_id}/bring-back/{edit}")
def bring_back(request: Request, who: Makes, draft_id: str, edit: int, form: Form) -> Response:  # noqa: ARG001 — a checked form
    """Save an earlier state of the scheme again."""
    with context_of(request).store.write() as db:
        found = schemes.own_draft(db, who, draft_id)
        scheme_drafts.save(db, found, scheme_drafts.get(db, who.id, draft_id, edit).content)
    return render.redirect(request, f"/schemes/{draft_id}", "scheme_back", undo=_undo(found))


@router.post("/schemes/{draft_id}/{act}")
def remove(request: Request, who: Makes, draft_id: str, act: str, form: Form) -> Response:  # noqa: ARG001 — a checked form
    """Remove the scheme, or bring it back; projects keep theirs."""
    if act not in ("remove", "restore"):
        raise LocalizedError("no_scheme", status=404)
    with context_of(request).store.write() as db:
        if act == "remove":
            schemes.own_draft(db, who, draft_id)
        scheme_drafts.set_removed(db, who.id, draft_id, removed=act == "remove")
    if act == "restore":
        return render.redirect(request, f"/schemes/{draft_id}", "scheme_back")
    return render.redirect(request, "/schemes", "scheme_removed", undo=f"/schemes/{draft_id}/restore")


@router.get("/schemes/{draft_id}/preview")
def preview(request: Request, who: Makes, draft_id: str) -> Response:
    """Return the labelling page with a made-up post; what is answered there is shown and not kept."""
    with context_of(request).store.read() as db:
        own = schemes.own_draft(db, who, draft_id)
    if draft.problems(own.content):
        return render.redirect(request, f"/schemes/{draft_id}", "scheme_not_ready")
    scheme, words = draft.finished(own.content), render.translator_of(request)
    post = PostText(words("scheme.preview_post"), words("scheme.preview_post"), words.lang)
    given = read_answers(scheme, FormData(list(request.query_params.multi_items())), post.plain)
    asked = question_views(scheme, scheme.guideline, words.lang)
    tried = bool(request.query_params)
    state = FormState(given.answers, missing=given.missing if tried else (), wrong=given.wrong)
    return _page(
        request,
        own,
        "scheme_preview.html",
        questions_html=questions_html(context_of(request).templates, words, scheme, asked, state, post),
        saved=_answers(scheme, given.answers, words.lang, post.plain) if tried and not given.missing else None,
        asked=asked,
        guideline=render_markdown(scheme.guideline.text.said_in(words.lang)) if scheme.guideline else "",
        warning=scheme.warning.said_in(words.lang),
    )


@router.get("/schemes/{draft_id}/scheme.yaml")
def as_file(request: Request, who: Makes, draft_id: str) -> Response:
    """Return the scheme as a YAML file, which every command that takes a scheme reads."""
    with context_of(request).store.read() as db:
        own = schemes.own_draft(db, who, draft_id)
    if draft.problems(own.content):
        return render.redirect(request, f"/schemes/{draft_id}", "scheme_not_ready")
    headers = {"Content-Disposition": f'attachment; filename="{own.name}.yaml"'}
    text = shipped.to_yaml(draft.finished(own.content))
    return Response(text, media_type="application/yaml; charset=utf-8", headers=headers)


def _change(request: Request, who: User, draft_id: str, change: Any, *, to: str | None = None) -> Response:
    """Save what `change` makes of the draft, and go back to its page, or on to `to`; the note there can undo it."""
    with context_of(request).store.write() as db:
        found = schemes.own_draft(db, who, draft_id)
        made = scheme_drafts.save(db, found, change(found.content))
    undo = _undo(found) if made.edit != found.edit else None
    return render.redirect(request, to or f"/schemes/{draft_id}", "saved", undo=undo)


def _undo(before: SchemeDraft) -> str:
    return f"/schemes/{before.id}/bring-back/{before.edit}"


def _at(values: Values, number: int) -> int:
    if not 1 <= number <= len(values["questions"]):
        raise LocalizedError("no_scheme", status=404)
    return number - 1


def _page(request: Request, found: SchemeDraft, template: str, **values: Any) -> Response:
    words = render.translator_of(request)
    return render.page(
        request,
        template,
        draft=found,
        values=found.content,
        title=Wording(found.content.get("title") or "").said_in(words.lang) or found.name,
        problems=[_worded(problem, found.content, words) for problem in draft.problems(found.content)],
        **values,
    )


def _worded(problem: DraftProblem, values: Values, words: Any) -> dict[str, Any]:
    """Return a problem in the reader's language, with the field it is about and where that stands."""
    sentence = words(f"scheme.problem.{problem.key}", **problem.values)
    if problem.question is None:
        return {"text": sentence, "number": None, "anchor": "", "question": None, "label": None}
    asked = values["questions"][problem.question]
    name = Wording(asked.get("title") or "").said_in(words.lang) or asked["name"]
    where = words("scheme.where_question", n=problem.question + 1, name=name)
    if problem.label is not None:
        where = words("scheme.where_label", where=where, n=problem.label + 1)
    return {
        "text": f"{where}: {sentence}",
        "number": problem.question + 1,
        "anchor": f"#label-{problem.label}" if problem.label is not None else "",
        "question": problem.question,
        "label": problem.label,
        "sentence": sentence,
    }


def _listed(values: Values, lang: str) -> list[dict[str, Any]]:
    """Return the questions for a list: how deep each lies, and what it is called."""
    depth: dict[str, int] = {}
    rows = []
    for asked in values["questions"]:
        parent, needed = next(iter((asked.get("under") or {}).items()), (None, []))
        depth[asked["name"]] = depth.get(parent, -1) + 1 if parent else 0
        rows.append(
            {
                "name": asked["name"],
                "title": Wording(asked.get("title") or "").said_in(lang) or asked["name"],
                "kind": asked.get("kind", DEFAULT_KIND),
                "depth": min(depth[asked["name"]], 4),
                "parent": parent,
                "needed": needed,
                "derived": next(iter(asked.get("derived") or {}), ""),
                "labels": [
                    ((label.get("code") or ""), Wording(label.get("title") or "").said_in(lang) or label["name"])
                    for label in asked["labels"]
                ],
            }
        )
    return rows


def _answers(scheme: Scheme, answers: Any, lang: str, text: str) -> list[tuple[str, str]]:
    full = scheme.completed(answers)
    return [
        (
            asked.title.said_in(lang) or asked.name,
            _words(asked, full[asked.name], lang, text) or "–",
        )
        for asked in scheme.questions
        if asked.name in full
    ]


def _words(asked: Any, labels: Sequence[str], lang: str, text: str) -> str:
    if asked.marks_text:
        return shown_marks(labels, text, lambda name: _title(asked, name, lang))
    return ", ".join(_title(asked, name, lang) for name in labels)


def _title(asked: Any, name: str, lang: str) -> str:
    found = next((label for label in asked.labels if label.name == name), None)
    return found.shown_in(lang) if found else name
