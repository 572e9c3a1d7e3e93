"""Plain German sentences with labels, grown from the patterns of `german_sentences.txt` and `german_insults.txt`.

Patterns in, posts of the corpus `plain` out, the same for the same seed; a post's key is its pattern. They show what
corpora of tweets rarely do: a sentence and its negation, hate and its rebuke, women in a harmless sentence, insults and
threats against one person beside sentences of the same form that hurt nobody. What a suite of ours or
`german_statements.tsv` has is left out, so that both still judge.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from corpora import Post
from patterns import fill_slots, plain_text, sections, suite_cases, taken_patterns

HERE = Path(__file__).parent
WOMEN = ("Frauen", "Mädchen", "Mütter", "Feministinnen")
MAYBE_WOMEN = ("Muslimas", "Jüdinnen", "Migrantinnen", "Lesben", "Transfrauen")
"""Women, but hated as something else as often: nothing is said about misogyny."""
EACH = {"0": 60, "1": 60, "1 women": 40}
"""How often a pattern about groups is filled."""
EACH_PERSON = {"insult": 30, "threat": 30, "harmless": 30}
"""How often a pattern about one person is filled."""
LOWER_CASE = 0.3
"""So many of the sentences about one person are in lower case, as people type them."""


def card_statements() -> set[str]:
    """Return the statements that the card is about; a sentence that holds one is not learnt."""
    lines = (HERE / "german_statements.tsv").read_text("utf-8").splitlines()
    return {plain_text(line.split("\t")[2]) for line in lines}


def suite_texts() -> set[str]:
    """Return every case of our German suites."""
    return {plain_text(case.text) for case in suite_cases("de")}


def groups() -> list[list[str]]:
    """Return the groups that slots are filled with: nominative and dative."""
    lines = (HERE / "german_groups.txt").read_text("utf-8").splitlines()
    return [line.split(";") for line in lines if line and not line.startswith("#")]


def sentences(seed: int = 11, share: float = 1.0) -> list[Post]:
    """Return the posts: each pattern filled at random, each text once; of these a share, drawn at random."""
    parts = sections(HERE / "german_sentences.txt")
    every = groups()
    women = [group for group in every if group[0] in WOMEN]
    rng, known, statements, posts = Random(seed), suite_texts(), card_statements(), []
    for heading, each in EACH.items():
        hateful = int(heading[0])
        for pattern in parts[heading]:
            for _ in range(each):
                # Women are a third: that is what the German questions are about.
                group = rng.choice(women if rng.random() < 0.33 else every)
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
                posts.append(Post(text, "plain", "train", answers, pattern))
    return posts if share == 1 else rng.sample(posts, round(len(posts) * share))


def patterns() -> dict[str, list[str]]:
    """Return the patterns of both files by heading."""
    parts = sections(HERE / "german_sentences.txt") | sections(HERE / "german_insults.txt")
    return {heading: parts[heading] for heading in (*EACH, *EACH_PERSON)}


def person_sentences(seed: int = 12, share: float = 1.0) -> list[Post]:
    """Return the posts of `german_insults.txt`, each text once; of these a share, drawn at random.

    Insults and threats are offensive and not misogynistic. Whether they are hateful the corpora see differently (to
    GMHP7k an insult against one person is hate, to GAHD it is not), so nothing is said of it.
    """
    rng, known, statements, posts = Random(seed), suite_texts(), card_statements(), []
    parts = sections(HERE / "german_insults.txt")
    for heading, each in EACH_PERSON.items():
        bad = heading != "harmless"
        answers = {"hate.de": [-1 if bad else 0], "misogynistic.de": [0], "aux.offence": [int(bad)]}
        for pattern in parts[heading]:
            for _ in range(each):
                text = fill_slots(pattern, parts, rng)
                text = text.lower() if rng.random() < LOWER_CASE else text
                letters = plain_text(text)
                if letters in known or any(it in letters for it in statements):
                    continue
                known.add(letters)
                posts.append(Post(text, "plain", "train", answers, pattern))
    return posts if share == 1 else rng.sample(posts, round(len(posts) * share))


if __name__ == "__main__":
    made = sentences()
    yes = sum(post.answers["hate.de"][0] for post in made)
    print(len(made), "sentences,", yes, "of them hateful;", len(person_sentences()), "about one person")
    lines = [pattern for lines in patterns().values() for pattern in lines]
    for pattern, theirs in taken_patterns(lines, "de", {name for group in groups() for name in group}):
        print("as a suite has it:", pattern, "/", theirs)
