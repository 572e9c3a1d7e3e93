"""Training dynamics and data maps (Swayamdipta et al. 2020): which posts were easy, ambiguous or hard to learn.

During training, what the network thought of each post's gold label goes to a file after every epoch, so that a run that
was killed and resumed has them all; the pass is made without dropout and changes nothing. Out of these come a row a
post and question with confidence, variability, correctness and region, a page with the picture, and the ambiguous posts
for the next round. Confidence is the mean probability of the gold label over the epochs, variability its standard
deviation, correctness the share of epochs in which it was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from davy.core.answers import GOLD
from davy.core.errors import UserError
from davy.detectors.network import Network, columns_of
from davy.files.atomic import atomic_path
from davy.report import Column, Page, Provenance, Table
from davy.report.plots import Plot, scatter
from davy.training.data import Targets, Tokens
from davy.training.fit import predict

if TYPE_CHECKING:
    import polars as pl


REGIONS = ("easy", "ambiguous", "hard")
AMBIGUOUS_SHARE = 1 / 3
"""The third of the posts with the highest variability is ambiguous, as in the paper."""
DRAWN = 2500
"""Points in a picture; a sample of more is as plain and a tenth of the size."""


def make_data_map(
    posts: pl.DataFrame, questions: Sequence[str], chances: np.ndarray, right: np.ndarray
) -> pl.DataFrame:
    """Return id, question, gold, confidence, variability, correctness and region, for every answer that was learnt."""
    import polars as pl

    frames = []
    for place, name in enumerate(questions):
        rows = np.flatnonzero(np.isfinite(chances[:, :, place]).all(axis=0))
        if not len(rows):
            continue
        confidence = chances[:, rows, place].astype(np.float64).mean(axis=0)
        variability = chances[:, rows, place].astype(np.float64).std(axis=0)
        frames.append(
            pl.DataFrame(
                {
                    "id": posts["id"].cast(pl.String).gather(rows),
                    "question": [name] * len(rows),
                    "gold": posts[f"{name}{GOLD}"].cast(pl.String).gather(rows),
                    "confidence": confidence,
                    "variability": variability,
                    "correctness": right[:, rows, place].mean(axis=0),
                    "region": regions(confidence, variability),
                }
            )
        )
    return pl.concat(frames)


def regions(confidence: np.ndarray, variability: np.ndarray) -> list[str]:
    """Return each post's region: the most variable third is ambiguous, of the rest hard is below a confidence of ½."""
    count = round(len(variability) * AMBIGUOUS_SHARE)
    ambiguous = np.zeros(len(variability), dtype=bool)
    ambiguous[np.argsort(-variability, kind="stable")[:count]] = True
    return [
        "ambiguous" if is_ambiguous else "hard" if low else "easy"
        for is_ambiguous, low in zip(ambiguous, confidence < 0.5, strict=True)
    ]


def ambiguous_posts(posts: pl.DataFrame, data_map: pl.DataFrame) -> pl.DataFrame:
    """Return the posts that are ambiguous in some question, with the figures of their most variable one."""
    import polars as pl

    chosen = (
        data_map.filter(pl.col("region") == "ambiguous")
        .sort("variability", descending=True, maintain_order=True)
        .unique("id", keep="first", maintain_order=True)
        .select("id", "question", "confidence", "variability", "correctness")
    )
    return chosen.join(posts.with_columns(pl.col("id").cast(pl.String)), on="id", how="left", maintain_order="left")


def region_table(data_map: pl.DataFrame, question: str) -> Table:
    """Return one row a gold label: how many posts, their mean confidence, and the share in each region."""
    import polars as pl

    own = data_map.filter(pl.col("question") == question)
    rows = []
    for (gold,), group in own.group_by(["gold"], maintain_order=True):
        shares = [group["region"].to_list().count(region) / len(group) for region in REGIONS]
        rows.append((gold, len(group), _mean(group["confidence"]), _mean(group["correctness"]), *shares))
    rows.sort(key=lambda row: -int(row[1]))
    columns = [Column("gold"), Column("posts", "count"), Column("confidence", "number"),
               Column("right in epochs", "share"), *(Column(region, "share") for region in REGIONS)]  # fmt: skip
    return Table.of(columns, rows, title=f"{question}: regions by gold label")


def map_plot(data_map: pl.DataFrame, question: str, *, seed: int = 0) -> Plot:
    """Return the picture: variability across, confidence up, one dot a post."""
    import polars as pl

    own = data_map.filter(pl.col("question") == question)
    own = own.sample(min(DRAWN, len(own)), seed=seed)
    points = {
        region: own.filter(pl.col("region") == region).select("variability", "confidence").rows() for region in REGIONS
    }
    colours = {"easy": "fill", "ambiguous": "amber", "hard": "ink"}
    return scatter(
        points, title=f"{question}: data map", x="variability", y="confidence", domain_y=(0.0, 1.0), colours=colours
    )


def data_map_page(data_map: pl.DataFrame, epochs: int, provenance: Provenance) -> Page:
    """Return the page of a data map."""
    import polars as pl

    page = Page(
        "Data map",
        lead=f"What a detector learnt from each post, over {epochs} epochs. Ambiguous posts (the most variable third) "
        "teach most; hard ones, which it never believes, are often labelled wrongly.",
        provenance=provenance,
    )
    for question in data_map["question"].unique(maintain_order=True):
        own = data_map.filter(pl.col("question") == question)
        page.section(question)
        drawn = f"a sample of {DRAWN:,} of {len(own):,} posts" if len(own) > DRAWN else f"{len(own):,} posts"
        page.plot(map_plot(data_map, question), f"Each dot is a post ({drawn}): easy above left, hard below left, "
                                                "ambiguous to the right.")  # fmt: skip
        page.table(region_table(data_map, question))
    return page


def write_data_map(
    folder: Path, posts: pl.DataFrame, questions: Sequence[str], chances: np.ndarray, right: np.ndarray,
    provenance: Provenance,
) -> None:  # fmt: skip
    """Write data-map.csv, data-map.html and ambiguous.csv into a folder, each whole or not at all."""
    from davy.files import tables

    data_map = make_data_map(posts, questions, chances, right)
    tables.write(data_map.lazy(), folder / "data-map.csv")
    tables.write(ambiguous_posts(posts, data_map).lazy(), folder / "ambiguous.csv")
    data_map_page(data_map, len(chances), provenance).write(folder / "data-map.html")


def _mean(column: pl.Series) -> float:
    value = column.mean()
    return float(value) if isinstance(value, int | float) else 0.0


DYNAMICS_FOLDER = "dynamics"


@dataclass(frozen=True, slots=True)
class DynamicsRecorder:
    """Called after each epoch: writes for each post and head the gold label's probability and whether it is right."""

    network: Network
    tokens: Tokens
    wanted: Targets
    folder: Path
    batch: int
    precision: str

    def __call__(self, epoch: int) -> None:
        """Write the record of an epoch, counted from 1."""
        logits = predict(self.network, self.tokens, batch=max(32, self.batch), precision=self.precision)
        chances, right = gold_chances(logits, self.wanted)
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(self.folder / f"epoch-{epoch:03}.npz") as draft, draft.open("wb") as file:
            np.savez_compressed(file, chances=chances, right=right)


def gold_chances(logits: torch.Tensor, wanted: Targets) -> tuple[np.ndarray, np.ndarray]:
    """Return posts × heads: the probability of the gold label (nan without an answer), and whether it was chosen.

    For a question with several labels a post it is the mean probability of the right yes or no to each label.
    """
    chances = np.full(wanted.weights.shape, np.nan, dtype=np.float32)
    right = np.zeros(wanted.weights.shape, dtype=bool)
    for place, (head, columns) in enumerate(zip(wanted.heads, columns_of(wanted.heads).values(), strict=True)):
        rows = wanted.weights[:, place] > 0
        gold, block = wanted.values[rows][:, columns], logits[rows][:, columns].float()
        if head.multilabel:
            yes = block.sigmoid()
            chance = (yes * gold + (1 - yes) * (1 - gold)).mean(dim=1)
            hit = ((block > 0) == (gold > 0.5)).all(dim=1)
        else:
            chance = (block.softmax(dim=1) * gold).sum(dim=1)
            hit = block.argmax(dim=1) == gold.argmax(dim=1)
        kept = rows.cpu().numpy()
        chances[kept, place], right[kept, place] = chance.cpu().numpy(), hit.cpu().numpy()
    return chances, right


def read_dynamics(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return what a recorder wrote, epochs × posts × heads: probabilities of the gold label, and whether right."""
    files = sorted(folder.glob("epoch-*.npz"))
    if len(files) < 2:
        raise UserError(f"A data map needs two epochs or more; {folder} has {len(files)}. Train with --set epochs=3")
    chances, right = [], []
    for file in files:
        with np.load(file, allow_pickle=False) as record:
            chances.append(record["chances"])
            right.append(record["right"])
    return np.stack(chances), np.stack(right)
