"""The row over a frozen CLIP-like model: neither side alone says anything, text and picture together decide."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import davy
from davy.shell.app import run
from tiny_encoder import make_tiny_encoder
from tiny_vision import save_clip, save_vision_model

pytest.importorskip("torch")

COLOURS = ((200, 40, 40), (40, 60, 200))
TEXTS = ("the lovely garden", "they are nice people")


@pytest.fixture
def crossed(tmp_path: Path) -> Path:
    """A folder of memes whose label is yes where text and picture belong to different kinds, and no otherwise."""
    folder = tmp_path / "crossed"
    (folder / "img").mkdir(parents=True)
    for part, n in (("train", 64), ("dev", 32), ("test", 32)):
        rows = []
        for number in range(n):
            text, picture = number % 2, number // 2 % 2
            name = f"{part}-{number}.png"
            noise = np.random.default_rng((n, number)).integers(-30, 30, (32, 32, 3))
            pixels = np.clip(np.array(COLOURS[picture]) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / "img" / name)
            rows.append({"id": name, "img": f"img/{name}", "text": TEXTS[text], "label": int(text != picture)})
        (folder / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def train(memes: Path, out: Path, row: str, *sets: str) -> dict:
    learning = ["updates=120", "warmup=5", "every=20", "batch=32", *sets]
    assert run(["meme", "train", str(memes), "--out", str(out), "--row", row,
                *[part for each in learning for part in ("--set", each)]]) == 0  # fmt: skip
    return json.loads((out / "manifest.json").read_text())["settings"]["figures"]["test"]


@pytest.mark.parametrize("kind", ["CLIP", "Siglip"])
def test_the_fusion_finds_what_neither_text_nor_picture_says_alone(crossed, tmp_path, monkeypatch, kind):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    clip = save_clip(kind, tmp_path / "clip")
    figures = train(crossed, tmp_path / "model", "clip-neighbours", f"image_encoder=hf:{clip}", "rate=3e-3")
    make_tiny_encoder(tmp_path / "tiny")
    text = train(crossed, tmp_path / "text", "text", f"text_encoder={tmp_path / 'tiny'}")
    assert text["auroc"] == 0.5, "every text is as often hateful as not"
    assert figures["auroc"] > 0.95

    model = davy.load(str(tmp_path / "model"))
    answers = {
        name: model.score_meme(crossed / "img" / name, text)["questions"]["hate"]["probability"]
        for name, text in (("test-0.png", TEXTS[0]), ("test-1.png", TEXTS[1]))
    }
    assert answers["test-1.png"] > 0.5 > answers["test-0.png"]
    stored = (tmp_path / "model" / "model.safetensors").read_bytes()
    assert TEXTS[0].encode() not in stored


def test_the_nearest_memes_vote_by_how_near_they_are():
    import torch

    from davy.detectors.neighbour_model import neighbour_vote

    known = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    labels = torch.tensor([1.0, 0.0, 1.0])
    asked = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert neighbour_vote(asked, known, labels, 1).tolist() == [1.0, 0.0]
    far = float(torch.tensor([10.0, 0.0]).softmax(0)[0])
    assert neighbour_vote(asked, known, labels, 2)[0].item() == pytest.approx(far)
    assert neighbour_vote(asked, known, labels, 50).shape == (2,), "fewer memes than neighbours is no error"


def test_the_loss_falls_as_a_meme_comes_nearer_to_its_own_label():
    import torch

    from davy.training.neighbour_trainer import retrieval_loss

    known, labels = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), torch.tensor([1.0, 1.0, 0.0])
    rows = torch.tensor([0])
    near = retrieval_loss(torch.tensor([[1.0, 0.0]]), labels[:1], rows, known, labels)
    far = retrieval_loss(torch.tensor([[0.0, 1.0]]), labels[:1], rows, known, labels)
    assert near < 0.01 < 5 < far
    alone = retrieval_loss(torch.tensor([[0.0, 1.0]]), labels[2:], torch.tensor([2]), known, labels)
    assert alone == 0, "a meme is not its own neighbour"


def test_a_model_that_reads_no_texts_and_an_export_are_refused_in_one_line(crossed, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    save_vision_model("ViT", tmp_path / "vit")
    asked = ["meme", "train", str(crossed), "--out", str(tmp_path / "m"), "--row", "clip-neighbours"]
    assert run([*asked, "--set", f"image_encoder=hf:{tmp_path / 'vit'}"]) == 2
    assert "Name a CLIP or a SigLIP model" in capsys.readouterr().err
    clip = save_clip("CLIP", tmp_path / "clip")
    train(crossed, tmp_path / "model", "clip-neighbours", f"image_encoder=hf:{clip}")
    assert run(["export", str(tmp_path / "model"), "--out", str(tmp_path / "graph")]) == 2
    assert "no graph" in capsys.readouterr().err
