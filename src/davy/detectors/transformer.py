"""A fine-tuned encoder in torch, as `davy train` writes it.

Posts in, scores out. The folder holds the encoder's config, all weights as safetensors, the tokenizer and the
manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import PLAIN, Abilities, Scores
from davy.detectors import folder as folders
from davy.detectors.encoder import WEIGHTS, TextTokenizer, new_encoder, write_config
from davy.detectors.network import Head, Network, columns_of, probabilities
from davy.detectors.token_batches import TokenRows
from davy.detectors.training_text_index import save_learnt

if TYPE_CHECKING:
    import polars as pl

BATCH = 32


def heads_of(questions: Sequence[Question]) -> tuple[Head, ...]:
    """Return the network's heads for some questions, in their order."""
    return tuple(Head(question.name, question.kind, len(question.labels)) for question in questions)


def parent_gates(questions: Sequence[Question]) -> dict[int, tuple[int, int]]:
    """Return the `many` questions under one label of a parent that is there: place → (parent's place, label)."""
    places = {question.name: place for place, question in enumerate(questions)}
    gates = {}
    for place, question in enumerate(questions):
        parent = places.get(question.under[0]) if question.under and question.multilabel else None
        if parent is not None and len(leads := question.places_in(questions[parent])) == 1:
            gates[place] = (parent, leads[0])
    return gates


@dataclass(frozen=True)
class TransformerScorer:
    """A network with its questions and its reading. `device` is where it scores."""

    network: Network
    reading: TextTokenizer
    questions: tuple[Question, ...]
    name: str = "transformer"
    version: str = "unsaved"
    temperatures: Any = None
    thresholds: Any = None
    device: str = "cpu"
    abilities: Abilities = PLAIN

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the network's probabilities; a `many` question's are multiplied by its parent's."""
        import numpy as np
        import torch

        rows = TokenRows.of(self.reading.ids(posts["text"].fill_null("").to_list()))
        heads = heads_of(self.questions)
        out = np.zeros((len(rows), sum(head.labels for head in heads)), dtype=np.float32)
        network = self.network.to(self.device).eval()
        for batch in rows.longest_first(BATCH):
            ids, mask = (torch.from_numpy(block).to(self.device) for block in rows.padded(batch, self.reading.pad))
            with torch.inference_mode():
                logits = network(ids, mask.long())
            out[batch] = probabilities(logits, heads, self.temperatures).cpu().numpy()
        blocks = {name: out[:, columns] for name, columns in columns_of(heads).items()}
        for child, (parent, label) in parent_gates(self.questions).items():
            blocks[self.questions[child].name] *= blocks[self.questions[parent].name][:, label : label + 1]
        return Scores(self.questions, blocks, dict(self.thresholds or {}))

    def save(self, folder: Path) -> folders.Manifest:
        """Write the scorer as a model folder and return its manifest."""
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        tensors = {
            name: tensor.detach().cpu().contiguous().clone() for name, tensor in self.network.state_dict().items()
        }
        save_file(tensors, folder / WEIGHTS)
        write_config(self.network.encoder, self.network.pooling, folder)
        self.reading.tokenizer.save(str(folder / "tokenizer.json"))
        save_learnt(self.abilities.learnt, folder)
        settings = {
            "max_length": self.reading.max_length,
            "truncate": "head+tail",
            "prepare": list(self.reading.steps),
            "pad": self.reading.pad,
            "pooling": self.network.pooling,
        }
        if self.abilities.data_hash is not None:
            settings[folders.DATA] = self.abilities.data_hash
        manifest = folders.Manifest(
            "transformer",
            self.name,
            self.questions,
            temperatures=dict(self.temperatures or {}),
            thresholds=dict(self.thresholds or {}),
            settings=settings,
        )
        return folders.write(folder, manifest)

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> TransformerScorer:
        """Return the scorer that `save` wrote."""
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        settings = manifest.settings
        try:
            network = Network(new_encoder(folder), heads_of(manifest.questions), pooling=str(settings["pooling"]))
            network.load_state_dict(load_file(folder / WEIGHTS))
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except (OSError, KeyError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0][:160]
            raise UserError(f"{folder} can't be loaded ({reason}). Train or get the model again.") from error
        reading = TextTokenizer(
            tokenizer, int(settings["max_length"]), int(settings["pad"]), tuple(settings["prepare"])
        )
        return cls(
            network.eval(),
            reading,
            manifest.questions,
            manifest.name,
            manifest.version,
            dict(manifest.temperatures),
            dict(manifest.thresholds),
            abilities=folders.abilities(folder, manifest),
        )
