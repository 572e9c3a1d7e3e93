"""The forms of the scheme editor: a draft's values in and out of fields.

What a form does not show (`of`, `derived`, notes, other languages) stays as it was. Labels and questions that were
renamed take with them whatever hangs on them.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from starlette.datastructures import FormData

from davy.core.question_kind import DEFAULT_KIND, QUESTION_KINDS
from davy.people.pages.visitor import field
from davy.scheme_editor import draft
from davy.scheme_editor.draft import Values
from davy.web.errors import LocalizedError
from davy.web.i18n import LANGUAGES

LONGEST_NAME = 120
LONGEST_TITLE = 300
LONGEST_WORDS = 5_000
LONGEST_GUIDELINE = 100_000
MOST_LABELS = 200
MOST_QUESTIONS = 60
BLANK_ROWS = 2
_BLANK: Values = {"open": False, "absent": [], "derived": None}


def read_about(values: Values, form: FormData) -> Values:
    """Return the draft with what its own form says: name, title, description, warning, guideline."""
    made = deepcopy(values)
    made["name"] = field(form, "name", most=LONGEST_NAME).lower()
    for key in ("title", "description", "warning"):
        made[key] = _wording(form, key, made.get(key), most=LONGEST_TITLE if key == "title" else LONGEST_WORDS)
    before = made.get("guidelines") or [{"version": 1}]
    text = _wording(form, "guideline", before[-1].get("text"), most=LONGEST_GUIDELINE)
    made["guidelines"] = [{**before[-1], "text": text}] if text else []
    return made


def with_question(values: Values, title: str, lang: str) -> Values:
    """Return the draft with another question at its end."""
    if len(values["questions"]) >= MOST_QUESTIONS:
        raise LocalizedError("scheme_too_many", status=422, most=MOST_QUESTIONS)
    name = draft.plain_name(title, [question["name"] for question in values["questions"]])
    made = deepcopy(values)
    made["questions"].append({"name": name, "kind": DEFAULT_KIND, "title": {lang: title}, "labels": []})
    return made


def moved(values: Values, at: int, by: int) -> Values:
    """Return the draft with a question moved up or down by one."""
    made = deepcopy(values)
    to = min(max(at + by, 0), len(made["questions"]) - 1)
    made["questions"].insert(to, made["questions"].pop(at))
    return made


def without_question(values: Values, at: int) -> Values:
    """Return the draft without a question; those that hung on it are asked of every post then."""
    made = deepcopy(values)
    gone = made["questions"].pop(at)["name"]
    for question in made["questions"]:
        if gone in (question.get("under") or {}):
            question["under"] = None
            for label in question["labels"]:
                label["under"] = []
        if gone in (question.get("derived") or {}):
            question["derived"] = None
    return made


def read_question(values: Values, at: int, form: FormData) -> Values:
    """Return the draft with one of its questions as a form says."""
    made = deepcopy(values)
    question = made["questions"][at]
    old = question["name"]
    title = _wording(form, "title", question.get("title"), most=LONGEST_TITLE)
    taken = [other["name"] for other in made["questions"] if other is not question]
    named = field(form, "name", most=LONGEST_NAME).lower()
    question["name"] = named or draft.plain_name(next(iter(title.values()), ""), taken)
    question["title"] = title
    question["definition"] = _wording(form, "definition", question.get("definition"), most=LONGEST_WORDS)
    question["kind"] = _choice(field(form, "kind"), tuple(QUESTION_KINDS))
    kind = QUESTION_KINDS[question["kind"]]
    question["open"], question["required"] = field(form, "open") == "yes", field(form, "required") == "yes"
    question |= {name: _BLANK[name] for name in kind.refuses}
    if question["name"] != old and question["name"] not in taken:
        draft.rename_question(made, old, question["name"])
    labels, renamed, positive = _read_labels(question, form)
    question["labels"] = labels
    draft.rename_labels(made, question["name"], renamed)
    question["positive"] = positive if kind.nominal else None
    _read_parent(made, at, form)
    return made


def _read_labels(question: Values, form: FormData) -> tuple[list[Values], dict[str, str], str | None]:
    """Return the labels of a form in their order, which of them were renamed, and the one that means yes."""
    known = {label["name"]: label for label in question["labels"]}
    rows: list[tuple[float, int, Values]] = []
    renamed: dict[str, str] = {}
    positive = None
    for row in range(MOST_LABELS):
        if f"label.{row}.was" not in form or field(form, f"label.{row}.remove") == "yes":
            continue
        was = field(form, f"label.{row}.was", most=LONGEST_NAME)
        label = _read_label(form, f"label.{row}", deepcopy(known.get(was, {})))
        if not label["name"] and not label["title"]:
            continue
        if was in known and label["name"] != was:
            renamed[was] = label["name"]
        if field(form, f"label.{row}.yes") == "yes" and positive is None:
            positive = label["name"]
        rows.append((_place(field(form, f"label.{row}.place"), row), row, label))
    return [label for _, _, label in sorted(rows, key=lambda it: it[:2])], renamed, positive


def _read_label(form: FormData, prefix: str, label: Values) -> Values:
    title = _wording(form, f"{prefix}.title", label.get("title"), most=LONGEST_TITLE)
    label["name"] = field(form, f"{prefix}.name", most=LONGEST_NAME) or draft.label_name(next(iter(title.values()), ""))
    label["title"] = title
    label["code"] = field(form, f"{prefix}.code", most=20)
    label["definition"] = _wording(form, f"{prefix}.definition", label.get("definition"), most=LONGEST_WORDS)
    label["examples"] = _examples(form, f"{prefix}.examples")
    label["aliases"] = _lines(field(form, f"{prefix}.aliases", most=LONGEST_WORDS))
    label["group"] = field(form, f"{prefix}.group", most=LONGEST_NAME)
    for flag in ("severe", "priority"):
        label[flag] = field(form, f"{prefix}.{flag}") == "yes"
    label["under"] = _several(form, f"{prefix}.under")
    return label


def _read_parent(values: Values, at: int, form: FormData) -> None:
    """Set under which answers the question is asked; none chosen is the parent's yes, or any of its answers."""
    question = values["questions"][at]
    parent = field(form, "parent", most=LONGEST_NAME)
    above = next((other for other in values["questions"][:at] if other["name"] == parent), None)
    if above is None:
        question["under"] = None
        for label in question["labels"]:
            label["under"] = []
        return
    names = [label["name"] for label in above["labels"]]
    chosen = [pair.partition("=")[2] for pair in _several(form, "needed") if pair.startswith(f"{parent}=")]
    needed = [name for name in names if name in chosen] or [name for name in names if name == above.get("positive")]
    question["under"] = {parent: needed or names}
    for label in question["labels"]:
        label["under"] = [name for name in label["under"] if name in question["under"][parent]]


def _wording(form: FormData, key: str, before: Any, *, most: int) -> dict[str, str]:
    """Return a text by language; languages that the form does not have stay."""
    said = {lang: words for lang, words in (before or {}).items() if lang not in LANGUAGES}
    said |= {lang: field(form, f"{key}.{lang}", most=most).replace("\r\n", "\n") for lang in LANGUAGES}
    return {lang: words for lang, words in said.items() if words}


def _examples(form: FormData, key: str) -> list[dict[str, str]]:
    """Return examples, one a line; those of two languages go together line by line."""
    by_lang = {lang: _lines(field(form, f"{key}.{lang}", most=LONGEST_WORDS)) for lang in LANGUAGES}
    most = max(len(lines) for lines in by_lang.values())
    return [{lang: lines[n] for lang, lines in by_lang.items() if n < len(lines)} for n in range(most)]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _several(form: FormData, name: str) -> list[str]:
    return [value for value in form.getlist(name) if isinstance(value, str) and value]


def _choice(value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise LocalizedError("choice")
    return value


def _place(value: str, row: int) -> float:
    return float(value) if value.isdecimal() and len(value) < 6 else row + 1
