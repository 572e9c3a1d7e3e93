"""On the GPU machine: what an embedded detector says of many posts, and a small network that foresees it.

`python3 screen_job.py --keep DIR --out DIR [--most N]`: `model.onnx`, `tokenizer.json`, `manifest.json` and
`texts.json.xz` (pairs of text and kind) in; `screen.npz` (weights) and `held.npz` (the small network's logits and the
detector's probabilities for posts that it did not learn from, with their kinds) out. What the detector said is kept in
`taught.npz` and used again. A CPU does it too, in an hour. Needs numpy, onnx, onnxruntime, tokenizers and torch only.
"""

from __future__ import annotations

import argparse
import json
import lzma
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np

QUESTIONS = ("hate", "offensive", "sexist")
LENGTH = 128
WIDTH, FILTERS, HIDDEN = 64, 128, 96
HELD_BACK = 0.1


def encoded(keep: Path, texts: list[str]) -> list[list[int]]:
    """Return the token ids as `davy.models.onnx` cuts them: three quarters head, one quarter tail."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(keep / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    head = int(LENGTH * 0.75)
    found = []
    for at in range(0, len(texts), 50_000):
        for encoding in tokenizer.encode_batch_fast([text[: LENGTH * 16] for text in texts[at : at + 50_000]]):
            ids = encoding.ids
            found.append(ids if len(ids) <= LENGTH else [*ids[:head], *ids[len(ids) - (LENGTH - head) :]])
    return found


def asked(task: tuple[Path, list[list[int]], dict[str, float]]) -> np.ndarray:
    """Return the detector's probability of yes for each question; runs in a process of its own."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    keep, rows, temperatures = task
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(keep / "model.onnx"), options, providers=["CPUExecutionProvider"])
    wanted = {given.name for given in session.get_inputs()}
    lengths = np.array([len(row) for row in rows])
    order = np.argsort(lengths, kind="stable")
    out = np.empty((len(rows), len(QUESTIONS)), dtype=np.float32)
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * lengths[order[end]] <= 1024:
            end += 1
        part = order[start:end]
        ids, mask = padded([rows[i] for i in part])
        feed = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if "token_type_ids" in wanted:
            feed["token_type_ids"] = np.zeros_like(ids)
        for place, (name, logits) in enumerate(zip(QUESTIONS, session.run(list(QUESTIONS), feed), strict=True)):
            scaled = logits.astype(np.float64) / temperatures.get(name, 1.0)
            out[part, place] = 1 / (1 + np.exp(scaled[:, 0] - scaled[:, 1]))
        start = end
    return out


def taught(keep: Path, rows: list[list[int]], temperatures: dict[str, float]) -> np.ndarray:
    """Return the detector's probabilities for all posts, asked in as many processes as there are cores."""
    parts = np.array_split(np.random.default_rng(1).permutation(len(rows)), 128)
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        answers = pool.map(asked, [(keep, [rows[i] for i in part], temperatures) for part in parts], chunksize=1)
    p = np.empty((len(rows), len(QUESTIONS)), dtype=np.float32)
    for part, answer in zip(parts, answers, strict=True):
        p[part] = answer
    return p


def held_back(n: int) -> np.ndarray:
    """Return which posts are not learnt from."""
    return np.random.default_rng(2).random(n) < HELD_BACK


def padded(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    width = max(map(len, rows))
    ids, mask = np.zeros((len(rows), width), dtype=np.int64), np.zeros((len(rows), width), dtype=np.float32)
    for i, row in enumerate(rows):
        ids[i, : len(row)], mask[i, : len(row)] = row, 1
    return ids, mask


def word_vectors(keep: Path) -> np.ndarray:
    """Return the detector's own word vectors, brought down to the screen's width by their main directions."""
    import onnx
    from onnx import numpy_helper

    held = {it.name: it for it in onnx.load(str(keep / "model.onnx")).graph.initializer}
    name = next(name for name in held if name.endswith("word_embeddings.table"))
    table = numpy_helper.to_array(held[name]).astype(np.float32)
    table *= numpy_helper.to_array(held[name.replace(".table", ".scale")]).astype(np.float32)
    table -= table.mean(0)
    directions = np.linalg.svd(table.T @ table)[0][:, :WIDTH]
    found = table @ directions
    return (0.5 * found / found.std()).astype(np.float32)


def network(vectors: np.ndarray):
    """Return the small network: word vectors, windows of one and three words, the strongest of each, their mean."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Screen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vectors = nn.Embedding.from_pretrained(torch.from_numpy(vectors), freeze=False)
            self.lone = nn.Embedding(len(vectors), len(QUESTIONS))
            nn.init.zeros_(self.lone.weight)
            self.three = nn.Conv1d(WIDTH, FILTERS, 3, padding=1)
            self.one = nn.Conv1d(WIDTH, FILTERS // 2, 1)
            self.middle = nn.Linear(FILTERS + FILTERS // 2 + WIDTH, HIDDEN)
            self.last = nn.Linear(HIDDEN, len(QUESTIONS))
            self.drop = nn.Dropout(0.2)

        def forward(self, ids, mask):
            wide = mask.unsqueeze(1)
            words = self.vectors(ids).transpose(1, 2) * wide
            three = (F.relu(self.three(words)) * wide).amax(2)
            one = (F.relu(self.one(words)) * wide).amax(2)
            count = wide.sum(2).clamp(min=1)
            mean = words.sum(2) / count
            lone = (self.lone(ids) * mask.unsqueeze(2)).sum(1) / count.sqrt()
            seen = self.drop(torch.cat([three, one, mean], 1))
            return self.last(self.drop(F.relu(self.middle(seen)))) + lone

    return Screen()


def learn(rows: list[list[int]], p: np.ndarray, held: np.ndarray, vectors: np.ndarray, device: str, epochs: int):
    """Return the trained network; posts that the detector flags weigh more, words are dropped by chance."""
    import torch
    import torch.nn.functional as F

    torch.manual_seed(0)
    net = network(vectors).to(device)
    lengths = np.array([len(row) for row in rows])
    flat = torch.from_numpy(np.concatenate([np.asarray(row, dtype=np.int32) for row in rows])).to(device)
    starts = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)[:-1]])).to(device)
    sizes = torch.from_numpy(lengths).to(device)
    wanted = torch.from_numpy(p).to(device)
    weights = 1 + 5 * (wanted >= 0.5).float() + 2 * (wanted >= 0.2).float()

    def batch(part):
        index = torch.from_numpy(part).to(device)
        width = torch.arange(int(lengths[part].max()), device=device)
        mask = width[None, :] < sizes[index][:, None]
        places = (starts[index][:, None] + width[None, :]).clamp(max=len(flat) - 1)
        return index, flat[places].long() * mask, mask.float()

    learnt = np.flatnonzero(~held)
    size = 1024
    optimiser = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-3)
    steps = epochs * (len(learnt) // size + 50)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps)
    average = {name: it.detach().clone() for name, it in net.named_parameters()}
    began, chance = time.time(), np.random.default_rng(0)
    for epoch in range(epochs):
        net.train()
        total = torch.zeros((), device=device)
        for part in in_batches(learnt, lengths, size, chance):
            index, ids, mask = batch(part)
            hidden = (torch.rand(ids.shape, device=device) < 0.05) & (mask > 0)
            found = net(ids.masked_fill(hidden, 3), mask)
            loss = F.binary_cross_entropy_with_logits(found, wanted[index], weights[index])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.detach() * len(part)
            for name, it in net.named_parameters():
                average[name].lerp_(it.detach(), 0.003)
        print(f"epoch {epoch + 1}: {float(total) / len(learnt):.4f} after {time.time() - began:.0f} s", flush=True)
    with torch.no_grad():
        for name, it in net.named_parameters():
            it.copy_(average[name])
    net.eval()
    out = np.zeros((len(rows), len(QUESTIONS)), dtype=np.float32)
    with torch.no_grad():
        for part in in_batches(np.flatnonzero(held), lengths, 4096, chance):
            _, ids, mask = batch(part)
            out[part] = net(ids, mask).cpu().numpy()
    return net, out


def in_batches(rows: np.ndarray, lengths: np.ndarray, size: int, chance: np.random.Generator) -> list[np.ndarray]:
    """Return batches of posts of like length, in an order of chance."""
    mixed = chance.permutation(rows)
    found = []
    for at in range(0, len(mixed), size * 40):
        part = mixed[at : at + size * 40]
        part = part[np.argsort(lengths[part], kind="stable")]
        found += [part[i : i + size] for i in range(0, len(part), size)]
    return [found[i] for i in chance.permutation(len(found))]


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--most", type=int)
    args = parser.parse_args()
    with lzma.open(args.keep / "texts.json.xz", "rt", encoding="utf-8") as file:
        pairs = json.load(file)[: args.most]
    temperatures = json.loads((args.keep / "manifest.json").read_text())["temperatures"]
    began = time.time()
    rows = encoded(args.keep, [text for text, _ in pairs])
    print(f"{len(rows)} posts tokenised after {time.time() - began:.0f} s", flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    if (args.out / "taught.npz").is_file():
        p = np.load(args.out / "taught.npz")["p"]
    else:
        p = taught(args.keep, rows, temperatures)
        np.savez(args.out / "taught.npz", p=p)
    print(f"taught after {time.time() - began:.0f} s; flagged {(p >= 0.5).any(1).mean():.3f}", flush=True)
    held = held_back(len(rows))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net, logits = learn(rows, p, held, word_vectors(args.keep), device, args.epochs)
    weights = {name: it.detach().cpu().numpy().astype(np.float16) for name, it in net.named_parameters()}
    np.savez_compressed(args.out / "screen.npz", **weights)
    kinds = np.array([kind for _, kind in pairs])
    np.savez_compressed(
        args.out / "held.npz", place=np.flatnonzero(held), logits=logits[held], p=p[held], kind=kinds[held]
    )
    for kind in np.unique(kinds[held]):
        among = kinds[held] == kind
        flagged = (p[held][among] >= 0.5).any(1)
        highest = logits[held][among].max(1)
        if flagged.sum() < 20:
            continue
        shares = {}
        for keep in (0.97, 0.98, 0.99, 0.995):
            mark = np.sort(highest[flagged])[int((1 - keep) * flagged.sum())]
            shares[keep] = round(float((highest < mark).mean()), 3)
        print(f"{kind}: {among.sum()} posts, {flagged.sum()} flagged; cleared where so many stay: {shares}", flush=True)


if __name__ == "__main__":
    main()
