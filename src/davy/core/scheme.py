"""A scheme: the questions that people and detectors answer about a post.

Questions form a hierarchy. A question with `under = ("sexist", ("sexist",))`
is asked only where the parent question got one of those answers; a label with
`under` can be chosen only beneath those labels of the parent. Questions and
labels that have answers never change: a new version of the scheme is made.
Guidelines have versions of their own and may grow during the work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from davy.core.annotation import Answers
from davy.core.errors import nearest
from davy.core.question_kind import DEFAULT_KIND, QUESTION_KINDS, HasKind
from davy.core.spans import TextSpan, parse_span

YES: tuple[str, ...] = ("1", "yes", "true", "1.0")
NO: tuple[str, ...] = ("0", "no", "false", "0.0")
"""What tables write for yes and no; pandas makes 1.0 of a 1 where cells are empty."""


class Wording(Mapping[str, str]):
    """One text in one or more languages; English stands in where a language is missing."""

    __slots__ = ("_texts",)

    def __init__(self, texts: str | Mapping[str, str] = "") -> None:
        given = {"en": texts} if isinstance(texts, str) else texts
        self._texts: dict[str, str] = {lang: text for lang, text in given.items() if text}

    def __getitem__(self, lang: str) -> str:
        return self._texts[lang]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._texts.items())))

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
    group: str | None = None
    """A heading that pages list the label beneath, such as `religion`."""
    of: tuple[str, ...] = ()
    """The labels of the same question that this one is the intersection of."""
    priority: bool = False
    """Whether people are asked to look out for this one first."""
    severe: bool = False
    """Whether care settings should spread posts with this label out."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every way to write the label: its name, its code, its aliases."""
        return (self.name, *([self.code] if self.code else []), *self.aliases)

    def shown_in(self, lang: str) -> str:
        """Return what people read: the title, with the code that guidelines speak in before it."""
        title = self.title.said_in(lang) or self.name
        return f"{self.code} {title}" if self.code else title

    def fits_under(self, above: Collection[str]) -> bool:
        """Return whether the label may be chosen where the question's parent has these labels."""
        return not self.under or not set(self.under).isdisjoint(above)


@dataclass(frozen=True, slots=True)
class Question(HasKind):
    """One question. `positive` is the yes of a yes/no question; an `open` one also takes labels it does not list."""

    name: str
    labels: tuple[Label, ...]
    kind: str = DEFAULT_KIND
    title: Wording = field(default_factory=Wording)
    definition: Wording = field(default_factory=Wording)
    positive: str | None = None
    under: tuple[str, tuple[str, ...]] | None = None
    open: bool = False
    required: bool = False
    """Whether a `many` question needs at least one label, or a `spans` one at least one mark."""
    absent: tuple[str, ...] = ()
    """What public files write where the question does not apply, such as `none`."""
    derived: tuple[str, Mapping[str, str]] | None = None
    """(question, its label → this question's label): the answer follows from another and is never asked."""
    label_names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The labels' names in their order, which is the order of a scorer's probabilities."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_names", tuple(label.name for label in self.labels))
        if self.kind not in QUESTION_KINDS:
            known = ", ".join(QUESTION_KINDS)
            raise ValueError(f"question {self.name!r} has unknown kind {self.kind!r}; known: {known}")
        if len(set(self.label_names)) != len(self.labels):
            raise ValueError(f"question {self.name!r} has two labels of one name")
        if self.positive is not None and self.positive not in self.label_names:
            raise ValueError(f"question {self.name!r}: its positive {self.positive!r} is not one of its labels")

    @property
    def has_fixed_answers(self) -> bool:
        """Whether every answer is one of the labels, so that those that nobody gave count in agreement, too."""
        return self.of_labels and not self.takes_several and not self.open

    @property
    def is_required(self) -> bool:
        """Whether an answer that says nothing is no answer."""
        return self.required or not self.takes_several

    @property
    def no(self) -> str | None:
        """The other label of a question that is answered with yes (`positive`) or no; None for other questions."""
        if not self.nominal or self.open or len(self.labels) != 2 or self.positive is None:
            return None
        return next(name for name in self.label_names if name != self.positive)

    def label(self, spelling: str) -> Label:
        """Return the label with this name, code or alias (case and spacing don't matter).

        Every yes/no question also understands 1 and 0, yes and no, true and false.
        """
        wanted = fold_spelling(spelling)
        for label in self.labels:
            if wanted in map(fold_spelling, label.spellings):
                return label
        if self.no is not None and wanted in (*YES, *NO):
            return self.label(str(self.positive if wanted in YES else self.no))
        raise KeyError(spelling)

    @property
    def possible_answers(self) -> list[str]:
        """What may be answered, for a sentence: the labels, or what an answer looks like."""
        names = list(self.label_names)
        return ["spans such as 12-17" + (f":{names[0]}" if names else "")] if self.marks_text else names

    def span(self, answer: str) -> TextSpan:
        """Return what an answer to a `spans` question marks, its label by name; ValueError says what is wrong."""
        span = parse_span(answer)
        known = ", ".join(self.label_names)
        if not self.labels and span.label:
            raise ValueError(f"{answer[:40]!r} names a label, but {self.name!r} has one kind of span. Leave it out")
        if self.labels and not span.label:
            raise ValueError(f"{answer[:40]!r} says not as what it is marked; add one of {known}, as in 12-17:label")
        if not span.label:
            return span
        try:
            return TextSpan(span.start, span.end, self.label(span.label).name)
        except KeyError:
            hint = nearest(span.label, list(self.label_names))
            raise ValueError(f"{span.label[:40]!r} is no label of {self.name!r}; it has {known}.{hint}") from None

    def label_in(self, answer: str) -> str:
        """Return the label that a part of an answer has, nothing where it has none; ValueError says what is wrong."""
        return self.span(answer).label if self.marks_text else answer

    def read(self, part: str) -> str:
        """Return the part of an answer that a spelling stands for; KeyError or ValueError where it is none."""
        return str(self.span(part)) if self.marks_text else self.label(part).name

    def applies_under(self, above: Collection[str]) -> bool:
        """Return whether the question applies where its parent has these labels; a root always applies.

        The one place that says so. Whether the parent applies itself is for the caller to see to.
        """
        return self.under is None or not set(self.under[1]).isdisjoint(above)

    def places_in(self, parent: Question) -> list[int]:
        """Return the places of the parent's labels that lead to this question."""
        return [place for place, name in enumerate(parent.label_names) if self.applies_under((name,))]

    def is_absent(self, spelling: str) -> bool:
        """Return whether a file that says `spelling` means that the question does not apply."""
        return not spelling.strip() or fold_spelling(spelling) in map(fold_spelling, self.absent)


def fold_spelling(spelling: str) -> str:
    """Return a spelling without case, outer space and repeated space, so that two files' spellings compare."""
    return " ".join(spelling.casefold().split())


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

    def __post_init__(self) -> None:
        earlier: dict[str, Question] = {}
        for question in self.questions:
            if question.name in earlier:
                raise ValueError(f"scheme {self.name!r} has two questions called {question.name!r}")
            if question.under:
                parent, needed = question.under
                if parent not in earlier:
                    raise ValueError(f"question {question.name!r} names a parent {parent!r} that does not come before")
                if not set(needed) <= set(earlier[parent].label_names):
                    raise ValueError(f"question {question.name!r} needs an answer that {parent!r} does not have")
            earlier[question.name] = question

    @property
    def guideline(self) -> Guideline | None:
        """The guideline in force: the newest."""
        return max(self.guidelines, key=lambda it: it.version, default=None)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that every question and label is worded in, English first."""
        worded = [(part.title, part.definition) for q in self.questions for part in q.labels]
        worded += [(q.title, q.definition) for q in self.questions]
        spoken = [set(wording) for pair in worded for wording in pair if wording]
        return tuple(sorted(set.intersection(*spoken), key=lambda lang: (lang != "en", lang))) if spoken else ()

    def question(self, name: str) -> Question:
        """Return the question called `name`."""
        for question in self.questions:
            if question.name == name:
                return question
        raise KeyError(name)

    def asked(self, answers: Answers) -> list[Question]:
        """Return the questions that apply given the answers so far, in order; derived ones are never asked."""
        applying = applicable_questions(self.questions, self.completed(answers))
        return [q for q in self.questions if q.derived is None and q.name in applying]

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

    def implied(self, answers: Answers) -> dict[str, tuple[str, ...]]:
        """Return the answers with all that follows: derived ones, and the no of each yes/no question passed over.

        A question is passed over where one above it was answered otherwise: a post that is not hateful is not
        misogynistic either. Questions of other kinds that were not asked stay without an answer.
        """
        full = self.completed(answers)
        passed_over: set[str] = set()
        for question in self.questions:
            parent = question.under[0] if question.under else ""
            if parent in passed_over or (parent in full and not question.applies_under(full[parent])):
                passed_over.add(question.name)
                if question.no is not None:
                    full.setdefault(question.name, (question.no,))
        return full

    def faults(self, answers: Answers, *, complete: bool = False, text: str | None = None) -> list[str]:
        """Return what is wrong with a set of answers, one line each; with `complete`, missing ones too.

        With the post's `text`, spans have to lie within it, and where it has no words nobody has to mark any.
        """
        full = self.completed(answers)
        found = [line for name, labels in answers.items() for line in self._faults_of(name, tuple(labels), full)]
        if text is not None and not found:
            found = [line for name, labels in answers.items() for line in _beyond(self.question(name), labels, text)]
        if complete:
            wordless = text is not None and not text.strip()
            needed = [q.name for q in self.asked(answers) if q.is_required and not (q.marks_text and wordless)]
            found += [f"{name!r} is not answered" for name in needed if not full.get(name)]
        return found

    def _faults_of(self, name: str, labels: tuple[str, ...], full: Answers) -> list[str]:
        names = [q.name for q in self.questions]
        if name not in names:
            hint = nearest(name, names)
            return [f"scheme {self.name!r} has no question {name!r}; it asks {', '.join(names)}.{hint}"]
        question = self.question(name)
        if name not in applicable_questions(self.questions, full):
            parent, needed = question.under or ("", ())
            return [f"{name!r} is answered, but it applies only where {parent!r} is {' or '.join(needed)}"]
        faults = []
        if not question.takes_several and len(labels) != 1:
            faults.append(f"{name!r} takes one label, got {len(labels)}")
        faults += [f"{name!r} names {label!r} twice" for label in dict.fromkeys(labels) if labels.count(label) > 1]
        if question.derived and tuple(full[name]) != labels:
            origin = question.derived[0]
            follows = " and ".join(full[name])
            faults.append(f"{name!r} follows from {origin!r}, which makes it {follows}, not {' and '.join(labels)}")
        above = tuple(full.get(question.under[0], ())) if question.under else ()
        return faults + [line for label in dict.fromkeys(labels) for line in _faults_of_label(question, label, above)]


def applicable_questions(questions: Iterable[Question], answers: Mapping[str, Collection[str]]) -> list[str]:
    """Return the names of the questions that one post's answers lead to: roots, and children of what leads to them.

    A question whose parent is not among `questions` counts as a root, so that a detector of a child question alone is
    heard.
    """
    questions = tuple(questions)
    names = {question.name for question in questions}
    applicable: list[str] = []
    for question in questions:
        parent = question.under[0] if question.under else ""
        if parent not in names or (parent in applicable and question.applies_under(answers.get(parent, ()))):
            applicable.append(question.name)
    return applicable


def _beyond(question: Question, answers: Iterable[str], text: str) -> list[str]:
    """Return a line for each span that ends after the text."""
    spans = [parse_span(answer) for answer in answers] if question.marks_text else []
    return [
        f"{question.name!r} marks {span.start}-{span.end}, but the text has {len(text)} characters"
        for span in spans
        if span.end > len(text)
    ]


def _faults_of_label(question: Question, name: str, above: tuple[str, ...]) -> list[str]:
    known = list(question.label_names)
    if not question.of_labels:
        try:
            name = question.label_in(name)
        except ValueError as error:
            return [f"{question.name!r}: {error}"]
        if not name:
            return []
    if name not in known:
        if question.open:
            return [] if name.strip() else [f"{question.name!r} has an empty label"]
        try:
            hint = f" Write {question.label(name).name!r}."
        except KeyError:
            hint = nearest(name, known)
        return [f"{name!r} is not a label of {question.name!r}; it has {', '.join(known)}.{hint}"]
    label = question.label(name)
    if not label.fits_under(above):
        return [f"{name!r} belongs under {' or '.join(label.under)}, not under {' or '.join(above)}"]
    return []
