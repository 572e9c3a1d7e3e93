"""Score one text or one picture and show why, by one detector or two side by side. Nothing is kept.

Pages work without scripts; htmx asks for the result alone. Files of posts are scored by a run (`pages/runs.py`).
"""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project.pages.upload_form import UploadForm
from davy.core.errors import UserError
from davy.core.scorer import Scorer, Scores
from davy.detectors.embedded import LOOKS
from davy.image.picture import Picture, read_picture
from davy.people.pages.visitor import Form, allowed, check_rate, field
from davy.people.store.users import User
from davy.runs.pages.detector_choices import find_detector, installed_for_memes, list_choices
from davy.scoring.queue.detector import Detector, PostToScore, answer_tree, question_title, verdict_text
from davy.scoring.queue.detectors import Detectors
from davy.scoring.queue.pictures import MOST_PIXELS
from davy.scoring.queue.request_scoring import explanations, score_posts, within_time
from davy.scoring.result import repair_text
from davy.scoring.score_file import score_meme
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.i18n import LANGUAGES

router = APIRouter(include_in_schema=False)

MayScore = Annotated[User, Depends(allowed("score texts"))]
Result = dict[str, Any]


@router.get("/score")
def ask(request: Request, who: MayScore, model: str = "", kind: str = "text") -> Response:
    """Return the page with an empty text, or with `kind=picture` the one that takes a picture."""
    return _page(request, who, kind=kind, model=model[:200], explain=True)


@router.post("/score")
async def score(request: Request, who: MayScore, form: Form) -> Response:
    """Return the text's scores: the whole page, or for htmx the result alone."""
    check_rate(request, "texts of a session", who.id)
    asked: dict[str, Any] = {
        "text": str(form.get("text") or "").replace("\r\n", "\n"),
        "model": field(form, "model", most=200),
        "other": field(form, "other", most=200),
        "lang": field(form, "lang", most=20),
        "explain": bool(form.get("explain")),
    }
    try:
        results = await _results(request, who, **asked)
    except UserError as error:
        if is_htmx(request) or error.status == 500:
            raise
        asked["text"] = asked["text"][:50_000]
        return await _refused(request, who, error, **asked)
    if is_htmx(request):
        return render.page(request, "parts/score.html", results=results, difference=_difference(results))
    return await to_thread.run_sync(lambda: _page(request, who, results=results, **asked))


@router.post("/score/upload")
async def score_picture(request: Request, who: MayScore, form: UploadForm) -> Response:
    """Return the scores of a picture with the text on it, typed or read."""
    check_rate(request, "texts of a session", who.id)
    asked: dict[str, Any] = {
        "kind": "picture",
        "text": field(form, "text", most=context_of(request).settings.max_text),
        "model": field(form, "model", most=200),
    }
    try:
        picture = await to_thread.run_sync(_picture, form)
        detector = await find_detector(request, who, asked["model"], pictures=True)
        result = await _picture_result(request, who, detector, picture, asked["text"])
    except UserError as error:
        return await _refused(request, who, error, **asked)
    return await to_thread.run_sync(lambda: _page(request, who, results=[result], **asked))


async def _results(
    request: Request, who: User, *, text: str, model: str, other: str, lang: str, explain: bool
) -> list[Result]:
    """Return what each of one or two detectors says of a text."""
    most = context_of(request).settings.max_text
    if not text.strip():
        raise LocalizedError("empty_text")
    if len(text) > most:
        raise LocalizedError("too_long", status=413, most=most, got=len(text))
    results = []
    for key in dict.fromkeys([model, *([other] if other else [])]):
        detector = await find_detector(request, who, key)
        post = PostToScore(text, lang if lang in LANGUAGES else None)
        scored = await score_posts(request, [post], detector=detector)
        if detector.scorer.abilities.images and scored.scores.verdicts() == [None]:
            raise LocalizedError("needs_picture", status=422, model=str(detector.model["name"]))
        result = await _shown(request, detector, scored.scores, text)
        if explain and detector.scorer.abilities.explains and not result["unsupported"]:
            result["why"] = _pieces(request, result, (await explanations(request, scored))[0])
        results.append(result)
    return results


async def _picture_result(request: Request, who: User, detector: Detector, picture: Picture, text: str) -> Result:
    def look(scorer: Scorer) -> Any:
        return score_meme(picture, text or None, scorer)

    try:
        outcome = await within_time(context_of(request), detector.run(look, sender=who.id))
    except UserError:
        if text or detector.scorer.abilities.images:
            raise
        raise LocalizedError("picture_text", status=422) from None  # nothing could be read, and nobody typed it
    result = await _shown(request, detector, outcome.scores, outcome.text)
    return {**result, "looked": outcome.looked, "read": outcome.read}


def _picture(form: FormData) -> Picture:
    sent = form.get("picture")
    if not isinstance(sent, UploadFile) or not sent.size:
        raise LocalizedError("no_upload", status=422)
    return read_picture(sent.file.read(), max_pixels=MOST_PIXELS, name="The picture")


async def _shown(request: Request, detector: Detector, scores: Scores, text: str) -> Result:
    lang = render.translator_of(request).lang
    shown = repair_text(text)
    tree, left_out = answer_tree(scores, 0, lang)
    return {
        "text": shown,
        "masked": await to_thread.run_sync(context_of(request).mask, shown),
        "verdict": verdict_text(scores, 0, lang),
        "unsupported": str(scores.languages()[0]),
        "tree": tree,
        "left_out": left_out,
        "labels": {node.title: node.labels for node in _nodes(tree)},
        "titles": {question.name: question_title(question, lang) for question in scores.questions},
        "model": detector.model,
    }


def _nodes(tree: Any) -> list[Any]:
    return [each for node in tree for each in (node, *_nodes(node.children))]


def _pieces(request: Request, result: Result, reason: dict[str, Any]) -> Result:
    """Return a text cut at the words that carried the decision, as (masked, plain, strength from 0 to 4)."""
    text, mask = result["text"], context_of(request).mask
    words = sorted(reason["words"], key=lambda it: it["start"])
    most = max((it["weight"] for it in words), default=1.0)
    pieces, end = [], 0
    for it in words:
        pieces.append((text[end : it["start"]], 0))
        pieces.append((text[it["start"] : it["end"]], max(1, round(4 * it["weight"] / most))))
        end = it["end"]
    pieces.append((text[end:], 0))
    cut = [(mask(piece), piece, strength) for piece, strength in pieces if piece]
    hidden = any(masked != piece for masked, piece, _ in cut)
    strongest = [(mask(it["text"]), it["weight"]) for it in reason["words"]]
    asked = result["titles"].get(reason["question"], "")
    return {"pieces": cut, "question": asked, "words": strongest, "hidden": hidden}


def _difference(results: list[Result]) -> Result | None:
    """Return what two detectors answer differently, of what both answer, and what one alone answers; by title.

    A question that a detector does not have, or that its own answers do not lead to, is no difference.
    """
    if len(results) < 2:
        return None
    first, second = (result["labels"] for result in results[:2])
    shared = [title for title in first if title in second]
    alone = [
        (result["model"]["name"], [title for title in own if title not in other])
        for result, own, other in ((results[0], first, second), (results[1], second, first))
    ]
    return {
        "shared": shared,
        "on": [title for title in shared if first[title] != second[title]],
        "alone": [(name, titles) for name, titles in alone if titles],
    }


async def _refused(request: Request, who: User, error: UserError, **asked: Any) -> Response:
    wrong = render.error_text(request, error)
    return await to_thread.run_sync(lambda: _page(request, who, wrong=wrong, status=error.status, **asked))


def _page(
    request: Request,
    who: User,
    *,
    kind: str = "text",
    text: str = "",
    model: str = "",
    other: str = "",
    lang: str = "",
    explain: bool = False,
    results: list[Result] | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    return render.page(
        request,
        "score.html",
        status=status,
        kind="picture" if kind == "picture" else "text",
        text=text,
        results=results or [],
        difference=_difference(results or []),
        wrong=wrong,
        most=context_of(request).settings.max_text,
        choices=list_choices(request, who),
        installed=installed_for_memes(request) if kind == "picture" else [],
        looks=LOOKS,
        names=context_of(request).part(Detectors).names,
        model=model,
        other=other,
        lang=lang,
        explain=explain,
    )
