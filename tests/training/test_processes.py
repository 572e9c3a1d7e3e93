"""Several processes train one model together, started by accelerate, and end where one alone would."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from davy.training.processes import ProcessGroup, process_group


def trained(tiny: Path, posts, folder: Path, *launch: str) -> dict[str, torch.Tensor]:
    """Train by the command, as a user does, and return the weights."""
    from safetensors.torch import load_file

    source = folder.with_suffix(".csv")
    posts.select("text", "hate.gold").write_csv(source)
    settings = ["batch=8", "epochs=2", "rate=0.003", "dropout=0", "precision=fp32", "questions=[hate]"]
    command = ["davy", "train", str(source), "--dev", str(source), "--encoder", str(tiny), "--scheme", "hatemoji"]
    line = [sys.executable, *launch, "-m", *command, "--out", str(folder)]
    for setting in settings:
        line += ["--set", setting]
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("hate, seed 1") <= 1
    (weights,) = folder.glob("seed-1/model/*.safetensors")
    return load_file(weights)


@pytest.mark.slow
def test_two_processes_end_with_the_weights_of_one(tiny, posts, tmp_path):
    launch = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2", "--num_machines", "1"]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    one = trained(tiny, posts, tmp_path / "one")
    two = trained(tiny, posts, tmp_path / "two", *launch)
    assert one.keys() == two.keys()
    for name, weights in one.items():
        assert torch.allclose(weights, two[name], atol=2e-4), name


def test_shares_of_a_batch_make_up_the_batch():
    batch = np.arange(7)
    shares = [ProcessGroup(rank, 3).share(batch) for rank in range(3)]
    assert sorted(np.concatenate(shares).tolist()) == batch.tolist()
    assert ProcessGroup(1, 3).share(batch[:2]).tolist() == [0, 1]


def test_one_process_is_a_team_of_its_own(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    us = process_group()
    assert (us.rank, us.size, us.is_main) == (0, 1, True)
    assert us.same({"score": 1}) == {"score": 1}
