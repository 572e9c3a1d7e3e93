# ruff: noqa: E501 — the SVG of the picture is written as it is
"""Measure what docs/detectors/limits.md says: contradictions, long texts, doubt and calibration of the English detectors.

    python scripts/measure_limits.py --data DIR --cache DIR --out docs/detectors/limits.json --pictures docs/pictures

`--data` is the folder of public corpora (docs/data/corpora.md), of which only development posts are read. What the
heads say before they are decoded together is kept in `--cache`, since the large detector reads tens of posts a second.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parent / "build_embedded"))

from corpora import Post, labelled

from davy.models import folder as folders
from davy.models.embedded import weights_folder
from davy.models.joint_answers import THREAT, JointAnswers
from davy.models.load import open_folder

NAMES = ("embedded-en", "embedded-en-large")
CORPORA = {"dynahate": "R1–4 dev", "edos": "EDOS dev", "hatemojibuild": "R5–7 dev"}
LENGTHS = (2_000, 5_000, 10_000, 20_000)
PLACES = {"start": 0.0, "quarter": 0.25, "middle": 0.5, "three quarters": 0.75, "end": 1.0}
BAND = (1 / 3, 2 / 3)


@dataclass
class Answers:
    """What a detector says about development posts: its labels, by its thresholds."""

    manifest: folders.Manifest
    blocks: dict[str, np.ndarray]

    def yes(self, name: str) -> np.ndarray:
        return self.blocks[name][:, 1] >= self.manifest.thresholds[name]

    def label(self, name: str) -> np.ndarray:
        names = next(it for it in self.manifest.questions if it.name == name).label_names
        return np.array(names)[self.blocks[name].argmax(axis=1)]

    def targets(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which posts name women, which name others, and how many are named."""
        names = next(it for it in self.manifest.questions if it.name == "target").label_names
        women = np.array(["women" in name.split() for name in names])
        named = self.blocks["target"] >= self.manifest.thresholds["target"]
        return named[:, women].any(1), named[:, ~women].any(1), named.sum(1)


def contradictions(said: Answers) -> dict[str, np.ndarray]:
    """Return for each kind of contradiction the posts that have it."""
    hate, sexist, (women, others, _) = said.yes("hate"), said.yes("sexist"), said.targets()
    threats = [said.label(name) == label for name, label in THREAT.items()]
    return {
        "hateful, not offensive": hate & ~said.yes("offensive"),
        "sexist, about others only": hate & sexist & others & ~women,
        "about women, not sexist": hate & women & ~sexist,
        "a threat in one taxonomy only": hate & sexist & (threats[0] != threats[1]),
    }


def macro_f1(gold: np.ndarray, said: np.ndarray) -> float:
    found = []
    for label in np.unique(gold):
        hit = ((gold == label) & (said == label)).sum()
        found.append(2 * hit / max(1, (gold == label).sum() + (said == label).sum()))
    return float(np.mean(found))


def with_interval(gold: np.ndarray, said: np.ndarray) -> list[float]:
    """Return macro-F1 with the middle 95 % of 500 bootstrap samples."""
    rng = np.random.default_rng(7)
    draws = [macro_f1(gold[rows], said[rows]) for rows in (rng.integers(0, len(gold), len(gold)) for _ in range(500))]
    return [round(float(it), 4) for it in (macro_f1(gold, said), *np.percentile(draws, [2.5, 97.5]))]


def figures(said: Answers, posts: list[Post]) -> dict[str, list[float]]:
    """Return macro-F1 of each question on the development posts that have its answer."""
    corpus = np.array([post.corpus for post in posts])
    found = {}
    asked = [("hate R1–4", "hate", "dynahate"), ("hate R5–7", "hate", "hatemojibuild"), ("EDOS A", "sexist", "edos")]
    asked += [("EDOS B", "category", "edos"), ("type R5–7", "type", "hatemojibuild")]
    for title, name, where in asked:
        gold = np.array([post.answers.get(name, [-1])[0] for post in posts])
        rows = (corpus == where) & (gold >= 0)
        picked = said.yes(name).astype(int) if name in ("hate", "sexist") else said.blocks[name].argmax(axis=1)
        found[title] = with_interval(gold[rows], picked[rows])
    return found


def calibration(said: Answers, posts: list[Post]) -> dict[str, dict[str, object]]:
    """Return ECE, held out, and what leaving out the unsure answers does, for each yes/no question and corpus."""
    found = {}
    for name, where in (("hate", "dynahate"), ("hate", "hatemojibuild"), ("sexist", "edos")):
        rows = [i for i, post in enumerate(posts) if post.corpus == where]
        gold = np.array([posts[i].answers[name][0] for i in rows])
        chance = said.blocks[name][rows, 1].astype(np.float64)
        unsure = (chance >= BAND[0]) & (chance <= BAND[1])
        wrong = (chance >= said.manifest.thresholds[name]) != (gold == 1)
        doubt = np.minimum(chance, 1 - chance)
        order = np.argsort(doubt, kind="stable")
        risk = np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
        coverages = [round(share, 2) for share in np.arange(0.1, 1.01, 0.05)]
        found[f"{name}, {CORPORA[where]}"] = {
            "n": len(rows), "ECE": round(held_out_error(chance, gold), 4), "unsure": round(float(unsure.mean()), 4),
            "wrong of all": round(float(wrong.mean()), 4), "wrong of sure": round(float(wrong[~unsure].mean()), 4),
            "wrong of unsure": round(float(wrong[unsure].mean()), 4),
            "risk by coverage": {str(c): round(float(risk[max(0, int(c * len(risk)) - 1)]), 4) for c in coverages},
        }  # fmt: skip
    return found


def held_out_error(chance: np.ndarray, gold: np.ndarray) -> float:
    """Return the ECE over ten bins, each half of the posts by a temperature that fits the other half best."""
    odds = np.log(chance.clip(1e-7, 1) / (1 - chance).clip(1e-7, 1))
    half = np.random.default_rng(3).permutation(len(gold)) % 2
    warm = np.zeros(len(gold))
    for k in (0, 1):
        rows = half != k
        losses = {
            t: -np.log(np.where(gold[rows] == 1, s := 1 / (1 + np.exp(-odds[rows] / t)), 1 - s).clip(1e-9)).mean()
            for t in np.arange(0.5, 2.51, 0.05)
        }
        warm[half == k] = 1 / (1 + np.exp(-odds[half == k] / min(losses, key=losses.get)))
    place = np.minimum((warm * 10).astype(int), 9)
    return sum(abs(warm[place == b].sum() - gold[place == b].sum()) for b in range(10)) / len(gold)


def long_texts(posts: list[Post], data: Path) -> dict[str, dict[str, object]]:
    """Return how often a hateful post is found within a long harmless text, by length and place; and false alarms."""
    from corpora import unlabelled

    rng = np.random.default_rng(11)
    scorer = open_folder(weights_folder("embedded-en"))
    hateful = [
        post.text
        for post in posts
        if post.corpus == "dynahate" and post.answers["hate"] == [1] and len(post.text) < 200
    ]
    asked = [hateful[i] for i in rng.choice(len(hateful), 12, replace=False)]
    lines = [post.text for post in unlabelled(data)[-40_000:] if 60 < len(post.text) < 400]
    alone = scorer.score(pl.DataFrame({"text": asked})).columns()["hate.label"]
    found: dict[str, dict[str, object]] = {"the posts alone": {"found": alone.count("hateful"), "of": len(asked)}}
    for length in LENGTHS:
        fillers = []
        for _ in asked:
            filler: list[str] = []
            while sum(map(len, filler)) < length:
                filler.append(lines[int(rng.integers(len(lines)))])
            fillers.append(filler)
        plain = scorer.score(pl.DataFrame({"text": [" ".join(it) for it in fillers]})).columns()["hate.label"]
        row: dict[str, object] = {"harmless texts flagged": plain.count("hateful"), "of": len(asked)}
        for place, share in PLACES.items():
            texts = []
            for text, filler in zip(asked, fillers, strict=True):
                at = round(share * len(filler))
                texts.append(" ".join([*filler[:at], text, *filler[at:]]))
            row[place] = scorer.score(pl.DataFrame({"text": texts})).columns()["hate.label"].count("hateful")
        found[str(length)] = row
        print(length, row, flush=True)
    return found


def draw(path: Path, title: str, lines: dict[str, dict[str, float]], x: str, y: str) -> None:
    """Write lines as an SVG picture that needs no script and is read in light and dark."""
    most = max(max(it.values()) for it in lines.values()) * 1.1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 380" font-family="sans-serif" font-size="14"><rect width="720" height="380" fill="#fff"/><text x="60" y="26" font-size="17">{title}</text>'
    ]
    for step in range(6):
        value = most * step / 5
        at = 330 - 270 * step / 5
        parts.append(
            f'<line x1="60" x2="520" y1="{at}" y2="{at}" stroke="#ddd"/><text x="52" y="{at + 5}" text-anchor="end">{value:.2f}</text>'
        )
        parts.append(f'<text x="{60 + 92 * step}" y="350" text-anchor="middle">{step / 5:.1f}</text>')
    colours = ("#b45309", "#1d4ed8", "#047857", "#7c3aed", "#be123c", "#334155")
    for (name, points), colour, row in zip(lines.items(), colours, range(9), strict=False):
        path_of = " ".join(f"{60 + 460 * float(a):.1f},{330 - 270 * b / most:.1f}" for a, b in points.items())
        parts.append(
            f'<polyline points="{path_of}" fill="none" stroke="{colour}" stroke-width="2.5"/><text x="530" y="{80 + 24 * row}" fill="{colour}" font-size="12">{name}</text>'
        )
    parts.append(
        f'<text x="290" y="374" text-anchor="middle">{x}</text><text x="16" y="200" transform="rotate(-90 16 200)" text-anchor="middle">{y}</text></svg>'
    )
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def raw_answers(name: str, posts: list[Post], cache: Path) -> Answers:
    """Return what the heads say before they are decoded together, from the cache where it is there."""
    folder = weights_folder(name)
    path = cache / f"dev-{name}.npz"
    if not path.is_file():
        scorer = open_folder(folder)
        scorer._joint = None
        np.savez(path, **scorer.score(pl.DataFrame({"text": [post.text for post in posts]})).probabilities)
    return Answers(folders.read(folder), dict(np.load(path)))


def main() -> None:
    """Measure, write the record and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--cache", "--out", "--pictures"):
        parser.add_argument(option, type=Path, required=True)
    args = parser.parse_args()
    posts = [post for post in labelled(args.data) if post.part == "dev" and post.corpus in CORPORA]
    corpus = np.array([post.corpus for post in posts])
    record: dict[str, object] = {}
    curves = {}
    for name in NAMES:
        before = raw_answers(name, posts, args.cache)
        joint = JointAnswers.of(weights_folder(name), before.manifest)
        texts = [post.text for post in posts]
        after = Answers(before.manifest, joint.decode(texts, before.blocks, np.ones(len(posts), dtype=bool)))
        rates = {}
        for where, title in CORPORA.items():
            rows = corpus == where
            kinds = {
                k: [int(m[rows].sum()) for m in (a, b)]
                for (k, a), b in zip(contradictions(before).items(), contradictions(after).values(), strict=True)
            }
            some = [int(np.any(list(contradictions(it).values()), axis=0)[rows].sum()) for it in (before, after)]
            rates[title] = {"n": int(rows.sum()), "posts with any": some, **kinds}
        doubts = calibration(after, posts)
        record[name] = {
            "version": before.manifest.version, "contradictions before, after": rates,
            "macro-F1 before": figures(before, posts), "macro-F1 after": figures(after, posts), "doubt": doubts,
        }  # fmt: skip
        curves |= {f"{name}: {key}": it["risk by coverage"] for key, it in doubts.items()}
    draw(
        args.pictures / "risk-coverage.svg",
        "Wrong answers among the surest posts",
        curves,
        "share of posts answered",
        "share wrong",
    )
    args.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    record["long texts"] = long_texts(posts, args.data)
    args.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
