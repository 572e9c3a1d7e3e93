"""Small detectors for tests of `davy check`: a rule over the text, and ways to fail."""

from __future__ import annotations

import numpy as np

from davy import schemes
from davy.core.scorer import Abilities, Scores

QUESTION = schemes.load("hate").question("hate")


class Rule:
    """Gives a text the probability that a function says; counts what it was asked."""

    abilities = Abilities()

    def __init__(self, rule, name="rule", version="1"):
        self.rule, self.name, self.version = rule, name, version
        self.questions = (QUESTION,)
        self.asked = 0
        self.calls = 0

    def score(self, posts):
        self.calls += 1
        self.asked += len(posts)
        yes = np.array([float(self.rule(text)) for text in posts["text"]])
        place = QUESTION.label_names.index(QUESTION.positive)
        block = np.zeros((len(posts), 2))
        block[:, place], block[:, 1 - place] = yes, 1 - yes
        return Scores(self.questions, {"hate": block})


class FailsOn(Rule):
    """Raises when a batch holds a text that it can't bear, and quotes it, as careless libraries do."""

    def __init__(self, rule, bad):
        super().__init__(rule, name="fragile")
        self.bad = bad

    def score(self, posts):
        for text in posts["text"]:
            if self.bad(text):
                raise RuntimeError(f"cannot digest {text}")
        return super().score(posts)
