"""Train one row of the Hateful Memes table: memes in, the network that ranks dev best out.

As in the paper's appendix A: AdamW, warm-up and cosine, an evaluation after every so many updates, the best AUROC on
dev kept. All memes lie on the device as tensors. A run with a folder goes on after a kill.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from davy.core.errors import UserError
from davy.detectors.meme_model import MemeModel, PictureFeatures, fuse_late, new_meme_model
from davy.detectors.meme_presets import MemePreset, MemeTraining
from davy.measure.ranking import auroc
from davy.training.data import Tokens, batches_longest_first
from davy.training.frozen_blocks import freeze_blocks, thaw_blocks
from davy.training.loop import Loop, Schedule
from davy.training.pretrain import Masker, masker
from davy.training.run_record import History

Tell = Callable[[dict[str, Any]], None]
LIKE = 16
"""So many batches of shuffled memes are sorted by the length of their texts before they are cut."""


@dataclass(frozen=True)
class MemeExamples:
    """Memes to learn from or to measure with: texts, yes or no, and what their pictures show."""

    texts: Sequence[str]
    labels: np.ndarray
    """1 is yes."""
    pictures: Mapping[str, PictureFeatures]
    """`grid`, `region`: the features that the rows look at."""
    captions: Sequence[str] = ()
    """What each picture shows, in words, for multimodal pre-training; empty where nobody says."""

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self, places: np.ndarray) -> MemeExamples:
        """Return some of the memes."""
        return MemeExamples(
            [self.texts[place] for place in places],
            self.labels[places],
            {kind: pictures.rows(places) for kind, pictures in self.pictures.items()},
            [self.captions[place] for place in places] if self.captions else (),
        )


@dataclass(slots=True)
class MemeTensors:
    """Memes on one device."""

    tokens: Tokens
    labels: Tensor
    vectors: Tensor | None
    boxes: Tensor | None

    @classmethod
    def of(cls, texts: Sequence[str], memes: MemeExamples, model: MemeModel, device: str) -> MemeTensors:
        """Return memes, or their pictures with other texts, as the model's network takes them."""
        kind = model.preset.network.features
        pictures = memes.pictures.get(kind) if kind else None
        if kind and pictures is None:
            raise UserError(f"The row {model.preset.row} looks at {kind} features, and these memes have none.")
        parts = (None, None) if pictures is None else (pictures.vectors, pictures.boxes)
        vectors, boxes = (None if part is None else torch.from_numpy(part).to(device) for part in parts)
        labels = torch.from_numpy(np.asarray(memes.labels, np.float32)).to(device)
        return cls(Tokens.of(model.reading.ids(texts), model.reading.pad, device), labels, vectors, boxes)

    def inputs(self, rows: Tensor, longest: int) -> tuple[Tensor, Tensor, Tensor | None, None, Tensor | None]:
        """Return a network's arguments for some memes."""
        ids, mask = self.tokens.batch(rows, longest)
        vectors, boxes = (None if part is None else part[rows].float() for part in (self.vectors, self.boxes))
        return ids, mask, vectors, None, boxes


@dataclass(frozen=True, slots=True)
class TrainedRow:
    """What one training gave."""

    model: MemeModel
    seed: int
    histories: tuple[History, ...]


def train_row(
    preset: MemePreset,
    memes: MemeExamples,
    dev: MemeExamples,
    *,
    seed: int,
    device: str = "cpu",
    captioned: MemeExamples | None = None,
    folder: Path | None = None,
    tell: Tell = lambda _: None,
    start: Callable[[MemePreset], MemeModel] = new_meme_model,
) -> TrainedRow:
    """Train a row and return its model; Late Fusion trains its two parts.

    `captioned` are the pictures that a row with multimodal pre-training learns from first (the memes' own where None).
    `start` gives the untrained model of a preset.
    """
    require_two_labels(memes, "train")
    require_two_labels(dev, "dev")
    if preset.row == "late-fusion":
        parts = [part_of_late_fusion(preset, part) for part in preset.parts]
        trained = [
            train_row(part, memes, dev, seed=seed, device=device, tell=tell, start=start,
                      folder=folder and folder / part.row)
            for part in parts
        ]  # fmt: skip
        return TrainedRow(
            fuse_late(trained[0].model, trained[1].model), seed, trained[0].histories + trained[1].histories
        )
    torch.manual_seed(seed)
    model = start(fit_feature_width(preset, memes))
    model.network.to(device)
    if preset.frozen_blocks:
        freeze_blocks(model.network, preset.frozen_blocks)
    histories = []
    if preset.pretraining is not None:
        source = captioned or memes
        histories.append(
            pretrain_on_captions(model, source, preset.pretraining, seed, device, _sub(folder, "captions"), tell)
        )
    tensors = MemeTensors.of(memes.texts, memes, model, device)
    lengths = tensors.tokens.lengths.cpu().numpy()

    def loss(batch: np.ndarray) -> Tensor:
        rows = torch.from_numpy(batch).to(device)
        logits = model.network(*tensors.inputs(rows, int(lengths[batch].max())))
        return functional.binary_cross_entropy_with_logits(logits.float(), tensors.labels[rows])

    histories.append(
        _run(model.network, loss, preset.training, lengths, seed, device, dev_evaluation(model, dev, device),
             _sub(folder, "checkpoint"), tell, _identity(preset, seed, memes))
    )  # fmt: skip
    if preset.frozen_blocks:
        thaw_blocks(model.network)
    return TrainedRow(replace(model, network=model.network.eval(), device=device), seed, tuple(histories))


def default_device() -> str:
    """Return the device to train on: a GPU where there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def _sub(folder: Path | None, name: str) -> Path | None:
    if folder is None:
        return None
    (folder / name).mkdir(parents=True, exist_ok=True)
    return folder / name


def part_of_late_fusion(preset: MemePreset, row: str) -> MemePreset:
    """Return the preset of one of the two rows that Late Fusion averages, trained as it says."""
    features = preset.network.features if row != "text" else ""
    return replace(preset, row=row, network=replace(preset.network, row=row, features=features))


def require_two_labels(memes: MemeExamples, what: str) -> None:
    """Raise where memes are all of one label: nothing can be learnt from them or ranked."""
    if len(set(np.asarray(memes.labels).tolist())) < 2:
        raise UserError(f"All {len(memes)} memes of {what} have one label. Give some of both.")


def fit_feature_width(preset: MemePreset, memes: MemeExamples) -> MemePreset:
    """Return the preset for features as wide as these; pixels are as wide as their encoder makes them."""
    pictures = memes.pictures.get(preset.network.features)
    if pictures is None or pictures.vectors.ndim != 3:
        return preset
    return replace(preset, network=replace(preset.network, feature_width=int(pictures.vectors.shape[2])))


def _run(
    network: nn.Module,
    loss: Callable[[np.ndarray], Tensor],
    settings: MemeTraining,
    lengths: np.ndarray,
    seed: int,
    device: str,
    evaluate: Callable[[], dict[str, Any]] | None,
    folder: Path | None,
    tell: Tell,
    identity: Mapping[str, Any],
) -> History:
    blocks = math.ceil(settings.updates / settings.every)

    def batches(block: int) -> list[np.ndarray]:
        first = block * settings.every
        return list(update_batches(lengths, settings.batch, seed, first, min(settings.updates, first + settings.every)))

    precision = settings.precision
    schedule = Schedule(
        epochs=blocks,
        rate=settings.rate,
        head_rate=settings.new_rate,
        heads=tuple(new_parameters(network)),
        warmup=settings.warmup / settings.updates,
        weight_decay=settings.weight_decay,
        clip=settings.clip,
        curve=settings.curve,
        epsilon=settings.epsilon,
        precision=precision if precision != "auto" else ("bf16" if device.startswith("cuda") else "fp32"),
    )
    loop = Loop(network, schedule, batches, loss, evaluate, seed, folder, 0, tell, identity=identity)
    return loop.run()


def new_parameters(network: nn.Module) -> Iterator[str]:
    """Yield the names of the parameters that start from chance: all outside the two encoders."""
    for name, _ in network.named_parameters():
        if not name.removeprefix("network.").startswith(("text.", "picture.encoder.")):
            yield name


def update_batches(lengths: np.ndarray, batch: int, seed: int, first: int, end: int) -> Iterator[np.ndarray]:
    """Yield the batches of the updates `first` to `end` of an endless shuffled stream of memes.

    `lengths` are those of their texts: a batch has texts of like length, so that little of it is padding.
    """
    count = len(lengths)
    batch = min(batch, count)
    each = count // batch
    batches = np.empty((0, batch), np.int64)
    for update in range(first, end):
        if update % each == 0 or not len(batches):
            chance = np.random.default_rng((seed, update // each))
            order = chance.permutation(count)[: each * batch]
            batches = order.reshape(each, batch)
            if np.ptp(lengths):
                stretch = np.arange(each * batch) // (batch * LIKE)
                batches = order[np.lexsort((lengths[order], stretch))].reshape(each, batch)[chance.permutation(each)]
        yield batches[update % each]


def dev_evaluation(model: MemeModel, dev: MemeExamples, device: str) -> Callable[[], dict[str, Any]]:
    """Return the function that measures dev; its `score` is the AUROC."""
    tensors = MemeTensors.of(dev.texts, dev, model, device)
    labels = np.asarray(dev.labels)

    def measured() -> dict[str, Any]:
        figures = measure_logits(labels, predict_logits(model.network, tensors))
        return {**figures, "score": figures["auroc"]}

    return measured


def measure_logits(labels: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """Return AUROC and accuracy (yes from a probability of one half) of logits."""
    return {
        "auroc": round(auroc(labels == 1, logits), 5),
        "accuracy": round(float(np.mean((logits >= 0) == (labels == 1))), 5),
    }


@torch.inference_mode()
def predict_logits(network: nn.Module, tensors: MemeTensors, batch: int = 512) -> np.ndarray:
    """Return one logit a meme, in their order."""
    network.eval()
    device = tensors.labels.device
    lengths = tensors.tokens.lengths.cpu().numpy()
    out = torch.empty(len(lengths), device=device)
    for rows in batches_longest_first(lengths, batch):
        index = torch.from_numpy(rows.copy()).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            out[index] = network(*tensors.inputs(index, int(lengths[rows].max()))).float()
    logits: np.ndarray = out.cpu().numpy()
    return logits


# ---- multimodal pre-training -----------------------------------------------------------------------


class CaptionObjectives(nn.Module):
    """What a network learns from captioned pictures: hidden words of the caption, and whether both belong together."""

    def __init__(self, network: Any, words: Masker, share: float = 0.15) -> None:
        super().__init__()
        self.network, self.words, self.share = network, words, share
        width = network.text_width
        self.guess = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.matches = nn.Linear(network.pooled_width, 1)

    def loss(self, ids: Tensor, mask: Tensor, *pictures: Tensor | None) -> Tensor:
        """Return the loss of guessing hidden words plus that of matching; every other caption is another picture's."""
        swapped = torch.rand(len(ids), device=ids.device) < 0.5
        order = torch.arange(len(ids), device=ids.device)
        order = torch.where(swapped, order.roll(1), order)
        ids, mask = ids[order], mask[order]
        chosen = self.words.choose(ids, self.share) & mask.bool()
        states, pooled = self.network.encode(self.words.hide(ids, chosen), mask, *pictures)
        match = functional.binary_cross_entropy_with_logits(
            self.matches(pooled).squeeze(-1).float(), (~swapped).float()
        )
        told = chosen & ~swapped[:, None]  # a caption of another picture says nothing of this one's words
        table = self.network.text.get_input_embeddings().weight
        logits = functional.linear(self.guess(states[told]), table).float()
        hidden = functional.cross_entropy(logits, ids[told], reduction="sum") / max(1, len(logits))
        return match + hidden


def pretrain_on_captions(
    model: MemeModel,
    memes: MemeExamples,
    settings: MemeTraining,
    seed: int,
    device: str = "cpu",
    folder: Path | None = None,
    tell: Tell = lambda _: None,
) -> History:
    """Train a ViLBERT or a Visual BERT in place on pictures and what they show: hidden words and matching."""
    if not memes.captions:
        raise UserError(
            f"The row {model.preset.row} first learns from captioned pictures, and these have no `caption`. "
            "Name a folder of memes that has them, such as `davy meme benchmark` writes."
        )
    objectives = CaptionObjectives(model.network, masker(model.reading.tokenizer, device)).to(device)
    tensors = MemeTensors.of(memes.captions, memes, model, device)
    lengths = tensors.tokens.lengths.cpu().numpy()

    def loss(batch: np.ndarray) -> Tensor:
        rows = torch.from_numpy(batch).to(device)
        return objectives.loss(*tensors.inputs(rows, int(lengths[batch].max())))

    return _run(objectives, loss, settings, lengths, seed, device, None, folder, tell,
                {**asdict(settings), "seed": seed, "row": model.preset.row, "n": len(memes)})  # fmt: skip


def _identity(preset: MemePreset, seed: int, memes: MemeExamples) -> dict[str, Any]:
    return {**preset.as_json(), "seed": seed, "n": len(memes), "yes": int(np.sum(memes.labels))}


# ---- grid search -----------------------------------------------------------------------------------


def grid_presets(preset: MemePreset) -> Iterator[tuple[str, MemePreset]]:
    """Yield every combination of the values that a preset's grid lists, with a name."""
    for values in product(*preset.grid.values()):
        chosen = dict(zip(preset.grid, values, strict=True))
        name = ",".join(f"{field}={value}" for field, value in chosen.items())
        warmup = min(preset.training.warmup, chosen.get("updates", preset.training.updates) // 10)
        yield name, replace(preset, training=replace(preset.training, **{"warmup": warmup, **chosen}))


def search_row(
    preset: MemePreset,
    memes: MemeExamples,
    dev: MemeExamples,
    *,
    seed: int,
    device: str = "cpu",
    tell: Tell = lambda _: None,
) -> tuple[TrainedRow, list[dict[str, Any]]]:
    """Train each combination of the grid; return the one with the best AUROC on dev, and what each reached."""
    best: TrainedRow | None = None
    tried: list[dict[str, Any]] = []
    for name, each in grid_presets(preset):
        trained = train_row(each, memes, dev, seed=seed, device=device, tell=tell)
        score = trained.histories[-1].best_score
        if best is None or score > max(record["auroc"] for record in tried):
            best = trained
        tried.append({"trial": name, "auroc": score})
    if best is None:
        raise UserError(f"The preset of {preset.row} lists no values to search.")
    return best, tried
