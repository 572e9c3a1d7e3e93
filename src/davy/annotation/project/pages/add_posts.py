"""Bringing posts: the part of a form with a file, its preview, its columns and pictures; and the page of a phase.

`read_sent` turns what a form sent into `UploadedPosts`: posts to add, or a look at the file that the page shows,
so that its sender says what the columns are. What was typed and sent stays with the form.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from dataclasses import field as field_of
from functools import partial
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy.annotation.project import images, import_posts, project_creation
from davy.annotation.project.import_posts import PostChoices, TableLook
from davy.annotation.project.pages import upload_form
from davy.annotation.project.pages.project_access import Manages, ProjectAccess, project_page
from davy.annotation.project.pages.upload_form import StoredUpload, UploadForm, credit_in, keep_files, upload_limits
from davy.annotation.project.project_scheme import scheme_of
from davy.annotation.project.store import phases
from davy.core import Scheme
from davy.core.errors import KeyedError, UserError
from davy.image.picture_names import last_part
from davy.people.pages.visitor import field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refusal

if TYPE_CHECKING:
    import polars as pl


LONGEST_COLUMN = 500
OTHER_LANGS = ("en", "de", "fr", "es", "it", "nl", "pl", "tr", "ar", "hi")
router = APIRouter(include_in_schema=False)

_TYPED = ("picture_licence", "picture_credit")


@dataclass(frozen=True, slots=True)
class UploadedPosts:
    """What a form brought. `frame` is None while its sender still looks at the file, and where there is none."""

    kept: StoredUpload
    look: TableLook | None = None
    chosen: PostChoices = field_of(default_factory=PostChoices)
    encoding: str = "utf-8"
    frame: pl.DataFrame | None = None
    repeated: int = 0
    blank: int = 0
    wrong: UserError | None = None

    @property
    def asks(self) -> bool:
        """Whether the page has to be shown again: something is wrong, or the sender looks first."""
        return self.wrong is not None or (self.look is not None and self.frame is None)


async def read_sent(request: Request, form: FormData, owner: str, scheme: Scheme | None) -> UploadedPosts:
    """Return what a form brings; what is wrong with it is in the answer, so that nothing that was sent is lost."""
    try:
        kept = await keep_files(request, form, owner)
    except UserError as error:
        settings = context_of(request).settings
        before = await to_thread.run_sync(upload_form.find_upload, settings, owner, field(form, "upload"))
        return UploadedPosts(before or upload_form.NOTHING_SENT, wrong=error)
    return await to_thread.run_sync(partial(_read, form, kept, scheme))


def _read(form: FormData, kept: StoredUpload, scheme: Scheme | None) -> UploadedPosts:
    likely = kept.encoding()
    encoding = field(form, "encoding") or likely
    chosen = _choices(form, scheme)
    found = UploadedPosts(kept, chosen=chosen or PostChoices(**_constants(form)), encoding=encoding)
    try:
        if encoding not in import_posts.ENCODINGS:
            raise LocalizedError("choice", status=422)
        if kept.posts is None:
            return _pictures_alone(found) if kept.pictures else found
        with kept.table_path() as path:
            rows = import_posts.read_table(path, encoding)
        look = import_posts.look_at(rows, scheme)
        # A new file has other columns than the one before it.
        if chosen is None or not _fits(chosen, look):
            chosen = replace(look.guess, **_constants(form))
        found = replace(found, look=look, chosen=chosen)
        first = "columns" not in form
        if field(form, "do") == "look" or (first and (not look.sure or likely != "utf-8")):
            return found
        brought = import_posts.posts_from(rows, chosen, stem=kept.stem)
        return replace(found, frame=brought.frame, repeated=brought.repeated, blank=brought.blank)
    except UserError as error:
        return replace(found, wrong=_worded(error, encoding))


def _worded(error: UserError, encoding: str) -> UserError:
    """Return an error that names the field, where it is about how the file is encoded."""
    if isinstance(error, KeyedError | LocalizedError) or "encoding" not in error.message:
        return error
    return LocalizedError("encoding", status=422, encoding=encoding)


def _pictures_alone(found: UploadedPosts) -> UploadedPosts:
    """Return a post for every picture that came without a table."""
    files = found.kept.picture_files()
    names = sorted({last_part(name) for name in files.read}) if files else []
    if not names:
        raise LocalizedError("no_pictures_in", status=422)
    made = import_posts.picture_posts(names, prefix=found.chosen.prefix, all_lang=found.chosen.all_lang)
    return replace(found, frame=made)


def _constants(form: FormData) -> dict[str, Any]:
    return {
        "prefix": field(form, "id_prefix", most=import_posts.LONGEST_PREFIX),
        "distinct": field(form, "distinct") == "yes",
        "all_lang": _language(field(form, "all_lang", most=20)),
    }


def _choices(form: FormData, scheme: Scheme | None) -> PostChoices | None:
    """Return what a form says of the columns; None where it was not asked yet."""
    if "columns" not in form:
        return None
    roles: dict[str, Any] = {
        role: field(form, f"column.{role}", most=LONGEST_COLUMN) or None for role in ("text", "id", "image", "lang")
    }
    names = [question.name for question in scheme.questions] if scheme else []
    gold = {name: field(form, f"gold.{name}", most=LONGEST_COLUMN) for name in names}
    return PostChoices(**roles, gold={name: column for name, column in gold.items() if column}, **_constants(form))


def _fits(chosen: PostChoices, look: TableLook) -> bool:
    named = (chosen.text, chosen.id, chosen.image, chosen.lang, *chosen.gold.values())
    return all(column is None or column in look.columns for column in named)


def _language(value: str) -> str:
    if value and value not in OTHER_LANGS:
        raise LocalizedError("choice", status=422)
    return value


def form_values(request: Request, sent: UploadedPosts | None, scheme: Scheme | None) -> dict[str, Any]:
    """Return what `parts/posts_fields.html` shows."""
    context = context_of(request)
    look = sent.look if sent else None
    return {
        "sent": sent,
        "look": look,
        "chosen": sent.chosen if sent else PostChoices(),
        "first_rows": [[context.mask(cell) for cell in row] for row in look.first] if look else [],
        "encodings": import_posts.ENCODINGS,
        "gold_questions": [question.name for question in scheme.questions if question.derived is None]
        if scheme
        else [],
        "post_langs": OTHER_LANGS,
        **upload_limits(request),
        "longest_prefix": import_posts.LONGEST_PREFIX,
    }


@router.get("/projects/{project_id}/phases/{name}/posts")
def form_page(request: Request, place: Manages, name: str) -> Response:
    """Return the form that brings posts into a phase."""
    return _page(request, place, name, None, _scheme(request, place))


@router.post("/projects/{project_id}/phases/{name}/upload")
async def upload(request: Request, place: Manages, name: str, form: UploadForm) -> Response:
    """Add the posts of a file to a phase, or show the file first; say what is new in it."""
    scheme = await to_thread.run_sync(_scheme, request, place)
    sent = await read_sent(request, form, place.account.id, scheme)
    typed = {key: field(form, key) for key in _TYPED}
    again = partial(_page, request, place, name, sent, scheme, typed=typed)
    try:
        if sent.wrong is not None:
            raise sent.wrong
        if sent.asks:
            return await to_thread.run_sync(again)
        if sent.frame is None:
            raise LocalizedError("no_file", status=422)
        added = await to_thread.run_sync(_add, request, place, name, sent, scheme, credit_in(form))
    except UserError as error:
        return await to_thread.run_sync(partial(again, **refusal(request, error)))
    await to_thread.run_sync(sent.kept.discard)
    number = render.translator_of(request).number
    left_out = sent.repeated + sent.blank
    counts = {"n": number(added.new), "known": number(added.known), "left_out": number(left_out), "phase": name}
    return render.redirect(request, place.address, _note(added, left_out), **counts)


def _note(added: project_creation.AddedPosts, left_out: int) -> str:
    """Return the key of the note that says what a file brought."""
    if added.known:
        return "posts_added_known_left_out" if left_out else "posts_added_known"
    return "posts_added_left_out" if left_out else "posts_added"


def _add(
    request: Request, place: ProjectAccess, name: str, sent: UploadedPosts, scheme: Scheme, credit: images.Credit
) -> project_creation.AddedPosts:
    store, by, frame = context_of(request).store, place.account.id, sent.frame
    files = sent.kept.picture_files()
    assert frame is not None
    with ExitStack() as stack:
        pictures = None
        if files is not None:
            wanted = images.wanted_names([frame])
            pictures = stack.enter_context(images.storing_pictures(store, files, wanted, credit=credit, later=True))
        db = stack.enter_context(store.write())
        images.add_pictures(db, place.project.id, pictures, by=by)
        phase = phases.by_name(db, place.project.id, name)
        return project_creation.add_new_posts(db, place.project, phase, frame, scheme, by=by)


def _scheme(request: Request, place: ProjectAccess) -> Scheme:
    with context_of(request).store.read() as db:
        return scheme_of(db, place.project)


def _page(
    request: Request,
    place: ProjectAccess,
    name: str,
    sent: UploadedPosts | None,
    scheme: Scheme,
    *,
    typed: dict[str, str] | None = None,
    wrong: str = "",
    status: int = 200,
) -> Response:
    with context_of(request).store.read() as db:
        phase = phases.by_name(db, place.project.id, name)
    return project_page(
        request,
        place,
        "add_posts.html",
        status=status,
        phase=phase,
        wrong=wrong,
        typed={**dict.fromkeys(_TYPED, ""), **(typed or {})},
        **form_values(request, sent, scheme),
    )
