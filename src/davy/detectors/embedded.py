"""The detectors that ship inside the package, and the one that routes posts to them by language.

Posts in, scores out. Weights live in `models/weights/NAME/`, each a model folder; large ones are packages of their own
(`packages/davy-large`, `packages/davy-memes`), so that this one stays small enough for a package index.
`embedded` asks `embedded-de` about German posts, `embedded-en` about English ones and those whose language is unclear,
and judges no others; it answers every question that one of them answers. `embedded-careful` asks `embedded-en-large` as
well, where `embedded-en` is unsure. `embedded-memes` reads the text of memes, `embedded-memes-pictures` looks at them
too; both are asked by their names alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.install import install_package
from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scorer, Scores
from davy.core.text_scorer import score_texts
from davy.detectors.baselines import content_hash
from davy.detectors.cascade_screen import as_cascade
from davy.detectors.ensemble import LazyScorer, SecondOpinion
from davy.detectors.folder import MANIFEST
from davy.detectors.model_name import ModelName
from davy.detectors.prevalence import Prevalence
from davy.detectors.training_text_index import calibrated_by_any, learnt_by_any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]
    Languages = Callable[[list[str]], list[str]]

WEIGHTS = Path(__file__).parent / "weights"
LARGE = "embedded-en-large"
LOOKS = "embedded-memes-pictures"
PACKAGES: Mapping[str, str] = {LARGE: "davy_large", LOOKS: "davy_memes"}
"""Detector → the package that holds its weights, where it is not this one."""
MEMES: tuple[str, ...] = (LOOKS, "embedded-memes")
"""The detectors of memes, the one that looks at pictures first; both are asked by their names alone."""
SURE = 0.3
"""Of 5,733 short German posts 97.1 % are routed right from here on, 95.9 % from one half on; of English ones 99.5 %."""
_ADDRESSES = re.compile(r"@\w+|https?://\S+|\[(?:USER|URL)\]")
ROUTING = 4
"""Goes up whenever posts are routed in another way: the same text could then score differently."""
UNKNOWN = "und"
DIALECTS: Mapping[str, str] = {"als": "de", "bar": "de", "nds": "de", "ksh": "de", "gsw": "de", "sco": "en"}
"""What the language model knows by another name and a detector reads."""
THREE_LETTERS: Mapping[str, str] = {"eng": "en", "deu": "de", "ger": "de"}
"""How ISO 639-2 and 639-3 write the languages that a detector reads."""
NO_LANGUAGE = ("", "und", "zxx", "mul", "mis", "art", "xx", "unknown")
ROUTES: Mapping[str, str] = {"en": "embedded-en", "de": "embedded-de"}


@dataclass(frozen=True)
class LanguageRouter:
    """Asks one scorer for each language; posts whose language is not known go to `fallback`.

    A post in a language that has no scorer gets no answer, and the scores say which language it is. Where the scorer
    for a post does not answer a question that another one does, the post has no answer to it.
    """

    scorers: Mapping[str, Scorer]
    detect: Languages
    fallback: str = "en"
    name: str = "embedded"

    @property
    def version(self) -> str:
        """A hash of the versions of the scorers behind it."""
        behind = {lang: [scorer.name, scorer.version] for lang, scorer in self.scorers.items()}
        return content_hash((), {"scorers": behind, "routing": ROUTING})

    @property
    def questions(self) -> tuple[Question, ...]:
        """Every question that one of the scorers answers; where two share a name, the first scorer's."""
        questions: dict[str, Question] = {}
        for scorer in self.scorers.values():
            for question in scorer.questions:
                questions.setdefault(question.name, question)
        return tuple(questions.values())

    @property
    def abilities(self) -> Abilities:
        """What one of the scorers can do, all can as far as a caller sees; and posts are routed by language."""
        each = [scorer.abilities for scorer in self.scorers.values()]
        return Abilities(
            max(one.batch_size for one in each),
            cascaded=any(one.cascaded for one in each),
            cascade=self._cascade if any(one.cascade for one in each) else None,
            language_of=self.language_of,
            questions_in=lambda lang: self.scorers[lang].questions if lang in self.scorers else (),
            images=any(one.images for one in each),
            data_hash=self._data_hash(),
            learnt=learnt_by_any(self.scorers.values()),
            calibrated=calibrated_by_any(self.scorers.values()),
            languages=tuple(self.scorers),
            one_by_one=self._one_by_one if any(one.one_by_one for one in each) else None,
            refuses_languages=True,
            abstains=any(one.abstains for one in each),
            parallel=all(one.parallel for one in each),
            at_prevalence=self._at_prevalence if all(one.at_prevalence for one in each) else None,
        )

    def _at_prevalence(self, prevalence: Prevalence) -> LanguageRouter:
        moves = {lang: it.abilities.at_prevalence for lang, it in self.scorers.items()}
        return replace(self, scorers={lang: move(prevalence) for lang, move in moves.items() if move is not None})

    def _one_by_one(self, threads: int | None = None) -> LanguageRouter:
        return replace(self, scorers={lang: as_one_by_one(it, threads) for lang, it in self.scorers.items()})

    def _data_hash(self) -> str | None:
        """Return the hashes of what the scorers learnt from, by language; None where none of them says."""
        hashes = {lang: scorer.abilities.data_hash for lang, scorer in self.scorers.items()}
        return " ".join(f"{lang}:{known}" for lang, known in hashes.items() if known) or None

    def _cascade(self) -> LanguageRouter:
        return replace(self, scorers={lang: as_cascade(scorer) for lang, scorer in self.scorers.items()})

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the scores of each post by the scorer for its language: its `lang`, or what is detected."""
        texts = posts["text"].fill_null("").to_list()
        given = posts["lang"].to_list() if "lang" in posts.columns else [None] * len(texts)
        return self._score(texts, self._languages(texts, given), lambda scorer, rows: scorer.score(posts[rows]))

    def score_texts(self, texts: Sequence[str], langs: Sequence[str | None]) -> Scores:
        """Return the scores of each text by the scorer for its language."""

        def ask(scorer: Scorer, rows: Array) -> Scores:
            some = [texts[row] for row in rows]
            return score_texts(scorer, some, [langs[row] for row in rows])

        return self._score(texts, self._languages(texts, langs), ask)

    def _score(self, texts: Sequence[str], languages: Array, ask: Callable[[Scorer, Array], Scores]) -> Scores:
        import numpy as np

        questions = {question.name: question for question in self.questions}
        blocks = {name: np.zeros((len(texts), len(question.labels))) for name, question in questions.items()}
        answered = {name: np.zeros(len(texts), dtype=bool) for name in questions}
        read = np.ones(len(texts), dtype=bool)
        thresholds = {name: np.full(len(texts), 0.5) for name in questions}
        unsure: dict[str, Array] = {}
        cascaded = any(scorer.abilities.cascaded for scorer in self.scorers.values())  # whoever of them is asked
        for lang, scorer in self.scorers.items():
            if scorer.abilities.abstains:
                unsure |= {q.name: np.zeros(len(texts), dtype=bool) for q in scorer.questions if q.name not in unsure}
            rows = np.flatnonzero(languages == lang)
            if not len(rows):
                continue
            part = ask(scorer, rows)
            read[rows] = True if part.read is None else part.read
            for question in part.questions:
                blocks[question.name][rows] = _in_order(questions[question.name], question, part)
                answered[question.name][rows] = True
                thresholds[question.name][rows] = part.thresholds.get(question.name, 0.5)
            for name, mask in part.unsure.items():
                unsure.setdefault(name, np.zeros(len(texts), dtype=bool))[rows] = mask
        partly = {name: mask for name, mask in answered.items() if not mask.all()}
        foreign = np.array([lang not in self.scorers for lang in languages.tolist()], dtype=bool)
        unsupported = np.where(foreign, languages, "").astype(object)
        return Scores(self.questions, blocks, thresholds, read if cascaded else None, partly, unsure, unsupported)

    def language_of(self, text: str) -> str:
        """Return the language whose scorer reads a text, so that parts of it can be put to the same one."""
        return str(self._languages([text], [None])[0])

    def _languages(self, texts: Sequence[str], given: Sequence[str | None]) -> Array:
        """Return the language of each post: the one given, else what is detected, else the fallback."""
        import numpy as np

        languages = [_language_code(lang) for lang in given]
        unknown = [i for i, lang in enumerate(languages) if not lang]
        for i, lang in zip(unknown, self.detect([texts[i] for i in unknown]), strict=True):
            languages[i] = lang or self.fallback
        return np.array(languages, dtype=object)


def _language_code(given: str | None) -> str:
    """Return a given language as its code; nothing where it is no code (`English`) or nobody's (`und`, `qme`)."""
    code = str(given or "").strip().lower().replace("_", "-").split("-")[0]
    nobodys = code in NO_LANGUAGE or (code.startswith("q") and len(code) == 3)
    return "" if nobodys or len(code) not in (2, 3) else THREE_LETTERS.get(code, DIALECTS.get(code, code))


def is_language_code(given: str) -> bool:
    """Return whether a language is given as a code, such as `en`, `de-AT` or `und`."""
    return bool(_language_code(given)) or given.strip().lower() in NO_LANGUAGE


def as_one_by_one(scorer: Scorer, threads: int | None = None) -> Scorer:
    """Return a scorer, on so many cores, in which no post moves another's score."""
    make = scorer.abilities.one_by_one
    return scorer if make is None else make(threads)


def load_embedded(asked: ModelName) -> Scorer:
    """Return the routed detector over those that this package holds."""
    from davy.detectors.load import open_folder

    folders = {lang: weights_folder(name) for lang, name in ROUTES.items()}
    held = {lang: open_folder(folder) for lang, folder in folders.items() if folder is not None}
    if not held:
        raise _absent(asked.name)
    return LanguageRouter(held, detect_languages, fallback=next(iter(held)))


def load_careful(asked: ModelName) -> Scorer:
    """Return the routed detector whose English part asks the large one about what the small one is unsure of."""
    routed = load_embedded(asked)
    assert isinstance(routed, LanguageRouter)
    large = weights_folder(LARGE)
    if "en" not in routed.scorers or large is None:
        raise _absent(asked.name)
    english = SecondOpinion(routed.scorers["en"], LazyScorer(large))
    return replace(routed, scorers={**routed.scorers, "en": english}, name="embedded-careful")


def load_single(asked: ModelName) -> Scorer:
    """Return one embedded detector by its name."""
    from davy.detectors.load import open_folder

    folder = weights_folder(asked.kind)
    if folder is None:
        raise _absent(asked.kind)
    return open_folder(folder, asked.images)


def weights_folder(name: str) -> Path | None:
    """Return the model folder of an embedded detector, or None where it is not installed."""
    folder = WEIGHTS / name
    if name in PACKAGES:
        package = find_spec(PACKAGES[name])
        if package is None or not package.submodule_search_locations:
            return None
        folder = Path(package.submodule_search_locations[0]) / name
    return folder if (folder / MANIFEST).is_file() else None


def shipped_names() -> list[str]:
    """Return the names of the embedded detectors whose weights are installed."""
    names = {path.parent.name for path in WEIGHTS.glob(f"*/{MANIFEST}")}
    return sorted(names | {name for name in PACKAGES if weights_folder(name) is not None})


def installed_memes() -> list[str]:
    """Return the detectors of memes whose weights are installed."""
    return [name for name in MEMES if weights_folder(name) is not None]


def detect_languages(texts: list[str]) -> list[str]:
    """Return each text's language code; nothing where `davy.text.language` is not sure of it.

    Names and links are left out: they are of no language, and most of some posts. A language that no detector reads is
    named only where it is beyond doubt, since such a post is not judged.
    """
    if not texts:
        return []
    from davy.text.language import detect_many, has_other_script, is_surely_foreign
    from davy.text.short_language import is_short, load_short_language_model, words_of

    plain = [_ADDRESSES.sub(" ", text) for text in texts]
    languages = []
    for text, (detected, probability) in zip(plain, detect_many(plain), strict=True):
        lang = DIALECTS.get(detected, detected)
        if has_other_script(text):
            languages.append(UNKNOWN if lang in ROUTES else lang)
        elif lang not in ROUTES and is_surely_foreign(text, probability):
            languages.append(lang)
        elif is_short(words := words_of(text)):
            languages.append(load_short_language_model().language(words))
        else:
            languages.append(lang if lang in ROUTES and probability >= SURE else "")
    return languages


def _absent(name: str) -> UserError:
    if name in (LARGE, "embedded-careful") and weights_folder(LARGE) is None:
        return UserError(
            f"{name!r} needs the large English detector, a package of its own: {install_package('davy-large')}",
            status=503,
        )
    if name == LOOKS:
        return UserError(
            f"{name!r} is a package of its own: {install_package('davy-memes')}",
            status=503,
        )
    held = shipped_names()
    held_note = f"It holds {', '.join(held)}." if held else "It holds no embedded detector yet."
    return UserError(
        f"The weights of {name!r} are not in this installation. {held_note} "
        "Name another model: a folder, hf:ORG/NAME, perspective, openai, url:…, keywords:FILE, majority or uniform.",
        status=503,
    )


def _in_order(wanted: Question, given: Question, scores: Scores) -> Array:
    """Return a block with its columns in the wanted question's order of labels."""
    import numpy as np

    block = scores.probabilities[given.name]
    if wanted.label_names == given.label_names:
        return block
    missing = [name for name in given.label_names if name not in wanted.label_names]
    if missing:
        raise UserError(f"The detectors disagree on {given.name!r}: {missing[0]!r} is a label of one only.")
    reordered = np.zeros((len(block), len(wanted.labels)))
    for i, name in enumerate(given.label_names):
        reordered[:, wanted.label_names.index(name)] = block[:, i]
    return reordered
