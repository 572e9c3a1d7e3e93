"""Weights of other formats become safetensors, and nothing in them is run."""

import os
import pickle
import zipfile

import numpy as np
import pytest

from davy.core import UserError
from davy.detectors.convert import convert
from davy.shell.app import run


def test_pytorch_weights_come_out_as_the_safetensors_library_reads_them(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import load_file

    torch.manual_seed(1)
    weights = {
        "a.weight": torch.randn(5, 3),
        "turned": torch.randn(4, 6).t(),
        "part": torch.randn(10)[3:7],
        "half": torch.randn(3).half(),
        "brain": torch.randn(3).bfloat16(),
        "whole": torch.arange(4),
        "flag": torch.tensor([True, False]),
        "one": torch.tensor(2.5),
        "none": torch.zeros(0, 3),
        "parameter": torch.nn.Parameter(torch.randn(2)),
    }
    torch.save(weights, tmp_path / "m.bin")
    convert(tmp_path / "m.bin", tmp_path / "m.safetensors")
    found = load_file(tmp_path / "m.safetensors")
    assert set(found) == set(weights)
    for name, tensor in weights.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor.detach()), name


def test_a_checkpoint_with_the_state_dict_inside_is_unwrapped(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    torch.save({"epoch": 3, "state_dict": torch.nn.Linear(2, 2).state_dict()}, tmp_path / "c.ckpt")
    assert run(["model", "convert", str(tmp_path / "c.ckpt")]) == 0
    assert "2 tensors" in capsys.readouterr().err
    assert (tmp_path / "c.safetensors").exists()


def test_numpy_weights_come_out_as_the_safetensors_library_reads_them(tmp_path):
    from safetensors.numpy import load_file

    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3).T, "y": np.array([1, 2], dtype=np.int64)}
    np.savez(tmp_path / "w.npz", **arrays)
    convert(tmp_path / "w.npz", tmp_path / "w.safetensors")
    found = load_file(tmp_path / "w.safetensors")
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


class Evil:
    """Unpickling this would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_program_in_the_weights_is_not_run(tmp_path):
    with zipfile.ZipFile(tmp_path / "e.bin", "w") as archive:
        archive.writestr("e/data.pkl", pickle.dumps({"w": Evil(tmp_path / "owned")}))
    with pytest.raises(UserError, match=r"would run \w+\.mkdir"):
        convert(tmp_path / "e.bin", tmp_path / "e.safetensors")
    (tmp_path / "old.bin").write_bytes(pickle.dumps(Evil(tmp_path / "owned")))
    with pytest.raises(UserError, match="no file of PyTorch's weights"):
        convert(tmp_path / "old.bin", tmp_path / "e.safetensors")
    np.savez(tmp_path / "e.npz", w=np.array([Evil(tmp_path / "owned")], dtype=object))
    with pytest.raises(UserError, match="plain arrays"):
        convert(tmp_path / "e.npz", tmp_path / "e.safetensors")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.bin", "e.npz", "old.bin"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.bin", b"junk", "no file of PyTorch's"),
        ("m.bin", pickle.dumps({"a": 1}), "no file of PyTorch's"),
        ("m.npz", b"junk", "plain arrays"),
        ("m.onnx", b"junk", "can't convert .onnx"),
        ("gone.bin", None, "no file"),
    ],
)
def test_what_can_not_be_converted_is_one_line_and_leaves_nothing(tmp_path, capsys, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = sorted(tmp_path.iterdir())
    assert run(["model", "convert", str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_a_tensor_that_reaches_outside_its_storage_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.zeros(1000)}, tmp_path / "m.bin")
    with zipfile.ZipFile(tmp_path / "m.bin") as old, zipfile.ZipFile(tmp_path / "short.bin", "w") as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info.filename, data[:100] if "/data/" in info.filename else data)
    with pytest.raises(UserError, match="damaged"):
        convert(tmp_path / "short.bin", tmp_path / "o.safetensors")
