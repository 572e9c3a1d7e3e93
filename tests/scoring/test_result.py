"""One post's record: what `--json` prints, the library and HTTP return."""

import numpy as np

from davy.core import Label, Question
from davy.core.scorer import Scores
from davy.scoring.result import records

HATE = Question("hate", (Label("no"), Label("yes")), positive="yes")
TYPE = Question("type", (Label("threat"), Label("slight")), under=("hate", ("yes",)))


def test_a_harmless_post_has_no_type_and_a_hateful_one_has_its_path():
    blocks = {"hate": np.array([[0.9, 0.1], [0.2, 0.8]]), "type": np.array([[0.7, 0.3], [0.4, 0.6]])}
    harmless, hateful = records(Scores((HATE, TYPE), blocks))
    assert (harmless["verdict"], harmless["path"], list(harmless["questions"])) == ("none", [], ["hate"])
    assert (hateful["path"], list(hateful["questions"])) == ([["yes", "slight"]], ["hate", "type"])
    assert [list(it["questions"]) for it in records(Scores((HATE, TYPE), blocks), ["type"])] == [[], ["type"]]
