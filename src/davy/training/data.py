"""Posts as tensors: token ids, what each head should say, how much each answer counts, and the order of an epoch.

Frames with `Q.gold` columns and token lists in; `Targets` and padded batches out. All of it lives on one device from
the start, so that no loader stands between the data and the loop. An answer that a corpus does not give has weight 0
and is left out of the loss. Over- and undersampling happen in the order, so that no post is copied.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from davy.core.answers import GOLD, Answer, applies_mask, split_cell
from davy.core.errors import UserError
from davy.core.gold import fill_implied_no, parse_gold
from davy.core.gold import targets as gold_targets
from davy.core.scheme import Question
from davy.core.votes import vote_shares
from davy.detectors.network import Head, columns_of
from davy.detectors.transformer import heads_of
from davy.training.config import Config

if TYPE_CHECKING:
    import polars as pl


@dataclass(slots=True)
class Tokens:
    """Texts of different lengths in one flat tensor: text i is `flat[starts[i] : starts[i] + lengths[i]]`."""

    flat: Tensor
    starts: Tensor
    lengths: Tensor
    pad: int

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], pad: int, device: torch.device | str = "cpu") -> Tokens:
        """Return token lists packed onto a device."""
        lengths = np.array([len(it) for it in ids], dtype=np.int64)
        flat = np.concatenate([np.asarray(it, dtype=np.int32) for it in ids]) if len(ids) else np.zeros(0, np.int32)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(ids) else lengths
        places = starts.astype(np.int64)
        flats, begins, sizes = (torch.from_numpy(a).to(device) for a in (flat, places, lengths))
        return cls(flats, begins, sizes, pad)

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: Tensor, longest: int | None = None) -> tuple[Tensor, Tensor]:
        """Return ids and mask of some texts, padded to the longest of them.

        A caller that knows that length saves a GPU the wait for it.
        """
        lengths = self.lengths[rows]
        place = torch.arange(int(lengths.max()) if longest is None else longest, device=self.flat.device)
        mask = place < lengths[:, None]
        index = (self.starts[rows][:, None] + place).clamp(max=len(self.flat) - 1)
        return torch.where(mask, self.flat[index].long(), self.pad), mask.long()


@dataclass(slots=True)
class Targets:
    """For each post and head: a row of label probabilities (hard ones are 0 and 1) and a weight."""

    heads: tuple[Head, ...]
    values: Tensor
    """Posts × total labels."""
    weights: Tensor
    """Posts × heads; 0 where there is no answer."""

    @classmethod
    def empty(cls, heads: tuple[Head, ...], posts: int) -> Targets:
        """Return targets with no answers yet."""
        return cls(heads, torch.zeros(posts, sum(h.labels for h in heads)), torch.zeros(posts, len(heads)))

    def answer(self, head: str, rows: Tensor, labels: Tensor, weight: float | Tensor = 1.0) -> None:
        """Set what `head` should say about some posts: a label index each, or a matrix of label probabilities."""
        columns = columns_of(self.heads)[head]
        place = [it.name for it in self.heads].index(head)
        if labels.ndim == 1:
            labels = torch.nn.functional.one_hot(labels.long(), columns.stop - columns.start)
        self.values[rows, columns] = labels.to(self.values.dtype)
        self.weights[rows, place] = torch.as_tensor(weight, dtype=self.weights.dtype, device=self.weights.device)

    def to(self, device: torch.device | str) -> Targets:
        """Return the same targets on another device."""
        return Targets(self.heads, self.values.to(device), self.weights.to(device))


def batches_by_length(order: np.ndarray, lengths: np.ndarray, batch: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the order cut into batches of similar length, shuffled: sorted only within chunks, so epochs differ."""
    chunk = batch * 64
    batches: list[np.ndarray] = []
    for start in range(0, len(order), chunk):
        part = order[start : start + chunk]
        part = part[np.argsort(lengths[part], kind="stable")]
        batches += [part[i : i + batch] for i in range(0, len(part), batch)]
    return [batches[i] for i in rng.permutation(len(batches))]


def batches_longest_first(lengths: np.ndarray, batch: int) -> Iterator[np.ndarray]:
    """Yield batches of all posts from long to short, for scoring."""
    order = np.argsort(-lengths, kind="stable")
    for start in range(0, len(order), batch):
        yield order[start : start + batch]


def make_targets(questions: tuple[Question, ...], posts: pl.DataFrame, config: Config) -> Targets:
    """Return what each head should say about each post, weighted by question and, if asked for, by class."""
    made = Targets.empty(heads_of(questions), len(posts))
    posts = posts if config.consistent else fill_implied_no(posts, questions)
    columns = parse_gold(posts, questions)
    for question, rows, table in gold_targets(questions, posts):
        if config.consistent:
            led = _is_led_to(question, questions, columns, len(posts))[rows]
            rows, table = rows[led], table[led]
        weight = np.full(len(rows), float(config.weights.get(question.name, 1.0)), dtype=np.float32)
        if config.class_weights != "none" and not question.multilabel and len(rows):
            counts = table.sum(axis=0).clip(1)
            power = 1.0 if config.class_weights == "balanced" else 0.5
            weight *= ((counts.sum() / ((table.sum(axis=0) > 0).sum() * counts)) ** power)[table.argmax(axis=1)]
        made.answer(question.name, torch.from_numpy(rows), torch.from_numpy(table), torch.from_numpy(weight))
    return _softened(made, questions, posts, config) if config.soft else made


def _is_led_to(
    question: Question, questions: tuple[Question, ...], columns: dict[str, list[Answer]], n: int
) -> np.ndarray:
    """Return for each post whether settled answers above a question lead to it, or do not say."""
    return np.array([led is not False for led in applies_mask(question, questions, columns, n)], dtype=bool)


def _softened(found: Targets, questions: tuple[Question, ...], posts: pl.DataFrame, config: Config) -> Targets:
    """Put the share of annotators behind each label in the place of the settled one; ties get an answer so."""
    columns = parse_gold(posts, questions)
    for place, question in enumerate(questions):
        rows, shares = vote_shares(question, posts)
        if config.consistent:  # where the settled parent leads past a question, its votes are no tie
            led = _is_led_to(question, questions, columns, len(posts))[rows]
            rows, shares = rows[led], shares[led]
        at = torch.from_numpy(rows)
        weight = found.weights[at, place]
        tied = [not columns[question.name][row] for row in rows.tolist()]
        weight[torch.tensor(tied, dtype=torch.bool)] = float(config.weights.get(question.name, 1.0))
        found.answer(question.name, at, torch.from_numpy(shares), weight)
    return found


def epoch_order(
    questions: tuple[Question, ...], posts: pl.DataFrame, config: Config
) -> Callable[[np.random.Generator], np.ndarray]:
    """Return the function that draws an epoch: rows that stand several times, and fewer noes where asked for."""
    times = np.ones(len(posts), dtype=np.int64)
    for key, factor in config.over.items():
        times[_matching(key, posts)] = int(factor)
    cuts = [_cut(name, ratio, questions, posts) for name, ratio in config.under.items()]

    def draw(rng: np.random.Generator) -> np.ndarray:
        kept = np.ones(len(posts), dtype=bool)
        for noes, most in cuts:
            if len(noes) > most:
                kept[rng.choice(noes, len(noes) - most, replace=False)] = False
        rows = np.flatnonzero(kept)
        return rng.permutation(np.repeat(rows, times[rows]))

    return draw


def _matching(key: str, posts: pl.DataFrame) -> np.ndarray:
    """Return the posts that a key of `over` means: a source, `question=label` or `meta.KEY=VALUE`."""
    name, equals, label = key.partition("=")
    column = "source" if not equals else "meta" if name.startswith("meta.") else f"{name}{GOLD}"
    if column not in posts.columns:
        raise UserError(f"over names {key!r}, but the posts have no column {column!r}.")
    if column == "meta":
        field = name.removeprefix("meta.")
        found = [str(json.loads(value).get(field)) == label if value else False for value in posts[column].to_list()]
    else:
        wanted = label if equals else name
        found = [wanted in split_cell(value) for value in posts[column].to_list()]
    if not any(found):
        raise UserError(f"over names {key!r}, but no post has it. Take it out: --set over={{}}, or give other posts.")
    return np.array(found)


def _cut(name: str, ratio: float, questions: tuple[Question, ...], posts: pl.DataFrame) -> tuple[np.ndarray, int]:
    """Return the neutral rows for a question and how many of them an epoch takes.

    Neutral are posts that are not led to a child question, so that GMHP7k's hateful posts all stay, and
    posts that say no to any other. What has no answer is not neutral: it may come from another corpus.
    """
    question = next((it for it in questions if it.name == name), None)
    if question is None or question.positive is None:
        raise UserError(f"under names {name!r}, which is no yes/no question of this run.")
    columns = parse_gold(posts, questions)
    own = columns.get(name, [None] * len(posts))
    yes = sum(question.positive in (labels or ()) for labels in own)
    if question.under and question.under[0] in columns:
        neutral = [led is False for led in applies_mask(question, questions, columns, len(posts))]
    else:
        neutral = [labels is not None and question.positive not in labels for labels in own]
    return np.flatnonzero(neutral), int(ratio * yes)
