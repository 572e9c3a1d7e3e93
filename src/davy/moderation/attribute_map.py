"""Which names of another service's scores our questions stand behind: a YAML file in, an `AttributeMap` out.

`attributes/perspective.yaml` is the shipped one for Perspective, `attributes/moderation.yaml` for OpenAI's categories.
A score is the probability of a question's yes, or of one label times those of the answers that lead to it. With
`given`, the label is multiplied with the likeliest yes among these questions instead. Where the detector was not asked
the question in a text's language, there is no score: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlNode
from davy.files.yaml_objects import read_root, read_shipped_or_file

if TYPE_CHECKING:
    import numpy as np

    from davy.core.scorer import Scores

    Array = np.ndarray[Any, np.dtype[Any]]

FOLDER = "davy.moderation.attributes"
PERSPECTIVE = "perspective"
_FIELDS = ("question", "label", "given", "lexicon")


@dataclass(frozen=True, slots=True)
class AttributeSource:
    """What stands behind an attribute: a question, one of its labels, or kinds of words. Empty: nothing does."""

    question: str | None = None
    label: str | None = None
    lexicon: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.question is not None or bool(self.lexicon)


@dataclass(frozen=True, slots=True)
class AttributeMap:
    """Attributes by name, in the order of their file."""

    name: str
    attributes: Mapping[str, AttributeSource]

    def covered(self, questions: Iterable[Question]) -> tuple[str, ...]:
        """Return the attributes that a detector with these questions can score in some language."""
        known = {question.name: question for question in questions}
        return tuple(name for name, source in self.attributes.items() if source and _fits(source, known))


def load_attributes(name_or_path: str | Path = PERSPECTIVE) -> AttributeMap:
    """Return the attributes of a shipped file (`perspective`, `moderation`) or of the file at a path."""
    problems = Problems(str(name_or_path), what="file of attributes", example="docs/serve/perspective.md")
    root = read_root(read_shipped_or_file(name_or_path, FOLDER, "file of attributes"), problems, ("name", "attributes"))
    given = root.get("attributes")
    if not isinstance(given, YamlMap) or not given:
        problems.add(root.line, "A file of attributes has `attributes:` with at least one name below it.")
        given = YamlMap()
    sources = {str(name): _source(node, given.line_of(name), problems) for name, node in given.items()}
    problems.raise_first()
    return AttributeMap(str(root.get("name") or name_or_path), sources)


def attribute_scores(scores: Scores, source: AttributeSource) -> tuple[Array, Array] | None:
    """Return the score of each post and whether there is one, or None where the detector has no such question."""
    import numpy as np

    known = {question.name: question for question in scores.questions}
    if source.question is None or not _fits(source, known):
        return None
    question = known[source.question]
    label = source.label or question.positive
    chance = np.array(scores.probabilities[question.name][:, question.label_names.index(str(label))], dtype=np.float64)
    parents = () if source.given else _parents(question, known)
    for parent, labels in parents:
        columns = [parent.label_names.index(name) for name in labels]
        chance *= np.minimum(1.0, scores.probabilities[parent.name][:, columns].sum(axis=1))
    given = {name: yes for name in source.given if name in known and (yes := scores.positive(name)) is not None}
    if given:
        chance *= np.max(list(given.values()), axis=0)
    asked = [question.name, *(parent.name for parent, _ in parents), *given]
    answered = [it for name in asked if (it := scores.answered.get(name)) is not None]
    return chance, np.all([np.ones(len(scores), dtype=bool), *answered], axis=0)


def _fits(source: AttributeSource, known: Mapping[str, Question]) -> bool:
    if source.lexicon:
        return True
    question = known.get(source.question or "")
    if question is None or (source.given and not any(known[name].positive for name in source.given if name in known)):
        return False
    return source.label in question.label_names if source.label else question.positive is not None


def _parents(question: Question, known: Mapping[str, Question]) -> Sequence[tuple[Question, tuple[str, ...]]]:
    """Return the questions above one, and the answers that lead on."""
    found = []
    while question.under and question.under[0] in known:
        parent = known[question.under[0]]
        found.append((parent, tuple(question.under[1])))
        question = parent
    return found


def _source(node: YamlNode, line: int, problems: Problems) -> AttributeSource:
    if node is None:
        return AttributeSource()
    if not isinstance(node, YamlMap):
        problems.add(line, "An attribute is a mapping: {question: hate}, or {} where nothing stands behind it.")
        return AttributeSource()
    for key in node:
        if key not in _FIELDS:
            problems.add(node.line_of(key), f"{str(key)!r} is not known here; known: {', '.join(_FIELDS)}.")
    lexicon, given = (_names(node.get(key)) for key in ("lexicon", "given"))
    question, label = (str(node[key]) if node.get(key) else None for key in ("question", "label"))
    if (question and lexicon) or (label and not question):
        problems.add(line, "An attribute has a question, with a label or without, or a lexicon; not both.")
    if given and not label:
        problems.add(line, "`given` stands beside a question with a label: {question: type, label: …, given: [hate]}.")
    return AttributeSource(question, label, lexicon, given)


def _names(node: YamlNode) -> tuple[str, ...]:
    """Return the names of a list, or of one name."""
    return tuple(str(it) for it in node) if isinstance(node, YamlList) else (str(node),) if node else ()


def check_lexicon_kinds(attributes: AttributeMap, kinds: Iterable[str]) -> None:
    """Raise where an attribute names a kind of word that word lists don't have."""
    known = set(kinds)
    for name, source in attributes.attributes.items():
        for kind in source.lexicon:
            if kind not in known:
                raise UserError(f"{name}: word lists have no kind {kind!r}; they have {', '.join(sorted(known))}.")
