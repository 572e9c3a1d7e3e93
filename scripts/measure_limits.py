"""Measure what docs/detectors/limits.md says: contradictions, long texts, doubt and calibration of the detectors.

    python scripts/measure_limits.py --data DIR --cache DIR

`--data` is the folder of public corpora (docs/data/corpora.md), of which only development posts are read, in German all
that the detector learnt from: whether its answers fit together needs no labels. What the heads say before they are
decoded together is kept in `--cache`, since the large detector reads tens of posts a second. Writes
docs/detectors/limits.json, the page's tables and the pictures. A detector is measured again only where it has another
version, or with `--again`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from detector_scores import markdown, score_texts, scorer_of, shown, write_block, write_plot

sys.path.insert(0, str(Path(__file__).parent / "build_embedded"))

from corpora import Post, labelled
from german import gahd, germeval, gmhp7k

from davy.core import Metric
from davy.detectors import folder as folders
from davy.detectors.embedded import weights_folder
from davy.detectors.joint_answers import ABOUT_WOMEN, THREAT, JointAnswers
from davy.detectors.load import open_folder
from davy.measure.calibration import calibration_error, fit_temperature, probabilities, risk_by_coverage
from davy.measure.clusters import cluster_numbers
from davy.measure.intervals import proportion
from davy.report.plots import Plot, bars, heat
from davy.testing import suites

NAMES = ("embedded-en", "embedded-en-large")
GERMAN = "embedded-de"
GERMAN_CORPORA = {"gmhp7k": "GMHP7k", "gahd": "GAHD", "germeval": "GermEval 2018"}
CORPORA = {"dynahate": "R1–4 dev", "edos": "EDOS dev", "hatemojibuild": "R5–7 dev"}
DOUBTS = (
    *(("hate", "dynahate"), ("hate", "hatemojibuild"), ("type", "hatemojibuild")),
    *(("sexist", "edos"), ("category", "edos"), ("vector", "edos")),
)
LENGTHS = (2_000, 5_000, 10_000, 20_000)
PLACES = {"start": 0.0, "quarter": 0.25, "middle": 0.5, "three quarters": 0.75, "end": 1.0}
BAND = (1 / 3, 2 / 3)
MOST = {"embedded-en-large": 1000}
"""So many posts of a corpus the large detector reads for calibration and doubt, a fixed sample."""


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
    """Return for each kind of contradiction the posts that have it; misogyny counts as sexism in German."""
    about = next(name for name in ABOUT_WOMEN if name in said.blocks)
    hate, sexist, (women, others, _) = said.yes("hate"), said.yes(about), said.targets()
    found = {
        "hateful, not offensive": hate & ~said.yes("offensive"),
        "sexist, about others only": hate & sexist & others & ~women,
        "about women, not sexist": hate & women & ~sexist,
    }
    if set(THREAT) <= set(said.blocks):
        threats = [said.label(name) == label for name, label in THREAT.items()]
        found["a threat in one taxonomy only"] = hate & sexist & (threats[0] != threats[1])
    return found


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
    asked += [("EDOS B", "category", "edos"), ("EDOS C", "vector", "edos"), ("type R5–7", "type", "hatemojibuild")]
    for title, name, where in asked:
        gold = np.array([post.answers.get(name, [-1])[0] for post in posts])
        rows = (corpus == where) & (gold >= 0)
        picked = said.yes(name).astype(int) if name in ("hate", "sexist") else said.blocks[name].argmax(axis=1)
        found[title] = with_interval(gold[rows], picked[rows])
    return found


def doubt_of(confidence: np.ndarray, right: np.ndarray, held_out: Metric) -> dict[str, object]:
    """Return ECE, what leaving out the unsure answers does, and the risk at each coverage."""
    unsure = confidence <= BAND[1]
    coverage, risk = risk_by_coverage(confidence, right)
    points = np.arange(0.05, 1.001, 0.05)
    curve = {f"{point:.2f}": round(float(risk[np.searchsorted(coverage, point - 1e-9)]), 4) for point in points}
    return {
        "n": len(right), "ECE": held_out.to_dict(4), "unsure": round(float(unsure.mean()), 4),
        "wrong of all": round(float(1 - right.mean()), 4), "wrong of sure": round(float(1 - right[~unsure].mean()), 4),
        "wrong of unsure": round(float(1 - right[unsure].mean()), 4) if unsure.any() else None,
        "risk by coverage": curve,
    }  # fmt: skip


def calibration(said: Answers, posts: list[Post]) -> dict[str, dict[str, object]]:
    """Return calibration and doubt for each question and corpus that has its answers."""
    found = {}
    for name, where in DOUBTS:
        rows = np.array([i for i, post in enumerate(posts) if post.corpus == where and name in post.answers])
        gold = np.array([posts[i].answers[name][0] for i in rows])
        block = said.blocks[name][rows].astype(np.float64)
        parts = np.random.default_rng(3).permutation(len(rows)) % 2
        is_yes = block[:, 1] >= said.manifest.thresholds.get(name, 0.5)
        right = (is_yes == (gold == 1)) if block.shape[1] == 2 else block.argmax(1) == gold
        found[f"{name}, {CORPORA[where]}"] = doubt_of(block.max(1), right, held_out_error(block, gold, parts))
    return found


def held_out_error(block: np.ndarray, gold: np.ndarray, parts: np.ndarray) -> Metric:
    """Return the ECE over ten bins, each half of the items by a temperature that fits the other half best.

    Of the probability of yes where there are two labels, of the likeliest label's where there are more.
    """
    logs = np.log(block.clip(1e-7))
    warm = np.zeros_like(block)
    for k in (0, 1):
        warm[parts == k] = probabilities(logs[parts == k], fit_temperature(logs[parts != k], gold[parts != k]))
    if block.shape[1] == 2:
        return calibration_error(warm[:, 1], gold)[0]
    return calibration_error(warm.max(1), warm.argmax(1) == gold)[0]


def german_doubt(cache: Path) -> dict[str, dict[str, object]]:
    """Return calibration and doubt of the German answers on our suites: no German posts here were not learnt from."""
    found = {}
    for name in ("emoji-de", "identities-de"):
        suite = suites.load(name)
        scores = score_texts(GERMAN, [case.text for case in suite.cases], cache)
        gold = np.array([case.expected == suite.labels[0] for case in suite.cases])
        right = scores.flagged["hate"] == gold
        block = scores.probabilities["hate"].astype(np.float64)
        parts = cluster_numbers([case.template for case in suite.cases]) % 2
        # Where every right answer is no, no temperature is best, and the probabilities stand as they are.
        error = calibration_error(block[:, 1], gold)[0] if gold.all() or not gold.any() else None
        found[f"hate, {name}"] = doubt_of(block.max(1), right, error or held_out_error(block, gold.astype(int), parts))
    return found


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


def draw_doubt(record: dict[str, Any], pictures: Path) -> None:
    """Draw risk by coverage, a small picture a question, a line a detector; and ECE with its intervals."""
    rows, errors = [], []
    for name, found in record.items():
        for question, doubt in found.get("doubt", {}).items():
            rows += [
                {"detector": name, "question": question, "answered": float(share), "wrong": risk}
                for share, risk in doubt["risk by coverage"].items()
            ]
            ece = Metric.from_dict(doubt["ECE"])
            errors.append(Metric(f"{name}: {question}", ece.value, ece.n, ece.low, ece.high, note=ece.note))
    names = [name for name in record if "doubt" in record[name]]
    order = list(dict.fromkeys(row["question"] for row in rows))
    legend = alt.Legend(title=None, orient="top", symbolType="stroke", symbolSize=300, symbolStrokeWidth=2.5)
    data: Any = alt.Data
    chart = alt.Chart(data(values=rows)).mark_line(strokeWidth=2.5).encode(
        x=alt.X("answered:Q", title="share of posts answered", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("wrong:Q", title="share wrong"),
        color=alt.Color("detector:N", scale=alt.Scale(domain=names, range=["$series"]), legend=legend),
        strokeDash=alt.StrokeDash("detector:N", scale=alt.Scale(domain=names, range=["$dashes"]), legend=legend),
    ).properties(width=230, height=170).facet(
        facet=alt.Facet("question:N", sort=order, title=None, header=alt.Header(labelAnchor="start")), columns=3
    )  # fmt: skip
    title = "Wrong answers among the surest posts, by how many are answered"
    write_plot(Plot(chart.to_dict(validate=False), title), pictures, "risk-coverage")
    title = "Calibration error (ECE), held out"
    write_plot(bars(errors, title=title, x="mean gap between probability and share", scale=(0, 0.3)), pictures, "ece")


def draw_contradictions(record: dict[str, Any], pictures: Path) -> None:
    """Draw the share of posts whose answers contradict each other, before and after they are decoded together."""
    shares = []
    for name in (*NAMES, GERMAN):
        for where, found in record[name]["contradictions before, after"].items():
            for when, count in zip(("before", "after"), found["posts with any"], strict=True):
                shares.append(proportion(f"{name}, {where}: {when}", count, found["n"]))
    plot = bars(shares, title="Posts whose answers contradict each other", x="share of posts", scale=(0, 0.25))
    write_plot(plot, pictures, "contradictions")


def draw_long_texts(record: dict[str, Any], pictures: Path) -> None:
    """Draw how many of twelve long texts are called hateful, by length and by where the hateful post stands."""
    titles = {"harmless texts flagged": "without the post", **{place: f"at the {place}" for place in PLACES}}
    titles |= {"quarter": "a quarter in", "middle": "in the middle", "three quarters": "three quarters in"}
    cells = [
        (f"{int(length):,} characters", title, float(row[key]))
        for length, row in record["long texts"].items()
        if length.isdigit()
        for key, title in titles.items()
    ]
    title = "Long texts called hateful, of twelve, by where the hateful post stands"
    write_plot(heat(cells, title=title, digits=0, domain=(0, 12)), pictures, "long-texts")


def write_doubt(record: dict[str, Any], page: Path) -> None:
    """Write the page's table of calibration and doubt."""
    rows = []
    for name, found in record.items():
        for question, doubt in found.get("doubt", {}).items():
            wrong = (doubt[f"wrong of {it}"] for it in ("all", "sure", "unsure"))
            shares = ("–" if it is None else f"{it:.3f}" for it in (doubt["unsure"], *wrong))
            rows.append((name, question, f"{doubt['n']:,}", shown(Metric.from_dict(doubt["ECE"])), *shares))
    header = ("detector", "question", "n", "ECE", "unsure", "wrong: all", "sure ones", "unsure ones")
    write_block(page, "doubt", markdown(header, rows))


def write_joint(record: dict[str, Any], page: Path) -> None:
    """Write the page's tables of contradictions and of macro-F1, before and after answers are decoded together."""
    kinds = ("posts with any", "hateful, not offensive", "sexist, about others only", "about women, not sexist",
             "a threat in one taxonomy only")  # fmt: skip
    rows, effects = [], []
    for name in (*NAMES, GERMAN):
        for where, found in record[name]["contradictions before, after"].items():
            counts = [" → ".join(map(str, found[kind])) if kind in found else "–" for kind in kinds]
            rows.append((name, where, f"{found['n']:,}", *counts))
        for question, before in record[name].get("macro-F1 before", {}).items():
            after = record[name]["macro-F1 after"][question]
            cells = (f"{value:.3f} [{low:.3f}, {high:.3f}]" for value, low, high in (before, after))
            effects.append((name, question, *cells))
    write_block(page, "contradictions", markdown(("detector", "on", "n", "any", *kinds[1:]), rows))
    write_block(page, "joint", markdown(("detector", "question", "before", "after"), effects))


def raw_answers(name: str, posts: list[Post], cache: Path) -> Answers:
    """Return what the heads say before they are decoded together, from the cache where it is there."""
    folder = weights_folder(name)
    path = cache / f"dev-{name}-{folders.read(folder).version}.npz"
    if not path.is_file():
        scorer = open_folder(folder)
        scorer._joint = None
        np.savez(path, **scorer.score(pl.DataFrame({"text": [post.text for post in posts]})).probabilities)
    return Answers(folders.read(folder), dict(np.load(path)))


def sampled(posts: list[Post], most: int | None) -> list[Post]:
    """Return at most so many posts of each corpus that has more than twice as many; the same ones each time."""
    found = []
    for corpus in CORPORA:
        rows = [post for post in posts if post.corpus == corpus]
        if most is not None and len(rows) > 2 * most:
            rows = [rows[i] for i in sorted(np.random.default_rng(1).permutation(len(rows))[:most])]
        found += rows
    return found


def decoded_answers(name: str, posts: list[Post], cache: Path) -> Answers:
    """Return what a detector says, as people get it, corpus by corpus in the posts' order."""
    blocks: dict[str, np.ndarray] = {}
    for corpus in CORPORA:
        rows = [i for i, post in enumerate(posts) if post.corpus == corpus]
        scores = score_texts(name, [posts[i].text for i in rows], cache)
        for question, block in scores.probabilities.items():
            blocks.setdefault(question, np.zeros((len(posts), block.shape[1]), dtype=block.dtype))[rows] = block
    return Answers(folders.read(weights_folder(name)), blocks)


def joint_effect(
    name: str, posts: list[Post], cache: Path, corpora: Mapping[str, str] = CORPORA
) -> tuple[dict[str, Any], Answers, Answers]:
    """Return contradictions before and after the heads are decoded together, and what they say then and then."""
    before = raw_answers(name, posts, cache)
    joint = JointAnswers.of(weights_folder(name), before.manifest)
    texts = [post.text for post in posts]
    after = Answers(before.manifest, joint.decode(texts, before.blocks, np.ones(len(posts), dtype=bool)))
    corpus = np.array([post.corpus for post in posts])
    rates = {}
    for where, title in corpora.items():
        rows = corpus == where
        kinds = {
            k: [int(m[rows].sum()) for m in (a, b)]
            for (k, a), b in zip(contradictions(before).items(), contradictions(after).values(), strict=True)
        }
        some = [int(np.any(list(contradictions(it).values()), axis=0)[rows].sum()) for it in (before, after)]
        rates[title] = {"n": int(rows.sum()), "posts with any": some, **kinds}
    return {"contradictions before, after": rates}, before, after


def english_effect(name: str, posts: list[Post], cache: Path) -> dict[str, Any]:
    """Return contradictions and macro-F1 before and after the heads are decoded together."""
    found, before, after = joint_effect(name, posts, cache)
    return found | {"macro-F1 before": figures(before, posts), "macro-F1 after": figures(after, posts)}


def german_record(data: Path, cache: Path) -> dict[str, Any]:
    """Return contradictions, calibration and doubt of the German detector; it learnt from the posts, so no macro-F1."""
    posts = [post for read in (gmhp7k, gahd, germeval) for post in read(data)]
    return joint_effect(GERMAN, posts, cache, GERMAN_CORPORA)[0] | {"doubt": german_doubt(cache)}


def main() -> None:
    """Measure, write the record, the page's table and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--cache"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--docs", type=Path, default=Path(__file__).parents[1] / "docs")
    parser.add_argument("--again", action="store_true", help="measure versions that are on record, too")
    args = parser.parse_args()
    pictures, page, out = args.docs / "pictures", args.docs / "detectors/limits.md", args.docs / "detectors/limits.json"
    known = json.loads(out.read_text("utf-8")) if out.is_file() and not args.again else {}
    posts = [post for post in labelled(args.data) if post.part == "dev" and post.corpus in CORPORA]
    record: dict[str, Any] = {}
    for name in NAMES:
        version = scorer_of(name).version
        if known.get(name, {}).get("version") == version:
            record[name] = known[name]
            continue
        some = sampled(posts, MOST.get(name))
        doubts = calibration(decoded_answers(name, some, args.cache), some)
        record[name] = {"version": version, **english_effect(name, posts, args.cache), "doubt": doubts}
    version, german = scorer_of(GERMAN).version, known.get(GERMAN, {})
    is_known = german.get("version") == version
    record[GERMAN] = german if is_known else {"version": version, **german_record(args.data, args.cache)}
    same = known.get("embedded-en", {}).get("version") == record["embedded-en"]["version"]
    draw_doubt(record, pictures)
    write_doubt(record, page)
    write_joint(record, page)
    draw_contradictions(record, pictures)
    record["long texts"] = known["long texts"] if same else long_texts(posts, args.data)
    draw_long_texts(record, pictures)
    out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
