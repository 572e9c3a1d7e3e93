"""A fine-tuned encoder in torch, and classifiers from the Hugging Face hub.

Posts in, scores out. `davy train` writes such a folder: the encoder's config, all
weights as safetensors, the tokenizer and the manifest. `hf:ORG/NAME` loads a
sequence classifier by name or folder; pickled weights are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Label, Question
from davy.core.scorer import PLAIN, Abilities, Scores
from davy.models import folder as folders
from davy.models import hub
from davy.models.baselines import content_hash
from davy.models.model_name import ModelName
from davy.models.text_steps import prepare_text

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from tokenizers import Tokenizer

    from davy.models.network import Head, Network

    Array = np.ndarray[Any, np.dtype[Any]]

WEIGHTS = "model.safetensors"
BATCH = 32
CHARACTERS_PER_TOKEN = 16


@dataclass(frozen=True, slots=True)
class TextTokenizer:
    """How texts become token ids: the tokenizer, the longest sequence, what it pads with, and steps before it."""

    tokenizer: Tokenizer
    max_length: int
    pad: int
    steps: tuple[str, ...] = ()

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's ids with special tokens; a long text keeps its first three quarters and its end."""
        limit = self.max_length * CHARACTERS_PER_TOKEN  # a megabyte costs no more than a page
        cut = [prepare_text(_ends(text, limit, " "), self.steps) for text in texts]
        rows = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(cut)]
        return [_ends(ids, self.max_length, []) for ids in rows]


def _ends(items: Any, most: int, glue: Any) -> Any:
    """Return at most `most` of a text or of ids, as the engine `onnx` does: three quarters head, one quarter tail."""
    if len(items) <= most:
        return items
    head = int(most * 0.75)
    return items[:head] + glue + items[len(items) - (most - head) :]


def heads_of(questions: Sequence[Question]) -> tuple[Head, ...]:
    """Return the network's heads for some questions, in their order."""
    from davy.models.network import Head

    return tuple(Head(question.name, question.kind, len(question.labels)) for question in questions)


def parent_gates(questions: Sequence[Question]) -> dict[int, tuple[int, int]]:
    """Return the `many` questions under one label of a parent that is there: place → (parent's place, label)."""
    places = {question.name: place for place, question in enumerate(questions)}
    found = {}
    for place, question in enumerate(questions):
        parent = places.get(question.under[0]) if question.under and question.kind == "many" else None
        if parent is not None and len(leads := question.places_in(questions[parent])) == 1:
            found[place] = (parent, leads[0])
    return found


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

        from davy.models.network import columns_of, probabilities

        rows = self.reading.ids(posts["text"].fill_null("").to_list())
        heads = heads_of(self.questions)
        total = sum(head.labels for head in heads)
        out = np.zeros((len(rows), total), dtype=np.float32)
        order = np.argsort([-len(row) for row in rows], kind="stable")
        network = self.network.to(self.device).eval()
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            longest = max(1, max(len(rows[i]) for i in batch))
            ids = torch.full((len(batch), longest), self.reading.pad, dtype=torch.long)
            mask = torch.zeros_like(ids)
            for line, i in enumerate(batch):
                ids[line, : len(rows[i])] = torch.tensor(rows[i])
                mask[line, : len(rows[i])] = 1
            with torch.inference_mode():
                logits = network(ids.to(self.device), mask.to(self.device))
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
        self.network.encoder.config.to_json_file(folder / "config.json")  # type: ignore[union-attr,operator]
        self.reading.tokenizer.save(str(folder / "tokenizer.json"))
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
        from transformers import AutoConfig, AutoModel

        from davy.models.network import Network

        settings = manifest.settings
        try:
            encoder = AutoModel.from_config(AutoConfig.from_pretrained(folder))  # type: ignore[no-untyped-call]
            network = Network(encoder, heads_of(manifest.questions), pooling=str(settings["pooling"]))
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


def load_tokenizer(name: str) -> tuple[Tokenizer, int]:
    """Return the tokenizer of a folder or hub name with truncation and padding off, and the id it pads with."""
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    path = Path(name).expanduser() / "tokenizer.json"
    tokenizer: Tokenizer | None
    try:
        if path.is_file():
            tokenizer = Tokenizer.from_file(str(path))
            found = [tokenizer.token_to_id(it) for it in ("[PAD]", "<pad>", "<|pad|>")]
            pad = next((it for it in found if it is not None), 0)
        else:
            loaded = AutoTokenizer.from_pretrained(name, **hub.download_options(name))
            tokenizer, pad = getattr(loaded, "backend_tokenizer", None), loaded.pad_token_id or 0
    except UserError:
        raise
    except Exception as error:  # the hub's client raises many kinds
        raise UserError(f"No tokenizer for {name!r}: {_offline(name, error)}") from error
    if tokenizer is None:
        raise UserError(f"{name!r} has no tokenizer.json form, which Davy needs. Choose another encoder.")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, int(pad)


def _offline(name: str, error: Exception) -> str:
    if Path(name).expanduser().is_dir():
        return f"{str(error).splitlines()[0][:160]}. A folder needs config.json, model.safetensors and tokenizer.json."
    return "it is no folder, not in the cache, and the hub can't be reached or does not know it. Name a folder."


def load_from_hub(asked: ModelName) -> HubClassifier:
    """Return the classifier `hf:NAME`, from the hub, its cache or a folder."""
    if not asked.argument:
        raise UserError("hf: needs a name, such as hf:org/name, or a folder.")
    from transformers import AutoModelForSequenceClassification

    from davy.models.network import silence_transformers

    silence_transformers()
    name = asked.argument
    path = Path(name).expanduser()
    if path.is_dir():
        folders.refuse_pickles(path)
    tokenizer, pad = load_tokenizer(name)
    try:
        model = AutoModelForSequenceClassification.from_pretrained(
            name, use_safetensors=True, **hub.download_options(name)
        )
    except UserError:
        raise
    except Exception as error:  # the hub's client raises many kinds
        raise UserError(f"No classifier {name!r}: {_offline(name, error)}") from error
    longest = min(512, getattr(model.config, "max_position_embeddings", 512) - 2)
    labels = [str(model.config.id2label[i]) for i in range(model.config.num_labels)]
    many = getattr(model.config, "problem_type", None) == "multi_label_classification"
    question = _question(labels, many=many)
    version = content_hash((question,), {"name": name, "weights": _fingerprint(model)})
    return HubClassifier(model.eval(), TextTokenizer(tokenizer, longest, pad), (question,), asked.name, version)


@dataclass(frozen=True)
class HubClassifier:
    """A sequence classifier from the hub: one question, whose labels are the model's own."""

    model: Any
    reading: TextTokenizer
    questions: tuple[Question, ...]
    name: str
    version: str
    abilities: Abilities = PLAIN

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the classifier's probabilities."""
        import numpy as np
        import torch

        rows = self.reading.ids(posts["text"].fill_null("").to_list())
        question = self.questions[0]
        out = np.zeros((len(rows), len(question.labels)), dtype=np.float32)
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            longest = max(1, max(map(len, part)))
            ids = torch.tensor([row + [self.reading.pad] * (longest - len(row)) for row in part])
            mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in part])
            with torch.inference_mode():
                logits = self.model(input_ids=ids, attention_mask=mask).logits
            chances = logits.sigmoid() if question.kind == "many" else logits.softmax(1)
            out[start : start + len(part)] = chances.numpy()
        return Scores(self.questions, {question.name: out})


def _question(labels: list[str], *, many: bool) -> Question:
    """Return the model's question: `hate` where its two labels say so, else `label` with the labels as they are."""
    from davy import schemes

    hate = schemes.load("hate").question("hate")
    if len(labels) == 2 and not many:
        try:
            named = tuple(hate.label(label) for label in labels)
        except KeyError:
            named = ()
        if len({label.name for label in named}) == 2:
            return Question("hate", named, positive=hate.positive)
    return Question("label", tuple(Label(label) for label in labels), kind="many" if many else "one")


def _fingerprint(model: Any) -> float:
    return float(sum(parameter.detach().double().abs().sum() for parameter in model.parameters()))
