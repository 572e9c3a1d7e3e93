"""The German detector's card, from what `german_finish.py` left, and the manifest that covers it.

    python german_card.py --built DIR --correction FILE --insults FILE --before DIR --data DIR --log FILE

`--before` is the folder of the detector that it replaces: both judge the same short statements, and its card has the
figures before. `--correction` is what `german_correction.py` printed, `--insults` what `german_insults.py` did, `--log`
what `german.sh` did.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
from german import HERE, Swaps
from german_finish import FIGURES, NAMES, Held, held_posts, nested
from german_sentences import EACH, EACH_PERSON, patterns
from german_teachers import PLAIN

from davy.detectors import folder as folders
from davy.detectors.onnx import OnnxScorer
from davy.text import emoji

WOMEN = re.compile(r"frau|weib|mädchen|mutter|mama|tochter|freundin", re.IGNORECASE)
JUDGED = {
    ("gmhp7k", "hate.de"): "hate", ("gmhp7k", "misogynistic.de"): "misogynistic",
    ("gahd", "hate.de"): "GAHD", ("germeval", "aux.offence"): "offensive",
}  # fmt: skip
TITLES = {"gmhp7k": "GMHP7k, two folds", "gahd": "GAHD, dev", "germeval": "GermEval 2018, test part"}
CARD = """# embedded-de

A German detector that answers `hate`, within it `misogynistic`, `type` and `target`, and `offensive`. It reads posts of
up to 128 word pieces (longer ones in windows), runs on a CPU without torch, and takes {megabytes:.0f} MB.

**Content warning:** it was trained on hateful posts.

## How it was made
Word pieces are read by Google's multilingual Universal Sentence Encoder v3 (Apache-2.0: convolutions over two, three
and five pieces), and its vectors by the six layers of `embedded-en` (all-MiniLM-L6-v2, Apache-2.0), which learnt on
{bridged:,} English posts to read those pieces as it read its own. Beside them, hashed n-grams of letters catch
spellings that have no piece, and a linear model over the same n-grams adds a fixed share. Emoji are read by their
Unicode names, mentions and links as such, shouting in small letters.

Its teachers grew from Qwen2.5-Coder 1.5B (Apache-2.0), which reads German: thin layers beside its matrices learnt
English hate with its types and targets, offence and sexism, then GMHP7k, GAHD and GermEval, with {lent:,} English posts
that the model itself had translated ({translated:,} were; it agreed with the label of {agreed:,}) and {taught:,} of
{plain:,} plain sentences that we grew from {patterns} patterns (`german_sentences.txt`: a sentence and its negation,
hate and its rebuke, harmless sentences about women and {groups} groups). The model also wrote {written:,} posts in
the manner of the German ones and {composed:,} short sentences about the groups in kind and unkind manners; {swapped:,}
sentences were copied with another group in the place of the first. Nothing of this is shipped. The network learnt from
the teachers' opinions of all these texts and from the labels of German posts and plain sentences; it is {runs}. The
matrices are 8 bits, the piece vectors 4. Built by `scripts/build_embedded/german.sh`; the log is `docs/runs/{log}`.

## What it learnt from
| corpus | for | licence |
| --- | --- | --- |
| GMHP7k, phase 3 without both test parts | hate, misogynistic | CC BY 4.0 |
| GAHD, train and dev | hate | CC BY 4.0 |
| GermEval 2018, both published parts | offensive | CC BY 4.0 |
| English posts, through the teachers: EDOS | transfer | CC0 1.0 |
| HatemojiBuild | transfer | CC BY 4.0 |
| Davidson 2017, Guest 2021 | transfer | MIT |
| Dynamically generated hate, Founta 2018, Kennedy 2020 | transfer | research data |
| unlabelled Reddit posts | reading English in multilingual pieces | PDDL 1.0 |

A third of GAHD's posts are translations of English posts made on the same platform as the dynamically generated set;
what GAHD holds back may have its English original among our training posts.

## A correction for plain sentences
The network's vector goes through 32 more units, whose answer is added to the log odds of `hate`, `misogynistic` and
`offensive` (`german_correction.py`). They learnt from the plain sentences, and to change nothing on other German texts:
on those that they had not seen, answers to `hate` stay the same on {calm_hate} %, those to `offensive` on
{calm_offensive} %. Figures below are with corrections of their own for the two networks, learnt without the posts that
judge; without them they are {uncorrected}.

A second correction after it (`german_insults.py`) moves `offensive` alone and learnt insults and threats against one
person from {insults} patterns (`german_insults.txt`). Of patterns that it had not seen it finds {threat} of the threats
(without it: {threat_before}) and {insult} of the insults ({insult_before}), and flags {harmless} of their harmless
twins ({harmless_before}). On posts that it had not seen {calm_second} % of the answers stay. The figures of `offensive`
below are without it. Whether an insult against one person is *hateful* too, the corpora see differently (to GMHP7k it
is, to GAHD it is not), and so does this detector.

## Figures
Two networks like this one, each without a fifth of GMHP7k's train and validation posts, GAHD's dev and GermEval's
test part, scored those posts through an int8 folder; nor had their teachers seen the labels. Half of GAHD and
GermEval was scored by either. Calibration and thresholds for one half come from the other. 95 % bootstrap intervals;
ECE is the calibration error over ten bins. How runs were averaged and the linear model's share were chosen by the
same posts, so these figures are somewhat kind. The shipped network saw all these posts. The held-back test parts were
never looked at.

| question | on | n | macro-F1 | before | precision | recall | F1 of yes | ECE |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

"Before" is the detector that this one replaces, on the same posts, as its card has it. The teachers, at their best
thresholds: {teachers}. The paper's GBERT has 0.79 (hate) and 0.75 (misogynistic) on GMHP7k's test parts, which are
other posts. `misogynistic` counts posts that are not hateful as a no, as the paper does. Thresholds: {thresholds}.

### Types and targets
No German corpus has them. `type` is one linear layer over the network's vector, learnt from {typed_posts} translated
posts and {typed} sentences of ours (`german_types.txt`; right on {unseen:.2f} of those whose pattern it did not see).
{judging} hateful posts of HatemojiBuild's dev, translated by the language model (unchecked) and kept from all networks,
judge both; the temperature of `type` and the threshold of `target` come from the same posts, the figure of `target`
from the other half's threshold. `embedded-en` on the English originals is beside it. **Types are rough**: who always
says {commonest} is right on {commonest_share:.2f}.

| | in German | `embedded-en`, originals |
| --- | --- | --- |
{translated_rows}

### Short plain statements
Sixty sentences of our own (`scripts/build_embedded/german_statements.tsv`), nothing trained on or chosen by them:

| about | n | right now | right before |
| --- | --- | --- | --- |
{statements}

Of the hateful ones it finds {found} of {hateful} (before: {found_before}), of the harmless ones it flags {flagged} of
{all_harmless} (before: {flagged_before}). "Ich hasse Frauen." has {example:.2f} (before: {example_before:.2f}).

## What it misses
Recall is the share of yeses found, false alarms the share of noes called yes, on the held-out GMHP7k posts.

| posts | n | hate: recall | false alarms | misogynistic: recall | false alarms |
| --- | --- | --- | --- | --- | --- |
{slices}

Irony, quotes and counter-speech mislead it. It reads one post alone. Dialects were not measured.

{suite}
Read `davy check emoji-de --model embedded-de` before you rely on it.

## Who should not use it
Nobody should let it remove posts or punish people without a person who looks. It is not for judging individuals, for
private messages, for law enforcement, or for other languages. Set thresholds on your own posts first.
"""


def hate(folder: Path, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the chance of hate and the answer, through a folder as a user would."""
    manifest = folders.read(folder)
    scores = OnnxScorer(folder, manifest).score(pl.DataFrame({"text": texts}))
    chance = scores.probabilities["hate"][:, 1]
    return chance, chance >= manifest.thresholds["hate"]


def statements(built: Path, before: Path) -> dict:
    """Return the rows of the table of short statements and what the text says of them."""
    cells = [line.split("\t") for line in (HERE / "german_statements.tsv").read_text("utf-8").splitlines()]
    gold, about, texts = np.array([c[0] == "1" for c in cells]), [c[1] for c in cells], [c[2] for c in cells]
    (chance, pick), (chance_before, pick_before) = hate(built, texts), hate(before, texts)
    for text, yes, new, old in zip(texts, gold, chance, chance_before, strict=True):
        print(f"{int(yes)} {new:.2f} {old:.2f} {text}")
    rows = []
    for name in dict.fromkeys(about):
        its = np.array([it == name for it in about])
        right = [int((it == gold)[its].sum()) for it in (pick, pick_before)]
        rows.append(f"| {name} | {its.sum()} | {right[0]} | {right[1]} |")
    right = [int((it == gold).sum()) for it in (pick, pick_before)]
    rows.append(f"| all | {len(gold)} | {right[0]} | {right[1]} |")
    return {
        "statements": "\n".join(rows), "hateful": int(gold.sum()), "all_harmless": int((~gold).sum()),
        "found": int((pick & gold).sum()), "found_before": int((pick_before & gold).sum()),
        "flagged": int((pick & ~gold).sum()), "flagged_before": int((pick_before & ~gold).sum()),
        "example": chance[0], "example_before": chance_before[0],
    }  # fmt: skip


def slices(held: Held, odds: dict[str, np.ndarray]) -> str:
    """Return recall and false alarms of some kinds of GMHP7k posts."""
    ours = held.corpus == "gmhp7k"
    texts = np.array(held.texts, dtype=object)[ours]
    sizes = np.array([len(re.sub(r"@\w+", "", text).strip()) for text in texts])
    kinds = {
        "all": np.ones(len(texts), dtype=bool),
        "that name women (*Frau*, *Mutter* and the like)": np.array([bool(WOMEN.search(text)) for text in texts]),
        "with emoji": np.array([emoji.count(text) > 0 for text in texts]),
        "under 40 characters": sizes < 40,
        "40 to 119": (sizes >= 40) & (sizes < 120),
        "120 and more": sizes >= 120,
    }
    picks = {name: nested(held, odds, name)[1][ours] for name in ("hate", "misogynistic")}
    rows = []
    for kind, its in kinds.items():
        cells = []
        for name, pick in picks.items():
            gold = held.gold[name][ours]
            cells += [share(pick[its & (gold == 1)]), share(pick[its & (gold == 0)])]
        rows.append(f"| {kind} | {its.sum():,} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def share(picks: np.ndarray) -> str:
    return f"{picks.mean():.2f}" if len(picks) else "–"


def facts(log: Path) -> dict:
    """Return what the log says about texts that were made and about the teachers."""
    lines = [line.split(" ", 2) for line in log.read_text("utf-8").splitlines() if re.match(r"\w+ \d+s \{", line)]
    records = [(name, json.loads(record)) for name, _, record in lines]

    def last(step: str, key: str, value: str | None = None) -> dict:
        wanted = (it for name, it in reversed(records) if name == step and key in it)
        return next(it for it in wanted if value is None or it[key] == value)

    composed = last("compose", "prompts")
    trained = sorted({name for name, it in records if "agreed" in it})
    teachers = [last("total", "variant", variant) for variant in trained]
    said = []
    for (corpus, head), title in JUDGED.items():
        values = sorted(it[f"{corpus} {head} f1"] for it in teachers)
        said.append(f"{title} {' and '.join(f'{value:.3f}' for value in values)}")
    runs = [len(last(step, "mean of")["mean of"]) for step in ("last", "every")]
    agreed = last("teacher", "agreed")
    return {
        "agreed": agreed["agreed"], "translated": agreed["translated"], "lent": agreed["taught"],
        "bridged": last("bridge", "posts")["posts"],
        "runs": f"the mean of such runs ({runs[0]}), which started from the mean of others ({runs[1]})",
        "written": last("writer", "new")["new"], "composed": composed["kept"] - composed["translated"],
        "swapped": last("gather", "swapped")["swapped"], "teachers": ", ".join(said), "log": log.name,
    }  # fmt: skip


def corrected_facts(record: dict, correction: dict) -> dict:
    """Return what the correction changed, and the share of the commonest type among translated posts."""
    calm = {}
    for name in ("hate", "offensive"):
        same = [100 * value for value in correction["questions"][name]["unchanged"].values()]
        calm[f"calm_{name}"] = f"{min(same):.1f} to {max(same):.1f}"
    *values, last = [f"{record['figures'][f'{corpus} {name}']['macro_f1']:.3f}" for corpus, name in FIGURES]
    kinds = record["types of them"]
    kind = max(kinds, key=kinds.get)
    return calm | {
        "uncorrected": f"{', '.join(values)} and {last}",
        "commonest": kind,
        "commonest_share": kinds[kind] / sum(kinds.values()),
    }


def second_facts(record: dict) -> dict:
    """Return what the second correction learnt of sentences about one person."""
    found = {}
    for kind, figures in record["about one person"].items():
        found[kind] = f"{figures['after offensive'][0]:.2f}"
        found[f"{kind}_before"] = f"{figures['before offensive'][0]:.2f}"
    same = [100 * value for value in record["unchanged"].values()]
    every = patterns()
    return found | {
        "calm_second": f"{min(same):.1f} to {max(same):.1f}",
        "insults": sum(len(every[heading]) for heading in EACH_PERSON),
    }


def before_rows(card: str) -> dict[tuple[str, str], str]:
    """Return macro-F1 and interval of each question and corpus in the table of an older card."""
    found = {}
    for line in card.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 9 and cells[1] in TITLES.values():
            found[cells[0], cells[1]] = cells[3] if "[" in cells[3] else f"{cells[3]} {cells[4]}"
    return found


def figure(it: dict) -> str:
    return f"{it['value']:.3f} [{it['low']:.3f}, {it['high']:.3f}]"


def main() -> None:
    """Write the card into the folder, and the manifest anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--built", "--correction", "--insults", "--before", "--data", "--log"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--suite", default="", help="a sentence with what `davy check emoji-de` said, once, at the end")
    args = parser.parse_args()
    folder = args.built / "embedded-de"
    record, correction = (json.loads(it.read_text()) for it in (args.built / "figures.json", args.correction))
    held, odds = held_posts(args.data), dict(np.load(args.built / "odds.npz"))
    before, rows = before_rows((args.before / folders.CARD).read_text("utf-8")), []
    for corpus, name in FIGURES:
        it = correction["out of fold"][f"{corpus} {name}"]
        value = f"{it['macro_f1']:.3f} [{it['low']:.3f}, {it['high']:.3f}]"
        cells = [f"{it[key]:.3f}" for key in ("precision", "recall", "f1", "calibration error")]
        line = [name, TITLES[corpus], f"{it['n']:,}", value, before[name, TITLES[corpus]], *cells]
        rows.append(f"| {' | '.join(line)} |")
    translated = [
        f"| {name} | {figure(it)} | {figure(record['originals'][name])} |" for name, it in record["translated"].items()
    ]
    manifest = folders.read(folder)
    card = CARD.format(
        megabytes=record["bytes"] / 1e6, rows="\n".join(rows), slices=slices(held, odds), suite=args.suite,
        thresholds=", ".join(f"`{name}` {manifest.thresholds[name]:.2f}" for name in (*NAMES, "target")),
        translated_rows="\n".join(translated), judging=record["translated"]["type, accuracy"]["n"],
        plain=record["plain"], taught=min(PLAIN, record["plain"]),
        patterns=sum(len(patterns()[heading]) for heading in EACH),
        unseen=record["types"]["patterns not seen, right"], typed=record["types"]["sentences"],
        typed_posts=record["types"]["translated"], groups=len(Swaps().groups),
        **corrected_facts(record, correction), **facts(args.log), **statements(folder, args.before),
        **second_facts(json.loads(args.insults.read_text())),
    )  # fmt: skip
    (folder / folders.CARD).write_text(card, encoding="utf-8")
    print(folders.write(folder, folders.read(folder, check=False)).version)


if __name__ == "__main__":
    main()
