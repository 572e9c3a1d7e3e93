"""Open coding: notes that a team groups posts under become the draft of a scheme.

Codes in, a `Scheme` out: codes at the top become the labels of one question, and
each code that has others under it becomes a question of its own, asked where that
label was chosen. A team that begins from theory starts with the labels of a scheme
(`begin_from`) and merges and splits them as it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from davy.annotation.project.project import Project
from davy.annotation.settling.store import codes
from davy.annotation.settling.store.codes import Code
from davy.core import Label, Question, Scheme, UserError, Wording
from davy.core.scheme import fold_spelling
from davy.scheme_editor.draft import plain_name
from davy.schemes.rules import LONGEST, NAME
from davy.store import Connection

TOP = "theme"
READ = 200
"""Posts that are looked through at once for those that a person has not coded yet."""
_TITLE = {"en": "What does the post show?", "de": "Was zeigt der Beitrag?"}
_TITLE_UNDER = {"en": "Which kind of “{name}”?", "de": "Welche Art von „{name}“?"}


@dataclass(frozen=True, slots=True)
class CodeBranch:
    """A code in its place: how deep it lies, and how many posts it and all beneath it have."""

    code: Code
    depth: int
    below: int
    """How many codes lie beneath it, at any depth."""


def tree(found: Sequence[Code]) -> list[CodeBranch]:
    """Return codes as a list to print: each before those under it, siblings by how many posts they have."""
    known = {it.id for it in found}
    under: dict[str | None, list[Code]] = {}
    for it in found:
        under.setdefault(it.parent if it.parent in known else None, []).append(it)
    for siblings in under.values():
        siblings.sort(key=lambda it: (-it.posts, fold_spelling(it.name)))
    printed: list[CodeBranch] = []

    def walk(parent: str | None, depth: int) -> int:
        beneath = 0
        for code in under.get(parent, ()):
            place = len(printed)
            printed.append(CodeBranch(code, depth, 0))
            below = walk(code.id, depth + 1)
            printed[place] = CodeBranch(code, depth, below)
            beneath += 1 + below
        return beneath

    walk(None, 0)
    return printed


def codes_beneath(found: Sequence[Code], code_id: str) -> list[str]:
    """Return a code's id and those of all codes beneath it."""
    ids = [code_id]
    for branch in tree(found):
        if branch.code.parent in ids and branch.code.id not in ids:
            ids.append(branch.code.id)
    return ids


def draft_scheme(project: Project, found: Sequence[Code]) -> Scheme:
    """Return the scheme that the codes make; one that `davy scheme check` accepts."""
    if not found:
        raise UserError("There are no codes yet, so there is no scheme to draft. Group some posts first.", status=409)
    branches = tree(found)
    labels: dict[str | None, list[Code]] = {}
    for branch in branches:
        labels.setdefault(branch.code.parent if branch.depth else None, []).append(branch.code)
    names = _question_names([it for it in found if it.id in labels])
    questions = [_question(None, labels[None], names)]
    questions += [_question(it.code, labels[it.code.id], names) for it in branches if it.code.id in labels]
    name = re.sub(r"[^a-z0-9]+", "-", f"{project.id}-draft".lower()).strip("-")
    return Scheme(
        name=name if NAME.fullmatch(name) else f"scheme-{name}",
        version=1,
        questions=tuple(questions),
        title=Wording(f"{project.title} (draft)"),
        description=Wording("Drafted from open coding. Read every definition and add a guideline before you use it."),
    )


def begin_from(db: Connection, project: Project, scheme: Scheme, *, by: str) -> int:
    """Add a code for every label of a scheme that has none yet, beneath the label it belongs to; return how many."""
    ids = {fold_spelling(it.name): it.id for it in codes.list_codes(db, project.id, counts=False)}
    added = 0
    for question in scheme.questions:
        above = question.under[1] if question.under and len(question.under[1]) == 1 else ()
        for label in question.labels:
            if fold_spelling(label.name) in ids:
                continue
            parent = next(
                (ids[fold_spelling(name)] for name in (*label.under, *above) if fold_spelling(name) in ids), None
            )
            words = label.definition.said_in("en")[: codes.LONGEST_DESCRIPTION]
            name = label.name[: codes.LONGEST_NAME]
            if fold_spelling(name) in ids:
                continue
            made = codes.create(db, project.id, name, by=by, description=words, parent=parent)
            ids[fold_spelling(label.name)] = ids[fold_spelling(name)] = made.id
            added += 1
    return added


def page_of(
    db: Connection, project: Project, *, by: str, show: str = "new", code: str = "", after: str = "", limit: int = 10
) -> list[str]:
    """Return keys of posts to show: `new` to this person, `all`, or those under a code; page on with the last one."""
    if code:
        return codes.posts_under(
            db, codes_beneath(codes.list_codes(db, project.id, counts=False), code), after=after, limit=limit
        )
    chosen: list[str] = []
    while len(chosen) < limit:
        page = codes.posts_of_project(db, project.id, after=after, limit=READ)
        done = codes.coded_by(db, project.id, by, page) if show == "new" else set()
        chosen += [post for post in page if post not in done]
        if len(page) < READ:
            break
        after = page[-1]
    return chosen[:limit]


def put_named(db: Connection, project: Project, name: str, post: str, *, by: str) -> Code:
    """Put a post under the code with this name, which is made where there is none; return the code."""
    known = {fold_spelling(it.name): it for it in codes.list_codes(db, project.id, counts=False)}
    code = known.get(fold_spelling(name)) or codes.create(db, project.id, name, by=by)
    codes.put(db, project.id, code.id, post, by=by)
    return code


def _question(code: Code | None, under: Sequence[Code], names: dict[str | None, str]) -> Question:
    if code is None:
        title, parent = Wording(_TITLE), None
    else:
        title = Wording({lang: words.format(name=code.name) for lang, words in _TITLE_UNDER.items()})
        parent = (names[code.parent if code.parent in names else None], (_label_name(code.name),))
    return Question(
        name=names[None if code is None else code.id],
        labels=tuple(
            Label(_label_name(it.name), title=Wording(it.name), definition=Wording(it.description)) for it in under
        ),
        kind="many",
        title=title,
        under=parent,
    )


def _question_names(parents: Iterable[Code]) -> dict[str | None, str]:
    """Return a name for each question: the code's own in plain letters, with a number where two would be alike."""
    names: dict[str | None, str] = {None: TOP}
    for code in parents:
        names[code.id] = plain_name(code.name, names.values(), otherwise="kind")
    return names


def _label_name(name: str) -> str:
    """Return a code's name as a label may be called."""
    return re.sub(r"\s*[|;]\s*|\s+>\s+", ", ", name).strip(", ")[:LONGEST] or "code"
