"""Write what the shipped detectors learnt from beside their weights, so that figures on those posts are marked.

    python learnt.py --data DIR

Four bytes a post (`learnt.npy`); the manifests are written again and keep their versions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from corpora import labelled
from german import gahd, germeval, gmhp7k
from offence import olid

from davy.detectors import folder as folders
from davy.detectors.training_text_index import write_learnt

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "src/davy/detectors/weights/embedded-en"
LARGE = ROOT / "packages/davy-large/src/davy_large/embedded-en-large"
ENGLISH = (SMALL, LARGE)
GERMAN = ROOT / "src/davy/detectors/weights/embedded-de"


def main() -> None:
    """Write the three files and the manifests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    english = [post.text for post in labelled(data) if post.part == "train"]
    tweets = [post.text for post in olid(data) if post.part == "train"]
    german = [post.text for read in (gmhp7k, germeval, gahd) for post in read(data)]
    for folder, texts in ((SMALL, english + tweets), (LARGE, english + tweets), (GERMAN, german + english)):
        manifest = folders.read(folder)
        write_learnt(folder, texts)
        written = folders.write(folder, manifest)
        if written.version != manifest.version:
            raise SystemExit(f"{folder.name}: the version changed from {manifest.version} to {written.version}")
        print(f"{folder.name}: {len(texts):,} posts, version {written.version}")


if __name__ == "__main__":
    main()
