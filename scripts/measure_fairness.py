"""Measure what docs/detectors/fairness.md says: do the shipped detectors treat the groups they read about alike?

    python scripts/measure_fairness.py --data DIR --cache DIR

`--data` is the folder of public corpora (docs/data/corpora.md), of which only development posts are measured. Writes
docs/detectors/fairness.json, the tables of the page and the pictures. A detector is measured again only where it has
another version, or with `--again`; ten minutes on one core for all three.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from detector_scores import (
    LANGUAGES,
    DetectorScores,
    markdown,
    score_texts,
    scorer_of,
    shown,
    write_block,
    write_plot,
)

from davy.core import Metric
from davy.measure.classification import metric_with_interval
from davy.measure.clusters import cluster_numbers, clustered_share
from davy.measure.fairness import between_groups, counterfactual_gap, group_rates
from davy.measure.intervals import proportion
from davy.report.plots import bars, heat
from davy.testing import suites
from davy.testing.metrics import Fairness, measure_fairness
from davy.testing.run import AnswerCache, SuiteRun, run_suite
from davy.testing.suite import Case, Suite

DOCS = Path(__file__).parents[1] / "docs"
ENGLISH = tuple(name for name, lang in LANGUAGES.items() if lang == "en")
PAPER = {"demographic_parity_ratio": 0.832, "equalised_odds_ratio": 0.600}
"""R8-T of the Hatemoji paper, Table 9, on HatemojiCheck."""
LEAST = 10
"""A group counts where it has at least so many posts with either label."""
GROUPS = {
    "black people": "bla blawom blaman african",
    "muslims": "mus muswom",
    "women": "wom blawom muswom asiwom gaywom",
    "disabled people": "dis",
    "jews": "jew",
    "gay people": "gay gayman gaywom bis lgbtqa",
    "trans people": "trans",
    "asian people": "asi asi.east asi.east.chin asi.south asi.south.pak asiwom",
    "arabs": "arab",
    "migrants": "immig ref for",
}
"""Group → HatemojiBuild's codes."""


def hatemoji_posts(data: Path) -> pl.DataFrame:
    """Return dev posts with their groups: their own targets, and for a harmless post those of its hateful twin."""
    folder = data / "hatemojibuild"
    every = pl.concat([pl.read_csv(folder / name) for name in ("train.csv", "validation.csv")])
    own = dict(every.select("entry_id", "target").iter_rows())
    kinds = {code: [name for name, codes in GROUPS.items() if code in codes.split()] for code in _codes(own.values())}

    def groups(row: dict[str, Any]) -> str:
        listed = own.get(row["entry_id"] if row["label_gold"] else row["matched_id"]) or "[]"
        return "|".join(sorted({name for code in ast.literal_eval(listed) for name in kinds[code]}))

    dev = every.filter(pl.col("split") == "dev")
    cells = [groups(row) for row in dev.iter_rows(named=True)]
    return dev.select("text", pl.col("label_gold").cast(pl.Boolean).alias("yes"), pl.Series("groups", cells))


def _codes(lists: Any) -> set[str]:
    return {code for listed in lists for code in ast.literal_eval(listed)}


def identities(lang: str) -> dict[str, tuple[str, str]]:
    """Return the suite's identities: how a sentence names several people → group and plural form."""
    root = suites.load(f"identities-{lang}")
    return {case.fills["identity"]: (str(case.target), case.fills["identity"]) for case in root.cases}


def edos_posts(data: Path) -> pl.DataFrame:
    """Return EDOS's dev posts with the groups that they name in the suite's words: EDOS labels no target."""
    frame = pl.read_csv(data / "edos/edos_labelled_aggregated.csv").filter(pl.col("split") == "dev")
    words = {name: group for name, (group, _) in identities("en").items()}
    women = {"woman": "women", "girl": "women", "wife": "women", "mother": "women"}
    men = {"man": "men", "boy": "men", "father": "men", "husband": "men", "guys": "men", "guy": "men"}
    groups = {re.compile(rf"\b{re.escape(word)}\b", re.I): group for word, group in (words | women | men).items()}
    cells = [
        "|".join(sorted({group for pattern, group in groups.items() if pattern.search(text)})) for text in frame["text"]
    ]
    yes = (frame["label_sexist"] == "sexist").alias("yes")
    return frame.select("text", yes, pl.Series("groups", cells))


def by_group(posts: pl.DataFrame, scores: DetectorScores, question: str) -> dict[str, Any]:
    """Return rates by group and ratios between groups, over groups with enough posts of either label."""
    yes, said = posts["yes"].to_numpy(), scores.flagged[question]
    members = {
        name: np.array([name in cell.split("|") for cell in posts["groups"]])
        for name in sorted({name for cell in posts["groups"] for name in cell.split("|") if name})
    }
    kept = {name: mask for name, mask in members.items() if min((mask & yes).sum(), (mask & ~yes).sum()) >= LEAST}
    rates = {name: {m.name: m for m in found} for name, found in group_rates(yes, said, kept).items()}
    between = {m.name: m for m in between_groups(yes, said, kept)}
    return {"rates": rates, "between": between, "left out": sorted(set(members) - set(kept))}


def suite_run(name: str, kind: str, cache: Path) -> tuple[Suite, SuiteRun]:
    """Return a suite in a detector's language, run through it."""
    suite = suites.load(f"{kind}-{LANGUAGES[name]}")
    run = run_suite(suite, scorer_of(name), name=name, cache=AnswerCache(cache / "suites"))
    print(f"{name} on {suite.name}: {run.seconds:.0f} s", flush=True)
    return suite, run


def flag_rates(suite: Suite, run: SuiteRun) -> dict[str, dict[str, Metric]]:
    """Return the share of harmless sentences that are flagged: of all, by kind of sentence, group and identity."""
    flagged = [outcome.label == suite.labels[0] for outcome in run.outcomes]

    def share(key: Any, cluster: Any) -> dict[str, Metric]:
        parts: dict[str, list[int]] = {}
        for i, case in enumerate(suite.cases):
            parts.setdefault(key(case), []).append(i)
        return {
            name: clustered_share(
                name, [flagged[i] for i in rows], cluster_numbers([cluster(suite.cases[i]) for i in rows])
            )
            for name, rows in parts.items()
        }

    def identity(case: Case) -> str:
        return case.fills["identity"]

    def template(case: Case) -> str:
        return str(case.template)

    return {
        "all": share(lambda _: "all", template),
        "kind": share(lambda case: suite.titled(case.functionality), identity),
        "group": share(lambda case: case.target, identity),
        "identity": share(identity, template),
    }


def template_gaps(suite: Suite, run: SuiteRun) -> list[Metric]:
    """Return how much the score of a template moves with the identity in it."""
    numbers = cluster_numbers([case.template for case in suite.cases])
    chances = [outcome.probability or 0.0 for outcome in run.outcomes]
    return counterfactual_gap(chances, [outcome.label == suite.labels[0] for outcome in run.outcomes], numbers)


def swapped_posts(posts: pl.DataFrame) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return posts that name a group, each with another identity of every group in its place; sentence and label."""
    words = {name.lower(): group for name, (group, _) in identities("en").items()}
    first: dict[str, str] = {}
    for name, (group, _) in identities("en").items():
        first.setdefault(group, name)
    pattern = re.compile(rf"\b({'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})\b", re.I)
    texts, numbers, yes = [], [], []
    for row, (text, is_yes) in enumerate(posts.select("text", "yes").iter_rows()):
        match = pattern.search(text)
        if match is None:
            continue
        others = [name for group, name in first.items() if group != words[match[1].lower()]]
        for name in (match[1], *others):
            texts.append(text[: match.start()] + name + text[match.end() :])
            numbers.append(row)
            yes.append(is_yes)
    return texts, np.array(numbers), np.array(yes)


def spared_cost(posts: pl.DataFrame, scores: DetectorScores, run: SuiteRun, share: float = 0.01) -> dict[str, Any]:
    """Return what it costs on posts to raise the threshold until only `share` of the harmless sentences are flagged."""
    chances = np.array([outcome.probability or 0.0 for outcome in run.outcomes])
    shipped = float(scorer_of(scores.detector).manifest.thresholds["hate"])
    raised = max(shipped, float(np.quantile(chances, 1 - share, method="higher")) + 1e-6)
    yes, chance = posts["yes"].to_numpy(), scores.yes("hate")
    found: dict[str, Any] = {"threshold": {"shipped": shipped, "raised": raised}}
    for name, threshold in found["threshold"].items():
        said = chance >= threshold
        found[name] = {
            "macro-F1": metric_with_interval("macro_f1", _words(yes), _words(said)),
            "recall": proportion("recall", int((said & yes).sum()), int(yes.sum())),
            "sentences flagged": proportion("flagged", int((chances >= threshold).sum()), len(chances)),
        }
    return found


def _words(yes: np.ndarray) -> list[str]:
    return np.where(yes, "yes", "no").tolist()


def plain(value: Any) -> Any:
    """Return figures as JSON has them."""
    if isinstance(value, Metric):
        return value.to_dict(4)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def with_metrics(value: Any) -> Any:
    """Return a record as it was before `plain`: figures are metrics again."""
    if isinstance(value, dict):
        if {"name", "value", "n"} <= set(value):
            return Metric.from_dict(value)
        return {key: with_metrics(inner) for key, inner in value.items()}
    return [with_metrics(inner) for inner in value] if isinstance(value, list) else value


def ratio_rows(record: dict[str, Any]) -> list[tuple[str, str, dict[str, Metric]]]:
    """Return every detector's ratios: on what, who, the figures."""
    rows = [(f"emoji-{LANGUAGES[name]}", name, found["between"]) for name, found in record["emoji"].items()]
    rows += [("R5–7 dev", name, found["between"]) for name, found in record["hatemojibuild"].items()]
    return rows + [("EDOS dev, sexist", name, found["between"]) for name, found in record["edos"].items()]


def write_ratios(record: dict[str, Any], page: Path, pictures: Path) -> None:
    """Write the table and the picture of ratios between groups."""
    rows = [
        (where, name, shown(found["demographic_parity_ratio"]), shown(found["equalised_odds_ratio"]))
        for where, name, found in ratio_rows(record)
    ]
    rows.insert(0, ("HatemojiCheck (the paper's figures)", "R8-T", "0.832", "0.600"))
    write_block(page, "ratios", markdown(("on", "detector", "demographic parity ratio", "equalised odds ratio"), rows))
    note = "published, no interval"
    figures = []
    for key, title in (("demographic_parity_ratio", "parity"), ("equalised_odds_ratio", "odds")):
        figures.append(Metric(f"{title}: R8-T, HatemojiCheck", PAPER[key], 3930, note=note))
        for where, name, found in ratio_rows(record):
            one = found[key]
            figures.append(Metric(f"{title}: {name}, {where}", one.value, one.n, one.low, one.high, note=one.note))
    plot = bars(figures, title="Between groups: demographic parity and equalised odds", x="ratio, 1 is parity")
    write_plot(plot, pictures, "fairness-ratios")


def write_rates(record: dict[str, Any], page: Path, pictures: Path) -> None:
    """Write rates by group: recall and false positive rate on the emoji suites and on posts."""
    cells, rows = [], []
    parts = [(f"emoji-{LANGUAGES[name]}", name, found["by target"]) for name, found in record["emoji"].items()]
    parts += [("R5–7 dev", name, found["rates"]) for name, found in record["hatemojibuild"].items()]
    parts += [("EDOS dev", name, found["rates"]) for name, found in record["edos"].items()]
    for group in sorted({group for _, _, rates in parts for group in rates}):
        for where, name, rates in parts:
            found = rates.get(group)
            short = f"{name.removeprefix('embedded-')}, {where}"
            cells.append((group, short, found["fpr"].value if found else None))
            if found:
                rows.append(
                    (where, name, group, f"{found['accuracy'].n:,}", shown(found["recall"]), shown(found["fpr"]))
                )
    rows.sort(key=lambda row: (row[0], row[1]))
    write_block(page, "rates", markdown(("on", "detector", "group", "n", "recall", "false positive rate"), rows))
    plot = heat(cells, title="Harmless cases and posts that are flagged, by the group they are about", domain=(0, 0.8))
    write_plot(plot, pictures, "fairness-rates")


def write_identities(record: dict[str, Any], page: Path, pictures: Path) -> None:
    """Write how often harmless sentences are flagged, by kind of sentence and by identity."""
    found = record["identities"]
    kinds = list(next(iter(found.values()))["flagged"]["kind"])
    rows = [
        (kind, *(shown(one["flagged"]["kind"].get(kind)) for one in found.values())) for kind in kinds
    ]  # the titles are English in both suites
    rows.append(("all", *(shown(one["flagged"]["all"]["all"]) for one in found.values())))
    write_block(page, "identities", markdown(("sentences", *found), rows))
    worst = []
    for name, one in found.items():
        ranked = sorted(one["flagged"]["identity"].items(), key=lambda pair: -(pair[1].value or 0))
        flagged = [f"{who} {100 * (metric.value or 0):.0f} %" for who, metric in ranked if metric.value][:12]
        none = sum(not metric.value for _, metric in ranked)
        worst.append((name, f"{none} of {len(ranked)}", ", ".join(flagged) or "–"))
    write_block(page, "worst", markdown(("detector", "identities never flagged", "most often flagged"), worst))
    groups = sorted({group for one in found.values() for group in one["flagged"]["group"]})
    cells = [(group, name, one["flagged"]["group"][group].value) for group in groups for name, one in found.items()]
    plot = heat(cells, title="Harmless sentences that name a group and are called hateful", domain=(0, 0.4))
    write_plot(plot, pictures, "fairness-identities")


def write_swaps(record: dict[str, Any], page: Path) -> None:
    """Write counterfactual token fairness, and what sparing harmless sentences would cost."""
    rows = []
    for name, one in record["identities"].items():
        rows.append((name, f"identities-{LANGUAGES[name]}", one["gap"][0].n, *map(shown, one["gap"])))
        for where, gap in one.get("swapped posts", {}).items():
            rows.append((name, f"R5–7 dev, {where}", gap[0].n, *map(shown, gap)))
    header = ("detector", "sentences", "n", "mean difference of two scores", "pairs with two answers")
    write_block(page, "swaps", markdown(header, rows))
    rows = []
    for name, one in record["identities"].items():
        for where in ("shipped", "raised") if "cost" in one else ():
            cost = one["cost"]
            rows.append((name, where, f"{cost['threshold'][where]:.2f}", *(shown(it) for it in cost[where].values())))
    header = ("detector", "threshold", "at", "macro-F1, R5–7 dev", "recall, R5–7 dev", "harmless sentences flagged")
    write_block(page, "cost", markdown(header, rows))


def measured(name: str, hate_posts: pl.DataFrame, sexist_posts: pl.DataFrame, cache: Path) -> dict[str, Any]:
    """Return everything about one detector, by part of the record."""
    fair = measure_fairness(*suite_run(name, "emoji", cache))
    assert isinstance(fair, Fairness)
    suite, run = suite_run(name, "identities", cache)
    one: dict[str, Any] = {"flagged": flag_rates(suite, run), "gap": template_gaps(suite, run)}
    found: dict[str, Any] = {"emoji": {"between": fair.between, "by target": fair.by_target}, "identities": one}
    if name in ENGLISH:
        scores = score_texts(name, hate_posts["text"].to_list(), cache)
        found["hatemojibuild"] = by_group(hate_posts, scores, "hate")
        one["cost"] = spared_cost(hate_posts, scores, run)
        found["edos"] = by_group(sexist_posts, score_texts(name, sexist_posts["text"].to_list(), cache), "sexist")
        swapped, numbers, yes = swapped_posts(hate_posts)
        moved = score_texts(name, swapped, cache)
        one["swapped posts"] = {
            where: counterfactual_gap(moved.yes("hate")[rows], moved.flagged["hate"][rows], numbers[rows])
            for where, rows in (("hateful posts", yes), ("other posts", ~yes))
        }
    return found


def main() -> None:
    """Measure, write the record, the page's tables and the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--again", action="store_true", help="measure versions that are on record, too")
    args = parser.parse_args()
    out = args.docs / "detectors/fairness.json"
    known = with_metrics(json.loads(out.read_text("utf-8"))) if out.is_file() and not args.again else {"versions": {}}
    hate_posts, sexist_posts = hatemoji_posts(args.data), edos_posts(args.data)
    record: dict[str, Any] = {"versions": {}, "emoji": {}, "hatemojibuild": {}, "edos": {}, "identities": {}}
    for name in LANGUAGES:
        version = scorer_of(name).version
        if known["versions"].get(name) == version:
            found = {part: known[part][name] for part in record if name in known[part]}
        else:
            found = {"versions": version, **measured(name, hate_posts, sexist_posts, args.cache)}
        for part, value in found.items():
            record[part][name] = value
    record = with_metrics(plain(record))  # the page has the record's figures, whoever measured them when
    page, pictures = args.docs / "detectors/fairness.md", args.docs / "pictures"
    write_ratios(record, page, pictures)
    write_rates(record, page, pictures)
    write_identities(record, page, pictures)
    write_swaps(record, page)
    text = json.dumps(plain(record), indent=1, ensure_ascii=False)
    out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
