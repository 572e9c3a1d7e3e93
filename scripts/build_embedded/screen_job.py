"""After `job.py student --of minilm`, on a GPU: small networks that foresee what the student says.

`python3 screen_job.py --keep DIR --seconds 200 [--net narrow --net wide]`

Posts and random cuts of posts go to the student and to all small networks at once; they learn its answers. It
sees no post of the last part of Reddit's sample, which benchmarks take. `screen-NAME.npz` (weights) and
`screen-held.npz` (rows that were not learnt from, the student's probabilities and each network's logits) come out.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import job
import numpy as np
import torch
import torch.nn.functional as F
from screen_nets import CANDIDATES, QUESTIONS, made, start_from

from davy.detectors.network import columns_of, probabilities
from davy.training.data import Tokens

UNSEEN = 110_000
"""How many of Reddit's last posts are left alone."""
EMOJI = 1941
"""How many emoji the vocabulary ends with; a post that has one is always read, so none is learnt from."""
BUCKET = 24


def chosen(bench: job.Bench, store: Tokens, words: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the rows to learn from by kind, and the rows held back; the vocabulary has so many words."""
    emoji = torch.zeros(len(store.flat) + 1, dtype=torch.int32, device=store.flat.device)
    emoji[1:] = (store.flat >= words - EMOJI).int().cumsum(0)
    has = (emoji[store.starts + store.lengths] > emoji[store.starts]).cpu().numpy()
    corpus, part = bench.corpus, bench.part
    top = np.flatnonzero(corpus == "top")
    free = ~has
    free[top[-min(UNSEEN, len(top) // 3) :]] = False
    held = np.random.default_rng(2).random(len(part)) < 0.1
    kinds = {
        "top": corpus == "top",
        "gender": corpus == "gender",
        "labelled": part == job.TRAIN,
    }
    learnt = {name: np.flatnonzero(kind & free & ~held) for name, kind in kinds.items()}
    back = np.flatnonzero(np.logical_or.reduce(list(kinds.values())) & free & held)
    return learnt, back


def cut(ids: torch.Tensor, mask: torch.Tensor, chance: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return posts of which every second one is a random run of its own words, between the same end tokens."""
    lengths = mask.sum(1)
    inner = (lengths - 2).clamp(min=1)
    draw = torch.rand(3, len(ids), generator=chance, device=ids.device)
    keep = (draw[0] * inner).long().clamp(min=3).minimum(inner)
    keep = torch.where(draw[2] < 0.5, keep, inner)
    start = 1 + (draw[1] * (inner - keep + 1)).long()
    place = torch.arange(ids.shape[1], device=ids.device)[None, :]
    source = (start[:, None] + place - 1).clamp(0, ids.shape[1] - 1)
    source = torch.where(place == 0, 0, torch.where(place == keep[:, None] + 1, (lengths - 1)[:, None], source))
    new = place < (keep + 2)[:, None]
    return ids.gather(1, source) * new + (~new).long(), new.long()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--net", action="append", choices=tuple(CANDIDATES))
    args = parser.parse_args()
    bench = job.Bench(args.keep, "screen")
    store = bench.tokens()
    student = job.load_student(args.keep, [args.keep], "minilm").to(job.DEVICE)
    table = student.encoder.get_input_embeddings().weight.detach()
    learnt, held = chosen(bench, store, len(table))
    torch.manual_seed(0)
    nets = {name: made(name, len(table)) for name in args.net or CANDIDATES}
    for net in nets.values():
        start_from(net, table.cpu())
        net.to(job.DEVICE).train()
    bench.tell({"learnt": {name: len(it) for name, it in learnt.items()}, "held": len(held)})
    averages = learn(bench, store, student, nets, learnt, args)
    for name, net in nets.items():
        net.load_state_dict(averages[name])
        net.eval()
        weights = {key: it.detach().half().cpu().numpy() for key, it in net.state_dict().items()}
        np.savez_compressed(args.keep / f"screen-{name}.npz", **weights)
    judge(bench, store, student, nets, held)


@torch.no_grad()
def said(student: torch.nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the student's probability of yes for each question of the screen."""
    with torch.autocast(job.DEVICE.type, torch.bfloat16, enabled=job.CUDA):
        logits = student(ids, mask).float()
    columns = columns_of(job.HEAD_LIST)
    return probabilities(logits, job.HEAD_LIST)[:, [columns[name].start + 1 for name in QUESTIONS]]


def learn(bench, store, student, nets, learnt, args):
    """Return the averaged weights of each network after `--seconds` of learning."""
    rng = np.random.default_rng(0)
    chance = torch.Generator(job.DEVICE).manual_seed(0)
    lengths = store.lengths.cpu().numpy()
    optimisers = {name: torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-3) for name, net in nets.items()}
    averages = {name: {k: v.clone() for k, v in net.state_dict().items()} for name, net in nets.items()}
    began, steps, recent = time.monotonic(), 0, dict.fromkeys(nets, 0.0)
    share = 0.0
    while share < 1:
        counts = {"top": 0.6, "gender": 0.2, "labelled": 0.2}
        rows = np.concatenate(
            [rng.choice(learnt[kind], int(args.batch * BUCKET * part)) for kind, part in counts.items()]
        )
        rows = rows[np.argsort(lengths[rows], kind="stable")]
        batches = np.array_split(rows, BUCKET)
        for at in rng.permutation(len(batches)):
            part = batches[at]
            ids, mask = store.batch(torch.from_numpy(part).to(job.DEVICE), int(lengths[part].max()))
            ids, mask = cut(ids, mask, chance)
            wanted = said(student, ids, mask)
            weight = 1 + 5 * (wanted >= 0.5).float() + 2 * (wanted >= 0.2).float()
            share = min(1.0, (time.monotonic() - began) / args.seconds)
            rate = 2e-3 * min(1.0, steps / 200) * (0.02 + 0.98 * (1 - share))
            for name, net in nets.items():
                for group in optimisers[name].param_groups:
                    group["lr"] = rate
                with torch.autocast(job.DEVICE.type, torch.bfloat16, enabled=job.CUDA):
                    found = net(ids, mask.float()).float()
                loss = F.binary_cross_entropy_with_logits(found, wanted, weight)
                optimisers[name].zero_grad(set_to_none=True)
                loss.backward()
                optimisers[name].step()
                keep = 1 - min(0.998, steps / (steps + 50))
                held, now = averages[name], net.state_dict()
                torch._foreach_lerp_(list(held.values()), [now[key] for key in held], keep)
                if steps % 500 == 0:
                    recent[name] = float(loss.detach())
            if steps % 500 == 0:
                bench.tell({"step": steps, "share": round(share, 3), **recent})
            steps += 1
    return averages


@torch.no_grad()
def judge(bench, store, student, nets, held):
    """Write what everyone says of the posts held back, and tell how much each network could clear."""
    lengths = store.lengths.cpu().numpy()
    p = np.zeros((len(held), len(QUESTIONS)), dtype=np.float32)
    logits = {name: np.zeros_like(p) for name in nets}
    order = np.argsort(lengths[held], kind="stable")
    for at in range(0, len(order), 4096):
        part = order[at : at + 4096]
        ids, mask = store.batch(torch.from_numpy(held[part]).to(job.DEVICE), int(lengths[held[part]].max()))
        p[part] = said(student, ids, mask).cpu().numpy()
        for name, net in nets.items():
            logits[name][part] = net(ids, mask.float()).float().cpu().numpy()
    kinds = bench.corpus[held]
    np.savez_compressed(
        bench.keep / "screen-held.npz", rows=held, p=p, kinds=kinds, **{f"logits.{k}": v for k, v in logits.items()}
    )
    for kind in ("top", "gender", "edos", "dynahate"):
        among = kinds == kind
        flagged = (p[among] >= 0.5).any(1)
        if not flagged.any():
            continue
        for name, found in logits.items():
            highest = found[among].max(1)
            ranked = np.sort(highest[flagged])
            cleared = {share: round(float((highest < ranked[int((1 - share) * len(ranked))]).mean()), 3)
                       for share in (0.97, 0.98, 0.99)}  # fmt: skip
            bench.tell({"kind": kind, "net": name, "posts": int(among.sum()), "flagged": int(flagged.sum()), **{
                f"cleared at {share}": value for share, value in cleared.items()}})  # fmt: skip


if __name__ == "__main__":
    main()
