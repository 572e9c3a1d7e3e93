"""What stands behind the names of another service's scores: a YAML file in, an `AttributeMap` out.

`attributes/perspective.yaml` is the shipped one for Perspective, `attributes/moderation.yaml` for OpenAI's categories.
A score is the probability of a question's yes, or of one label times those of the answers that lead to it, or a formula
over several. With `given`, a label is multiplied with the likeliest yes among these questions instead. Under
`languages` a language has detectors and sources of its own. Where the detector was not asked the question in a text's
language, there is no score: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlNode
from davy.files.yaml_objects import YES_NO, read_root, read_shipped_or_file, shipped_names
from davy.moderation.attribute_formula import Formula, parse_formula

if TYPE_CHECKING:
    import numpy as np

    from davy.core.scorer import Scores

    Array = np.ndarray[Any, np.dtype[Any]]
    HasWord = Callable[[tuple[str, ...]], Array]

FOLDER = "davy.moderation.attributes"
PERSPECTIVE = "perspective"
_FIELDS = ("question", "label", "given", "formula", "approximation", "model", "instead")
_ROOT = ("name", "include", "attributes", "languages")


@dataclass(frozen=True, slots=True)
class AttributeSource:
    """What stands behind an attribute: a question, one of its labels, or a formula. Empty: nothing does."""

    question: str | None = None
    label: str | None = None
    given: tuple[str, ...] = ()
    formula: Formula | None = None
    approximation: bool = False
    """Whether it was not measured against labels of this attribute's own."""
    model: str | None = None
    """The detector that is asked; None is the one that answers by default."""
    instead: str | None = None
    """The attribute to ask for where nothing stands behind this one."""

    def __bool__(self) -> bool:
        return self.question is not None or self.formula is not None

    @property
    def text(self) -> str:
        """What stands behind it, in one line."""
        if self.formula is not None:
            return self.formula.text
        label = f'["{self.label}"]' if self.label else ""
        given = f" * max({', '.join(self.given)})" if self.given else ""
        return f"{self.question or ''}{label}{given}"

    @property
    def words(self) -> tuple[str, ...]:
        """The kinds of words that its formula looks for."""
        return self.formula.words if self.formula is not None else ()

    def fits(self, known: Mapping[str, Question]) -> bool:
        """Return whether a detector with these questions has what it takes."""
        if self.formula is not None:
            return all(_has(known.get(name), label) for name, label in self.formula.answers)
        if self.given and not any(known[name].positive for name in self.given if name in known):
            return False
        return _has(known.get(self.question or ""), self.label)


@dataclass(frozen=True, slots=True)
class AttributeMap:
    """Attributes by name, in the order of their file; `languages` has those of a language that differ there."""

    name: str
    attributes: Mapping[str, AttributeSource]
    languages: Mapping[str, Mapping[str, AttributeSource]] = field(default_factory=dict)

    def source(self, name: str, lang: str) -> AttributeSource:
        """Return what stands behind an attribute in a language."""
        return self.languages.get(lang, {}).get(name, self.attributes.get(name, AttributeSource()))

    @property
    def sources(self) -> list[tuple[str, AttributeSource]]:
        """Every attribute with what stands behind it, then those of single languages."""
        return [*self.attributes.items(), *(pair for own in self.languages.values() for pair in own.items())]

    @property
    def models(self) -> list[str]:
        """The detectors that it names, each once."""
        return list(dict.fromkeys(source.model for _, source in self.sources if source.model))


def load_attributes(name_or_path: str | Path = PERSPECTIVE) -> AttributeMap:
    """Return the attributes of a shipped file (`perspective`, `moderation`) or of the file at a path."""
    problems = Problems(str(name_or_path), what="file of attributes", example="docs/serve/perspective.md")
    root = read_root(read_shipped_or_file(name_or_path, FOLDER, "file of attributes"), problems, _ROOT)
    base = _included(root, problems)
    own = _sources(root.get("attributes"), problems, None)
    attributes = {**base.attributes, **own}
    languages: dict[str, Mapping[str, AttributeSource]] = dict(base.languages)
    blocks = root.get("languages")
    for lang, block in blocks.items() if isinstance(blocks, YamlMap) else ():
        languages[str(lang)] = {**languages.get(str(lang), {}), **_language(block, problems, attributes)}
    if not attributes:
        problems.add(root.line, "A file of attributes has `attributes:` with at least one name below it.")
    made = AttributeMap(str(root.get("name") or name_or_path), attributes, languages)
    for lang in ("", *languages):
        _refuse_twins({name: made.source(name, lang) for name in attributes}, root.line, problems)
    problems.raise_first()
    return made


def _included(root: YamlMap, problems: Problems) -> AttributeMap:
    """Return the shipped attributes that a file starts from, or none."""
    name = root.get("include")
    if name is None:
        return AttributeMap("", {})
    if str(name) not in shipped_names(FOLDER):
        problems.add(root.line_of("include"), f"`include` names a shipped file: {', '.join(shipped_names(FOLDER))}.")
        problems.raise_first()
    return load_attributes(str(name))


def attribute_scores(
    scores: Scores, source: AttributeSource, has_word: HasWord | None = None
) -> tuple[Array, Array] | None:
    """Return the score of each post and whether there is one, or None where the detector has no such question.

    `has_word` says which texts have a word of some kinds; without it, formulas with words have no score.
    """
    import numpy as np

    known = {question.name: question for question in scores.questions}
    if not source or not source.fits(known) or (source.words and has_word is None):
        return None
    if source.formula is not None:
        chance = np.broadcast_to(source.formula.value(_chances(scores), has_word or _no_words), len(scores))
        asked = [name for name, _ in source.formula.answers]
    else:
        chance, asked = _one_answer(scores, source, known)
    answered = [it for name in asked if (it := scores.answered.get(name)) is not None]
    return chance, np.all([np.ones(len(scores), dtype=bool), *answered], axis=0)


def _one_answer(scores: Scores, source: AttributeSource, known: Mapping[str, Question]) -> tuple[Array, list[str]]:
    """Return the score of a question's yes or label, and the questions that it rests on."""
    import numpy as np

    question = known[str(source.question)]
    chance = np.array(_chances(scores)(question.name, source.label), dtype=np.float64)
    parents = () if source.given else _parents(question, known)
    for parent, labels in parents:
        columns = [parent.label_names.index(name) for name in labels]
        chance *= np.minimum(1.0, scores.probabilities[parent.name][:, columns].sum(axis=1))
    given = {name: yes for name in source.given if name in known and (yes := scores.positive(name)) is not None}
    if given:
        chance *= np.max(list(given.values()), axis=0)
    return chance, [question.name, *(parent.name for parent, _ in parents), *given]


def _chances(scores: Scores) -> Callable[[str, str | None], Array]:
    def chance(name: str, label: str | None) -> Array:
        question = scores.question(name)
        return scores.probabilities[name][:, question.label_names.index(str(label or question.positive))]

    return chance


def _no_words(kinds: tuple[str, ...]) -> Array:
    raise ValueError(f"nobody said which texts have words of {', '.join(kinds)}")


def _has(question: Question | None, label: str | None) -> bool:
    if question is None:
        return False
    return label in question.label_names if label else question.positive is not None


def _parents(question: Question, known: Mapping[str, Question]) -> Sequence[tuple[Question, tuple[str, ...]]]:
    """Return the questions above one, and the answers that lead on."""
    found = []
    while question.under and question.under[0] in known:
        parent = known[question.under[0]]
        found.append((parent, tuple(question.under[1])))
        question = parent
    return found


def _language(block: YamlNode, problems: Problems, known: Iterable[str]) -> dict[str, AttributeSource]:
    """Return what a language has of its own: its attributes, by its detector where one is named."""
    if not isinstance(block, YamlMap) or [key for key in block if key not in ("model", "attributes")]:
        problems.add(
            block.line if isinstance(block, YamlMap) else 1,
            "A language is a mapping with `model` (a detector) and `attributes`.",
        )
        return {}
    model = str(block["model"]) if block.get("model") else None
    found = _sources(block.get("attributes"), problems, model)
    for name in found:
        if name not in known:
            problems.add(block.line, f"{name} stands below a language alone; name it below `attributes`, too.")
    return found


def _sources(node: YamlNode, problems: Problems, model: str | None) -> dict[str, AttributeSource]:
    if not isinstance(node, YamlMap):
        return {}
    made = {str(name): _source(it, node.line_of(name), problems) for name, it in node.items()}
    return {name: replace(it, model=it.model or model) if it else it for name, it in made.items()}


def _source(node: YamlNode, line: int, problems: Problems) -> AttributeSource:
    if node is None:
        return AttributeSource()
    if not isinstance(node, YamlMap):
        problems.add(line, "An attribute is a mapping: {question: hate}, or {} where nothing stands behind it.")
        return AttributeSource()
    for key in node:
        if key not in _FIELDS:
            problems.add(node.line_of(key), f"{str(key)!r} is not known here; known: {', '.join(_FIELDS)}.")
    text = {name: str(node[name]) if node.get(name) else None for name in _FIELDS}
    given = _names(node.get("given"))
    if (text["question"] and text["formula"]) or (text["label"] and not text["question"]):
        problems.add(line, "An attribute has a question, with a label or without, or a formula; not both.")
    if given and not text["label"]:
        problems.add(line, "`given` stands beside a question with a label: {question: type, label: …, given: [hate]}.")
    said = YES_NO.get(str(text["approximation"]).lower()) if text["approximation"] else None
    if text["approximation"] and said is None:
        problems.add(line, "`approximation` is true or false.")
    formula = _formula(text["formula"], line, problems)
    approximation = said if said is not None else formula is not None
    return AttributeSource(
        text["question"], text["label"], given, formula, approximation, text["model"], text["instead"]
    )


def _formula(text: str | None, line: int, problems: Problems) -> Formula | None:
    if text is None:
        return None
    try:
        return parse_formula(text)
    except ValueError as error:
        problems.add(line, f"The formula can't be read: {error}.")
        return None


def _names(node: YamlNode) -> tuple[str, ...]:
    """Return the names of a list, or of one name."""
    return tuple(str(it) for it in node) if isinstance(node, YamlList) else (str(node),) if node else ()


def _refuse_twins(sources: Mapping[str, AttributeSource], line: int, problems: Problems) -> None:
    """Note attributes that would be one number under two names: who sums or compares them counts it twice."""
    first: dict[tuple[str, str | None], str] = {}
    for name, source in sources.items():
        twin = first.setdefault((source.text, source.model), name) if source else name
        if twin != name:
            problems.add(line, f"{twin} and {name} are the same number ({source.text}). Leave one out, or change it.")


def check_lexicon_kinds(attributes: AttributeMap, kinds: Iterable[str]) -> None:
    """Raise where an attribute names a kind of word that word lists don't have."""
    known = set(kinds)
    for name, source in attributes.sources:
        for kind in source.words:
            if kind not in known:
                raise UserError(f"{name}: word lists have no kind {kind!r}; they have {', '.join(sorted(known))}.")
