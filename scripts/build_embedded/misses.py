"""What a built English detector gets wrong on dev, by kind of post, for its card.

python misses.py --folder DIR --data DIR --cache DIR > NAME.misses.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from corpora import TYPES, VECTORS, Post, labelled
from dev_figures import readings

from davy.detectors import folder as folders

LENGTHS = ((0, 10), (10, 25), (25, 60), (60, 10_000))


def main() -> None:
    """Print how often each kind of post is right, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--folder", "--data", "--cache"):
        parser.add_argument(option, type=Path, required=True)
    args = parser.parse_args()
    posts = [post for post in labelled(args.data) if post.part == "dev"]
    blocks = readings(args.folder, [post.text for post in posts], args.cache)["decoded"]
    thresholds = folders.read(args.folder).thresholds
    said = {name: blocks[name][:, 1] >= thresholds[name] for name in ("hate", "sexist")}
    found = {}
    for what, question, rows in kinds(posts):
        if not rows:
            continue
        gold = np.array([posts[i].answers[question][0] == 1 for i in rows])
        found[what] = (round(float((said[question][rows] == gold).mean()), 3), len(rows))
    print(json.dumps(found, indent=1))


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
