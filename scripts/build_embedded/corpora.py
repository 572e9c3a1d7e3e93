"""The labelled posts that the embedded English detectors learn from, and the unlabelled ones.

The folder of public sets in, `Post`s out: text, where it came from, which part
it belongs to, and an answer for each head that the set can fill. Heads whose
names start with `aux.` keep definitions apart that differ between sets; they
help the encoder and are thrown away at export.
"""

from __future__ import annotations

import ast
import csv
import html
import lzma
from dataclasses import dataclass, field
from pathlib import Path

csv.field_size_limit(10**9)

TYPES = ("derogation", "animosity", "threatening language", "dehumanizing language")
VECTORS = (
    "1.1 threats of harm",
    "1.2 incitement and encouragement of harm",
    "2.1 descriptive attacks",
    "2.2 aggressive and emotive attacks",
    "2.3 dehumanising attacks & overt sexual objectification",
    "3.1 casual use of gendered slurs, profanities, and insults",
    "3.2 immutable gender differences and gender stereotypes",
    "3.3 backhanded gendered compliments",
    "3.4 condescending explanations or unwelcome advice",
    "4.1 supporting mistreatment of individual women",
    "4.2 supporting systemic discrimination against women as a group",
)
CATEGORIES = ("1. threats, plans to harm and incitement", "2. derogation", "3. animosity", "4. prejudiced discussions")
TARGETS = (
    *("bla", "mus", "wom", "dis", "jew", "gayman", "lgbtqa", "blawom", "asi.east.chin", "trans", "arab", "asi.south"),
    *("gaywom", "gay", "muswom", "immig", "trav", "asi.east", "ref", "blaman", "asi.south.pak", "wc", "ethmin", "hisp"),
    *("mix.race", "african", "sikh", "bis", "nat.poland", "asiwom", "indig", "nat.germany"),
)
HEADS: dict[str, tuple[str, int]] = {
    "hate": ("one", 2),
    "offensive": ("one", 2),
    "type": ("one", len(TYPES)),
    "target": ("many", len(TARGETS)),
    "sexist": ("one", 2),
    "category": ("one", len(CATEGORIES)),
    "vector": ("one", len(VECTORS)),
    "aux.davidson": ("one", 3),
    "aux.founta": ("one", 2),
    "aux.kennedy": ("one", 2),
    "aux.guest": ("one", 2),
}
"""Head → kind and number of labels, in the order of the network's outputs."""


@dataclass(slots=True)
class Post:
    """One training post. `answers` maps a head to the indices of its labels; an absent head is not trained on."""

    text: str
    corpus: str
    part: str
    answers: dict[str, list[int]] = field(default_factory=dict)
    key: str = ""


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def labelled(data: Path) -> list[Post]:
    """Return every labelled post of every set, `train` and `dev`; nothing is balanced yet."""
    return [
        *dynahate(data),
        *hatemojibuild(data),
        *edos(data),
        *davidson(data),
        *binary(data, "founta2018", "aux.founta"),
        *binary(data, "kennedy2020", "aux.kennedy"),
        *guest(data),
    ]


def dynahate(data: Path) -> list[Post]:
    return [
        Post(" ".join(r["text"].split()), "dynahate", r["split"], {"hate": [int(r["label"])]})
        for r in rows(data / "dynahate/dynahate.csv")
    ]


def hatemojibuild(data: Path) -> list[Post]:
    posts = []
    for name, part in (("train.csv", "train"), ("validation.csv", "dev")):
        for r in rows(data / "hatemojibuild" / name):
            answers = {"hate": [int(r["label_gold"])]}
            kind = r["type"].replace("language", " language")
            if kind in TYPES:
                answers["type"] = [TYPES.index(kind)]
                targets = [TARGETS.index(t) for t in ast.literal_eval(r["target"]) if t in TARGETS]
                answers["target"] = targets
            pair = f"pair {min(int(r['entry_id']), int(r['matched_id'] or r['entry_id']))}"
            posts.append(Post(r["text"].strip(), "hatemojibuild", part, answers, pair))
    return posts


def edos(data: Path) -> list[Post]:
    posts = []
    for r in rows(data / "edos/edos_labelled_aggregated.csv"):
        answers = {"sexist": [int(r["label_sexist"] == "sexist")]}
        if answers["sexist"] == [1]:
            answers["vector"] = [VECTORS.index(r["label_vector"])]
            answers["category"] = [int(r["label_vector"][0]) - 1]
        posts.append(Post(r["text"].strip(), "edos", r["split"], answers))
    return posts


def davidson(data: Path) -> list[Post]:
    posts = []
    for i, r in enumerate(rows(data / "davidson2017/labeled_data.csv")):
        text = " ".join(html.unescape(html.unescape(r["tweet"])).split())
        answers = {"aux.davidson": [int(r["class"])], "offensive": [int(r["class"] != "2")]}
        if r["class"] != "1":  # what its annotators called offensive holds much that others call hateful
            answers["hate"] = [int(r["class"] == "0")]
        posts.append(Post(text, "davidson", "dev" if i % 20 == 7 else "train", answers))
    return posts


def binary(data: Path, name: str, head: str) -> list[Post]:
    posts = []
    for path in sorted((data / name).glob("*.csv")):
        part = "dev" if path.name.startswith("dev") else "train"
        for r in rows(path):
            label = int(r["label"])
            answers = {head: [label]}
            if name == "kennedy2020" or label == 0:  # founta's yes is abuse, hateful or not
                answers["hate"] = [label]
            posts.append(Post(" ".join(html.unescape(r["text"]).split()), name, part, answers))
    return posts


def guest(data: Path) -> list[Post]:
    return [
        Post(" ".join(r["body"].split()), "guest", "train", {"aux.guest": [int(r["level_1"] == "Misogynistic")]})
        for r in rows(data / "guest2021/final_labels.csv")
        if r["split"] == "train" and r["body"].strip()
    ]


def unlabelled(data: Path) -> list[Post]:
    """Return the Reddit posts: gender and dating boards first, then the sample of all boards."""
    posts = []
    for name in ("reddit_gender_dating_posts.txt.xz", "reddit_top_posts_350k.txt.xz"):
        with lzma.open(data / "reddit" / name, "rt", encoding="utf-8") as file:
            posts += [Post(line.strip(), name.split("_")[1], "unlabelled") for line in file if line.strip()]
    return posts
