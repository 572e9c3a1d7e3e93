"""Measure every detector that was released, with today's code on today's posts and suites: docs/detectors/history.md.

    python scripts/measure_history.py --data DIR --cache DIR           all of them, out of the history of git
    python scripts/measure_history.py --data DIR --cache DIR --shipped the shipped ones alone, against history.json

A release that is on record keeps its figures unless `--again` is given.
With `--shipped` nothing is written: exit 1 where a figure lies below the interval that is on record. English posts are
development ones, a fixed sample of them. German posts that no release learnt from don't exist
here, so German has suites alone; what the cards said out of fold is on the page. Needs a clone with its history.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from detector_scores import LANGUAGES, markdown, score_texts, scorer_of, shown, write_block, write_plot

sys.path.insert(0, str(Path(__file__).parent / "build_embedded"))

from corpora import Post, labelled

from davy.core import Metric
from davy.core.scorer import Scorer
from davy.detectors.load import open_folder
from davy.measure.classification import metric_with_interval
from davy.report.plots import line
from davy.testing import suites
from davy.testing.metrics import cells
from davy.testing.run import AnswerCache, run_suite

ROOT = Path(__file__).parents[1]
SMALL, LARGE, GERMAN = "embedded-en", "embedded-en-large", "embedded-de"
POSTS = {"R1–4 dev": ("dynahate", "hate"), "R5–7 dev": ("hatemojibuild", "hate"), "EDOS A dev": ("edos", "sexist")}
SUITES = {
    SMALL: ("emoji-en", "sexism-en", "identities-en", "insults-en"),
    LARGE: ("emoji-en", "identities-en", "insults-en"),
    GERMAN: ("emoji-de", "identities-de", "insults-de"),
}
IN_BASE = ("d4c1c10", "0bba3a2", "233a424")
"""Releases of the large detector that lay in the base package."""
SAMPLE = 1000
"""So many posts of a corpus the small detector reads, the same ones in each release."""
CARD_ROW = re.compile(
    r"\| (?P<name>[^|]+?) \| (?P<value>[\d.]+) \| \[(?P<low>[\d.]+), (?P<high>[\d.]+)\] \| (?P<n>[\d,]+) \|"
)
ON_CARD = {
    "hate, dynahate, macro-F1": "R1–4",
    "hate, hatemojibuild, macro-F1": "R5–7",
    "sexist, macro-F1": "EDOS A",
    "category, macro-F1": "EDOS B",
    "vector, macro-F1": "EDOS C",
    "type, macro-F1": "type",
    "offensive, macro-F1": "offensive",
}
"""What the English cards call their figures on all development posts, and what the page calls them."""


@dataclass(frozen=True)
class Release:
    """A detector as it was released: the commit that brought its weights or numbers, and what changed."""

    detector: str
    commit: str
    what: str

    @property
    def folder(self) -> str:
        """Where the release lies in its commit."""
        moved = self.detector == LARGE and self.commit not in IN_BASE
        return f"packages/davy-large/src/davy_large/{LARGE}" if moved else f"src/davy/detectors/weights/{self.detector}"


RELEASES = (
    Release(SMALL, "d4c1c10", "first, one student of MiniLM"),
    Release(SMALL, "722ac6e", "the mean of two students"),
    Release(SMALL, "bbbf23f", "ranges of activations measured once"),
    Release(SMALL, "115009a", "answers decoded together, long texts in windows"),
    Release(SMALL, "34ee724", "a correction for plain sentences about people"),
    Release(SMALL, "eeeaa76", "the correction knows insults and threats against one person"),
    Release(SMALL, "7524296", "names of people alone are answered no"),
    Release(SMALL, "67deade", "learnt on with OLID, a new screen"),
    Release(GERMAN, "147e882", "convolutions that learnt German through English"),
    Release(GERMAN, "c9de2ea", "taught by a language model"),
    Release(GERMAN, "232d89f", "uint8 matrices, measured ranges"),
    Release(GERMAN, "d0856f4", "GAHD, English layers, written texts"),
    Release(GERMAN, "115009a", "a correction for plain sentences"),
    Release(GERMAN, "265655f", "plain sentences from the start, types and targets"),
    Release(GERMAN, "715726a", "threats against one person, answers decoded together, names alone are answered no"),
    Release(LARGE, "d4c1c10", "first, seven layers of mpnet"),
    Release(LARGE, "0bba3a2", "twelve layers in four bits"),
    Release(LARGE, "233a424", "measured ranges, uint8 matrices"),
    Release(LARGE, "115009a", "answers decoded together, long texts in windows"),
    Release(LARGE, "2feecdc", "a correction for plain sentences about people"),
    Release(LARGE, "b31b2bd", "the correction knows insults and threats against one person"),
    Release(LARGE, "7524296", "names of people alone are answered no"),
    Release(LARGE, "74911a9", "learnt on with OLID"),
)


def open_release(release: Release, cache: Path) -> tuple[Scorer, str]:
    """Return a released detector, unpacked from git, and the hash of its weights."""
    place = cache / f"{release.detector}-{release.commit}"
    if not (place / release.folder / "manifest.json").is_file():
        line_ = ["git", "-C", str(ROOT), "archive", release.commit, release.folder]
        packed = subprocess.run(line_, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(place, filter="data")
    folder = place / release.folder
    return open_folder(folder), hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()[:12]


def dev_posts(data: Path) -> dict[str, list[Post]]:
    """Return the development posts by corpus."""
    posts = [post for post in labelled(data) if post.part == "dev"]
    return {name: [post for post in posts if post.corpus == name] for name, _ in POSTS.values()}


def figures(scorer: Scorer, detector: str, posts: dict[str, list[Post]], cache: Path) -> dict[str, Metric]:
    """Return macro-F1 on development posts (English) and accuracy on the suites."""
    found = {}
    for title, (corpus, question) in POSTS.items() if detector == SMALL else ():
        chosen = posts[corpus]
        places = np.random.default_rng(1).permutation(len(chosen))[:SAMPLE]
        chosen = [chosen[i] for i in sorted(places)]
        scores = score_texts(scorer, [post.text for post in chosen], cache)
        gold = [str(post.answers[question][0] == 1) for post in chosen]
        found[title] = metric_with_interval("macro_f1", gold, [str(bool(it)) for it in scores.flagged[question]])
    for name in SUITES[detector]:
        suite = suites.load(name)
        run = run_suite(suite, scorer, name=detector, cache=AnswerCache(cache / "suites"))
        found[name] = next(iter(cells(suite, run, ()))).accuracy
    return found


def card_figures(release: Release) -> dict[str, Metric]:
    """Return the figures on all development posts that an English release's own card had."""
    if LANGUAGES[release.detector] != "en":
        return {}
    line_ = ["git", "-C", str(ROOT), "show", f"{release.commit}:{release.folder}/card.md"]
    card = subprocess.run(line_, check=True, capture_output=True, text=True).stdout
    found = {}
    for row in CARD_ROW.finditer(card):
        if row["name"] in ON_CARD:
            n = int(row["n"].replace(",", ""))
            value, low, high = (float(row[it]) for it in ("value", "low", "high"))
            found[ON_CARD[row["name"]]] = Metric(ON_CARD[row["name"]], value, n, low, high)
    return found


def measure_all(posts: dict[str, list[Post]], cache: Path, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every release with its figures, oldest first within a detector; those that are `known` as they are."""
    rows = []
    for release in RELEASES:
        same = [row for row in known if (row["detector"], row["commit"]) == (release.detector, release.commit)]
        if same:
            rows.append({**same[0], "what": release.what})
            continue
        scorer, weights = open_release(release, cache)
        # The large detector reads tens of posts a second: of its releases only the shipped one is run.
        is_run = release.detector != LARGE or release == [it for it in RELEASES if it.detector == LARGE][-1]
        found = figures(scorer, release.detector, posts, cache) if is_run else {}
        print(release.detector, release.commit, {name: round(m.value or 0, 3) for name, m in found.items()}, flush=True)
        rows.append({"detector": release.detector, "commit": release.commit, "what": release.what,
                     "version": scorer.version, "weights": weights,
                     "figures": {name: metric.to_dict(4) for name, metric in found.items()},
                     "card": {name: metric.to_dict(4) for name, metric in card_figures(release).items()}})  # fmt: skip
    return rows


def release_table(rows: list[dict[str, Any]], kind: str) -> str:
    """Return a detector's releases with one kind of figures: `figures` that were measured now, or its `card`'s."""
    names = list(dict.fromkeys(name for row in rows for name in row[kind]))
    cells = [[shown(Metric.from_dict(row[kind][name])) if name in row[kind] else "–" for name in names] for row in rows]
    table = [
        (f"`{row['commit']}`", f"`{row['weights']}`", row["what"], *found)
        for row, found in zip(rows, cells, strict=True)
    ]
    return markdown(("release", "weights", "what changed", *names), table)


def write_docs(rows: list[dict[str, Any]], docs: Path) -> None:
    """Write the record, the page's tables and the picture."""
    parts, series = [], {}
    for detector in LANGUAGES:
        mine = [row for row in rows if row["detector"] == detector]
        parts.append(f"### {detector}")
        if any(row["card"] for row in mine):
            parts += ["On all development posts, macro-F1, as each release's card had it:", release_table(mine, "card")]
        parts += ["Measured with today's code:", release_table(mine, "figures")]
        kind, names = ("card", ("R1–4", "EDOS A")) if detector != GERMAN else ("figures", ("emoji-de", "identities-de"))
        for name in names:
            points = [(i, row[kind][name]["value"]) for i, row in enumerate(mine, 1)]
            series[f"{detector.removeprefix('embedded-')}: {name}"] = points
    page = docs / "detectors/history.md"
    write_block(page, "releases", "\n\n".join(parts))
    plot = line(series, title="The detectors by release", x="release", y="macro-F1, and accuracy on suites")
    write_plot(plot, docs / "pictures", "history")
    (docs / "detectors/history.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


def check_shipped(posts: dict[str, list[Post]], cache: Path, record: Path, detectors: list[str]) -> int:
    """Print the shipped detectors' figures beside the record; return 1 where one lies below its interval."""
    rows = json.loads(record.read_text("utf-8"))
    fallen = 0
    for detector in detectors:
        last = [row for row in rows if row["detector"] == detector][-1]
        for name, now in figures(scorer_of(detector), detector, posts, cache).items():
            before = Metric.from_dict(last["figures"][name])
            is_worse = now.value is not None and before.low is not None and now.value < before.low
            fallen += is_worse
            print(f"{detector:<18} {name:<14} {shown(now)}   on record {shown(before)}{'  WORSE' if is_worse else ''}")
    return 1 if fallen else 0


def main() -> int:
    """Measure the releases and write the page, or check the shipped detectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--shipped", action="store_true")
    parser.add_argument("--detector", action="append", choices=list(LANGUAGES), help="with --shipped: this one alone")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--again", action="store_true", help="measure releases that are on record, too")
    args = parser.parse_args()
    posts, record = dev_posts(args.data), args.docs / "detectors/history.json"
    if args.shipped:
        return check_shipped(posts, args.cache, record, args.detector or list(LANGUAGES))
    known = [] if args.again else json.loads(record.read_text("utf-8"))
    write_docs(measure_all(posts, args.cache, known), args.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
