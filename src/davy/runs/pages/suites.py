"""A project's own suites: fill-ins, templates and expected labels as a form, or as YAML, with counts while one writes.

Every save is a version. Who runs the project writes them; nobody else sees them. A suite's YAML becomes a `SuiteForm`
if it says no more than a form can hold, and a form becomes YAML. Near duplicates, tags and word lists from files are
for the YAML itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import yaml
from fastapi import APIRouter, Depends
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from davy import schemes as shipped_schemes
from davy.annotation.project.pages.project_access import ProjectAccess, in_project, project_page
from davy.annotation.project.project_scheme import scheme_of
from davy.core import Scheme
from davy.core.errors import UserError
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlText, parse_tree
from davy.people.pages.visitor import Form, field
from davy.runs import store as project_suites
from davy.runs.store import ProjectSuite
from davy.scoring.queue.detector import label_title, question_title
from davy.testing import suites
from davy.testing.suite_source import LONGEST, copy_shipped, read_suite
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError, is_htmx
from davy.web.i18n import LANGUAGES
from davy.web.refused_by import refusal

router = APIRouter(include_in_schema=False)

Writes = Annotated[ProjectAccess, Depends(in_project("train"))]

SPARE = 2
"""Empty rows at the end of the form."""
SAMPLE = 12
MOST_SUITES = 50
_SLOT_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
MOST_ROWS = 12
"""Fill-ins, and functionalities, that a form has room for."""
_KEYS = {"name", "version", "lang", "scheme", "question", "title", "lexicons", "functionalities"}


@router.get("/projects/{project_id}/train/suites")
def show(request: Request, place: Writes) -> Response:
    """Return the project's suites, and ways to begin one."""
    with context_of(request).store.read() as db:
        found = project_suites.list_suites(db, place.project.id)
    words = render.translator_of(request)
    shipped = [(name, words.report(title)) for name, title in suites.titles()]
    return project_page(request, place, "suites.html", found=found, shipped=shipped)


@router.post("/projects/{project_id}/train/suites")
def begin(request: Request, place: Writes, form: Form) -> Response:
    """Make a suite: an empty one, or a copy of one that ships."""
    title, start = field(form, "title", most=80), field(form, "start")
    if not title:
        raise LocalizedError("choice", status=422)
    context = context_of(request)
    name = plain_id(title)
    with context.store.write() as db:
        if len(project_suites.list_suites(db, place.project.id)) >= MOST_SUITES:
            raise LocalizedError("too_many_suites", status=409, most=MOST_SUITES)
        content = copy_shipped(start, name) if start else _blank(scheme_of(db, place.project), title).to_yaml(name)
        made = project_suites.create(db, place.project.id, title, content, by=place.account.id)
    return render.redirect(request, f"{place.address}/train/suites/{made.id}")


@router.get("/projects/{project_id}/train/suites/{suite_id}")
def edit(request: Request, place: Writes, suite_id: str, yaml: str = "") -> Response:
    """Return the editor: the form where the suite fits one, else its YAML; `yaml=yes` asks for the YAML."""
    suite = _find(request, place, suite_id)
    return _editor(request, place, suite, suite.content, as_yaml=bool(yaml))


@router.post("/projects/{project_id}/train/suites/{suite_id}/count")
def count(request: Request, place: Writes, suite_id: str, form: Form) -> Response:
    """Return how many cases the form makes as it stands, without saving; for htmx that part alone."""
    suite = _find(request, place, suite_id)
    text = _text(request, place, suite, form)
    if is_htmx(request):
        return render.page(request, "parts/suite_counts.html", **_counted(request, place, text))
    return _editor(request, place, suite, text, as_yaml="yaml" in form)


@router.post("/projects/{project_id}/train/suites/{suite_id}/remove")
def remove(request: Request, place: Writes, suite_id: str, form: Form) -> Response:  # noqa: ARG001
    """Take a suite out of the list."""
    with context_of(request).store.write() as db:
        project_suites.remove(db, place.project.id, suite_id, by=place.account.id)
    return render.redirect(request, f"{place.address}/train/suites", "suite_removed")


@router.post("/projects/{project_id}/train/suites/{suite_id}")
def save(request: Request, place: Writes, suite_id: str, form: Form) -> Response:
    """Keep a new version; one with problems is kept too, and says what they are."""
    suite = _find(request, place, suite_id)
    try:
        text = _text(request, place, suite, form)
        title = field(form, "title", most=80) or suite.name
    except UserError as error:
        if is_htmx(request):
            raise
        return _editor(request, place, suite, suite.content, as_yaml="yaml" in form, **refusal(request, error))
    with context_of(request).store.write() as db:
        made = project_suites.save(db, place.project.id, suite_id, title, text, by=place.account.id)
    more = "?yaml=yes" if "yaml" in form else ""
    address = f"{place.address}/train/suites/{suite_id}{more}"
    return render.redirect(request, address, "suite_saved", version=str(made.version))


def _find(request: Request, place: ProjectAccess, suite_id: str) -> ProjectSuite:
    with context_of(request).store.read() as db:
        return project_suites.get(db, place.project.id, suite_id)


def _blank(scheme: Scheme, title: str) -> SuiteForm:
    """Return a suite that asks the first yes/no question of the project's scheme, else the shipped one about hate."""
    asked = next((it for it in scheme.questions if it.positive is not None and len(it.labels) == 2), None)
    scheme_name = scheme.name if asked is not None else "hate"
    question = asked or shipped_schemes.load("hate").question("hate")
    lang = scheme.languages[0] if getattr(scheme, "languages", ()) else "en"
    return SuiteForm(title, lang if lang in LANGUAGES else "en", scheme_name, question.name)


def _text(request: Request, place: ProjectAccess, suite: ProjectSuite, form: FormData) -> str:
    """Return the suite's YAML as a form says it."""
    if "yaml" in form:
        return str(form.get("yaml") or "").replace("\r\n", "\n")[: LONGEST + 1]
    scheme, _, question = field(form, "question").partition(" ")
    known = {(name, each) for name, each, _ in _questions(request, place)}
    lang = field(form, "lang", most=10)
    if (scheme, question) not in known or lang not in LANGUAGES:
        raise LocalizedError("choice", status=422)
    title = field(form, "title", most=80) or suite.name
    return SuiteForm(title, lang, scheme, question, _fills(form), _parts(form)).to_yaml(plain_id(title))


def _fills(form: FormData) -> tuple[FillIn, ...]:
    fills = []
    for at in range(MOST_ROWS + SPARE):
        name, words = field(form, f"fill-{at}", most=40), _lines(form, f"words-{at}")
        if name or words:
            if not _SLOT_NAME.fullmatch(name):
                raise LocalizedError("slot_name", status=422, name=name[:40])
            fills.append(FillIn(name, words, bool(form.get(f"target-{at}"))))
    return tuple(fills)


def _parts(form: FormData) -> tuple[SuitePart, ...]:
    parts = []
    for at in range(MOST_ROWS + SPARE):
        title, templates = field(form, f"part-{at}", most=120), _lines(form, f"templates-{at}")
        if title or templates:
            if not title:
                raise LocalizedError("part_title", status=422)
            parts.append(SuitePart(title, field(form, f"label-{at}", most=120), templates))
    return tuple(parts)


def _lines(form: FormData, name: str) -> tuple[str, ...]:
    """Return a field's lines, each once, without those that are empty."""
    lines = (line.strip() for line in field(form, name, most=20_000).splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))


def _questions(request: Request, place: ProjectAccess) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the yes/no questions that a suite can ask, as (scheme, question, labels with titles), own scheme first."""
    lang = render.translator_of(request).lang
    with context_of(request).store.read() as db:
        own = scheme_of(db, place.project)
    every = [own, *(shipped_schemes.load(name) for name in shipped_schemes.names() if name != own.name)]
    return [
        (scheme.name, question.name, [(name, label_title(question, name, lang)) for name in question.label_names])
        for scheme in every
        for question in scheme.questions
        if question.positive is not None and len(question.labels) == 2
    ]


def _counted(request: Request, place: ProjectAccess, text: str) -> dict[str, Any]:
    """Return what a text makes: cases by functionality and label, some of them masked, and every problem."""
    with context_of(request).store.read() as db:
        scheme = scheme_of(db, place.project)
    reading = read_suite(text, scheme)
    suite = reading.suite
    problems = [(problem.line, problem.message) for problem in reading.problems]
    if suite is None or not suite.cases:
        return {"counts": None, "problems": problems, "sample": [], "titles": {}}
    masked = suites.masker(suite)
    step = max(1, len(suite.cases) // SAMPLE)
    sample = [(masked(case.text), case.text, case.expected) for case in suite.cases[::step][:SAMPLE]]
    titles = {name: suite.titled(name) for name in suite.functionalities}
    return {"counts": suites.counts(suite), "problems": problems, "sample": sample, "titles": titles}


def _editor(
    request: Request,
    place: ProjectAccess,
    suite: ProjectSuite,
    text: str,
    *,
    as_yaml: bool = False,
    wrong: str = "",
    status: int = 200,
) -> Response:
    shown_form = None if as_yaml else read_form(text)
    questions = _questions(request, place)
    labels = next(
        (it[2] for it in questions if shown_form is not None and it[:2] == (shown_form.scheme, shown_form.question)),
        questions[0][2],
    )
    return project_page(
        request,
        place,
        "suite.html",
        status=status,
        suite=suite,
        text=text,
        form=shown_form,
        fits=read_form(text) is not None,
        questions=[(scheme, name, question_title_of(request, scheme, name, place)) for scheme, name, _ in questions],
        labels=labels,
        spare=SPARE,
        most_rows=MOST_ROWS,
        wrong=wrong,
        **_counted(request, place, text),
    )


def question_title_of(request: Request, scheme: str, name: str, place: ProjectAccess) -> str:
    """Return what a question of a scheme is called in the reader's language."""
    with context_of(request).store.read() as db:
        own = scheme_of(db, place.project)
    asked = (own if scheme == own.name else shipped_schemes.load(scheme)).question(name)
    return question_title(asked, render.translator_of(request).lang)


@dataclass(frozen=True, slots=True)
class FillIn:
    """What a slot takes, a line each; with `target`, each is a group that cases are about."""

    name: str
    words: tuple[str, ...]
    target: bool = False


@dataclass(frozen=True, slots=True)
class SuitePart:
    """One functionality: what it tests, the label that its cases must get, and its templates, a line each."""

    title: str
    label: str
    templates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SuiteForm:
    """A suite that a form can hold."""

    title: str
    lang: str
    scheme: str
    question: str
    fills: tuple[FillIn, ...] = ()
    parts: tuple[SuitePart, ...] = ()

    def to_yaml(self, name: str) -> str:
        """Return the suite's file as text; ids of functionalities and templates follow from their places and titles."""
        file: dict[str, Any] = {
            "name": name,
            "version": 1,
            "lang": self.lang,
            "scheme": self.scheme,
            "question": self.question,
            "title": self.title,
            "lexicons": {fill.name: [_entry(word, fill.target) for word in fill.words] for fill in self.fills},
            "functionalities": [_part(part) for part in self.parts],
        }
        return yaml.safe_dump(file, allow_unicode=True, sort_keys=False, width=110)


def read_form(text: str) -> SuiteForm | None:
    """Return a suite's text as a form, or None where it holds more than one, or can't be read."""
    root = parse_tree(text, Problems("suite", what="suite", example=""))
    if root is None or not set(map(str, root)) <= _KEYS:
        return None
    lexicons = root.get("lexicons") or YamlMap()
    parts = root.get("functionalities") or YamlList()
    if not isinstance(lexicons, YamlMap) or not isinstance(parts, YamlList):
        return None
    try:
        fills = tuple(_fill(str(name), entries) for name, entries in lexicons.items())
        title, lang, scheme, question = (str(root.get(key) or "") for key in ("title", "lang", "scheme", "question"))
        form = SuiteForm(title, lang, scheme, question, fills=fills, parts=tuple(map(_read_part, parts)))
    except (TypeError, KeyError):
        return None
    return form if max(len(form.fills), len(form.parts)) <= MOST_ROWS else None


def _fill(name: str, entries: Any) -> FillIn:
    words, targets = [], []
    if not isinstance(entries, YamlList):
        raise TypeError
    for entry in entries:
        if isinstance(entry, YamlText):
            words.append(str(entry))
            targets.append(False)
        elif isinstance(entry, YamlMap) and set(entry) <= {"name", "target", "text"}:
            words.append(str(entry["text"]))
            targets.append("target" in entry)
        else:
            raise TypeError
    if len(set(targets)) > 1:
        raise TypeError
    return FillIn(name, tuple(words), any(targets))


def _read_part(part: Any) -> SuitePart:
    if not isinstance(part, YamlMap) or not set(part) <= {"name", "title", "label", "templates"}:
        raise TypeError
    templates: Any = part["templates"]
    if not isinstance(templates, YamlList):
        raise TypeError
    rows: list[Any] = list(templates)
    if any(set(one) != {"id", "text"} for one in rows):
        raise TypeError
    title = str(part.get("title") or part["name"])
    return SuitePart(title, str(part["label"]), tuple(str(one["text"]) for one in rows))


def _entry(word: str, target: bool) -> str | Mapping[str, str]:
    return {"name": word, "target": word.lower(), "text": word} if target else word


def _part(part: SuitePart) -> dict[str, Any]:
    name = plain_id(part.title)
    return {
        "name": name,
        "title": part.title,
        "label": part.label,
        "templates": [{"id": f"{name}-{at:02}", "text": text} for at, text in enumerate(part.templates, 1)],
    }


def plain_id(title: str) -> str:
    """Return a title as ids are written: small letters, digits and hyphens."""
    found = "".join(char if char.isascii() and char.isalnum() else "-" for char in title.lower())
    name = "-".join(filter(None, found.split("-")))[:60]
    if not name:
        raise UserError(f"{title[:80]!r} has no letter or digit to make a name from. Write another title.", status=422)
    return name if name[0].isalpha() else f"f-{name}"
