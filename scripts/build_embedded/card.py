"""The last step: the model card of a finished folder, from its figures, and the manifest that covers it.

    python card.py --folder DIR --figures FILE --misses FILE --kind small|large --log LOG [--students 2]
                   [--screen FILE [--screen-again 393672]] [--records DIR] [--learnt-on FILE --learnt-on-log LOG]

`--screen` is what `exit.py` printed; without it the section on screen and exit stays as the folder's card has it.
`--screen-again` is from how many texts `screen_again.py` had the screen learn. `--records` is docs/detectors, where
`measure_limits.py` and `measure_fairness.py` wrote what the sections on doubt and on groups say.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from davy.detectors import folder as folders

MADE = {
    "small": """MiniLM-L6 (all-MiniLM-L6-v2, Apache-2.0), vocabulary trimmed, every emoji a token of its own. Its
weights are the mean of {students}, each of which felt int8 rounding for the last quarter of its run. {logs}""",
    "large": """All twelve layers of mpnet (all-mpnet-base-v2, Apache-2.0), the same vocabulary, matrices in four bits
that multiply in eight bits: it felt that rounding for the last seven tenths of its run. {logs}""",
}
BITS = {"small": "int8", "large": "in eight bits with matrices stored in four"}
PROCESSORS = {
    "small": """\
Its products of int8 overflow now and then on processors without VNNI; before its correction, rounds 1–4 came out at
0.834 there, rounds 5–7 at 0.763 and EDOS A at 0.825, where it had 0.836, 0.765 and 0.823 elsewhere.""",
    "large": """\
Matrices are uint8, so that sums are exact with and without VNNI: rounds 1–4, rounds 5–7 and EDOS A came out the same
with VNNI (in int8, which is exact there) and without.""",
}
HEAD = """# {name}

An English detector that answers `hate`, `type`, `target`, `offensive`, `sexist`, `category` and `vector`. It reads
posts of up to 128 word pieces (longer ones in windows), runs on a CPU without torch, and is {bits},
{megabytes:.1f} MB.

**Content warning:** it was trained on hateful posts.

## How it was made
{made}

Three mpnet teachers, pre-trained further on unlabelled posts, were fine-tuned on all corpora at once, one head a
question. Their mean opinion of the labelled posts, of rewritten copies (words as emoji, letters as look-alikes, by
Unicode names) and of Reddit posts was distilled into this network. Temperatures and thresholds were set on dev. At its
end 32 units correct `hate`, `offensive` and `sexist` on plain sentences about people, which they learnt from patterns
of our own: about groups (`english_sentences.txt`), and insults and threats against one person with harmless twins
(`english_insults.txt`). On other texts they learnt to change nothing, or little where `offensive` may have been missed.
`offensive` means coarse words, as in Davidson's tweets, or an insult, a threat or a wish of harm against a person. No
functional test suite, ours or published, was used for training or for choosing. Built by `scripts/build_embedded/`.

{learnt_on}## What it learnt from
| corpus | for | licence |
| --- | --- | --- |
| EDOS, train | sexist, category, vector | CC0 1.0 |
| HatemojiBuild, train | hate, type, target | CC BY 4.0 |
| Dynamically generated hate, rounds 1–4, train | hate | research data |
| Davidson 2017 | hate, offensive | MIT |
| Founta 2018, Kennedy 2020 | hate | research data |
| Guest 2021 | misogyny, as a further head that is not shipped | MIT |
{more_corpora}| Reddit posts, unlabelled | pre-training and distillation | PDDL 1.0 |
| plain sentences of our own, from patterns | the correction at the end | as Davy |

## Figures
On **dev**, through this folder, with 95 % bootstrap intervals. Dev also chose the checkpoint, the temperatures and the
thresholds, so these are somewhat kind; the held-back test parts were never looked at. "No twin in train" leaves out
posts whose matched pair or near copy is in train. Thresholds: {thresholds}.
Probabilities hold where this share of posts is a yes: {prevalence}. If far fewer are in your place, every score is too
high: `davy serve --prevalence 0.02` and `davy calibrate --prevalence 0.02` move them (docs/detectors/training.md).
The figure is of answers as people get them, decoded together; *heads apart* is the same without that step{before}. The
command: `python scripts/build_embedded/dev_figures.py`.

{rows}

`category` and `vector` are measured on posts whose gold label is sexist, as the challenge does.
{processors}

{screen}## What it misses
How often its yes or no is right on dev, by kind of post; what it finds hardest is at the top.

| kind of post | right | n |
| --- | --- | --- |
{misses}

It reads one post alone: no context, no image, no earlier post. Counter-speech, quotes, irony and words for groups are
known to mislead detectors like this one and were not measured here: run `davy check emoji-en`, `davy check sexism-en`
and `davy check insults-en`, and read the fairness part, before you rely on it. It knows English only.

{records}## Who should not use it
Nobody should let it remove posts or punish people without a person who looks. It is not for judging individuals, for
private messages, for law enforcement, or for languages other than English. Set thresholds on your own posts first.
"""

LEARNT_ON = """Then the written network learnt on, all its questions together (`learn_on.py`, log `{log}`):
`offensive` from OLID, Davidson, Founta and patterns, and from the yeses of the hate corpora, each corpus with a weight
of its own; the other questions {teacher}, labels and opinions mixed.
The threshold of `offensive` has the best mean of macro-F1 over dev of OLID and Davidson.

**Scores of `offensive` moved** from version {version} on. As many of OLID's dev posts lie above an old score as above
the new one below it:

| before | {old} |
| --- |{lines}
| now | {new} |

Of OLID's dev it flags {flagged:.0f} % (before: {flagged_before:.0f} %; its people: 33 %). Calibration error of
`offensive` over ten bins: OLID {ece_olid:.3f} (before {ece_olid_before:.3f}), Davidson {ece_davidson:.3f}
({ece_davidson_before:.3f}). `davy calibrate` fits its probabilities to your posts.

On a corpus that it never learnt from it is no better than before: a MiniLM learnt anew without OLID, Davidson or Founta
has a mean macro-F1 of 0.627 on the one left out, by the recipe of before 0.626 (docs/runs/embedded-en.md).

"""
TEACHER = {"small": "from the large network, which had learnt on before",
           "large": "from what the network itself said before"}  # fmt: skip
OLID_ROW = "| OLID 2019, train | offensive | research data |\n"
SCREEN = """## Its screen and its exit
In files, a small network ({megabytes:.1f} MB) reads first and clears what is plainly harmless. It learnt from a
student's own answers to 360,000 posts and to random cuts of them, not from labels{again}. What it lets through
goes through the first {layer} layers; there a head ({kilobytes:.0f} kB), which learnt to foresee this network's
answers from its states on the unsure ones of {learnt:,} posts, clears what looks harmless by then, and the rest is
read to the end.
On posts that neither learnt from, but on which their marks were chosen, they clear:

| posts | cleared by the screen | by both | of the flagged, by the screen | by both | n | flagged |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

The screen lets every post with emoji through; the exit may clear it. `--no-cascade` reads all to the end.

"""
KINDS = {"top": "Reddit, all boards", "gender": "Reddit, gender and dating", "edos": "EDOS, train",
         "dynahate": "rounds 1–4, train", "hatemojibuild": "rounds 5–7, train",
         "davidson": "Davidson 2017", "founta2018": "Founta 2018",
         "kennedy2020": "Kennedy 2020", "guest": "Guest 2021"}  # fmt: skip


RECORDS = """## Answers that fit together, and doubt
The heads are decoded together, long texts are read in windows, and answers with a probability from 1/3 to 2/3 are
marked `unsure` (docs/detectors/limits.md, `scripts/measure_limits.py`). Posts whose answers contradict each other,
heads apart → decoded: {contradictions}.
Held-out ECE and share of wrong answers among sure / unsure ones: {doubt}.

## Groups
`scripts/measure_fairness.py`, the whole in docs/detectors/fairness.md. Between the groups of our suite `emoji-en`:
demographic parity ratio {parity}, equalised odds ratio {odds} (the Hatemoji paper's R8-T on HatemojiCheck: 0.832 and
0.600). A text of names of people alone ("women", "Black men") is answered no, whatever the network says: `names.txt`
lists the words. **Harmless sentences about groups can still raise alarms**: of 960 about sixty identities
(`identities-en`) it calls {flagged} hateful, of the bare words {words}. Two scores that differ in the
identity alone lie {gap:.3f} apart on average.

"""


AGAIN = """, and then again from this network's own
answers to {:,} posts, cuts and plain sentences"""


def screen_part(path: Path | None, folder: Path, again: int) -> str:
    """Return the section on the screen and the exit, from what `exit.py` printed, or as the card has it."""
    if path is None:
        return kept_screen_part(folder)
    report = json.loads(path.read_text("utf-8"))
    columns = ("cleared by the screen", "cleared", "flagged and cleared by the screen", "flagged and cleared")
    rows = [
        f"| {name} | {' | '.join(f'{100 * it[column]:.1f} %' for column in columns)} "
        f"| {it['posts']:,} | {it['flagged']:,} |"
        for kind, name in KINDS.items()
        if (it := report["held back"][kind])
    ]
    return SCREEN.format(
        megabytes=(folder / "screen.onnx").stat().st_size / 1e6,
        kilobytes=(folder / "exit.onnx").stat().st_size / 1e3,
        layer=report["layer"],
        learnt=report["learnt"],
        again=AGAIN.format(again) if again else "",
        rows="\n".join(rows),
    )


def learnt_on_part(path: Path | None, kind: str, log: str) -> str:
    """Return what a network learnt on from, and how its scores moved."""
    if path is None:
        return ""
    record = json.loads(path.read_text("utf-8"))
    scores = {old: it for old, it in record["scores moved"].items() if old != "corpus"}
    now, before = ({key: it["value"] for key, it in record[f"{when}, decoded"].items()} for when in ("after", "before"))
    return LEARNT_ON.format(
        log=log,
        teacher=TEACHER[kind],
        version=record["after"]["version"],
        old=" | ".join(scores),
        lines=" --- |" * len(scores),
        new=" | ".join(f"{it:.2f}" for it in scores.values()),
        flagged=100 * now["offensive, olid, flagged"],
        flagged_before=100 * before["offensive, olid, flagged"],
        ece_olid=now["offensive, olid, ECE"],
        ece_olid_before=before["offensive, olid, ECE"],
        ece_davidson=now["offensive, davidson, ECE"],
        ece_davidson_before=before["offensive, davidson, ECE"],
    )


def figure_table(figures: dict) -> str:
    """Return every figure: decoded and with heads apart, and the same of the detector that this one replaces."""
    more = {"apart": "heads apart", "before, decoded": "before", "before, apart": "before, heads apart"}
    more = {key: title for key, title in more.items() if key in figures}
    lines = [f"| what | figure | interval | n | {' | '.join(more.values())} |", f"|{' --- |' * (4 + len(more))}"]
    for what, it in figures["decoded"]["figures"].items():
        others = [figures[key]["figures"][what] for key in more]
        cells = [f"{other['value']:.3f} [{other['low']:.3f}, {other['high']:.3f}]" for other in others]
        lines.append(
            f"| {what} | {it['value']:.3f} | [{it['low']:.3f}, {it['high']:.3f}] | {it['n']:,} | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def shown(metric: dict) -> str:
    """Return a figure of a record with its interval."""
    return f"{metric['value']:.3f} [{metric['low']:.3f}, {metric['high']:.3f}]"


def records_part(folder: Path | None, name: str, version: str) -> str:
    """Return the sections on doubt and on groups, from the records in docs/detectors."""
    if folder is None:
        return ""
    limits = json.loads((folder / "limits.json").read_text("utf-8"))[name]
    fairness = json.loads((folder / "fairness.json").read_text("utf-8"))
    if {limits["version"], fairness["versions"][name]} != {version}:
        raise SystemExit(
            f"The records are of another version than {version}: run measure_limits.py and measure_fairness.py"
        )
    posts = limits["contradictions before, after"].items()
    found, between = fairness["identities"][name], fairness["emoji"][name]["between"]
    return RECORDS.format(
        contradictions="; ".join(
            f"{where} {it['posts with any'][0]} → {it['posts with any'][1]} of {it['n']:,}" for where, it in posts
        ),
        doubt="; ".join(
            f"{what} {it['ECE']['value']:.3f}, {it['wrong of sure']:.3f} / {it['wrong of unsure']:.3f}"
            for what, it in limits["doubt"].items()
        ),
        parity=shown(between["demographic_parity_ratio"]),
        odds=shown(between["equalised_odds_ratio"]),
        flagged=shown(found["flagged"]["all"]["all"]),
        words=shown(found["flagged"]["kind"]["The words alone"]),
        gap=found["gap"][0]["value"],
    )


def kept_screen_part(folder: Path) -> str:
    """Return the section on screen and exit as the folder's card has it, or nothing."""
    card = folder / "card.md"
    match = (
        re.search(r"## Its screen and its exit\n.*?(?=## )", card.read_text("utf-8"), re.S) if card.is_file() else None
    )
    return match[0] if match else ""


def main() -> None:
    """Write `card.md` and the manifest anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--figures", type=Path, required=True)
    parser.add_argument("--misses", type=Path, required=True)
    parser.add_argument("--screen", type=Path)
    parser.add_argument("--screen-again", type=int, default=0)
    parser.add_argument("--records", type=Path)
    parser.add_argument("--kind", choices=MADE, required=True)
    parser.add_argument("--learnt-on", type=Path, help="what learn_on_finish.py printed")
    parser.add_argument("--learnt-on-log", default="")
    parser.add_argument("--log", action="append", required=True, help="where the run's figures lie; again for more")
    parser.add_argument("--students", type=int, default=1, help="how many students the weights are the mean of")
    args = parser.parse_args()
    figures = json.loads(args.figures.read_text("utf-8"))
    misses = json.loads(args.misses.read_text("utf-8"))
    manifest = folders.read(args.folder)
    text = HEAD.format(
        name=manifest.name,
        megabytes=sum(path.stat().st_size for path in args.folder.iterdir() if path.name != "card.md") / 1e6,
        bits=BITS[args.kind],
        processors=PROCESSORS[args.kind],
        made=MADE[args.kind].format(
            students=f"{args.students} students" if args.students > 1 else "one student's last steps",
            logs="Logs: " + ", ".join(f"`{log}`" for log in args.log) + ".",
        ),
        learnt_on=learnt_on_part(args.learnt_on, args.kind, args.learnt_on_log),
        more_corpora=OLID_ROW if args.learnt_on else "",
        screen=screen_part(args.screen, args.folder, args.screen_again),
        misses="\n".join(
            f"| {what} | {100 * right:.0f} % | {n:,} |"
            for what, (right, n) in sorted(misses.items(), key=lambda it: it[1])
        ),
        thresholds=", ".join(f"{name} {value}" for name, value in manifest.thresholds.items()),
        prevalence=", ".join(f"{name} {value}" for name, value in manifest.prevalence.items()) or "not measured",
        rows=figure_table(figures),
        before=f"; *before* is version {old['version']}" if (old := figures.get("before, decoded")) else "",
        records=records_part(args.records, manifest.name, manifest.version),
    )
    (args.folder / "card.md").write_text(text, encoding="utf-8")
    print(folders.write(args.folder, manifest).version)


if __name__ == "__main__":
    main()
