"""A detector is judged on corpora by its own threshold, and GermEval 2021's dev part is apart from what teaches."""

import csv
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
import leave_one_out
import offence
from corpora import Post

from davy.detectors import folder as folders
from davy.detectors.embedded import weights_folder


def test_a_shipped_detector_is_judged_at_its_own_threshold_and_by_what_it_learnt(tmp_path):
    texts = {"Du bist so ein Idiot, du Versager!": 1, "Halt die Fresse, du dummer Trottel": 1,
             "Danke für den schönen Abend": 0, "Der Zug kommt um acht Uhr an": 0}  # fmt: skip
    posts = [Post(text, "germeval2021", "dev", {"aux.toxic": [gold]}) for text, gold in texts.items()]
    english = [Post("You idiot", "olid", "dev", {"aux.olid": [2]})]
    found = leave_one_out.judged("embedded-de", {"germeval2021": posts, "olid": english}, tmp_path)
    assert set(found) == {"germeval2021"}, "a German detector is judged on German posts"
    figures = found["germeval2021"]
    assert figures["auroc"][0] == 1
    assert figures["macro_f1"][0] == 1
    assert figures["threshold"] == pytest.approx(folders.read(weights_folder("embedded-de")).thresholds["offensive"])
    assert (figures["n"], figures["learnt"]) == (4, "0.000")


def test_dev_of_germeval_2021_is_its_last_tenth(tmp_path):
    path = tmp_path / "germeval2021/GermEval21_TrainData.csv"
    path.parent.mkdir()
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["comment_id", "comment_text", "Sub1_Toxic"])
        rows.writerows([i, f"Kommentar  {i}", i % 2] for i in range(25))
    posts = offence.germeval2021(tmp_path)
    assert [post.part for post in posts] == ["train"] * 23 + ["dev"] * 2
    assert (posts[3].text, offence.offensive_of(posts[3])) == ("Kommentar 3", 1)
