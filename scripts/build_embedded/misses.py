"""What a built English detector gets wrong on dev, by kind of post, for its card.

`python misses.py --name embedded-en --built DIR --data DIR`
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl
from corpora import TYPES, VECTORS, Post, labelled

from davy.models.load import load

LENGTHS = ((0, 10), (10, 25), (25, 60), (60, 10_000))


def main() -> None:
    """Write NAME.misses.json beside the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True)
    parser.add_argument("--built", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    posts = [post for post in labelled(args.data) if post.part == "dev"]
    scores = load(str(args.built / args.name)).score(pl.DataFrame({"text": [post.text for post in posts]}))
    said = {
        name: np.array([scores.question(name).positive in it for it in scores.chosen(name)])
        for name in ("hate", "sexist")
    }
    found = {}
    for what, question, rows in kinds(posts):
        if not rows:
            continue
        gold = np.array([posts[i].answers[question][0] == 1 for i in rows])
        found[what] = (round(float((said[question][rows] == gold).mean()), 3), len(rows))
    (args.built / f"{args.name}.misses.json").write_text(json.dumps(found, indent=1))


def kinds(posts: list[Post]) -> list[tuple[str, str, list[int]]]:
    """Return each kind of dev post: its name, the question, and the rows."""
    found = []
    dyna = [i for i, post in enumerate(posts) if post.corpus == "dynahate"]
    for low, high in LENGTHS:
        rows = [i for i in dyna if low <= len(posts[i].text.split()) < high]
        found.append(
            (
                f"hate, dynahate, {low} words and more" if high > 60 else f"hate, dynahate, {low} to {high - 1} words",
                "hate",
                rows,
            )
        )
    for label, word in ((1, "hateful"), (0, "other")):
        found.append(
            (f"hate, dynahate, {word} posts", "hate", [i for i in dyna if posts[i].answers["hate"] == [label]])
        )
    emoji = [i for i, post in enumerate(posts) if post.corpus == "hatemojibuild"]
    for k, name in enumerate(TYPES):
        found.append(
            (f"hate, HatemojiBuild, {name}", "hate", [i for i in emoji if posts[i].answers.get("type") == [k]])
        )
    found.append(("hate, HatemojiBuild, other posts", "hate", [i for i in emoji if posts[i].answers["hate"] == [0]]))
    edos = [i for i, post in enumerate(posts) if post.corpus == "edos"]
    for k, name in enumerate(VECTORS):
        found.append((f"sexist, EDOS, {name}", "sexist", [i for i in edos if posts[i].answers.get("vector") == [k]]))
    found.append(("sexist, EDOS, other posts", "sexist", [i for i in edos if posts[i].answers["sexist"] == [0]]))
    return found


if __name__ == "__main__":
    main()
