"""A detector in a caller's hands: what `davy.load`, `davy.train` and `davy.calibrate` return.

Texts, frames and datasets in; labels, probabilities, or the same kind with score columns out. It wraps a
`davy.core.Scorer`, which stays under `scorer` for whoever wants the plain protocol.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from davy.core.errors import UnknownName, UserError, nearest
from davy.core.scheme import Question
from davy.core.scorer import Scorer, Scores, TrainableScorer
from davy.detectors.folder import MANIFEST
from davy.files.atomic import replaced_folder, require_empty_folder
from davy.scoring.python_words import python_words

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from davy.detectors.calibrated import Calibration
    from davy.scoring.explain import Explanation

    Array = np.ndarray[Any, np.dtype[Any]]

Data = TypeVar("Data")


@dataclass(frozen=True, repr=False)
class TextDetector:
    """Scores texts. Where `davy.calibrate` made it, `calibration` says what changed.

    Example:
        detector = davy.load("embedded")
        detector.predict(["What a day"])
    """

    scorer: Scorer
    calibration: Calibration | None = None

    def __repr__(self) -> str:
        return f"<TextDetector {self.name}, version {self.version}: {', '.join(self.questions)}>"

    def _repr_html_(self) -> str:
        import polars as pl

        from davy.scoring.notebook import frame_html

        rows = [(question.name, ", ".join(question.label_names)) for question in self.scorer.questions]
        labels = pl.DataFrame(rows, schema=["question", "labels"], orient="row")
        return frame_html(f"{self.name}, version {self.version}", labels)

    @property
    def name(self) -> str:
        """The detector's name."""
        return self.scorer.name

    @property
    def version(self) -> str:
        """Changes whenever the same text could score differently."""
        return self.scorer.version

    @property
    def questions(self) -> tuple[str, ...]:
        """The names of the questions that the detector answers."""
        return tuple(question.name for question in self.scorer.questions)

    @property
    def classes_(self) -> Array:
        """The labels of the main question (the first that is yes/no), in the order of `predict_proba`'s columns."""
        return self.classes()

    def classes(self, question: str | None = None) -> Array:
        """Return the labels of a question, in the order of `predict_proba`'s columns.

        Parameters
        ----------
        question : str, optional
            The question; else the main one: the first that is yes/no.

        Example:
            davy.load("embedded").classes("sexist")
        """
        import numpy as np

        return np.array(self.question(question).label_names)

    def question(self, name: str | None = None) -> Question:
        """Return a question by name; without a name the main one: the first that is yes/no, else the first.

        Parameters
        ----------
        name : str, optional
            The question's name.

        Example:
            davy.load("embedded").question("hate").label_names
        """
        questions = self.scorer.questions
        if name is None:
            return next((question for question in questions if question.positive is not None), questions[0])
        for question in questions:
            if question.name == name:
                return question
        names = list(self.questions)
        raise UnknownName(f"{self.name} does not answer {name!r}; it answers {', '.join(names)}.{nearest(name, names)}")

    @python_words
    def predict(self, X: Any, question: str | None = None, *, text: str | None = None) -> Array:
        """Return the chosen label of each text; without `question`, to the main one.

        Several labels are joined by `|`. A text without an answer gets None.

        Parameters
        ----------
        X : frame, dataset, records or texts
            The texts.
        question : str, optional
            The question; else the main one: the first that is yes/no.
        text : str, optional
            The column of the text, where its name is not one of the usual ones.

        Example:
            davy.load("embedded").predict(["What a day", "Have a good one"], question="sexist")
        """
        import numpy as np

        asked = self.question(question)
        scores = self._scores(X, text)
        answered = scores.has_answer(asked)
        labels: list[str | None] = ["|".join(chosen) for chosen in scores.chosen(asked.name)]
        if answered is not None:
            labels = [
                label if has_answer else None for label, has_answer in zip(labels, answered.tolist(), strict=True)
            ]
        return np.array(labels, dtype=object)

    @python_words
    def predict_proba(self, X: Any, question: str | None = None, *, text: str | None = None) -> Array:
        """Return probabilities, one row a text and one column a label of the question, in the order of `classes`.

        A text to which the question was not put (it is in another language) has NaN.

        Parameters
        ----------
        X : frame, dataset, records or texts
            The texts.
        question : str, optional
            The question; else the main one: the first that is yes/no.
        text : str, optional
            The column of the text, where its name is not one of the usual ones.

        Example:
            davy.load("embedded").predict_proba(["What a day"], question="hate")[:, 1]
        """
        import numpy as np

        asked = self.question(question)
        scores = self._scores(X, text)
        table = np.array(scores.probabilities[asked.name], dtype=np.float64)
        answered = scores.has_answer(asked)
        if answered is not None:
            table[~answered] = np.nan
        return table

    @overload
    def score(self, posts: str, *, lang: str | None = None) -> dict[str, Any]: ...

    @overload
    def score(self, posts: list[str], *, lang: str | None = None) -> list[dict[str, Any]]: ...

    @overload
    def score(
        self, posts: Data, *, text: str | None = None, prefix: str = "", replace: bool = False, cascade: bool = False
    ) -> Data: ...

    @python_words
    def score(
        self,
        posts: Any,
        *,
        lang: str | None = None,
        text: str | None = None,
        prefix: str = "",
        replace: bool = False,
        cascade: bool = False,
    ) -> Any:
        """Return a text's record, a list of them for a list of texts, or a frame or dataset with score columns added.

        The columns are those of `davy score`: `Q`, `Q.label` and `verdict`. `text` names the column to read. With
        `cascade`, a quick screen clears what is plainly harmless, as `davy score` does for files. `lang` is the
        language of all posts; a column `lang` goes before it.

        Parameters
        ----------
        posts : str, list, frame or dataset
            What to score.
        lang : str, optional
            The language of all texts, such as `en`; else detected.
        text : str, optional
            The column of the text, where its name is not one of the usual ones.
        prefix : str
            What the new columns' names begin with.
        replace : bool
            Replace score columns that exist.
        cascade : bool
            Let a quick screen clear what is plainly harmless.

        Example:
            scored = davy.load("embedded").score(frame, text="body")
        """
        import polars as pl

        from davy.detectors.cascade_screen import as_cascade
        from davy.detectors.embedded import is_language_code
        from davy.scoring import frames
        from davy.scoring.batch import ScoreSettings, added_schema, check_columns, stale_columns

        if lang is not None and not is_language_code(lang):
            raise UserError(f"{lang!r} is no code of a language. Give one such as 'en' or 'de'.")
        kind = frames.kind_of(posts)
        if kind in ("text", "texts"):
            if text or prefix or replace or cascade:
                raise UserError("text, prefix, replace and cascade are for frames and datasets: texts have no columns.")
            records = self._records(posts, lang)
            return records[0] if kind == "text" else records
        scorer = as_cascade(self.scorer) if cascade else self.scorer
        columns = frames.columns_of(posts)
        column = columns[0] if kind == "series" else frames.text_column(columns, text)
        settings = ScoreSettings(column, prefix=f"{prefix}." if prefix else "", replace=replace)
        check_columns(columns, scorer, settings)
        if replace:
            posts = frames.drop_columns(posts, stale_columns(columns, scorer, settings))

        def added(part: Any) -> pl.DataFrame:
            seen = frames.visible_columns(part, None if kind == "series" else column)
            if lang is not None and "lang" not in seen.columns:
                seen = seen.with_columns(pl.lit(lang).alias("lang"))
            return score_columns(seen, scorer, settings.prefix)

        return frames.add_columns(posts, added, added_schema(scorer, settings.prefix))

    @python_words
    def score_meme(self, image: str | Path, text: str | None = None, *, lang: str | None = None) -> dict[str, Any]:
        """Return a meme's record; `text` is what it says, and is read from the picture where it is None.

        A detector that looks at pictures scores both, any other the text alone: `looked_at_picture` says which.

        Parameters
        ----------
        image : str or Path
            The picture.
        text : str, optional
            What the meme says; else read from the picture.
        lang : str, optional
            The language of the text.

        Example:
            davy.load("embedded").score_meme("meme.png", "what the meme says")
        """
        from davy.scoring.score_file import score_meme

        return score_meme(Path(image), text, self.scorer, lang=lang).to_dict()

    @python_words
    def explain(self, text: str, *, question: str | None = None, lang: str | None = None) -> Explanation:
        """Return which words carried the decision: each is left out in turn, and the score's fall is its weight.

        Parameters
        ----------
        text : str
            The text.
        question : str, optional
            The question; else the main one: the first that is yes/no.
        lang : str, optional
            The language of all texts, such as `en`; else detected.

        Example:
            davy.load("embedded").explain("What a day").strongest()
        """
        from davy.scoring.explain import explain

        if not isinstance(text, str):
            raise UserError(f"Give one text to explain, not a {type(text).__name__}.")
        return explain(text, self.scorer, question=self.question(question).name if question else None, lang=lang)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the detector as a model folder, which `davy.load` and every `--model` take; return the folder.

        Parameters
        ----------
        folder : str or Path
            The folder to write to.
        overwrite : bool
            Replace a folder that exists.

        Example:
            davy.train(posts, gold={"hate": "label"}).save("mine")
        """
        out = Path(folder).expanduser()
        if not (overwrite and (out / MANIFEST).is_file()):
            require_empty_folder(out)
        with replaced_folder(out) as draft:
            if isinstance(self.scorer, TrainableScorer) or hasattr(self.scorer, "save"):
                self.scorer.save(draft)
            elif self.scorer.abilities.folder is not None:
                shutil.copytree(self.scorer.abilities.folder, draft, dirs_exist_ok=True)
            else:
                raise UserError(f"{self.name} is no model of a folder, so it can't be saved: load it by its name.")
        return out

    def to_huggingface(self, folder: str | Path) -> Path:
        """Write a folder that gives the same scores in transformers; return the folder.

        Parameters
        ----------
        folder : str or Path
            The folder to write to.

        Example:
            davy.train(posts, gold={"hate": "label"}, encoder="distilbert-base-uncased").to_huggingface("mine-hf")
        """
        from davy.detectors.huggingface import write_huggingface

        return write_huggingface(self.scorer, Path(folder).expanduser())

    def _scores(self, posts: Any, text: str | None) -> Scores:
        from davy.scoring import frames

        return scored_in_batches(frames.visible_columns(posts, text), self.scorer)

    def _records(self, texts: Any, lang: str | None) -> list[dict[str, Any]]:
        import polars as pl

        from davy.scoring import frames
        from davy.scoring.result import model_of, records

        posts = frames.visible_columns(texts).with_columns(pl.lit(lang, dtype=pl.String).alias("lang"))
        return [{"model": model_of(self.scorer), **one} for one in records(scored_in_batches(posts, self.scorer))]


def scored_in_batches(posts: pl.DataFrame, scorer: Scorer) -> Scores:
    """Return a scorer's scores, asked for as many posts at once as it likes best; a missing text has no answers."""
    size = scorer.abilities.batch_size
    scores = Scores.concat([scorer.score(posts[i : i + size]) for i in range(0, max(1, len(posts)), size)])
    return scores.without_answers(posts["text"].is_null().to_numpy())


def score_columns(posts: pl.DataFrame, scorer: Scorer, prefix: str = "") -> pl.DataFrame:
    """Return the columns that scoring adds, in the posts' order; equal posts are scored once."""
    import polars as pl

    from davy.scoring.batch import ScoreSettings, added_columns, score_frames

    settings = ScoreSettings("text", prefix=prefix, replace=True)
    return pl.concat(list(score_frames([posts], scorer, settings))).select(added_columns(scorer, prefix))
