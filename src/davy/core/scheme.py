"""A scheme: the questions that people and detectors answer about a post.

Questions form a hierarchy. A question with `under = ("sexist", ("sexist",))`
is asked only where the parent question got one of those answers; a label with
`under` can be chosen only beneath those labels of the parent. Questions and
labels that have answers never change: a new version of the scheme is made.
Guidelines have versions of their own and may grow during the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from davy.core.annotation import Answers
from davy.core.errors import nearest

KINDS: tuple[str, ...] = ("one", "many", "scale")


class Wording(Mapping[str, str]):
    """One text in one or more languages; English stands in where a language is missing."""

    __slots__ = ("_texts",)

    def __init__(self, texts: str | Mapping[str, str] = "") -> None:
        self._texts: dict[str, str] = {"en": texts} if isinstance(texts, str) else dict(texts)

    def __getitem__(self, lang: str) -> str:
        return self._texts[lang]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._texts.items())))

    def __bool__(self) -> bool:
        return any(self._texts.values())

    def __str__(self) -> str:
        return self.said_in("en")

    def __repr__(self) -> str:
        return f"Wording({self._texts!r})"

    def said_in(self, lang: str) -> str:
        """Return the text in `lang`, else in English, else in whatever language there is."""
        return self._texts.get(lang) or self._texts.get("en") or next(iter(self._texts.values()), "")


@dataclass(frozen=True, slots=True)
class Label:
    """One possible answer. `name` is what data files say; `aliases` are spellings that public files use for it."""

    name: str
    title: Wording = field(default_factory=Wording)
    definition: Wording = field(default_factory=Wording)
    code: str | None = None
    examples: tuple[Wording, ...] = ()
    aliases: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    severe: bool = False
    """Whether care settings should spread posts with this label out."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `positive` is the yes of a yes/no question; an `open` one also takes labels it does not list."""

    name: str
    labels: tuple[Label, ...]
    kind: str = "one"
    title: Wording = field(default_factory=Wording)
    definition: Wording = field(default_factory=Wording)
    positive: str | None = None
    under: tuple[str, tuple[str, ...]] | None = None
    open: bool = False
    derived: tuple[str, Mapping[str, str]] | None = None
    """(question, its label → this question's label): the answer follows from another and is never asked."""

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels' names in their order, which is the order of a scorer's probabilities."""
        return tuple(label.name for label in self.labels)

    def label(self, name: str) -> Label:
        """Return the label called `name` or one of its aliases (case and outer space don't matter)."""
        wanted = name.strip().casefold()
        for label in self.labels:
            if wanted in (spelling.casefold() for spelling in (label.name, *label.aliases)):
                return label
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Guideline:
    """What annotators read beside the questions: Markdown, with a version and what it changed."""

    version: int
    text: Wording
    notes: Mapping[str, Wording] = field(default_factory=dict)
    """Short named notes, such as `irony`, that a page can show at the question they belong to."""
    changes: str = ""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A versioned set of questions, parents before children, with its guidelines from oldest to newest."""

    name: str
    version: int
    questions: tuple[Question, ...]
    title: Wording = field(default_factory=Wording)
    description: Wording = field(default_factory=Wording)
    guidelines: tuple[Guideline, ...] = ()
    warning: Wording = field(default_factory=Wording)
    source: str = ""
    """The paper that it follows."""

    @property
    def guideline(self) -> Guideline | None:
        """The guideline in force: the newest."""
        return max(self.guidelines, key=lambda it: it.version, default=None)

    def question(self, name: str) -> Question:
        """Return the question called `name`."""
        for question in self.questions:
            if question.name == name:
                return question
        raise KeyError(name)

    def asked(self, answers: Answers) -> list[Question]:
        """Return the questions that apply given the answers so far, in order; derived ones are never asked."""
        return [q for q in self.questions if q.derived is None and self._applies(q, self.completed(answers))]

    def completed(self, answers: Answers) -> dict[str, tuple[str, ...]]:
        """Return the answers with every derived answer added."""
        full = dict(answers)
        for question in self.questions:
            if question.derived is None:
                continue
            origin, table = question.derived
            labels = tuple(dict.fromkeys(table[label] for label in full.get(origin, ()) if label in table))
            if labels:
                full[question.name] = labels
        return full

    def faults(self, answers: Answers, *, complete: bool = False) -> list[str]:
        """Return what is wrong with a set of answers, one line each; with `complete`, missing ones too."""
        full = self.completed(answers)
        found = [line for name, labels in answers.items() for line in self._faults_of(name, labels, full)]
        if complete:
            missing = [q.name for q in self.asked(answers) if q.kind != "many" and not full.get(q.name)]
            found += [f"{name!r} is not answered" for name in missing]
        return found

    def _faults_of(self, name: str, labels: tuple[str, ...], full: Answers) -> list[str]:
        names = [q.name for q in self.questions]
        if name not in names:
            hint = nearest(name, names)
            return [f"scheme {self.name!r} has no question {name!r}; it asks {', '.join(names)}.{hint}"]
        question = self.question(name)
        if not self._applies(question, full):
            parent, needed = question.under or ("", ())
            return [f"{name!r} is answered, but it applies only where {parent!r} is {' or '.join(needed)}"]
        found = []
        if question.kind != "many" and len(labels) != 1:
            found.append(f"{name!r} takes one label, got {len(labels)}")
        above = set(full.get(question.under[0], ())) if question.under else set()
        for label_name in labels:
            if label_name not in question.label_names:
                if not question.open:
                    known = list(question.label_names)
                    hint = nearest(label_name, known)
                    found.append(f"{label_name!r} is not a label of {name!r}; it has {', '.join(known)}.{hint}")
                continue
            allowed = question.label(label_name).under
            if allowed and not above & set(allowed):
                found.append(f"{label_name!r} belongs under {' or '.join(allowed)}, not under {' or '.join(above)}")
        return found

    def _applies(self, question: Question, answers: Answers) -> bool:
        if question.under is None:
            return True
        parent, needed = question.under
        return bool(set(answers.get(parent, ())) & set(needed))
