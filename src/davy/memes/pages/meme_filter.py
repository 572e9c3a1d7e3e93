"""Filter a source meme: language, violating content, slurs, and the pictures that may replace its own.

One meme at a time. What passes waits to be built; what does not is discarded with its reason. A suspected picture of
child abuse has a page of its own (`picture_report.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.care.pages.consent import member_of
from davy.annotation.labelling.pages.sheets import display_choice_of
from davy.annotation.project.pages.project_access import Labels, ProjectAccess, project_page
from davy.core.errors import UserError
from davy.core.meme import PASSED, VIOLATIONS, FilterAnswers
from davy.memes import meme_tasks
from davy.memes.meme_tasks import MemeTask
from davy.memes.pages.library import picker_of
from davy.memes.pages.memes import begin_task, go_on, open_task, seconds_in, skipped
from davy.memes.store import meme_steps
from davy.people.pages.visitor import Form, field
from davy.text.mask import mask, mask_segments
from davy.web import render
from davy.web.context import context_of

router = APIRouter(include_in_schema=False)


FORM = "filter"
"""The id of the form, which the library's choices belong to."""
MOST_REPLACEMENTS = 6


@dataclass(frozen=True, slots=True)
class FilterForm:
    """What the form holds; `language` and `slurs` are "yes", "no" or empty."""

    language: str = ""
    violations: tuple[str, ...] = ()
    slurs: str = ""
    replacements: tuple[str, ...] = ()
    preserves: bool = False
    seconds: float = 0.0
    wrong: str = ""

    @property
    def answers(self) -> FilterAnswers:
        """What it says."""
        return FilterAnswers(
            self.language == "yes", self.violations, self.slurs == "yes", self.replacements, self.preserves
        )


@router.get("/projects/{project_id}/memes/filter")
def show(request: Request, place: Labels) -> Response:
    """Return this person's next source meme, which is theirs for a while from now on."""
    task = begin_task(request, place, "filter")
    return task if isinstance(task, Response) else _page(request, place, task, _earlier(request, task))


@router.post("/projects/{project_id}/memes/filter/{assignment_id}")
def save(request: Request, place: Labels, assignment_id: str, form: Form) -> Response:
    """Keep the answers and go on, put the meme off, or show what is missing."""
    task = open_task(request, place, "filter", assignment_id)
    if isinstance(task, Response):
        return task
    if done := skipped(request, place, task, form):
        return done
    store, do = context_of(request).store, field(form, "do")
    filled = _read(form)
    if wrong := _missing(filled, none_fits=do == "none"):
        words = render.translator_of(request)
        return _page(request, place, task, replace(filled, wrong=words(f"filter.missing.{wrong}")), status=422)
    try:
        with store.write() as db:
            result = meme_tasks.save_filter(db, task, filled.answers, seconds=filled.seconds or None)
    except UserError as error:
        return _page(
            request, place, task, replace(filled, wrong=render.error_text(request, error)), status=error.status
        )
    return go_on(request, place, "filter", "meme_passed" if result == PASSED else "meme_discarded")


def _read(form: FormData) -> FilterForm:
    known = [str(it) for it in form.getlist("violation") if it in VIOLATIONS]
    chosen = dict.fromkeys(str(it) for it in form.getlist("replacement"))
    without = field(form, "do") == "none"
    return FilterForm(
        field(form, "language"),
        tuple(dict.fromkeys(known)),
        field(form, "slurs"),
        () if without else tuple(chosen)[:MOST_REPLACEMENTS],
        field(form, "preserves") == "yes" and not without,
        seconds_in(form) or 0.0,
    )


def _missing(filled: FilterForm, *, none_fits: bool) -> str:
    """Return what has no answer yet; once something discards the meme, what comes after it is not asked."""
    if filled.language not in ("yes", "no"):
        return "language"
    if filled.language == "no" or filled.violations:
        return ""
    if filled.slurs not in ("yes", "no"):
        return "slurs"
    if filled.slurs == "yes" or none_fits:
        return ""
    return "" if filled.replacements and filled.preserves else "preserves" if filled.replacements else "replacement"


def _earlier(request: Request, task: MemeTask) -> FilterForm:
    """Return what this meme's form held where its filter was taken back; else an empty one."""
    with context_of(request).store.read() as db:
        step = meme_steps.newest(db, task.key, "filter")
    if step is None or step.result != meme_tasks.UNDONE:
        return FilterForm()
    kept = step.details
    slurs = "yes" if kept.get("slurs") else "no"
    return FilterForm("", tuple(kept.get("violations", ())), slurs, tuple(kept.get("replacements", ())))


def _page(request: Request, place: ProjectAccess, task: MemeTask, filled: FilterForm, *, status: int = 200) -> Response:
    context, post = context_of(request), task.post
    pieces = mask_segments(post.text, context.lexicon)
    values: dict[str, Any] = {
        "task": task,
        "form": filled,
        "form_id": FORM,
        "violations": VIOLATIONS,
        "most": MOST_REPLACEMENTS,
        "masked": context.mask(post.text),
        "pieces": [(mask(it.text, context.lexicon), it.text, it.hurtful) for it in pieces],
        "hits": sum(it.hurtful for it in pieces),
        "display": display_choice_of(place.project, member_of(place)),
        "spoken": place.project.settings.get("languages") or ("en", "de"),
        "picker": picker_of(request, place, several=True, like=post.image, chosen=filled.replacements, form=FORM),
    }
    return project_page(request, place, "meme_filter.html", status=status, **values)
