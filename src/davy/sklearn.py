"""Davy in scikit-learn's terms: a classifier that learns, a transformer that scores, and folds without near duplicates.

Texts in; labels, columns of scores, or folds out. `DavyClassifier`, `DavyScores` and `GroupedKFold` go into pipelines,
`clone` and grid searches. Needs scikit-learn, which the extra `train` brings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from davy.core.install import install_extra

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.utils.class_weight import compute_sample_weight
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, column_or_1d
except ModuleNotFoundError as error:  # one clear line in place of a trace into scikit-learn
    raise ModuleNotFoundError(f"davy.sklearn needs scikit-learn: {install_extra('train')}") from error

if TYPE_CHECKING:
    from davy.scoring.text_detector import TextDetector

QUESTION = "label"


class DavyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier: TF-IDF with logistic regression, or a fine-tuned encoder.

    Parameters
    ----------
    kind : {"tfidf", "xgboost", "majority"}
        What is trained.
    strength : float
        The inverse of TF-IDF's regularisation (scikit-learn's C).
    encoder : str, optional
        A folder or a hub name of an encoder to fine-tune in place of `kind`.
    epochs, rate : int, float
        Of the encoder.
    class_weight : "balanced", dict or None
        The weight of each label, for `tfidf` and encoders (which take no dict).
    seed : int
        The seed of every random act.

    Attributes
    ----------
    detector_ : TextDetector
        The fitted detector.
    classes_ : ndarray
        The labels.

    Example:
        search = GridSearchCV(DavyClassifier(), {"strength": [1.0, 4.0]}).fit(texts, labels)
    """

    def __init__(
        self,
        kind: str = "tfidf",
        *,
        strength: float = 4.0,
        encoder: str | None = None,
        epochs: int = 3,
        rate: float = 2e-5,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = "balanced",
        seed: int = 1,
    ) -> None:
        self.detector_: TextDetector
        self.kind = kind
        self.strength = strength
        self.encoder = encoder
        self.epochs = epochs
        self.rate = rate
        self.class_weight = class_weight
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DavyClassifier:
        """Learn from texts and their labels; `sample_weight` is one number a text, for `tfidf`.

        Example:
            DavyClassifier().fit(["good", "bad"], [0, 1])
        """
        import numpy as np
        import polars as pl

        from davy.core.scheme import Label, Question, Scheme
        from davy.scoring.frames import to_polars
        from davy.training.library import train

        if y is None:
            raise ValueError("DavyClassifier requires y to be passed, but the target y is None.")
        texts = to_polars(_texts(X))["text"]
        y = column_or_1d(y, warn=True)
        check_consistent_length(texts, y)
        check_classification_targets(y)
        self.classes_ = unique_labels(y)
        if len(self.classes_) < 2:
            raise ValueError(f"The texts have labels of one class, {self.classes_[0]!r}. Give at least two classes.")
        weights = self._weights(texts, y, sample_weight)
        names = [str(label) for label in self.classes_]
        codes = np.searchsorted(self.classes_, np.asarray(y))
        positive = names[1] if len(names) == 2 else None
        scheme = Scheme("labels", 1, (Question(QUESTION, tuple(map(Label, names)), positive=positive),))
        posts = pl.DataFrame({"text": texts, f"{QUESTION}.gold": [names[code] for code in codes]})
        if weights is not None:
            from davy.detectors.tfidf import Tfidf
            from davy.scoring.text_detector import TextDetector

            scorer = Tfidf(scheme.questions, strength=self.strength).fit(posts, seed=self.seed, weights=weights)
            self.detector_ = TextDetector(scorer)
            return self
        settings: dict[str, Any] = {"strength": self.strength} if self.kind == "tfidf" else {}
        if self.encoder is not None:
            settings = {"epochs": self.epochs, "rate": self.rate, "class_weights": self.class_weight or "none"}
        self.detector_ = train(posts, kind=self.kind, encoder=self.encoder, scheme=scheme, seed=self.seed, **settings)
        return self

    def _weights(self, texts: Any, y: Any, sample_weight: Any) -> Any:
        """Return the weight of each text; None where every label counts alike, which is what detectors do anyway."""
        weighs = self.kind == "tfidf" and self.encoder is None
        if sample_weight is None and (self.class_weight == "balanced" or not weighs):
            if isinstance(self.class_weight, Mapping):
                raise ValueError("A dict as class_weight is for kind='tfidf'. Use 'balanced' or None.")
            return None
        if not weighs:
            raise ValueError("sample_weight is for kind='tfidf' without an encoder. Leave it out.")
        weights = _check_sample_weight(sample_weight, texts)
        return weights * compute_sample_weight(self.class_weight, y)

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities, one column a label, in the order of `classes_`.

        Example:
            classifier.predict_proba(["a text"])[:, 1]
        """
        check_is_fitted(self, "detector_")
        return self.detector_.predict_proba(_texts(X), QUESTION)

    def predict(self, X: Any) -> Any:
        """Return the likeliest label of each text.

        Example:
            classifier.predict(["a text"])
        """
        chances = self.predict_proba(X)  # first, since it says where nothing was fitted
        return self.classes_[chances.argmax(axis=1)]


class DavyScores(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns texts into a detector's probabilities, one column a label, for a pipeline of your own.

    Parameters
    ----------
    model : str or TextDetector
        A detector, as `davy.load` takes it. It is not trained here.
    questions : sequence of str, optional
        The questions to use; all without it.
    missing : float
        What a text gets that a question does not apply to, such as one in another language.

    Example:
        make_pipeline(DavyScores("embedded-en"), LogisticRegression()).fit(texts, labels)
    """

    def __init__(
        self, model: Any = "embedded", *, questions: Sequence[str] | None = None, missing: float = 0.0
    ) -> None:
        self.model = model
        self.questions = questions
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> DavyScores:  # noqa: ARG002 — the signature of scikit-learn
        """Load the detector; nothing is learnt from the texts.

        Example:
            DavyScores("embedded-en").fit(["a text"])
        """
        from davy.scoring.library import as_detector

        self.detector_: TextDetector = as_detector(self.model)
        asked = [self.detector_.question(name) for name in self.questions or self.detector_.questions]
        self.columns_ = [
            (question.name, place, question.name if question.positive else f"{question.name}={label}")
            for question in asked
            for place, label in enumerate(question.label_names)
            if question.positive in (None, label)
        ]
        return self

    def transform(self, X: Any) -> Any:
        """Return an array of probabilities, one row a text.

        Example:
            DavyScores("embedded-en").fit_transform(["a text"])
        """
        import numpy as np

        from davy.scoring.frames import visible_columns

        check_is_fitted(self, "detector_")
        scores = self.detector_.scorer.score(visible_columns(_texts(X)))
        table = np.stack([scores.probabilities[name][:, place] for name, place, _ in self.columns_], axis=1)
        return np.nan_to_num(np.asarray(table, dtype=np.float64), nan=self.missing)

    def get_feature_names_out(self, input_features: Any = None) -> Any:  # noqa: ARG002 — the signature of scikit-learn
        """Return the names of the columns: the question, or `question=label`.

        Example:
            DavyScores("embedded-en").fit(["a text"]).get_feature_names_out()
        """
        import numpy as np

        check_is_fitted(self, "detector_")
        return np.array([name for _, _, name in self.columns_], dtype=object)


class GroupedKFold:
    """k folds that near duplicates and posts of one group never straddle, with labels spread evenly.

    A text's fold depends on the texts and the seed, never on the order of the rows.

    Parameters
    ----------
    n_splits : int
        How many folds.
    near : float
        Texts this alike (Jaccard, 0 to 1) stay together; 0 keeps only equal texts together.
    seed : int
        Another seed gives other folds.

    Example:
        cross_val_score(DavyClassifier(), texts, labels, cv=GroupedKFold(5))
    """

    def __init__(self, n_splits: int = 5, *, near: float = 0.8, seed: int = 0) -> None:
        if n_splits < 2:
            raise ValueError(f"GroupedKFold needs n_splits of 2 or more, got {n_splits}.")
        self.n_splits = n_splits
        self.near = near
        self.seed = seed

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002 — scikit-learn's
        """Return the number of folds.

        Example:
            GroupedKFold(3).get_n_splits()
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Yield the rows to learn from and those to test on, fold by fold.

        Example:
            train, test = next(GroupedKFold(2).split(["one", "two", "three"]))
        """
        import numpy as np

        from davy.corpus.split.folds import assign_folds
        from davy.scoring.frames import to_polars

        texts = to_polars(_texts(X))["text"].fill_null("").to_list()
        check_consistent_length(texts, y, groups)
        labels = None if y is None else [str(label) for label in np.asarray(y).ravel().tolist()]
        named = None if groups is None else [str(group) for group in np.asarray(groups).ravel().tolist()]
        folds = assign_folds(texts, self.n_splits, labels=labels, groups=named, near=self.near, seed=self.seed)
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def __repr__(self) -> str:
        return f"GroupedKFold({self.n_splits}, near={self.near}, seed={self.seed})"


def _texts(X: Any) -> Any:
    """Return X as texts; a frame or an array of one column is that column."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        return X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
    return X
