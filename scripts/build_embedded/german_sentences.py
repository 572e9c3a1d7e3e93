"""Plain German sentences with labels, grown from the patterns of `german_sentences.txt`.

Patterns in, posts of the corpus `plain` out, the same for the same seed. They show what corpora of tweets rarely do: a
sentence and its negation, hate and its rebuke, women in a harmless sentence. What a suite of ours or
`german_statements.tsv` has is left out, so that both still judge.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from corpora import Post

HERE = Path(__file__).parent
WOMEN = ("Frauen", "Mädchen", "Mütter", "Feministinnen")
MAYBE_WOMEN = ("Muslimas", "Jüdinnen", "Migrantinnen", "Lesben", "Transfrauen")
"""Women, but hated as something else as often: nothing is said about misogyny."""
EACH = {"0": 60, "1": 60, "1 women": 40}
"""How often a pattern is filled."""


def sections(path: Path) -> dict[str, list[str]]:
    """Return the lines of each heading; lines that repeat count more."""
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("== "):
            current = parts.setdefault(line[3:], [])
        elif not line.startswith("#"):
            current.append(line)
    return parts


def plain_text(text: str) -> str:
    """Return a text's letters and digits alone, to compare by."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def card_statements() -> set[str]:
    """Return the statements that the card is about; a sentence that holds one is not learnt."""
    lines = (HERE / "german_statements.tsv").read_text("utf-8").splitlines()
    return {plain_text(line.split("\t")[2]) for line in lines}


def suite_texts() -> set[str]:
    """Return every case of our German suites."""
    from davy.suites import suite_file

    names = [name for name in suite_file.names() if name.endswith("-de")]
    return {plain_text(case.text) for name in names for case in suite_file.load(name).cases}


def sentences(seed: int = 11, share: float = 1.0) -> list[Post]:
    """Return the posts: each pattern filled at random, each text once; of these a share, drawn at random."""
    parts = sections(HERE / "german_sentences.txt")
    lines = (HERE / "german_groups.txt").read_text("utf-8").splitlines()
    groups = [line.split(";") for line in lines if line and not line.startswith("#")]
    women = [group for group in groups if group[0] in WOMEN]
    rng, known, statements, posts = Random(seed), suite_texts(), card_statements(), []
    for heading, each in EACH.items():
        hateful = int(heading[0])
        for pattern in parts[heading]:
            for _ in range(each):
                # Women are a third: that is what the German questions are about.
                group = rng.choice(women if rng.random() < 0.33 else groups)
                text = pattern.replace("{A}", group[0]).replace("{D}", group[1])
                for slot in "WPTE":
                    while f"{{{slot}}}" in text:
                        text = text.replace(f"{{{slot}}}", rng.choice(parts[slot]), 1)
                text = text[0].upper() + text[1:]
                letters = plain_text(text)
                if letters in known or any(it in letters for it in statements):
                    continue
                known.add(letters)
                about_women = heading == "1 women" or (group[0] in WOMEN and "{" in pattern)
                misogynistic = int(bool(hateful and about_women))
                if hateful and group[0] in MAYBE_WOMEN and "{" in pattern.replace("{E}", ""):
                    misogynistic = -1
                answers = {"hate.de": [hateful], "misogynistic.de": [misogynistic], "aux.offence": [hateful]}
                posts.append(Post(text, "plain", "train", answers))
    return posts if share == 1 else rng.sample(posts, round(len(posts) * share))


if __name__ == "__main__":
    made = sentences()
    yes = sum(post.answers["hate.de"][0] for post in made)
    print(len(made), "sentences,", yes, "of them hateful")
