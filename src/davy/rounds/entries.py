"""Entering a text: its rules, a contrast's rules, and keeping it with its author's answers.

`check` comes first and needs no target, `enter` last and writes everything in the caller's transaction. What refuses a
text is an `EntryRefused`; nothing is stored then, so the page keeps the text. The form's id is the entry's, so a form
that is sent twice is one entry.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from davy.core import Question, Scheme, UserError
from davy.core.annotation import Answers
from davy.rounds.round import Entry, EntryRules, Round, TargetPrediction
from davy.rounds.store import entries as stored
from davy.rounds.store.entries import EntryText
from davy.store import Connection
from davy.text import emoji, language, near_keys
from davy.text.word_edits import count_edits

if TYPE_CHECKING:
    from davy.core import Scores

SURE = 0.7
"""From this probability on a text counts as one in another language; below it, its author is believed."""
FEWEST_LETTERS = 12
"""Shorter texts say too little of their language."""

SENTENCES: dict[str, str] = {
    "empty": "There is no text yet. Write one.",
    "short": "The text has {got} characters; this round takes {least} or more.",
    "long": "The text has {got} characters; this round takes {most} at most. Shorten it.",
    "emoji": "The text has no emoji, and this round is about emoji. Add at least one.",
    "language": "The text reads like {got!r}, and this round takes {wanted}. Write it so, or say that it is.",
    "equal": "This very text was entered before. Write another one.",
    "near": "The text is too like an earlier entry ({share} of its word pairs are the same). Change more of it, "
    "or write it as a contrast.",
    "one_word": "The text differs from an earlier entry in one word or emoji. Change more of it, "
    "or write it as a contrast.",
    "both": "A contrast changes the emoji or the words, and this one changes both. Put one of them back.",
    "neither": "The contrast has the same words and the same emoji as the original. Change one of them.",
    "wrong_change": "You chose to change the {wanted}, and the {got} changed. Put that back, or choose the other rule.",
    "much": "{got} words changed; a contrast changes as few as it can, here {most} at most.",
    "no_flip": "The contrast has the label of its original ({label}). A contrast flips it.",
    "unsettled": "This entry's label is not settled yet, so there is nothing to flip. Wait for its validation.",
    "dropped": "This entry was dropped, so it needs no contrast.",
    "taken": "Somebody wrote the contrast of this entry already. Take another one.",
    "not_original": "This entry is a contrast itself. Contrasts are written for originals.",
    "looked_at": "This entry can't be taken back any more: somebody else has begun to label it. An expert can drop it.",
    "contrast_stays": "A contrast can't be taken back, since its original waits for it. An expert can drop it.",
    "closed": "Round {n} takes no more entries. Your text is still in the box: copy it for the next round.",
    "target": "The target {name} can't be asked now ({reason}). Nothing was saved, and your text is still in the box. "
    "Try again later, or tell a manager.",
    "question": "The target {name} does not answer {question!r}, so it can't be fooled on it.",
}
"""Why an entry is refused; pages have the same keys in every language."""

FEW_WORDS = 3
"""So many words may always change; beyond, at most half of the original's words."""
_TOKEN = re.compile(r"\s+|\w+(?:['’-]\w+)*|[^\w\s]")

LONGEST_STRATEGY = 80


class EntryRefused(UserError):
    """An entry can't be taken; `why` is a key of `SENTENCES`, `values` fill it in, so that pages can translate it."""

    def __init__(self, why: str, *, status: int = 422, **values: Any) -> None:
        super().__init__(SENTENCES[why].format(**values), status=status)
        self.why = why
        self.values = values


def check_text(text: str, rules: EntryRules, *, lang: str | None = None) -> str | None:
    """Return a text's language, None where it can't be told; refuse a text that a round's rules don't allow.

    `lang` is what the author says: it is believed where the round takes it.
    """
    length = len(text.strip())
    if not length:
        raise EntryRefused("empty")
    if length < rules.shortest:
        raise EntryRefused("short", got=length, least=rules.shortest)
    if length > rules.longest:
        raise EntryRefused("long", got=length, most=rules.longest)
    if rules.needs_emoji and not emoji.count(text):
        raise EntryRefused("emoji")
    return _language(text, rules, lang)


def _language(text: str, rules: EntryRules, declared: str | None) -> str | None:
    if declared and (not rules.languages or declared in rules.languages):
        return declared
    words = emoji.replace(text, " ")
    letters = sum(char.isalpha() for char in words)
    found, share = language.detect(words) if letters >= FEWEST_LETTERS else language.UNKNOWN
    only = rules.languages[0] if len(rules.languages) == 1 else None
    if share < SURE:
        return only
    if rules.languages and found not in rules.languages:
        raise EntryRefused("language", got=found, wanted=", ".join(rules.languages))
    return found


def check_new(db: Connection, project_id: str, text: str, *, but: str | None = None) -> tuple[str, list[str]]:
    """Return the keys of a text that no entry of the project has or comes near; `but` is the original of a contrast."""
    key, bands = near_keys.equal_key(text), near_keys.bands(text)
    if stored.equal_entry(db, project_id, key):
        raise EntryRefused("equal", status=409)
    for entry_id, other in stored.near_texts(db, project_id, bands).items():
        alike = near_keys.likeness(text, other)
        if entry_id != but and alike >= near_keys.LEAST:
            raise EntryRefused("near", status=409, share=f"{alike:.0%}")
        if entry_id != but and near_keys.differ_in_one(text, other):
            raise EntryRefused("one_word", status=409)
    return key, bands


@dataclass(frozen=True, slots=True)
class TextChange:
    """What a contrast changed. `words` and `emoji` count what was taken out, put in or replaced."""

    words: int
    emoji: int
    of_words: int
    """How many words the original has."""

    @property
    def kind(self) -> str:
        """`emoji`, `text`, `both` or `neither`."""
        if self.words and self.emoji:
            return "both"
        return "text" if self.words else "emoji" if self.emoji else "neither"

    @property
    def most_words(self) -> int:
        """How many words may change."""
        return max(FEW_WORDS, self.of_words // 2)


@dataclass(frozen=True, slots=True)
class DifferencePiece:
    """A piece of two texts: `same` in both, `gone` from the first, or `new` in the second."""

    kind: str
    text: str


def measure_change(original: str, contrast: str) -> TextChange:
    """Return how many words and emoji differ between two texts."""
    before, after = _parts(original), _parts(contrast)
    return TextChange(count_edits(before[0], after[0]), count_edits(before[1], after[1]), len(before[0]))


def difference(original: str, contrast: str) -> tuple[list[DifferencePiece], list[DifferencePiece]]:
    """Return both texts in pieces, for showing them side by side; joined, each is its text."""
    one, other = _tokens(original), _tokens(contrast)
    left: list[DifferencePiece] = []
    right: list[DifferencePiece] = []
    for what, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        gone, new = "".join(one[a:b]), "".join(other[c:d])
        if gone:
            left.append(DifferencePiece("same" if what == "equal" else "gone", gone))
        if new:
            right.append(DifferencePiece("same" if what == "equal" else "new", new))
    return left, right


def check_contrast(original: EntryText, text: str, label: str, *, change: str | None = None) -> str:
    """Return which rule a contrast follows, `emoji` or `text`; refuse one that follows neither or does not flip.

    `change` is the rule that its author chose.
    """
    if original.entry.set != "original":
        raise EntryRefused("not_original")
    if original.entry.dropped is not None:
        raise EntryRefused("dropped", status=409)
    if original.entry.settled is None:
        raise EntryRefused("unsettled", status=409)
    found = measure_change(original.text, text)
    if found.kind in ("both", "neither"):
        raise EntryRefused(found.kind)
    if change is not None and change != found.kind:
        raise EntryRefused("wrong_change", wanted=change, got=found.kind)
    if found.words > found.most_words:
        raise EntryRefused("much", got=found.words, most=found.most_words)
    if label == original.entry.settled:
        raise EntryRefused("no_flip", label=label)
    return found.kind


def _parts(text: str) -> tuple[list[str], list[str]]:
    """Return a text's words and marks, and its emoji, each in their order."""
    words: list[str] = []
    emojis: list[str] = []
    for piece, is_emoji in emoji.split(text):
        if is_emoji:
            emojis.append(piece.replace("\ufe0f", ""))
        else:
            words += [token for token in _TOKEN.findall(piece.replace("\ufe0f", "")) if not token.isspace()]
    return words, emojis


def _tokens(text: str) -> list[str]:
    """Return a text in words, white space, marks and whole emoji."""
    return [
        token for piece, is_emoji in emoji.split(text) for token in ([piece] if is_emoji else _TOKEN.findall(piece))
    ]


def check(
    db: Connection,
    round_: Round,
    text: str,
    *,
    lang: str | None = None,
    original: EntryText | None = None,
) -> str | None:
    """Return the language of a text that may be entered in a round; refuse one that may not."""
    if round_.state != "open":
        raise EntryRefused("closed", status=409, n=round_.number)
    found = check_text(text, round_.rules, lang=lang)
    check_new(db, round_.project, text, but=original.entry.id if original else None)
    return found


def enter(
    db: Connection,
    round_: Round,
    scheme: Scheme,
    *,
    entry_id: str,
    author: str,
    text: str,
    answers: Answers,
    predictions: Sequence[TargetPrediction],
    lang: str | None = None,
    strategy: str | None = None,
    support: str = "own",
    seconds: float | None = None,
    original: EntryText | None = None,
    change: str | None = None,
    derived_from: str | None = None,
    guideline_version: int = 0,
) -> Entry:
    """Keep an entry and return it. With `original` it is that one's contrast, and `change` the rule that it follows.

    It has fooled the target where the first prediction is not the author's label; others still have to confirm that.
    """
    if known := stored.find(db, round_.project, entry_id):
        return _repeated(known, round_, author)
    text = text.strip()
    if original is not None and original.entry.set != "original":
        raise EntryRefused("not_original")
    if original is not None and stored.contrast_of(db, round_.project, original.entry.id):
        raise EntryRefused("taken", status=409)
    lang = check(db, round_, text, lang=lang, original=original)
    faults = scheme.faults(answers, complete=True, text="")  # nobody marks words of a text that is being written
    if faults:
        raise UserError(f"The answers don't fit the questions: {faults[0]}.", status=422)
    if not predictions:
        raise EntryRefused("target", status=503, name=round_.targets[0], reason="no answer")
    label = answers[round_.question][0]
    if original is not None:
        change = check_contrast(original, text, label, change=change)
    key, bands = check_new(db, round_.project, text, but=original.entry.id if original else None)
    entry = Entry(
        entry_id,
        round_.id,
        entry_id,
        author,
        label,
        set="contrast" if original else "original",
        change=change if original else None,
        parent=original.entry.id if original else None,
        strategy=_tidy(strategy),
        support=support,
        predictions=tuple(predictions),
        fooled=predictions[0].label != label,
        seconds=seconds,
    )
    return stored.add(
        db,
        round_,
        entry,
        scheme,
        answers,
        text=text,
        lang=lang,
        key=key,
        bands=bands,
        guideline_version=guideline_version,
        derived_from=derived_from,
    )


def take_back(db: Connection, round_: Round, row: EntryText, *, by: str) -> None:
    """Drop an original for its author, who may enter its text again; refuse where the round or others have gone on.

    The raw rate still counts it, so that nobody takes back what did not fool the target to look better.
    """
    if round_.state != "open":
        raise EntryRefused("closed", status=409, n=round_.number)
    if row.entry.set == "contrast":
        raise EntryRefused("contrast_stays", status=409)
    if row.entry.dropped is not None or not stored.take_back(db, round_, row.entry.id, by=by):
        raise EntryRefused("looked_at", status=409)


def _repeated(known: Entry, round_: Round, author: str) -> Entry:
    """Return the entry that a form made when it was sent before; refuse somebody else's id."""
    if (known.round, known.author) != (round_.id, author):
        raise UserError("This form belongs to another entry. Load the page again.", status=409)
    return known


def _tidy(strategy: str | None) -> str | None:
    named = " ".join((strategy or "").split())
    if len(named) > LONGEST_STRATEGY:
        raise UserError(f"A strategy has at most {LONGEST_STRATEGY} characters, this one has {len(named)}.", status=422)
    return named or None


def target_prediction(
    target: str, scores: Scores, question: Question, label: str | None = None, row: int = 0
) -> TargetPrediction:
    """Return what a target said to a question about one post; `label` is the author's.

    The probability is of yes where the question is a yes/no, else of the author's label.
    """
    if question.name not in {asked.name for asked in scores.questions}:
        raise EntryRefused("question", name=target, question=question.name)
    chosen = scores.chosen(question.name)[row]
    theirs = scores.question(question.name)
    yes = scores.positive(question.name)
    if yes is not None and question.positive is not None and question.no is not None:
        predicted = question.positive if theirs.positive in chosen else question.no
        return TargetPrediction(target, predicted, round(float(yes[row]), 6))
    predicted = chosen[0] if chosen else ""
    wanted = label or predicted
    column = theirs.label_names.index(wanted) if wanted in theirs.label_names else None
    share = 0.0 if column is None else float(scores.probabilities[question.name][row, column])
    return TargetPrediction(target, predicted, round(share, 6))
