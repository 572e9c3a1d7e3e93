"""A classifier of texts for threatexchange: the yes/no questions of a detector as labels, with probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from threatexchange.classifier.classifier import ClassificationInfo, ClassificationResult, Classifier
from threatexchange.content_type.content_base import ContentType
from threatexchange.content_type.text import TextContent

from davy_adapters.server import DavyServer


@dataclass
class DavyInfo(ClassificationInfo):
    """Whether the detector says yes, and how surely."""

    probability: float = 0.0
    threshold: float = 0.5

    def weight_str(self) -> str:
        """Return the probability as people read it."""
        return f"{self.probability:.2%}"


class DavyClassifier(Classifier):
    """Asks a server of Davy. A text that was not judged, because of its language, has no labels."""

    def __init__(self, server: DavyServer | None = None, lang: str | None = None) -> None:
        self._server = server or DavyServer.from_environment()
        self._lang = lang

    @classmethod
    def get_content_types(cls) -> list[type[ContentType]]:
        """Return what it classifies: texts."""
        return [TextContent]

    def classify(self, content_type: type[ContentType], content_val: str) -> ClassificationResult[DavyInfo]:
        """Return the labels of a text."""
        if content_type is not TextContent:
            raise ValueError(f"Davy classifies texts here, not {content_type.get_name()}.")
        record = self._server.score(content_val, self._lang)
        return ClassificationResult(
            {
                name: DavyInfo(it["probability"] >= it["threshold"], it["probability"], it["threshold"])
                for name, it in record["questions"].items()
                if "probability" in it
            }
        )
