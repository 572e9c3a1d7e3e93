"""A screen and an exit's head learn what a network says, while it says it: on a GPU that takes a minute.

The network as it will ship, its folder's `manifest.json`, posts, and the shipped screen's weights (`screen.npz`) in;
`screen-new.npz` and `head2.pt` out, for `learn_on_finish.py`. Posts that marks are chosen on (`apart`) and dev are left
out. Half are cut to a run of their own words, others each time, since short texts are rare otherwise.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from exit_net import Net
from learn_on_posts import DEV, Posts
from screen_nets import QUESTIONS, Windows
from torch import Tensor, nn

if TYPE_CHECKING:
    from graph_network import GraphNetwork

CUT = 0.5
ALWAYS = 3e4
"""The weight of a piece whose posts are always read; `screen.py` has the same."""
LAYER = 2
SIZE, RATE, HEAD_RATE = 1024, 1e-3, 2e-3
LOWER = 0.7
"""How far below the screen's mark a post may lie and still teach the head."""
LOST = 0.02


class Labels:
    """What a detector's labels follow from: the temperature and the threshold of each question."""

    def __init__(self, manifest: Path, device: torch.device) -> None:
        held = json.loads(manifest.read_text("utf-8"))
        self.heats = torch.tensor([held["temperatures"].get(name, 1.0) for name in QUESTIONS], device=device)
        cuts = torch.tensor([held["thresholds"].get(name, 0.5) for name in QUESTIONS], device=device)
        self.margins = torch.logit(cuts) * self.heats

    def chances(self, margin: Tensor) -> Tensor:
        return (margin / self.heats).sigmoid()

    def yes(self, margin: Tensor) -> Tensor:
        return margin >= self.margins


def teach(
    network: GraphNetwork, posts: Posts, keep: Path, log: Any, seconds: float, tag: str, more: float = 5.0
) -> None:
    """Teach both and write them; a yes counts `more` times more than a no."""
    device = posts.device
    labels = Labels(keep / "manifest.json", device)
    weights = dict(np.load(keep / "screen.npz"))
    always = torch.from_numpy((weights["lone.weight"] >= ALWAYS / 2).any(axis=1)).to(device)
    weights["lone.weight"][always.cpu().numpy()] = 0
    words, width = weights["vectors.weight"].shape
    screen = Windows(words, width, len(weights["three.bias"]), len(weights["middle.bias"]))
    kept = {key: torch.tensor(it) for key, it in weights.items() if key not in ("vectors.table", "vectors.scale")}
    screen.load_state_dict(kept)
    screen.vectors.weight.requires_grad_(False)
    screen.to(device)
    norms = [node.output[0] for node in network._nodes if node.op_type == "LayerNormalization"]
    states = norms[2 * LAYER]
    network.kept = (states,)
    network.eval()
    wary = torch.zeros(len(posts), dtype=torch.bool, device=device)
    owner = torch.repeat_interleave(torch.arange(len(posts), device=device), posts.lengths)
    wary[owner[always[posts.flat.long()]]] = True
    rows = np.flatnonzero(~posts.apart & (posts.part != DEV) & ~wary.cpu().numpy())
    both = np.flatnonzero(~posts.apart & (posts.part != DEV))

    def watch(batch: np.ndarray, cut: bool, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
        ids, mask = posts.batch(batch, 1)
        if cut:
            ids, mask = cut_to_runs(ids, mask, rng)
        with torch.no_grad():
            answers = network(ids, mask)
        margin = torch.stack([answers[name][:, 1] - answers[name][:, 0] for name in QUESTIONS], 1)
        return ids, mask, margin

    def screened(batch: np.ndarray, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor | None]:
        ids, mask, margin = watch(batch, True, rng)
        return screen(ids, mask.float()), margin, None

    run(screen, [it for it in screen.parameters() if it.requires_grad], screened, posts, rows, seconds / 2, RATE, log,
        labels, more)  # fmt: skip
    screen.eval()
    logits, flags = [], []
    with torch.no_grad():
        for batch in posts.batches(np.random.default_rng(1).choice(rows, min(60_000, len(rows)), replace=False), SIZE):
            ids, mask, margin = watch(batch, False, np.random.default_rng(0))
            logits.append(screen(ids, mask.float()))
            flags.append(labels.yes(margin))
    every, yes = torch.cat(logits), torch.cat(flags)
    marks = torch.stack([torch.quantile(every[yes[:, q], q], LOST) if yes[:, q].any() else every[:, q].min()
                         for q in range(len(QUESTIONS))])  # fmt: skip
    cleared = (every < marks).all(1)
    log.tell(marks=marks.tolist(), cleared=float(cleared.float().mean()),
             flagged_and_cleared=float((cleared & yes.any(1)).sum() / yes.any(1).sum()))  # fmt: skip
    head = Net(network.learnt[next(iter(network.products))].shape[0]).to(device)

    def exited(batch: np.ndarray, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor | None]:
        ids, mask, margin = watch(batch, False, rng)
        seen = network.states[states]
        vectors = seen.reshape(mask.shape[1], mask.shape[0], -1).permute(1, 0, 2)
        step, zero = range_of(network, states)
        vectors = ((vectors / step).round() + zero).clamp(0, 255).sub(zero) * step
        with torch.no_grad():
            asked = (screen(ids, mask.float()) >= marks - LOWER).any(1) | wary[torch.from_numpy(batch).to(device)]
        return head(vectors, mask.float()), margin, asked.float()

    run(head, list(head.parameters()), exited, posts, both, seconds / 2, HEAD_RATE, log, labels, more)
    np.savez(
        keep / f"screen-new{tag}.npz",
        **{k: v.detach().cpu().numpy() for k, v in screen.state_dict().items() if k != "vectors.weight"},
    )
    torch.save({key: it.cpu() for key, it in head.state_dict().items()}, keep / f"head{LAYER}{tag}.pt")


def range_of(network: GraphNetwork, states: str) -> tuple[float, float]:
    """Return the step and the zero with which the graph rounds these states."""
    node = next(it for it in network.model.graph.node if it.op_type == "QuantizeLinear" and it.input[0] == states)
    step, zero = (network._numbers[name] for name in node.input[1:])
    return float(step), float(zero)


def run(
    net: nn.Module,
    learns: list[Tensor],
    ask: Any,
    posts: Posts,
    rows: np.ndarray,
    seconds: float,
    rate: float,
    log: Any,
    labels: Labels,
    more: float,
) -> None:
    """Teach a net for so many seconds and leave the average of its weights in it."""
    torch.manual_seed(0)
    rng, began, steps, share, losses = np.random.default_rng(0), time.monotonic(), 0, 0.0, []
    optimiser = torch.optim.AdamW(learns, lr=rate, weight_decay=1e-3)
    average = [it.detach().clone() for it in learns]
    while share < 1:
        for batch in posts.batches(rows, SIZE, rng):
            share = (time.monotonic() - began) / seconds
            if share >= 1:
                break
            net.train()
            logits, margin, asked = ask(batch, rng)
            chance = labels.chances(margin)
            weight = 1 + more * labels.yes(margin).float() + 2 * (chance >= 0.2).float()
            if asked is not None:
                weight = weight * asked.unsqueeze(1)
            loss = F.binary_cross_entropy_with_logits(logits, chance, weight, reduction="sum") / weight.sum().clamp(
                min=1
            )
            for group in optimiser.param_groups:
                group["lr"] = rate * min(1.0, steps / 100) * (0.02 + 0.98 * (1 - share))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            steps += 1
            if steps % 20 == 0:
                losses.append(float(loss.detach()))
            with torch.no_grad():
                torch._foreach_lerp_(average, [it.detach() for it in learns], 1 - min(0.998, steps / (steps + 50)))
    with torch.no_grad():
        for it, mean in zip(learns, average, strict=True):
            it.copy_(mean)
    net.eval()
    log.tell(taught=type(net).__name__, steps=steps, loss=round(float(np.mean(losses[-20:] or [0])), 4))


def cut_to_runs(ids: Tensor, mask: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Cut about half of the posts to a random run of their own tokens, between their first and last one."""
    lengths = mask.sum(1).cpu().numpy()
    inner = np.minimum(lengths - 2, 120).clip(1)
    size = np.maximum(np.minimum(3, inner), (rng.random(len(inner)) * inner).astype(int))
    size = np.where(rng.random(len(inner)) < CUT, size, inner)
    start = (rng.random(len(inner)) * (inner - size + 1)).astype(int)
    device = ids.device
    size_, start_, ends = (torch.from_numpy(it).to(device)[:, None] for it in (size, start, lengths - 1))
    places = torch.arange(ids.shape[1], device=device)[None]
    take = torch.where(places == 0, 0, torch.where(places <= size_, places + start_, ends))
    found = ids.gather(1, take.clamp(max=ids.shape[1] - 1))
    kept = (places <= size_ + 1).long()
    return torch.where(kept > 0, found, 1), kept
