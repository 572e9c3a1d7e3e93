"""Plain English sentences with labels, grown from the patterns of `english_sentences.txt` and `english_insults.txt`.

Patterns in, posts of the corpus `plain` out, the same for the same seed; a post's key is its pattern. They show what
corpora rarely do: groups of people in harmless sentences, a hateful sentence beside its negation, and insults and
threats against one person beside sentences of the same form that hurt nobody. A pattern that a suite of ours has is
refused, and a sentence that is a suite's case is left out, so that suites still judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from corpora import Post
from patterns import any_of, fill_slots, plain_text, sections, suite_cases, taken_patterns

HERE = Path(__file__).parent
EACH = {"0": 40, "0 offensive": 20, "1": 40, "1 women": 20}
"""How often a pattern about groups is filled."""
EACH_PERSON = {"insult": 30, "threat": 30, "harmless": 30}
"""How often a pattern about one person is filled; insults and threats are offensive, and no more than that."""
LOWER_CASE = 0.3
"""So many of the sentences about one person are in lower case, as people type them."""


@dataclass(frozen=True)
class Group:
    """People as sentences name them: many, one, and whether they are women (`women`, `maybe` or nothing)."""

    many: str
    one: str
    women: str


def groups() -> list[Group]:
    """Return the groups that slots are filled with."""
    lines = (HERE / "english_groups.txt").read_text("utf-8").splitlines()
    return [Group(*line.split(";")) for line in lines if line and not line.startswith("#")]


def patterns() -> dict[str, list[str]]:
    """Return the patterns of both files by heading."""
    parts = sections(HERE / "english_sentences.txt") | sections(HERE / "english_insults.txt")
    return {heading: parts[heading] for heading in (*EACH, *EACH_PERSON)}


def group_names() -> set[str]:
    """Return what our groups are called."""
    return {name for group in groups() for name in (group.many, group.one)}


def fill(text: str, parts: dict[str, list[str]], rng: Random) -> str:
    """Return a sentence of a pattern, with `an` where it must be."""
    return re.sub(r"\b([Aa]) (?=[aeioAEIO]|ug|un(?!i))", r"\1n ", fill_slots(text, parts, rng))


def sentences(seed: int = 11) -> list[Post]:
    """Return the posts about groups and those about one person: patterns filled at random, each text once."""
    rng, known = Random(seed), {plain_text(case.text) for case in suite_cases("en")}
    return group_sentences(rng, known) + person_sentences(rng, known)


def group_sentences(rng: Random, known: set[str]) -> list[Post]:
    """Return the posts of `english_sentences.txt`; `known` are texts to leave out, and grows by theirs."""
    parts, every, posts = sections(HERE / "english_sentences.txt"), groups(), []
    women = [group for group in every if group.women == "women"]
    for heading, each in EACH.items():
        hateful = int(heading[0])
        for pattern in parts[heading]:
            for _ in range(each):
                group, other = rng.choice(women if rng.random() < 0.2 else every), rng.choice(every)
                named = pattern.replace("{A}", group.many).replace("{S}", group.one).replace("{B}", other.many)
                text = fill(named, parts, rng)
                if plain_text(text) in known or other.many in group.many:
                    continue
                known.add(plain_text(text))
                sexist = int(heading == "1 women" or bool(hateful and group.women == "women"))
                if heading == "1" and group.women == "maybe":
                    sexist = -1
                offensive = int(bool(hateful) or heading == "0 offensive")
                answers = {"hate": [hateful], "offensive": [offensive], "sexist": [sexist]}
                posts.append(Post(text, "plain", "train", answers, pattern))
    return posts


def person_sentences(rng: Random, known: set[str]) -> list[Post]:
    """Return the posts of `english_insults.txt`; `known` are texts to leave out, and grows by theirs."""
    parts, posts = sections(HERE / "english_insults.txt"), []
    parts["E"] = sections(HERE / "english_sentences.txt")["E"]
    for heading, each in EACH_PERSON.items():
        answers = {"hate": [0], "offensive": [int(heading != "harmless")], "sexist": [0]}
        for pattern in parts[heading]:
            for _ in range(each):
                text = fill(pattern, parts, rng)
                text = text.lower() if rng.random() < LOWER_CASE else text
                if plain_text(text) not in known:
                    known.add(plain_text(text))
                    posts.append(Post(text, "plain", "train", answers, pattern))
    return posts


def insulting_words() -> re.Pattern[str]:
    """Return what finds an insult or a threat of the patterns about one person in a text."""
    parts = sections(HERE / "english_insults.txt")
    return any_of((line for slot in "IHM" for line in parts[slot]), endings="s")


def judged_apart(posts: list[Post]) -> list[Post]:
    """Return the posts with those of every fourth pattern in dev, where nothing learns from them."""
    apart = set(sorted({post.key for post in posts})[3::4])
    return [replace(post, part="dev") if post.key in apart else post for post in posts]


if __name__ == "__main__":
    made = sentences()
    print(len(made), "sentences,", sum(post.answers["hate"][0] for post in made), "of them hateful")
    for pattern, theirs in taken_patterns([it for lines in patterns().values() for it in lines], "en", group_names()):
        print("as a suite has it:", pattern, "/", theirs)
