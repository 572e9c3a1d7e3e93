"""The torch form of `embedded-en`, which explanations are measured against, answers as the shipped network does."""

import sys
from pathlib import Path

import numpy as np
import pytest

from davy.detectors.embedded import weights_folder
from davy.detectors.load import open_folder

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from onnx_in_torch import TorchGraph


@pytest.mark.parametrize("text", ["what a lovely day in the garden", "they are all vermin", "I am a woman"])
def test_torch_answers_as_onnxruntime_does_and_has_gradients(text):
    scorer = open_folder(weights_folder("embedded-en"))
    ids = np.array(scorer._encoded([text]), dtype=np.int64)
    graph = TorchGraph(weights_folder("embedded-en") / "model.onnx")
    for question, shipped in zip(scorer.questions, scorer._run(ids, np.ones_like(ids)), strict=True):
        ours, vectors = graph.run(ids, np.ones_like(ids), question.name)
        assert np.abs(ours.detach().numpy() - shipped).max() < 0.5, question.name
        if question.name == "hate":
            assert np.abs(ours.softmax(-1).detach().numpy()[0, 1] - _yes(shipped)) < 0.05
            ours[0, 1].backward()
            assert vectors.grad.abs().sum() > 0


def _yes(logits: np.ndarray) -> float:
    return float(np.exp(logits[0, 1]) / np.exp(logits[0]).sum())
