"""A network that learnt on becomes a model folder: its graph, temperatures and thresholds from dev, screen and exit.

    python learn_on_finish.py --of FOLDER --graph FILE [--graph FILE] --data DIR --cache DIR --out FOLDER
                              [--cascade DIR]

`--of` is the folder that ships; what is not learnt (tokenizer, names, rules) comes from it. Two graphs: the mean of
their weights. Without a graph the folder `--out` stays as it is, and its figures are printed alone. `--cascade` holds
`screen-new.npz`, `head2.pt` and `cascade.jsonl`; `exit_states.py --held` and `exit.py --again` choose both marks anew
afterwards. The further question of attributes is left out. Prints dev figures.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import polars as pl
import screen_graph
import torch
from corpora import Post, labelled
from dev_figures import readings
from exit_net import Net
from finish import CORPORA, gold_of, interval, temperature
from finish import threshold as near_half
from german import gahd, germeval
from graph_network import EXTRA, GraphNetwork
from learn_on_posts import auroc, macro_f1
from network_split import SplitNetwork
from offence import germeval2021, offensive_of, olid
from screen import ALWAYS
from screen_again import weights_of
from screen_nets import QUESTIONS

from davy.detectors import folder as folders
from davy.detectors.cascade_screen import FILE
from davy.detectors.early_exit import FIRST, REST
from davy.detectors.onnx import OnnxScorer

GRID = np.round(np.arange(0.2, 0.81, 0.01), 2)
LAYER = 2
LOWER = 1.0
"""How much lower a screen's first marks lie than those set beside its training, so that `exit.py` can choose."""
UNSEEN = {"en": ("olid", "davidson"), "de": ("germeval2021",)}
"""Corpora whose dev the network has never learnt from: the temperature of `offensive` comes from them."""
BOTH = {"en": ("olid", "davidson"), "de": ("germeval2021", "germeval")}
"""Corpora whose dev chooses the threshold of `offensive`, each counting alike."""


def dev_posts(data: Path, language: str) -> list[Post]:
    """Return the posts of every dev part of a language."""
    if language == "en":
        posts = [*labelled(data), *olid(data)]
    else:
        posts = [*gahd(data), *germeval(data), *germeval2021(data)]
        for post in posts:
            if "hate.de" in post.answers:
                post.answers["hate"] = post.answers["hate.de"]
    return [post for post in posts if post.part == "dev"]


def offence(posts: list[Post], corpus: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a corpus' rows that say whether they are offensive, and what they say."""
    gold = np.array([offensive_of(post) if post.corpus == corpus else -1 for post in posts])
    return np.flatnonzero(gold >= 0), gold[gold >= 0]


def write_graph(graphs: list[Path], out: Path) -> None:
    """Write the mean of graphs, without the question of attributes."""
    if len(graphs) > 1:
        networks = [GraphNetwork(path) for path in graphs]
        with torch.no_grad():
            for key, it in networks[0].learnt.items():
                it.copy_(torch.stack([network.learnt[key] for network in networks]).mean(0))
        networks[0].write(out)
    model = onnx.load(str(graphs[0] if len(graphs) == 1 else out))
    graph = model.graph
    for many in (graph.node, graph.initializer, graph.output):
        kept = [it for it in many if not _of_attributes(it)]
        del many[:]
        many.extend(kept)
    onnx.save(model, str(out))


def _of_attributes(it: onnx.NodeProto | onnx.TensorProto | onnx.ValueInfoProto) -> bool:
    names = it.output if isinstance(it, onnx.NodeProto) else [it.name]
    return any(name.partition(".")[0] == EXTRA for name in names)


def write_cascade(folder: Path, before: Path, made: Path) -> dict[str, dict[str, float]]:
    """Write screen and exit, which learnt beside the network, and return their first marks."""
    shipped = weights_of(before / FILE)
    always = (shipped["lone.weight"] >= ALWAYS / 2).any(axis=1)
    new = shipped | dict(np.load(made / "screen-new.npz"))
    new["lone.weight"][always] = ALWAYS
    screen_graph.write(new, folder / FILE)
    net = Net(SplitNetwork(folder, LAYER).width).eval()
    net.load_state_dict(torch.load(made / "head2.pt", weights_only=True))
    SplitNetwork(folder, LAYER).write(net.rounded().head())
    records = [json.loads(line) for line in (made / "cascade.jsonl").read_text("utf-8").splitlines()]
    marks = next(it["marks"] for it in records if "marks" in it)
    first = [round(mark - LOWER, 4) for mark in marks]
    return {"screen": dict(zip(QUESTIONS, first, strict=True)), "exit": dict.fromkeys(QUESTIONS, -9.0)}


def best_cut(posts: list[Post], yes: np.ndarray, language: str) -> float:
    """Return the threshold with the best mean of macro-F1 over both corpora, smoothed over its neighbours."""
    parts = [offence(posts, corpus) for corpus in BOTH[language]]
    means = [np.mean([macro_f1(gold, (yes[rows] >= cut).astype(int)) for rows, gold in parts]) for cut in GRID]
    return float(GRID[int(np.argmax(np.convolve(np.pad(means, 3, mode="edge"), np.ones(7) / 7, mode="valid")))])


def calibrated(manifest: folders.Manifest, posts: list[Post], raw: dict[str, np.ndarray]) -> folders.Manifest:
    """Return the manifest with temperatures and thresholds; what German questions but `offensive` have stays."""
    language = manifest.languages[0]
    heats, cuts = dict(manifest.temperatures), dict(manifest.thresholds)
    rows, gold = (np.concatenate(it) for it in zip(*(offence(posts, it) for it in UNSEEN[language]), strict=True))
    heats["offensive"] = temperature(raw["offensive"], rows, gold)
    if language == "en":
        for name in set(heats) - {"offensive"}:
            heats[name] = temperature(raw[name], *gold_of(posts, name))
        for name in ("hate", "sexist"):
            cuts[name] = near_half(cooled(raw[name], heats[name])[:, 1], *gold_of(posts, name))
    cuts["offensive"] = best_cut(posts, cooled(raw["offensive"], heats["offensive"])[:, 1], language)
    return replace(manifest, temperatures=heats, thresholds=cuts)


def cooled(chances: np.ndarray, heat: float) -> np.ndarray:
    """Return probabilities at a temperature."""
    logs = np.log(np.clip(chances, 1e-9, 1)) / heat
    odds = np.exp(logs - logs.max(1, keepdims=True))
    found: np.ndarray = odds / odds.sum(1, keepdims=True)
    return found


def figures(manifest: folders.Manifest, posts: list[Post], blocks: dict[str, np.ndarray]) -> dict[str, dict]:
    """Return the figures that the rule asks for, with intervals."""
    found = {}
    for corpus in BOTH[manifest.languages[0]]:
        rows, gold = offence(posts, corpus)
        yes = blocks["offensive"][rows, 1]
        found[f"offensive, {corpus}, flagged"] = {
            "value": round(float((yes >= manifest.thresholds["offensive"]).mean()), 3)
        }
        pick = (yes >= manifest.thresholds["offensive"]).astype(int)
        found[f"offensive, {corpus}, macro-F1"] = interval(gold, pick, macro_f1)
        found[f"offensive, {corpus}, AUROC"] = interval(gold, yes, auroc)
        found[f"offensive, {corpus}, ECE"] = calibration_error(gold, yes)
    for name in ("hate", "sexist", "category", "vector"):
        for corpus in sorted({post.corpus for post in posts}):
            rows = np.array([i for i, it in enumerate(posts) if it.corpus == corpus and name in it.answers], dtype=int)
            if not len(rows) or name not in blocks or corpus not in (*CORPORA.get(name, (corpus,)), "gahd"):
                continue
            gold, block = np.array([posts[i].answers[name][0] for i in rows]), blocks[name][rows]
            cut = manifest.thresholds.get(name)
            pick = block.argmax(1) if cut is None else (block[:, 1] >= cut).astype(int)
            found[f"{name}, {corpus}, macro-F1"] = interval(gold, pick, macro_f1)
    return found


def calibration_error(gold: np.ndarray, yes: np.ndarray) -> dict[str, float]:
    """Return how far the chance of yes is from the share of yeses, over ten bins."""
    bins = np.minimum((yes * 10).astype(int), 9)
    gaps = [abs(gold[bins == at].sum() - yes[bins == at].sum()) for at in range(10)]
    return {"value": round(float(sum(gaps) / len(gold)), 4)}


def moved(before: np.ndarray, after: np.ndarray) -> dict[str, float]:
    """Return, for some old scores, the new one that as many posts lie above."""
    return {f"{old:.1f}": round(float(np.quantile(after, (before < old).mean())), 2) for old in np.arange(1, 10) / 10}


def build(args: argparse.Namespace, posts: list[Post]) -> None:
    """Write the folder."""
    before = folders.read(args.of)
    shutil.copytree(args.of, args.out, dirs_exist_ok=True)
    for name in (FIRST, REST, FILE):
        (args.out / name).unlink(missing_ok=True)
    write_graph(args.graph, args.out / "model.onnx")
    settings = {name: it for name, it in before.settings.items() if name not in ("screen", "exit")}
    apart = {name: it for name, it in settings.items() if name != "joint"}
    bare = OnnxScorer(args.out, replace(before, settings=apart, temperatures={}))
    raw = bare.score(pl.DataFrame({"text": [post.text for post in posts]})).probabilities
    settings |= write_cascade(args.out, args.of, args.cascade) if args.cascade else {}
    folders.write(args.out, calibrated(replace(before, settings=settings), posts, raw))


def main() -> None:
    """Write the folder and print its dev figures beside those of the folder before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--of", "--data", "--cache", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--graph", type=Path, action="append")
    parser.add_argument("--cascade", type=Path)
    args = parser.parse_args()
    posts = dev_posts(args.data, folders.read(args.of).languages[0])
    if args.graph:
        build(args, posts)
    found, yes = {}, {}
    for title, folder in (("before", args.of), ("after", args.out)):
        manifest = folders.read(folder)
        numbers = {"temperatures": manifest.temperatures, "thresholds": manifest.thresholds}
        found[title] = {"version": manifest.version, **numbers}
        for reading, blocks in readings(folder, [post.text for post in posts], args.cache).items():
            found[f"{title}, {reading}"] = figures(manifest, posts, blocks)
            yes[f"{title}, {reading}"] = blocks["offensive"][:, 1]
    corpus = BOTH[manifest.languages[0]][0]
    rows = offence(posts, corpus)[0]
    found["scores moved"] = {"corpus": corpus, **moved(*(yes[f"{it}, decoded"][rows] for it in ("before", "after")))}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
