"""Note at which share of yes the probabilities of the shipped text detectors hold: the manifests' `prevalence`.

    python prevalence.py --data DIR --cache DIR

English: dev, where temperatures were set. A temperature alone leaves the mean probability a little off the share of
yes, so what is noted is the share at which it fits: that of dev, less what would have to be added to the log odds.
German: the share among the posts on which slope and shift were fitted out of fold. Versions stay.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from dev_figures import readings
from finish import gold_of
from german_finish import held_posts
from learn_on_finish import UNSEEN, dev_posts, offence
from learnt import ENGLISH, GERMAN

from davy.detectors import folder as folders
from davy.detectors.prevalence import log_odds
from davy.measure.calibration import fit_shift


def english(folder: Path, data: Path, cache: Path) -> dict[str, float]:
    """Return the shares of an English folder."""
    posts = dev_posts(data, "en")
    blocks = readings(folder, [post.text for post in posts], cache)["apart"]
    found = {}
    for name in ("hate", "offensive", "sexist"):
        rows, gold = gold_of(posts, name)
        if name == "offensive":
            rows, gold = (np.concatenate(it) for it in zip(*(offence(posts, it) for it in UNSEEN["en"]), strict=True))
        chance = blocks[name][rows, 1].astype(np.float64).clip(1e-9, 1 - 1e-9)
        odds = log_odds(float(gold.mean())) - fit_shift(np.log(chance / (1 - chance)), gold)
        found[name] = round(float(1 / (1 + np.exp(-odds))), 3)
    return found


def german(data: Path) -> dict[str, float]:
    """Return the shares of the German folder."""
    return {name: round(float(gold[gold >= 0].mean()), 3) for name, gold in held_posts(data).gold.items()}


def main() -> None:
    """Write the shares into the manifests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--data", "--cache"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--folder", type=Path, action="append", help="these alone")
    args = parser.parse_args()
    for folder in args.folder or (*ENGLISH, GERMAN):
        manifest = folders.read(folder)
        shares = german(args.data) if folder.name == GERMAN.name else english(folder, args.data, args.cache)
        written = folders.write(folder, replace(manifest, prevalence=shares))
        if written.version != manifest.version:
            raise SystemExit(f"{folder.name}: the version changed from {manifest.version} to {written.version}")
        print(folder.name, shares)


if __name__ == "__main__":
    main()
