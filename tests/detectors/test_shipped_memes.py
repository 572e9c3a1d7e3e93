"""The meme detectors that ship: one reads what a meme says, one looks at the picture too; offline, without torch."""

import json
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from PIL import Image

import davy
from davy.core import UserError
from davy.detectors.embedded import LOOKS
from davy.detectors.load import load
from davy.detectors.registered import register_detector
from davy.shell.app import run
from davy.store import open_store
from drawn_memes import draw, folder_of

NAME = "embedded-memes"
HARMLESS = ("Wash your hands", "When you find toilet paper at the store", "me working from home")
NAMES_A_POLITICIAN = "Joe Biden hiding in his basement"


@pytest.fixture(scope="module")
def memes(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("img"), {f"{i}.png": draw(i, size=(320, 240)) for i in range(2)})


def chances(*texts):
    return load(NAME).score(pl.DataFrame({"text": list(texts)})).probabilities["harmful"][:, 1]


def test_it_clears_harmless_jokes_and_flags_a_politician_s_name_as_its_card_warns():
    found = chances(*HARMLESS, NAMES_A_POLITICIAN)
    assert (found[:3] < 0.3).all()
    assert found[3] > 0.6
    alone = np.concatenate([chances(text) for text in (*HARMLESS, NAMES_A_POLITICIAN)])
    np.testing.assert_allclose(found, alone, atol=1e-6)


def test_one_meme_in_the_shell_and_in_python_by_its_name(memes, capsys):
    command = ["score", "--image", str(memes / "0.png"), "--text", HARMLESS[0], "--model", NAME]
    assert run([*command, "--json"]) == 0
    shell = json.loads(capsys.readouterr().out)["questions"]["harmful"]
    assert shell["label"] == "not harmful"
    assert run(command) == 0
    assert f"{NAME} scored the text given alone: it does not look at pictures." in capsys.readouterr().err
    for picture in ("0.png", "1.png"):
        library = davy.load(NAME).score_meme(memes / picture, HARMLESS[0])
        assert library["looked_at_picture"] is False
        assert library["questions"]["harmful"]["probability"] == pytest.approx(shell["probability"], abs=1e-6)


@pytest.mark.parametrize("text", ["", "\x00", "🙂🙃", "\u200fمرحبا", "word " * 50_000])
def test_odd_texts_get_a_defined_answer(text):
    assert 0 <= chances(text)[0] <= 1


@pytest.mark.parametrize("name", [NAME, LOOKS])
def test_it_needs_neither_torch_nor_the_extra_packages(name, memes):
    code = (
        "import sys; from pathlib import Path; from davy.scoring.score_file import score_meme;"
        f"score_meme(Path({str(memes / '0.png')!r}), 'hi', {name!r});"
        "print([it for it in ('torch', 'transformers', 'cv2', 'sklearn') if it in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_one_that_looks_depends_on_the_picture_and_on_the_text(memes, capsys):
    command = ["score", "--image", str(memes / "0.png"), "--text", HARMLESS[0], "--model", LOOKS]
    assert run(command) == 0
    assert f"{LOOKS} scored the picture and the text given." in capsys.readouterr().err
    detector = davy.load(LOOKS)

    def chance(picture, text):
        found = detector.score_meme(memes / picture, text)
        assert found["looked_at_picture"] is True
        return found["questions"]["harmful"]["probability"]

    first = chance("0.png", HARMLESS[0])
    assert abs(chance("1.png", HARMLESS[0]) - first) > 1e-3
    assert chance("0.png", NAMES_A_POLITICIAN) > 2 * first
    with pytest.raises(UserError, match="looks at pictures"):
        load(LOOKS).score(pl.DataFrame({"text": [HARMLESS[0]]}))


@pytest.mark.parametrize(("name", "most"), [(NAME, 0.15), (LOOKS, 0.4)])
def test_a_warm_meme_takes_a_fraction_of_a_second_of_processor_time(name, most, memes):
    detector = davy.load(name)
    detector.score_meme(memes / "0.png", HARMLESS[0])
    took = []
    for text in HARMLESS:
        began = time.process_time()
        detector.score_meme(memes / "1.png", text)
        took.append(time.process_time() - began)
    assert min(took) <= most


def test_the_list_names_it_and_a_server_can_be_told_of_it_by_its_name(tmp_path, capsys):
    assert run(["model", "list", "--json"]) == 0
    assert {NAME, LOOKS} <= {entry["name"] for entry in json.loads(capsys.readouterr().out)}
    with open_store(f"sqlite:///{tmp_path / 'davy.sqlite'}", create=True) as store:
        entry = register_detector(store, NAME, by="shell")
    assert (entry.name, entry.questions) == (NAME, ("harmful",))


@pytest.mark.parametrize("colour", ["white", "black"])
def test_a_blank_picture_without_text_is_refused_and_has_no_answer_in_a_file(colour, tmp_path, capsys):
    Image.new("RGB", (200, 200), colour).save(tmp_path / "blank.png")
    for name in (NAME, LOOKS):
        assert run(["score", "--image", str(tmp_path / "blank.png"), "--model", name]) == 2
        assert "ext could be read" in capsys.readouterr().err
    (tmp_path / "memes.csv").write_text("id,text,img\n1,,blank.png\n2,hello there,blank.png\n")
    command = ["score", str(tmp_path / "memes.csv"), "--images", str(tmp_path), "--model", LOOKS]
    assert run([*command, "--out", str(tmp_path / "out.csv")]) == 0
    assert pl.read_csv(tmp_path / "out.csv")["verdict"].is_null().to_list() == [True, False]


def test_a_text_in_a_language_that_a_detector_was_not_made_for_is_named(memes, capsys):
    command = ["score", "--image", str(memes / "0.png"), "--text", "Heute bleiben wir alle zusammen zu Hause"]
    for name in (NAME, LOOKS):
        assert run([*command, "--model", name]) == 0
        assert "was not made for this text's language (de)" in " ".join(capsys.readouterr().err.split())
    assert run([*command[:-1], "Today we all stay at home", "--model", NAME, "--json"]) == 0
    assert "other_language" not in json.loads(capsys.readouterr().out)
