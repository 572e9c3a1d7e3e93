"""What must hold between the parts of a scheme: names, parents, labels, versions.

Comes after the shapes: a cleaned mapping in, problems with their lines out.
Parents come before children, so a reader never meets a question whose parent
it does not know, and no line of parents can run in a circle.
"""

from __future__ import annotations

import re
from typing import cast

from davy.core.errors import nearest
from davy.core.post import POST_COLUMNS
from davy.core.question_kind import DEFAULT_KIND, QUESTION_KINDS, kind_called
from davy.core.scheme import fold_spelling
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlText, line_at

NAME = re.compile(r"[a-z][a-z0-9]*([ _-][a-z0-9]+)*")
LONGEST = 120
TAKEN = (*POST_COLUMNS, "verdict")
"""Columns that every file of posts has; a question of that name would write over them."""
_NOT_IN_LABELS = re.compile(r"[|;\n\r\t]| > ")


def is_name(name: str) -> bool:
    """Return whether a scheme or a question may be called this, apart from names that are taken."""
    return bool(NAME.fullmatch(name)) and len(name) <= LONGEST


def is_label_name(name: str) -> bool:
    """Return whether a label may be called this."""
    return not _NOT_IN_LABELS.search(name) and len(name) <= LONGEST


def apply(scheme: YamlMap, included: list[YamlMap], problems: Problems) -> None:
    """Note every broken rule. `included` are the questions that come from other schemes, before this one's own."""
    if name := scheme.get("name"):
        _check_name(cast(YamlText, name), "A scheme's name", problems)
    own = parts(scheme, "questions")
    if not own and not included and "questions" not in scheme:
        problems.add(scheme.line, "scheme lacks `questions:`. Add at least one.")
    seen: dict[str, YamlMap] = {str(question["name"]): question for question in included}
    everything = [*included, *own]
    for question in own:
        if "name" in question:
            _check_question(question, seen, everything, problems)
            seen.setdefault(str(question["name"]), question)
    _check_versions(parts(scheme, "guidelines"), problems)


def parts(part: YamlMap, key: str) -> list[YamlMap]:
    """Return the mappings in a list field; none where it is missing."""
    return [item for item in part.get(key) or [] if isinstance(item, YamlMap)]


def words(part: YamlMap, key: str) -> list[YamlText]:
    """Return the texts in a list field; none where it is missing."""
    return [item for item in cast(YamlList, part.get(key) or YamlList()) if isinstance(item, YamlText)]


def label_names(question: YamlMap) -> list[str]:
    """Return the names of a question's labels."""
    return [str(label["name"]) for label in parts(question, "labels") if "name" in label]


def parent_of(question: YamlMap, known: dict[str, YamlMap]) -> tuple[str, list[str]] | None:
    """Return the parent's name and the answers that lead here.

    `under: parent` alone means the parent's yes, or any of its labels where it is not yes/no.
    """
    under = question.get("under")
    if isinstance(under, YamlMap):
        parent, labels = next(iter(under.items()))
        return str(parent), [str(label) for label in cast(YamlList, labels)]
    if under is None:
        return None
    parent = str(under)
    above = known.get(parent)
    if above is None:
        return parent, []
    return parent, [str(above["positive"])] if "positive" in above else label_names(above)


def _check_name(name: YamlText, what: str, problems: Problems) -> None:
    if not is_name(name):
        problems.add(
            name.line,
            f"{what} is {str(name)!r}; write lower-case letters, digits, single spaces and hyphens, a letter first.",
        )


def _check_question(question: YamlMap, seen: dict[str, YamlMap], everything: list[YamlMap], problems: Problems) -> None:
    name = cast(YamlText, question["name"])
    _check_name(name, "A question's name", problems)
    if name in TAKEN:
        problems.add(name.line, f"A question can't be called {str(name)!r}: posts have a column of that name.")
    if name in seen:
        where = _where(seen[name])
        problems.add(name.line, f"Two questions are called {str(name)!r}; the first is {where}. Rename one.")
    kind = question.get("kind")
    if isinstance(kind, YamlText) and kind not in QUESTION_KINDS:
        known, hint = ", ".join(QUESTION_KINDS), nearest(kind, list(QUESTION_KINDS))
        problems.add(question.line_of("kind"), f"question {str(name)!r} has kind {str(kind)!r}; known: {known}.{hint}")
    _check_labels(question, problems)
    _check_parent(question, seen, everything, problems)
    _check_derived(question, seen, everything, problems)


def _check_labels(question: YamlMap, problems: Problems) -> None:
    name, labels = str(question["name"]), [label for label in parts(question, "labels") if "name" in label]
    known = label_names(question)
    spelt: dict[str, tuple[str, int]] = {}
    for label in labels:
        mine = cast(YamlText, label["name"])
        if not is_label_name(mine):
            problems.add(mine.line, f"label {str(mine)!r} of {name!r} can't have | ; > or line breaks in its name.")
        for spelling in (mine, label.get("code"), *words(label, "aliases")):
            if not isinstance(spelling, YamlText):
                continue
            owner, line = spelt.setdefault(fold_spelling(spelling), (str(mine), line_at(mine, label.line)))
            if owner != mine or (spelling is mine and line != mine.line):
                problems.add(
                    spelling.line,
                    f"{str(spelling)!r} of {name!r} already stands for label {owner!r} on line {line}. Change one.",
                )
        for part in words(label, "of"):
            if part not in known or part == mine:
                hint = nearest(part, known)
                problems.add(
                    part.line, f"label {str(mine)!r} is `of` {str(part)!r}, which {name!r} does not list.{hint}"
                )
    for spelling in words(question, "absent"):
        if fold_spelling(spelling) in spelt:
            problems.add(spelling.line, f"{str(spelling)!r} can't be absent: it stands for a label of {name!r}.")
    _check_kind(question, known, problems)


def _check_kind(question: YamlMap, known: list[str], problems: Problems) -> None:
    name, kind = str(question["name"]), kind_called(question.get("kind"))
    called = str(question.get("kind", DEFAULT_KIND))
    for key in kind.refuses:
        if key in question:
            line = question.line_of(key)
            problems.add(line, f"question {name!r} of kind `{called}` can't have `{key}:`. Remove it.")
    if "labels" not in question and kind.fewest_labels:
        problems.add(question.line, f"question {name!r} lacks `labels:`. Add it.")
    is_open = str(question.get("open", "no")).lower() in ("yes", "true")
    if "labels" in question and 1 < kind.fewest_labels > len(set(known)) and not is_open:
        line = question.line_of("labels")
        problems.add(line, f"question {name!r} has {len(set(known))} label; kind `{called}` needs at least two.")
    positive = question.get("positive")
    if isinstance(positive, YamlText):
        if positive not in known:
            problems.add(
                positive.line,
                f"positive {str(positive)!r} is not a label of {name!r}; it has {', '.join(known)}."
                f"{nearest(positive, known)}",
            )
        if not kind.nominal:
            problems.add(positive.line, f"question {name!r} of kind `{called}` can't have a positive; only `one` can.")


def _check_parent(question: YamlMap, seen: dict[str, YamlMap], everything: list[YamlMap], problems: Problems) -> None:
    name, line = str(question["name"]), question.line_of("under")
    parent_and_labels = parent_of(question, seen)
    bound = [(label, under) for label in parts(question, "labels") for under in words(label, "under")]
    if parent_and_labels is None:
        for label, under in bound:
            problems.add(
                under.line,
                f"label {str(label.get('name'))!r} has `under:`, but question {name!r} has no parent. Add one.",
            )
        return
    parent, needed = parent_and_labels
    if parent not in seen or parent == name:
        problems.add(line, _missing("parent", name, parent, seen, everything))
        return
    if not kind_called(seen[parent].get("kind")).of_labels:
        problems.add(line, f"question {name!r} can't hang on {parent!r}: marked words lead to no question.")
        return
    known = label_names(seen[parent])
    for answer in needed:
        if answer not in known:
            hint = nearest(answer, known)
            problems.add(
                line,
                f"question {name!r} is asked where {parent!r} is {answer!r}, which is not a label of {parent!r}; "
                f"it has {', '.join(known)}.{hint}",
            )
    for label, under in bound:
        if under not in needed:
            hint = nearest(under, needed)
            problems.add(
                under.line,
                f"label {str(label.get('name'))!r} is under {str(under)!r}, but {name!r} is asked where {parent!r} "
                f"is {' or '.join(needed)}.{hint}",
            )
    if all(under in needed for _, under in bound):
        _check_reach(question, [answer for answer in needed if answer in known], problems)


def _check_reach(question: YamlMap, needed: list[str], problems: Problems) -> None:
    """Note a parent's answer that leads to the question but leaves no label to choose."""
    labels = parts(question, "labels")
    if not labels or any("under" not in label for label in labels):
        return
    covered = {str(under) for label in labels for under in words(label, "under")}
    for answer in needed:
        if answer not in covered:
            line = question.line_of("labels")
            problems.add(line, f"question {str(question['name'])!r} has no label under {answer!r}. Add one.")


def _check_derived(question: YamlMap, seen: dict[str, YamlMap], everything: list[YamlMap], problems: Problems) -> None:
    derived = question.get("derived")
    if not isinstance(derived, YamlMap):
        return
    name, line = str(question["name"]), question.line_of("derived")
    origin, table = next(iter(derived.items()))
    if origin not in seen or origin == name:
        problems.add(line, _missing("origin", name, str(origin), seen, everything))
        return
    theirs, mine = label_names(seen[origin]), label_names(question)
    source = kind_called(seen[origin].get("kind"))
    if not source.of_labels:
        problems.add(line, f"{name!r} can't follow from {str(origin)!r}: nothing follows from marked words.")
        return
    if source.multilabel and not kind_called(question.get("kind")).multilabel:
        problems.add(line, f"{name!r} takes one label, so it can't follow from {str(origin)!r}, which takes several.")
    for label, here in cast(YamlMap, table).items():
        for spelling, known, owner in ((label, theirs, str(origin)), (cast(YamlText, here), mine, name)):
            if spelling not in known:
                problems.add(
                    line_at(spelling, line),
                    f"derived: {str(spelling)!r} is not a label of {owner!r}; it has {', '.join(known)}."
                    f"{nearest(spelling, known)}",
                )


def _missing(role: str, name: str, wanted: str, seen: dict[str, YamlMap], everything: list[YamlMap]) -> str:
    """Return what to do about a parent or origin that does not come earlier in the file."""
    if wanted == name:
        return f"question {name!r} names itself as its {role}."
    later = next((q for q in everything if q.get("name") == wanted), None)
    if later is None:
        known = list(seen)
        listed, hint = ", ".join(known) or "none", nearest(wanted, known)
        return f"question {name!r} names {_AN[role]} {wanted!r} that is not there; before it come: {listed}.{hint}"
    above = parent_of(later, {str(q["name"]): q for q in everything if "name" in q})
    if above and above[0] == name:
        return f"questions {name!r} and {wanted!r} name each other; one of them must stand on its own."
    where = _where(later)
    return f"question {name!r} comes before its {role} {wanted!r} ({where}). Move {wanted!r} above it."


_AN = {"parent": "a parent", "origin": "an origin"}


def _where(question: YamlMap) -> str:
    return f"in scheme {question.source!r}" if question.source else f"on line {question.line}"


def _check_versions(guidelines: list[YamlMap], problems: Problems) -> None:
    last = 0
    for guideline in guidelines:
        if "version" not in guideline:
            continue
        version = int(cast(YamlText, guideline["version"]))
        if version <= last:
            line = guideline.line_of("version")
            problems.add(line, f"guideline {version} comes after guideline {last}; list them from oldest to newest.")
        last = max(last, version)
