"""What the corpora say about offence: one yes or no for every corpus, and five attributes of what is offensive.

A post and the words in it in; labels out, -1 where its corpus says nothing. Also the two corpora that are read for this
alone, OLID and GermEval 2021. Where an attribute follows from a word list and not from people, `ATTRIBUTES` says so.
"""

from __future__ import annotations

import csv
import html
from collections.abc import Callable
from functools import cache
from pathlib import Path

import english_sentences
import german_sentences
from corpora import TYPES, VECTORS, Post
from german_nets import KINDS

from davy.text.lexicons import load
from davy.text.match import Matcher

ATTRIBUTES = {
    "insult": "OLID (level C: an individual), GermEval 2018 (INSULT), patterns",
    "threat": "HatemojiBuild (type), EDOS (category 1), patterns",
    "profanity": "word lists: Davy's own and LDNOOBW; nobody labelled it",
    "severe": "Davidson (hate), HatemojiBuild (threats, dehumanising), EDOS (1, 2.3), GermEval 2018 (ABUSE), patterns",
    "sexually explicit": "Davy's word list; nobody labelled it",
}
"""Attribute → what its labels come from."""
EVERY = 10
"""A tenth of a corpus without a dev part is dev."""
LEVELS = ("NOT", "UNT", "IND", "GRP", "OTH")
SEVERE_TYPES = ("threatening language", "dehumanizing language")
OLD_MASKS = {"@USER": "[USER]", "URL": "[URL]"}


def olid(data: Path) -> list[Post]:
    """Return the tweets of OLID's training part, with the level that says whom they are against."""
    posts = []
    with (data / "olid/olid-training-v1.0.tsv").open(encoding="utf-8") as file:
        for i, row in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)):
            level = next(it for it in (row["subtask_c"], row["subtask_b"], row["subtask_a"]) if it != "NULL")
            text = " ".join(html.unescape(row["tweet"]).split())
            answers = {"aux.olid": [LEVELS.index(level)]}
            posts.append(Post(text, "olid", "dev" if i % EVERY == EVERY - 1 else "train", answers))
    return posts


def germeval2021(data: Path) -> list[Post]:
    """Return the comments of GermEval 2021's training part: toxic or not.

    The last tenth is dev, and not every tenth: a comment's neighbours are often below the same post.
    """
    with (data / "germeval2021/GermEval21_TrainData.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    parts = ["train"] * (len(rows) - len(rows) // EVERY) + ["dev"] * (len(rows) // EVERY)
    return [
        Post(" ".join(row["comment_text"].split()), "germeval2021", part, {"aux.toxic": [int(row["Sub1_Toxic"])]})
        for row, part in zip(rows, parts, strict=True)
    ]


def offensive_of(post: Post) -> int:
    """Return whether a post is offensive, as its corpus has it; a no to hate alone says nothing."""
    answers = post.answers
    whole = {"olid": "aux.olid", "davidson": "offensive", "founta2018": "aux.founta", "plain": "offensive",
             "germeval": "aux.offence", "germeval2021": "aux.toxic"}  # fmt: skip
    if post.corpus in whole:
        found = answers.get(whole[post.corpus], answers.get("aux.offence", [-1]))[0]
        return min(found, 1)
    heads = ("aux.kennedy", "aux.guest", "hate", "sexist", "hate.de")
    return 1 if any(answers.get(head) == [1] for head in heads) else -1


@cache
def headings(language: str) -> dict[str, str]:
    """Return pattern → the heading that it stands under."""
    every = (english_sentences if language == "en" else german_sentences).patterns()
    return {pattern: name for name, lines in every.items() for pattern in lines}


@cache
def word_finder(language: str, lists: Path) -> Callable[[str], tuple[bool, bool]]:
    """Return what says whether a text has a profane word, and one for sex."""
    ours, others = Matcher(load(language)), Matcher(load(lists / "ldnoobw" / language))

    def found(text: str) -> tuple[bool, bool]:
        kinds = {span.entry.kind for span in ours.find(text)}
        return bool(kinds & {"profanity", "slur"} or ("sexual" not in kinds and others.find(text))), "sexual" in kinds

    return found


def attributes_of(post: Post, language: str, lists: Path) -> list[int]:
    """Return yes, no or nothing for each of `ATTRIBUTES`."""
    profane, sexual = word_finder(language, lists)(post.text)
    insult, threat, severe = _of_patterns(post, language) if post.corpus == "plain" else _of_corpus(post)
    if offensive_of(post) == 0:
        insult = threat = severe = 0
    return [insult, threat, int(profane), severe, int(sexual)]


def _of_patterns(post: Post, language: str) -> tuple[int, int, int]:
    kinds = {"insult": (1, 0, 0), "threat": (0, 1, 1), "1": (0, -1, -1), "1 women": (0, -1, -1),
             "0 offensive": (0, 0, 0)}  # fmt: skip
    return kinds.get(headings(language)[post.key], (0, 0, 0))


def _of_corpus(post: Post) -> tuple[int, int, int]:
    answers = post.answers
    insult = threat = severe = -1
    if "aux.olid" in answers:
        insult = int(LEVELS[answers["aux.olid"][0]] == "IND")
    if "aux.kind" in answers:
        kind = KINDS[answers["aux.kind"][0]]
        insult, severe = int(kind == "INSULT"), int(kind == "ABUSE")
    if "type" in answers:
        kind = TYPES[answers["type"][0]]
        threat, severe = int(kind == "threatening language"), int(kind in SEVERE_TYPES)
    if "vector" in answers:
        vector = VECTORS[answers["vector"][0]]
        threat, severe = int(vector[0] == "1"), int(vector[0] == "1" or vector.startswith("2.3"))
    if "aux.davidson" in answers:
        severe = int(answers["aux.davidson"][0] == 0)
    return insult, threat, severe
