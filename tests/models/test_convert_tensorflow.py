"""Weights of TensorFlow and Keras, as TensorFlow 2 itself wrote them (samples/tensorflow), without TensorFlow."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from safetensors.torch import load_file

from davy.cli.app import run
from davy.core import UserError
from davy.models.convert import convert

SAMPLES = Path(__file__).parent / "samples" / "tensorflow"
EXPECTED = np.load(SAMPLES / "expected.npz")


def converted(path: Path, out: Path) -> dict[str, np.ndarray]:
    convert(path, out)
    return load_file(out)


@pytest.mark.parametrize(("source", "above"), [("tiny.ckpt.index", "model/"), ("saved", "")])
def test_checkpoints_and_saved_models_keep_every_number(tmp_path, source, above):
    found = converted(SAMPLES / source, tmp_path / "w.safetensors")
    for name in ("kernel", "bias", "steps", "half"):
        given = found[f"{above}{name}"].numpy()
        assert given.dtype == EXPECTED[name].dtype
        assert np.array_equal(given, EXPECTED[name])
    assert found[f"{above}brain"].tolist() == [1.5, -2.0]
    assert np.array_equal(found[f"{above}layers/2"].numpy(), EXPECTED["layer2"])


@pytest.mark.parametrize("source", ["tiny.weights.h5", "tiny.keras"])
def test_keras_files_keep_every_number(tmp_path, source):
    found = converted(SAMPLES / source, tmp_path / "w.safetensors")
    layers = [found[name].numpy() for name in sorted(found) if found[name].numel() > 1]
    for place in range(4):
        assert any(np.array_equal(layer, EXPECTED[f"keras{place}"]) for layer in layers)


def test_the_command_takes_a_checkpoint(tmp_path, capsys):
    out = tmp_path / "tiny.safetensors"
    assert run(["model", "convert", str(SAMPLES / "tiny.ckpt.index"), "--out", str(out)]) == 0
    assert out.is_file()
    capsys.readouterr()


def test_damaged_or_missing_parts_are_one_line_and_leave_nothing(tmp_path):
    whole = (SAMPLES / "tiny.ckpt.index").read_bytes()
    out = tmp_path / "w.safetensors"
    for name, index in (("short", whole[:100]), ("swapped", whole[:-48] + bytes(40) + whole[-8:]), ("empty", b"")):
        path = tmp_path / f"{name}.index"
        path.write_bytes(index)
        with pytest.raises(UserError, match="damaged, or no TensorFlow checkpoint"):
            convert(path, out)
    (tmp_path / "alone.index").write_bytes(whole)
    with pytest.raises(UserError, match="belongs beside"):
        convert(tmp_path / "alone.index", out)
    data = (SAMPLES / "tiny.ckpt.data-00000-of-00001").read_bytes()
    (tmp_path / "alone.data-00000-of-00001").write_bytes(data[:20])
    with pytest.raises(UserError, match="bytes of"):
        convert(tmp_path / "alone.index", out)
    (tmp_path / "x.h5").write_bytes(b"no")
    with pytest.raises(UserError, match="no Keras file"):
        convert(tmp_path / "x.h5", out)
    with pytest.raises(UserError, match=r"variables\.index"):
        convert(tmp_path, out)
    assert not out.exists()


def test_a_keras_file_can_not_make_us_read_other_files(tmp_path):
    out = tmp_path / "w.safetensors"
    shutil.copy(SAMPLES / "tiny.weights.h5", tmp_path / "other.h5")
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["stolen"] = h5py.ExternalLink("other.h5", "/layers")
    with pytest.raises(UserError, match="lead out of the file"):
        convert(tmp_path / "link.h5", out)
    (tmp_path / "secret").write_bytes(bytes(16))
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        file.create_dataset("stolen", (4,), "f4", external=[(str(tmp_path / "secret"), 0, 16)])
    with pytest.raises(UserError, match="in another file"):
        convert(tmp_path / "raw.h5", out)
    assert not out.exists()
