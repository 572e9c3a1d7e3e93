"""The detectors inside the package: their size, their cards, and that the German one reads German."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from davy.core import UserError
from davy.detectors import embedded
from davy.detectors import folder as folders
from davy.detectors.cascade_screen import as_cascade
from davy.detectors.embedded import LOOKS, as_one_by_one, shipped_names, weights_folder
from davy.detectors.load import load
from davy.detectors.onnx import TOKENS_OF_STRANGERS
from davy.detectors.token_batches import prepare_text

HOSTILE = "Frauen gehören an den Herd und nicht in die Politik."
HARMLESS = (
    "Danke für den schönen Abend!",
    "Meine Frau fährt gerne Auto.",
    "Der Zug hat schon wieder Verspätung, so ein Pech.",
)


@pytest.fixture(scope="module")
def german():
    return load("embedded-de")


def chances(scorer, *texts: str) -> np.ndarray:
    scores = scorer.score(pl.DataFrame({"text": list(texts)}))
    return np.stack([scores.positive(name) for name in ("hate", "misogynistic")], axis=1)


def test_each_package_fits_into_a_wheel_for_a_package_index():
    """PyPI takes 100 MB a file: the base package stays far below, so that German and memes may grow."""
    sizes = {name: sum(path.stat().st_size for path in weights_folder(name).iterdir()) for name in shipped_names()}
    assert set(sizes) == {"embedded-de", "embedded-en", "embedded-en-large", "embedded-memes", LOOKS}
    assert sizes["embedded-en-large"] <= 95_000_000
    assert sizes["embedded-en"] + sizes["embedded-de"] <= 60_000_000
    assert sizes["embedded-en"] <= 28_000_000
    assert sizes["embedded-memes"] <= 20_000_000
    assert sizes[LOOKS] <= 50_000_000


def test_without_its_package_the_large_detector_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(embedded, "PACKAGES", dict.fromkeys(embedded.PACKAGES, "davy_not_there"))
    for name in ("embedded-en-large", "embedded-careful"):
        with pytest.raises(UserError, match=r"pip install ./packages/davy-large"):
            load(name)
    with pytest.raises(UserError, match=r"pip install ./packages/davy-memes"):
        load(LOOKS)
    assert not {"embedded-en-large", LOOKS} & set(shipped_names())
    assert load("embedded").score(pl.DataFrame({"text": ["hi"]})).verdicts() == ["none"]


def test_the_last_release_on_record_is_what_ships():
    """A new detector needs a row in docs/detectors/history.md: python scripts/measure_history.py."""
    record = json.loads((Path(__file__).parents[2] / "docs/detectors/history.json").read_text("utf-8"))
    last = {row["detector"]: row["version"] for row in record}  # oldest first
    texts = [name for name in shipped_names() if "memes" not in name]  # theirs are of memes, in their cards
    assert last == {name: folders.read(weights_folder(name)).version for name in texts}


def test_the_documented_card_is_the_card_in_the_folder():
    docs = Path(__file__).parents[2] / "docs/detectors/cards"
    for name in shipped_names():
        card = (weights_folder(name) / "card.md").read_text(encoding="utf-8")
        assert (docs / f"{name}.md").read_text(encoding="utf-8") == card
        for part in ("What it learnt from", "Figures", "What it misses", "Who should not use it"):
            assert f"## {part}" in card
        assert "interval" in card


def test_the_german_detector_tells_contempt_for_women_from_talk_about_them(german):
    scores = german.score(pl.DataFrame({"text": [HOSTILE, *HARMLESS]}))
    first, *others = scores.verdicts()
    assert set(first.split("; ")) >= {"hateful > misogynistic", "hateful > women", "offensive"}
    assert others == ["none", "none", "none"]


def test_the_german_detector_calls_a_threat_a_threat_and_names_who_is_meant(german):
    found = german.score(pl.DataFrame({"text": ["Wir werden alle Muslime umbringen", "Ich liebe Muslime"]})).verdicts()
    assert set(found[0].split("; ")) >= {"hateful > threatening language", "hateful > muslims"}
    assert found[1] == "none"


def test_shouting_mentions_and_links_change_little(german):
    loud, named, linked = chances(german, HOSTILE.upper(), f"@anna @bert {HOSTILE}", f"{HOSTILE} https://example.org/x")
    for other in (loud, named, linked):
        assert other[0] > 0.39
        assert other[1] > 0.27
    one, many = chances(german, f"@anna {HARMLESS[0]}", f"@anna @bert @carla {HARMLESS[0]}")
    assert np.abs(one - many).max() < 0.01
    assert np.abs(chances(german, HARMLESS[0].upper())[0] - chances(german, HARMLESS[0].lower())[0]).max() < 0.001


@pytest.mark.parametrize("text", ["", " \n ", "\x00", "🙂🙃", "\u200fمرحبا", "x" * 1_000_000, "Hallo " * 100_000])
def test_odd_posts_get_a_defined_answer(german, text):
    found = chances(german, text)
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("name", ["embedded-de", "embedded-en", "embedded-en-large"])
def test_a_post_scores_the_same_alone_as_among_others(name):
    scorer = load(name)
    texts = [HOSTILE, *HARMLESS, "ok", "What a day! " * 9]
    alone = np.concatenate([scorer.score(pl.DataFrame({"text": [text]})).positive("hate") for text in texts])
    together = scorer.score(pl.DataFrame({"text": texts})).positive("hate")
    np.testing.assert_allclose(together, alone, atol=1e-4)


@pytest.mark.parametrize("screen", [False, True])
@pytest.mark.parametrize("name", ["embedded-en", "embedded-de"])
def test_served_posts_score_the_same_in_any_company(name, screen):
    scorer = as_one_by_one(load(name), 1)
    scorer = as_cascade(scorer) if screen else scorer
    texts = [HOSTILE, *HARMLESS, "ok", "What a day! " * 9, "you are all the same, " * 60, "😀", ""]
    alone = [scorer.score(pl.DataFrame({"text": [text]})) for text in texts]
    for order in (range(len(texts)), reversed(range(len(texts)))):
        places = list(order)
        together = scorer.score(pl.DataFrame({"text": [texts[i] for i in places]}))
        for question, block in together.probabilities.items():
            for row, place in enumerate(places):
                other = alone[place].probabilities[question][0]
                if together.read is None or together.read[row]:
                    assert block[row].tobytes() == other.tobytes()
                else:  # the exit's small head adds up in another order; six digits are reported
                    np.testing.assert_allclose(block[row], other, atol=1e-6)


def test_the_english_network_is_served_in_batches_and_the_german_one_post_by_post():
    english, german = (as_one_by_one(load(name), 1) for name in ("embedded-en", "embedded-de"))
    assert (english._tokens, german._tokens) == (TOKENS_OF_STRANGERS, 1)


def test_the_german_detector_needs_neither_torch_nor_sklearn(german):
    code = (
        "import sys, polars as pl; from davy.detectors.load import load;"
        "load('embedded-de').score(pl.DataFrame({'text': ['Guten Morgen']}));"
        "print([it for it in ('torch', 'sklearn', 'transformers') if it in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_a_text_that_is_mostly_capitals_is_calmed():
    steps = ("calm capitals",)
    assert prepare_text("WAS SOLL DAS HIER?", steps) == "was soll das hier?"
    assert prepare_text("Die EU und die NATO tagen in Brüssel", steps) == "Die EU und die NATO tagen in Brüssel"
    assert prepare_text("OK", steps) == "OK"
    assert prepare_text("", steps) == ""
