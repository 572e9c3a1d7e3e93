"""A small correction at the end of the German network, learnt from plain sentences, on any machine in minutes.

    python german_correction.py --data DIR --texts FILE --built DIR [--share 1.0] [--write]

`correction.py` says how it works. It learns from the sentences of `german_sentences.py`, and to change nothing on other
texts (`--texts`, one a line, and the German corpora, without their labels). Each quarter of the patterns is judged by a
correction that never saw it; the two networks of `german_finish.py` that each lack some posts get corrections of their
own, learnt without those posts, so that the figures of posts are out of fold as well. With `--write` the correction of
all patterns goes into the graph of `embedded-de`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from correction import Recipe, corrected, held_out, insert, judged, learn, read, thresholds
from german import gahd, germeval, gmhp7k
from german_finish import NAMES, held_figures, held_posts
from german_sentences import sentences

from davy.detectors import folder as folders

VECTOR = "/network/out/Concat_1_output_0"
"""What the last layer of the exported network reads."""
RECIPE = Recipe()


def other_texts(data: Path, lines: list[str], most: int) -> tuple[list[str], np.ndarray]:
    """Return texts that must keep their answers, and where each comes from."""
    drawn = np.random.default_rng(3).choice(len(lines), min(most, len(lines)), replace=False)
    found = {"written": [lines[i] for i in drawn]} if lines else {}
    for name, make in (("gmhp7k", gmhp7k), ("gahd", gahd), ("germeval", germeval)):
        found[name] = [post.text for post in make(data)]
    return [it for texts in found.values() for it in texts], np.repeat(list(found), [len(it) for it in found.values()])


def out_of_fold(args: argparse.Namespace, posts: list, gold: np.ndarray, others: list[str]) -> dict:
    """Return the figures of held-out posts with each fold's own correction."""
    heat, _ = thresholds(folders.read(args.built / "embedded-de"), list(NAMES))
    held = held_posts(args.data)
    odds = {name: np.zeros(len(held.half)) for name in NAMES}
    for k in (0, 1):
        folder, rows = args.built / f"fold-{k}", np.flatnonzero(held.half == k)
        unseen = {held.texts[i] for i in rows}
        plain = read(folder, VECTOR, list(NAMES), [post.text for post in posts])
        other = read(folder, VECTOR, list(NAMES), [text for text in others if text not in unseen])
        correction = learn((*plain, gold), other, heat, RECIPE)
        said = corrected(correction, *read(folder, VECTOR, list(NAMES), [held.texts[i] for i in rows]))
        for column, name in enumerate(NAMES):
            odds[name][rows] = said[:, column]
    np.savez(args.built / "odds.npz", **odds)
    return held_figures(held, odds)


def main() -> None:
    """Judge the correction on held-out patterns and posts; with --write, put it into the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--texts", "--built"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--most", type=int, default=9000, help="how many of the texts to read")
    parser.add_argument("--share", type=float, default=1.0, help="how much of the plain sentences and texts to read")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    folder, asked = args.built / "embedded-de", list(NAMES)
    heat, cut = thresholds(folders.read(folder), asked)
    posts = sentences(share=args.share)
    gold = np.array([[post.answers[head][0] for head in NAMES.values()] for post in posts])
    plain = (*read(folder, VECTOR, asked, [post.text for post in posts]), gold)
    others, source = other_texts(args.data, args.texts.read_text("utf-8").split("\n"), round(args.most * args.share))
    other = read(folder, VECTOR, asked, others)
    rng = np.random.default_rng(0)
    held = rng.random(len(source)) < 0.2
    group = np.unique([post.key for post in posts], return_inverse=True)[1]
    after, last = held_out(plain, tuple(it[~held] for it in other), heat, group, rng, RECIPE)
    now, record = corrected(last, other[0][held], other[1][held]), {}
    for column, name in enumerate(asked):
        same = (now[:, column] >= cut[column]) == (other[1][held][:, column] >= cut[column])
        unchanged = {it: round(float(same[source[held] == it].mean()), 4) for it in dict.fromkeys(source.tolist())}
        judgement = judged(gold[:, column], cut[column], group, plain[1][:, column], after[:, column])
        record[name] = {"unchanged": unchanged} | judgement
    found = {"sentences": len(posts), "patterns": len(np.unique(group)), "questions": record}
    found["out of fold"] = out_of_fold(args, posts, gold, others)
    if args.write:
        found["version"] = insert(folder, VECTOR, asked, learn(plain, other, heat, RECIPE))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
