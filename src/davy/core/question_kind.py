"""The kinds of question, as one table: what an answer is made of, how many parts it has, what a scheme may say.

Nothing else in Davy asks for a kind by its name. A new kind is a row here, its words in `locale` folders, and where it
differs from choosing labels: what an answer may be (`core.scheme`), how it is settled (`annotation.settling.rules`),
read from a form (`annotation.labelling.pages.questions`) and shown (a template of the row's `widget`).
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """What one kind of question is like."""

    several: bool = False
    """An answer has any number of parts, even none; else it has exactly one."""
    ordered: bool = False
    """Its labels go from low to high."""
    marks_text: bool = False
    """An answer is stretches of the post's text, each with a label where there are any."""
    fewest_labels: int = 0
    answers: str = "labels"
    """What answers are, in a sentence."""
    amount: str = "one of"
    """How many of the labels an answer has, in a sentence before them."""
    refuses: tuple[str, ...] = ()
    """Fields of a scheme's file that it can't have."""
    widget: str = "labels"
    """What people answer it with: the template `parts/answer_WIDGET.html`."""
    request: str = "choose_one"
    """What a page says where an answer is missing: `label.request.REQUEST` in `annotation/labelling/locale`."""
    summary: str = ""
    """An answer in a few English words."""

    @property
    def of_labels(self) -> bool:
        """Whether an answer is labels: detectors learn and give them, and other questions may hang on them."""
        return self.answers == "labels"

    @property
    def multilabel(self) -> bool:
        """Whether each label is chosen or not by itself."""
        return self.several and self.of_labels

    @property
    def nominal(self) -> bool:
        """Whether an answer is one of labels without an order. Only such a question can be one of yes or no."""
        return self.of_labels and not self.several and not self.ordered


DEFAULT_KIND = "one"
"""What a question is where its scheme doesn't say."""

QUESTION_KINDS: Mapping[str, QuestionKind] = {
    "one": QuestionKind(fewest_labels=2, summary="one label"),
    "many": QuestionKind(
        several=True, fewest_labels=1, amount="any number of", request="choose_some", summary="several labels"
    ),
    "scale": QuestionKind(ordered=True, fewest_labels=2, amount="one, low to high, of", summary="a scale"),
    "spans": QuestionKind(
        several=True,
        marks_text=True,
        answers="words that people marked",
        amount="any number of",
        refuses=("open", "absent", "derived"),
        widget="words",
        request="mark_some",
        summary="words of the text",
    ),
}
_UNKNOWN = QuestionKind(fewest_labels=1)


def kind_called(name: object) -> QuestionKind:
    """Return the kind that a scheme's file or draft names; nothing is the default, an unknown one asks for nothing."""
    return QUESTION_KINDS.get(str(name or DEFAULT_KIND), _UNKNOWN)


class HasKind:
    """What has the `kind` of a question, and what that kind says of it."""

    __slots__ = ()
    kind: str

    @property
    def takes_several(self) -> bool:
        """Whether an answer is any number of labels or of marked stretches of the text."""
        return QUESTION_KINDS[self.kind].several

    @property
    def multilabel(self) -> bool:
        """Whether each label is chosen or not by itself."""
        return QUESTION_KINDS[self.kind].multilabel

    @property
    def nominal(self) -> bool:
        """Whether an answer is one of labels without an order."""
        return QUESTION_KINDS[self.kind].nominal

    @property
    def ordered(self) -> bool:
        """Whether the labels go from low to high."""
        return QUESTION_KINDS[self.kind].ordered

    @property
    def marks_text(self) -> bool:
        """Whether an answer is stretches of the post's text."""
        return QUESTION_KINDS[self.kind].marks_text

    @property
    def of_labels(self) -> bool:
        """Whether an answer is labels, which detectors learn and give."""
        return QUESTION_KINDS[self.kind].of_labels

    @property
    def widget(self) -> str:
        """What people answer it with."""
        return QUESTION_KINDS[self.kind].widget

    @property
    def request(self) -> str:
        """Which words a page shows where an answer is missing."""
        return QUESTION_KINDS[self.kind].request
