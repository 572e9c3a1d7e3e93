"""Answers that fit together: what one head of a network says is weighed against what the others say.

Texts and probabilities of all questions in, the probabilities with contradictions taken out. Each head learnt from
other corpora, so that alone they call a post sexist that is about muslims, or hateful but not offensive. The rules, on
posts that were read:

- what is hateful is offensive, too;
- words of killing, and a threat in one taxonomy, speak for a threat; where both taxonomies are answered they agree;
- a post that is hateful about others only is sexist only where that is nearly sure, and then women are named, too;
- a post that is hateful about women is sexist unless the sexism head denies it, and then women are not named;
- of targets only the likeliest few are named, and the likeliest one below the threshold where it is likely enough.

A detector that asks for misogyny follows the rules of sexism with it; one that has a single taxonomy none of threats.
A folder's manifest has the numbers under `settings.joint`; they were chosen on development posts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.detectors.folder import Manifest

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


NEEDED = ("hate", "offensive", "target")
ABOUT_WOMEN = ("sexist", "misogynistic")
"""One of these must be asked."""
THREAT = {"type": "threatening language", "category": "threats, plans to harm and incitement"}
WOMEN = "women"
_DEED = "kill|murder|shoot|hang|gas|burn|lynch|exterminate|slaughter|behead|execute|bomb|drown|stab|rape"
_DONE = "killed|murdered|shot|hanged|hung|gassed|burned|burnt|lynched|exterminated|slaughtered|beheaded|executed"
_KILLING = re.compile(
    rf"\b(?:{_DEED}|eradicate|genocide|wipe (?:them|out)|put down)\b"
    rf"|\b(?:be|get|getting|been|were) (?:{_DONE}|bombed|drowned|stabbed|raped)\b|[🔫🔪⚰💣🪓]",
    re.IGNORECASE,
)
"""Words of killing and of as grave an attack, as a threat has them."""


@dataclass(frozen=True)
class JointRules:
    """The numbers of the rules, as a manifest has them."""

    sexist_until: float = 0.7
    """Below this, a post that is hateful about others is not sexist."""
    women_share: float = 0.5
    """Women count as meant where they are at least so likely, as a share of the likeliest other target."""
    sexist_from: float = 0.2
    """From here on, a post that is hateful about women is sexist."""
    threat_weight: float = 0.6
    """How much the log odds of a threat in the one taxonomy count in the other."""
    killing_weight: float = 2.0
    """How much a word of killing adds to the log odds of a threat."""
    most_targets: int = 3
    least_target: float = 0.1
    """The likeliest target is named from here on, where no other reaches the threshold."""


@dataclass(frozen=True)
class JointAnswers:
    """The rules for one detector: its questions by name, its thresholds, its numbers."""

    questions: Mapping[str, Question]
    thresholds: Mapping[str, float]
    rules: JointRules

    @classmethod
    def of(cls, folder: Path, manifest: Manifest) -> JointAnswers | None:
        """Return the rules of a folder, or None where its manifest has none."""
        given = manifest.settings.get("joint")
        if given is None:
            return None
        questions = {question.name: question for question in manifest.questions}
        missing = [name for name in NEEDED if name not in questions]
        missing += [] if set(ABOUT_WOMEN) & set(questions) else [ABOUT_WOMEN[0]]
        known = {field.name for field in fields(JointRules)}
        if missing or not isinstance(given, dict) or not set(given) <= known:
            what = f"no question {missing[0]!r}" if missing else f"its rules are {', '.join(sorted(known))}"
            raise UserError(f"{folder}/manifest.json: settings.joint does not fit ({what}). Export the model again.")
        thresholds = {name: float(manifest.thresholds.get(name, 0.5)) for name in questions}
        return cls(questions, thresholds, JointRules(**given))

    def decode(self, texts: Sequence[str], blocks: Mapping[str, Array], read: Array) -> dict[str, Array]:
        """Return the probabilities of posts after the rules; posts that were not read stay as they are."""
        rows = read.nonzero()[0]
        if not len(rows):
            return dict(blocks)
        some = {name: block[rows].astype("float64") for name, block in blocks.items()}
        hateful = self._yes(some, "hate") >= self.thresholds["hate"]
        some_hateful = bool(hateful.any())  # most posts are not, and the rules below change nothing for them
        if some_hateful:
            self._offensive(some, hateful)
        two_taxonomies = set(THREAT) <= set(self.questions)
        if two_taxonomies:
            self._threats(some, [bool(_KILLING.search(texts[row])) for row in rows.tolist()])
        self._limit_targets(some["target"])
        self._women(some, hateful)
        if two_taxonomies and some_hateful:
            about = self._about_women
            self._agree_on_threats(some, hateful & (self._yes(some, about) >= self.thresholds[about]))
        decoded = dict(blocks)
        for name, block in some.items():
            decoded[name] = blocks[name].copy()
            decoded[name][rows] = block
        return decoded

    @property
    def _about_women(self) -> str:
        return next(name for name in ABOUT_WOMEN if name in self.questions)

    def _column(self, name: str) -> int:
        return self.questions[name].label_names.index(str(self.questions[name].positive))

    def _yes(self, some: Mapping[str, Array], name: str) -> Array:
        column: Array = some[name][:, self._column(name)]
        return column

    def _set_yes(self, some: dict[str, Array], name: str, rows: Array, chance: Array) -> None:
        column = self._column(name)
        some[name][rows, column], some[name][rows, 1 - column] = chance[rows], 1 - chance[rows]

    def _offensive(self, some: dict[str, Array], hateful: Array) -> None:
        import numpy as np

        hate, threshold = self._yes(some, "hate"), self.thresholds["offensive"]
        least = _stretched(hate, self.thresholds["hate"], threshold)
        self._set_yes(some, "offensive", hateful, np.maximum(self._yes(some, "offensive"), least))

    def _threats(self, some: dict[str, Array], killing: list[bool]) -> None:
        """Let each taxonomy hear what the other says about threats, and both what the words say."""
        import numpy as np

        columns = {name: self.questions[name].label_names.index(label) for name, label in THREAT.items()}
        odds = {name: _odds(some[name][:, column]) for name, column in columns.items()}
        for name, other in (("type", "category"), ("category", "type")):
            support = self.rules.threat_weight * np.clip(odds[other], -3, 3)
            factor = np.exp(support + self.rules.killing_weight * np.array(killing))
            some[name][:, columns[name]] *= factor
            some[name] /= some[name].sum(axis=1, keepdims=True)

    def _limit_targets(self, target: Array) -> None:
        import numpy as np

        threshold = self.thresholds["target"]
        order = np.argsort(-target, axis=1)
        every = np.arange(len(target))
        beyond = order[:, self.rules.most_targets :]
        few = np.minimum(np.take_along_axis(target, beyond, axis=1), _below(threshold))
        np.put_along_axis(target, beyond, few, axis=1)
        first = order[:, 0]
        top = target[every, first]
        target[every, first] = np.where(top >= self.rules.least_target, np.maximum(top, threshold), top)

    def _women(self, some: dict[str, Array], hateful: Array) -> None:
        """Make the head of sexism or misogyny and the targets agree on whether women are meant."""
        import numpy as np

        about = self._about_women
        if not hateful.any():
            self._set_yes(some, about, np.ones(len(hateful), dtype=bool), self._yes(some, about).copy())
            return
        labels, target = self.questions["target"].label_names, some["target"]
        women = [i for i, label in enumerate(labels) if WOMEN in label.split()]
        others = [i for i in range(len(labels)) if i not in women]
        threshold, cut = self.thresholds["target"], self.thresholds[about]
        sexist = self._yes(some, about).copy()
        about_women, about_others = target[:, women].max(axis=1), target[:, others].max(axis=1)
        share = about_women / np.maximum(about_others, 1e-9)
        elsewhere = hateful & (about_others >= threshold) & (share < self.rules.women_share)
        lowered = np.minimum(sexist * share / self.rules.women_share, _below(cut))
        sexist = np.where(elsewhere & (sexist < self.rules.sexist_until), np.minimum(sexist, lowered), sexist)
        named = hateful & (about_women >= threshold)
        raised = np.maximum(sexist, _stretched(sexist, self.rules.sexist_from, cut))
        sexist = np.where(named & (sexist >= self.rules.sexist_from), raised, sexist)
        self._set_yes(some, about, np.ones(len(sexist), dtype=bool), sexist)
        yes = sexist >= cut
        unnamed = hateful & yes & (about_others >= threshold) & (about_women < threshold)
        column = labels.index(WOMEN)
        target[unnamed, column] = threshold
        for column in women:
            denied = named & ~yes
            target[denied, column] = np.minimum(target[denied, column], _below(threshold))

    def _agree_on_threats(self, some: dict[str, Array], both: Array) -> None:
        """Where both taxonomies are answered, take the likelier of a threat in both and a threat in neither."""
        import numpy as np

        columns = {name: self.questions[name].label_names.index(label) for name, label in THREAT.items()}
        yes = np.ones(len(both))
        no = np.ones(len(both))
        for name, column in columns.items():
            yes *= some[name][:, column]
            no *= np.delete(some[name], column, axis=1).max(axis=1)
        for name, column in columns.items():
            block = some[name]
            best_other = np.delete(block, column, axis=1).max(axis=1)
            wrong = both & ((block[:, column] > best_other) != (yes > no))
            # The two change places, so that the block still sums to one.
            for row in wrong.nonzero()[0].tolist():
                rest = [i for i in range(block.shape[1]) if i != column]
                other = rest[int(block[row, rest].argmax())]
                block[row, [column, other]] = block[row, [other, column]]


def _odds(chance: Array) -> Array:
    import numpy as np

    return np.asarray(np.log(np.clip(chance, 1e-6, 1)) - np.log(np.clip(1 - chance, 1e-6, 1)))


def _stretched(chance: Array, start: float, to: float) -> Array:
    """Return chances from `start` to 1 stretched to lie from `to` to 1."""
    return to + (chance - start) / (1 - start) * (1 - to)


def _below(threshold: float) -> float:
    """Return the largest single-precision number below a threshold."""
    import numpy as np

    return float(np.nextafter(np.float32(threshold), np.float32(0)))


NAMES_FILE = "names.txt"
MOST_CHARACTERS = 80
"""Longer texts are no bare names, and are not looked at."""
CHANCE = 0.05
"""What a yes to a bare name may have at most."""
_PLAIN = re.compile(r"[^\W\d_]+(?:[\s.,;:!?&/#'’\"„“”()-]+[^\W\d_]+)*")
"""Words with punctuation between them, and nothing else."""
_WORD = re.compile(r"[^\W\d_]+")
_AROUND = " \t\r\n.,;:!?&/#'’\"„“”()-"


@dataclass(frozen=True)
class BareNames:
    """The words that name people, and those that may stand between them, in lower case."""

    words: frozenset[str]

    @classmethod
    def of(cls, folder: Path, manifest: Manifest) -> BareNames | None:
        """Return the names of a model folder, or None where its manifest lists none."""
        if NAMES_FILE not in manifest.files:
            return None
        try:
            return cls(names_in((folder / NAMES_FILE).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{folder / NAMES_FILE} can't be read ({error}). Get or export the model again.") from None

    def is_bare(self, text: str) -> bool:
        """Return whether a text has words, and none that is not a name."""
        plain = text.strip(_AROUND) if len(text) <= MOST_CHARACTERS else ""
        if not _PLAIN.fullmatch(plain):
            return False
        return all(word in self.words for word in _WORD.findall(plain.casefold()))

    def answer_no(self, questions: Iterable[Question], texts: Sequence[str], blocks: Mapping[str, Array]) -> None:
        """Lower the chance of yes to every yes/no question where a text is a bare name."""
        import numpy as np

        rows = [row for row, text in enumerate(texts) if self.is_bare(text)]
        if not rows:
            return
        for question in questions:
            if question.positive is None:
                continue
            block, yes = blocks[question.name], question.label_names.index(str(question.positive))
            block[rows, yes] = np.minimum(block[rows, yes], CHANCE)
            block[rows, 1 - yes] = 1 - block[rows, yes]


def names_in(text: str) -> frozenset[str]:
    """Return the words of a file of names: any number a line; a line that starts with # is a comment."""
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return frozenset(word.casefold() for line in lines for word in line.split())
