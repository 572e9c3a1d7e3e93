"""A small fake detector that notes what it is asked."""

import numpy as np
import pytest

from davy.core import Abilities, Label, Question, Scores

HATE = Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful")
TYPE = Question("type", (Label("threat"), Label("derogation")), under=("hate", ("hateful",)))


class Fake:
    """Scores 0.9 where a text holds `grumblefop`, else by its length; notes the batches."""

    name, version, questions, abilities = "fake", "1", (HATE, TYPE), Abilities()

    def __init__(self):
        self.batches = []

    def score(self, posts):
        texts = posts["text"].to_list()
        self.batches.append(texts)
        yes = np.array([0.9 if "grumblefop" in text else min(len(text), 400) / 1000 for text in texts])
        block = np.stack([1 - yes, yes], axis=1)
        return Scores(self.questions, {"hate": block, "type": block[:, ::-1]})

    @property
    def asked(self):
        return [text for batch in self.batches for text in batch]


@pytest.fixture
def fake():
    return Fake()
