"""Score a file with a detector that takes its time: `slow_score.py POSTS OUT SECONDS`, for test_interrupts."""

import sys
import time

import numpy as np

from davy.core.scorer import Abilities, Scores
from davy.schemes import load
from davy.scoring.score_file import score_file
from davy.shell.console import ShellReporter


class Slow:
    """Knows a post by its length; waits for each, then says how many it has scored."""

    name, version = "slow", "1"
    questions = (load("hate").questions[0],)
    abilities = Abilities()

    def __init__(self, seconds):
        self.seconds, self.scored = seconds, 0

    def score(self, posts):
        time.sleep(self.seconds * len(posts))
        self.scored += len(posts)
        if self.scored >= 2048:
            print("2048 scored", file=sys.stderr)
        chance = np.array([len(text) % 7 / 7 for text in posts["text"]])
        return Scores(self.questions, {"hate": np.stack([1 - chance, chance], axis=1)})


if __name__ == "__main__":
    posts, out, seconds = sys.argv[1:]
    try:
        with ShellReporter() as reporter:
            score_file(posts, out, Slow(float(seconds)), reporter=reporter)
    except KeyboardInterrupt:
        sys.exit(130)
