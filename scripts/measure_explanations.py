"""Measure what docs/detectors/explanations.md says: are the words of `davy score --explain` the detector's reasons?

    python scripts/measure_explanations.py --data DIR
    python scripts/measure_explanations.py --marks corpus.csv    # against words that people marked; prints a table

Posts of EDOS's dev and GMHP7k's val, as many that are flagged as not; the weights of `davy score --explain` beside
random ones and, for English, gradient × input in torch. Writes docs/detectors/explanations.json, the page's tables and
the picture. A few minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from detector_scores import markdown, scorer_of, shown, write_block, write_plot

from davy.core import Metric
from davy.core.answers import NONE, split_cell
from davy.core.spans import parse_spans
from davy.files import tables
from davy.measure.rationales import (
    Faithfulness,
    WeighedText,
    faithfulness,
    marked_share,
    mean_faithfulness,
    plausibility,
)
from davy.report.plots import bars
from davy.scoring.explain import Explanation, explain, word_weights
from davy.text.words import find_words, marked_words

DOCS = Path(__file__).parents[1] / "docs"
SHORTEST, LONGEST = 6, 60
"""Posts with so many words: shorter ones have no shares to take out, longer ones are explained words at a time."""


@dataclass
class Sample:
    """Posts of one corpus for one detector: some that it flags, some that it does not."""

    title: str
    detector: str
    question: str
    flagged: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def draw_posts(sample: Sample, texts: list[str], count: int) -> Sample:
    """Return the sample filled by chance: `count` posts that the detector flags and as many that it does not."""
    rng = np.random.default_rng(5)
    kept = [text for text in texts if SHORTEST <= len(text.split()) <= LONGEST]
    scorer = scorer_of(sample.detector)
    for place in rng.permutation(len(kept)):
        if min(len(sample.flagged), len(sample.others)) >= count:
            break
        text = kept[place]
        answer = scorer.score(pl.DataFrame({"text": [text]})).columns()[f"{sample.question}.label"][0]
        yes = next(q for q in scorer.questions if q.name == sample.question).positive
        side = sample.flagged if answer == yes else sample.others
        if len(side) < count:
            side.append(text)
    return sample


def versions_scorer(sample: Sample, found: Explanation) -> Callable[[list[list[int]]], list[float]]:
    """Return a function that gives the label's probability for a text of which only some units are left."""
    scorer = scorer_of(sample.detector)
    question = next(q for q in scorer.questions if q.name == sample.question)
    column = question.label_names.index(found.label)

    def score(versions: list[list[int]]) -> list[float]:
        texts = []
        for kept in versions:
            left, at = [], 0
            for i, unit in enumerate(found.weights):
                left.append(found.text[at : unit.start])
                left.append(found.text[unit.start : unit.end] if i in set(kept) else " ")
                at = unit.end
            texts.append("".join(left) + found.text[at:])
        return scorer.score(pl.DataFrame({"text": texts})).probabilities[sample.question][:, column].tolist()

    return score


class GradientInput:
    """Gradient × input of `embedded-en`: each word's vectors times the gradient of the label's logit there."""

    def __init__(self, detector: str) -> None:
        from onnx_in_torch import TorchGraph

        self.scorer: Any = scorer_of(detector)
        self.graph = TorchGraph(self.scorer.folder / "model.onnx")

    def weigh(self, found: Explanation) -> list[float] | None:
        """Return a weight a unit: its pieces' together; None where the text is longer than the detector reads."""
        (ids,) = self.scorer._encoded([found.text])
        encoding = self.scorer._pieces._tokenizer.encode(found.text)
        if list(ids) != encoding.ids or len(ids) > 128:
            return None
        question = next(q for q in self.scorer.questions if q.name == found.question)
        array = np.array([ids], dtype=np.int64)
        logits, vectors = self.graph.run(array, np.ones_like(array), found.question)
        chosen = question.label_names.index(found.label)
        (logits[0, chosen] - logits[0].sum() + logits[0, chosen]).backward()
        by_piece = (vectors.grad * vectors.detach()).sum(-1)[1:-1, 0].tolist()
        places = list(zip(encoding.offsets[1:-1], by_piece, strict=True))
        return [
            float(sum(weight for (start, end), weight in places if start < unit.end and unit.start < end))
            for unit in found.weights
        ]

    def logit_gap(self, texts: list[str]) -> float:
        """Return the mean difference between the torch function's probability of hate and the shipped network's."""
        gaps = []
        for text in texts:
            (ids,) = self.scorer._encoded([text])
            array = np.array([ids[:128]], dtype=np.int64)
            ours = self.graph.run(array, np.ones_like(array), "hate")[0].softmax(-1)[0, 1].item()
            (shipped,) = self.scorer._run(array, np.ones_like(array))[:1]
            gaps.append(abs(ours - float(np.exp(shipped[0, 1]) / np.exp(shipped[0]).sum())))
        return float(np.mean(gaps))


def measure(sample: Sample) -> dict[str, Any]:
    """Return the faithfulness of each way of weighing words, for flagged posts and others, and how long it takes."""
    gradient = GradientInput(sample.detector) if sample.detector == "embedded-en" else None
    rng = np.random.default_rng(9)
    parts: dict[str, Any] = {}
    times: dict[str, list[float]] = {"davy score --explain": [], "gradient × input": []}
    left_out = 0
    for side, texts in (("flagged", sample.flagged), ("not flagged", sample.others)):
        found: dict[str, list[Faithfulness]] = {}
        for text in texts:
            start = time.process_time()
            told = explain(text, scorer_of(sample.detector), question=sample.question)
            times["davy score --explain"].append(time.process_time() - start)
            ways = {"davy score --explain": [unit.weight for unit in told.weights]}
            if gradient is not None:
                start = time.process_time()
                weights = gradient.weigh(told)
                times["gradient × input"].append(time.process_time() - start)
                if weights is None:
                    left_out += 1
                    continue
                ways["gradient × input"] = weights
            ways["random"] = rng.random(len(told.weights)).tolist()
            score = versions_scorer(sample, told)
            for way, weights in ways.items():
                found.setdefault(way, []).append(faithfulness(weights, told.base, score))
        parts[side] = {way: mean_faithfulness(every) for way, every in found.items()}
    record: dict[str, Any] = {"detector": sample.detector, "question": sample.question, "posts": parts}
    record["CPU ms a post, median"] = {way: 1000 * statistics.median(it) for way, it in times.items() if it}
    record["left out, too long"] = left_out
    if gradient is not None:
        record["torch against shipped, mean gap"] = gradient.logit_gap(sample.flagged)
    return record


def measure_marks(file: Path, detector: str, question: str) -> dict[str, list[Metric]]:
    """Return how well each way of weighing words finds those that people marked (column `rationale.gold`)."""
    posts = pl.concat(list(tables.batches(str(file)))).filter(pl.col("rationale.gold").is_not_null())
    gradient, rng = GradientInput(detector) if detector == "embedded-en" else None, np.random.default_rng(9)
    found: dict[str, list[WeighedText]] = {}
    for text, cell in posts.select("text", "rationale.gold").iter_rows():
        marked = frozenset(marked_words(text, parse_spans(() if cell == NONE else split_cell(cell))))
        told = explain(text, scorer_of(detector), question=question)
        asked = next(q for q in scorer_of(detector).questions if q.name == question)
        ways = {"davy score --explain": told}
        if gradient is not None and (weights := gradient.weigh(told)) is not None:
            units = zip(told.weights, weights, strict=True)
            ways["gradient × input"] = replace(told, weights=tuple(replace(u, weight=w) for u, w in units))
        for way, words in ways.items():
            weighed = WeighedText(tuple(word_weights(words, against=told.label == asked.no)), marked)
            found.setdefault(way, []).append(weighed)
        found.setdefault("random", []).append(WeighedText(tuple(rng.random(len(find_words(text)))), marked))
    share = marked_share([text for text in found["random"] if text.marked])
    return {way: plausibility(texts, share=share) for way, texts in found.items()}


def write_docs(record: dict[str, Any], docs: Path) -> None:
    """Write the page's tables and the picture."""
    rows, speed, figures = [], [], []
    for title, found in record.items():
        for side, ways in found["posts"].items():
            for way, (comprehensive, sufficient) in ways.items():
                rows.append((title, side, way, comprehensive.n, shown(comprehensive), shown(sufficient)))
                if side == "flagged":
                    figures += [
                        Metric(f"{short}: {way.removeprefix('davy score ')}, {title}", m.value, m.n, m.low, m.high)
                        for short, m in (("without", comprehensive), ("alone", sufficient))
                    ]
        speed += [(title, found["detector"], way, f"{ms:.1f}") for way, ms in found["CPU ms a post, median"].items()]
    page = docs / "detectors/explanations.md"
    header = ("posts", "side", "weights", "n", "comprehensiveness (high is good)", "sufficiency (low is good)")
    write_block(page, "faithfulness", markdown(header, rows))
    write_block(page, "speed", markdown(("posts", "detector", "weights", "CPU ms a post"), speed))
    figures.sort(key=lambda metric: not metric.name.startswith("without"))
    title = "Probability lost without the strongest words, and with them alone (flagged posts)"
    write_plot(bars(figures, title=title, x="probability lost", scale=None), docs / "pictures", "explanations")
    plain = json.dumps(record, indent=1, ensure_ascii=False, default=lambda metric: metric.to_dict(4))
    (docs / "detectors/explanations.json").write_text(plain + "\n", encoding="utf-8")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--marks", type=Path, help="posts with words that people marked; nothing else is measured")
    parser.add_argument("--detector", default="embedded-en", help="with --marks")
    parser.add_argument("--question", default="hate", help="with --marks")
    parser.add_argument("--count", type=int, default=100, help="posts on either side")
    parser.add_argument("--docs", type=Path, default=DOCS)
    args = parser.parse_args()
    if args.marks is not None:
        for way, metrics in measure_marks(args.marks, args.detector, args.question).items():
            print(way, *(f"{metric.name} {shown(metric)} (n = {metric.n})" for metric in metrics), sep="  ")
        return
    if args.data is None:
        parser.error("name the data: --data DIR, or --marks FILE")
    edos = pl.read_csv(args.data / "edos/edos_labelled_aggregated.csv").filter(pl.col("split") == "dev")
    gmhp = pl.read_csv(args.data / "gmhp7k/misogynistic_hatespeech_phase3.csv", infer_schema_length=None)
    german = gmhp.filter(pl.col("split_hs") == "val")["review_text"].to_list()
    record = {}
    for sample, texts in (
        (Sample("EDOS dev", "embedded-en", "sexist"), edos["text"].to_list()),
        (Sample("GMHP7k val", "embedded-de", "hate"), german),
    ):
        record[sample.title] = measure(draw_posts(sample, texts, args.count))
        print(sample.title, record[sample.title], flush=True)
    write_docs(record, args.docs)


if __name__ == "__main__":
    main()
