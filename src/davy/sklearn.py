"""Davy's detectors as an estimator of scikit-learn: `DavyClassifier` goes into pipelines, `clone` and grid searches.

Texts and labels in, a fitted estimator out. Labels may be of any kind that scikit-learn takes. Needs scikit-learn,
which the extra `train` brings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import unique_labels
    from sklearn.utils.validation import check_is_fitted
except ModuleNotFoundError as error:  # one clear line in place of a trace into scikit-learn
    raise ModuleNotFoundError("davy.sklearn needs scikit-learn: pip install 'davy[train]'") from error

if TYPE_CHECKING:
    from davy.scoring.text_detector import TextDetector

QUESTION = "label"


class DavyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier: TF-IDF with logistic regression, or a fine-tuned encoder.

    `kind` is `tfidf`, `xgboost` or `majority`; `encoder` names one to fine-tune instead, for `epochs` at `rate`.
    `strength` is the inverse of TF-IDF's regularisation (scikit-learn's C). After `fit`, `detector_` is the detector.

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
        seed: int = 1,
    ) -> None:
        self.kind = kind
        self.strength = strength
        self.encoder = encoder
        self.epochs = epochs
        self.rate = rate
        self.seed = seed

    def fit(self, X: Any, y: Any) -> DavyClassifier:
        """Learn from texts and their labels.

        Example:
            DavyClassifier().fit(["good", "bad"], [0, 1])
        """
        import numpy as np
        import polars as pl

        from davy.core.scheme import Label, Question, Scheme
        from davy.scoring.frames import to_polars
        from davy.training.library import train

        texts = to_polars(_texts(X))["text"]
        self.classes_ = unique_labels(y)
        names = [str(label) for label in self.classes_]
        codes = np.searchsorted(self.classes_, np.asarray(y))
        positive = names[1] if len(names) == 2 else None
        scheme = Scheme("labels", 1, (Question(QUESTION, tuple(map(Label, names)), positive=positive),))
        posts = pl.DataFrame({"text": texts, f"{QUESTION}.gold": [names[code] for code in codes]})
        settings: dict[str, Any] = {"strength": self.strength} if self.kind == "tfidf" else {}
        if self.encoder is not None:
            settings = {"epochs": self.epochs, "rate": self.rate}
        self.detector_: TextDetector = train(
            posts, kind=self.kind, encoder=self.encoder, scheme=scheme, seed=self.seed, **settings
        )
        return self

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


def _texts(X: Any) -> Any:
    """Return X as texts; a frame or an array of one column is that column."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        return X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0]
    return X
