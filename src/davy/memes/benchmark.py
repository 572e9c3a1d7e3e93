"""A benchmark of drawn memes in which only picture and text together say whether a meme is mean.

A size and a seed in, splits of whole groups out; `make_benchmark` draws them. Somebody is told that they are like
the thing in the picture, or that they are not: a meme is mean when the thing is nasty and they are like it, or nice
and they are not. The one thing to know: in every group, each text and each object stands as often on a mean meme
as on a kind one, so whoever reads one side alone is at chance, exactly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from davy.core.errors import UserError
from davy.core.meme import BENIGN_IMAGE, BENIGN_TEXT, MULTIMODAL_HATE, RANDOM_NOT_HATEFUL
from davy.files.yaml_nodes import load_shipped

GROUP = 20
"""Memes in a group."""
SHARES = {"train": 0.625, "dev": 0.125, "test": 0.25}
SMALLEST, LARGEST = 8 * GROUP, 100_000
"""Sizes; for more there are too few different texts."""


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A picture to draw: an object before a ground. Lengths are shares of the picture's side, the angle is degrees."""

    emoji: str
    object: str
    nice: bool
    ground: str
    colours: tuple[str, str]
    size: float
    x: float
    y: float
    angle: float
    mirrored: bool

    @property
    def caption(self) -> str:
        """What the picture shows, in a sentence."""
        where = _parts()["grounds"][self.ground].replace("ONE", self.colours[0]).replace("TWO", self.colours[1])
        return f"a drawing of {self.object} {where}".replace(" a orange", " an orange")


@dataclass(frozen=True, slots=True)
class MemeWords:
    """The words on a meme, at its top and at its bottom, and how they look."""

    top: str
    bottom: str
    affirms: bool
    """Whether it says that somebody is like the picture."""
    font: str
    colour: str
    uppercase: bool

    @property
    def text(self) -> str:
        return f"{self.top} {self.bottom}".strip()


@dataclass(frozen=True, slots=True)
class BenchmarkMeme:
    """One meme. `parent` is the mean meme whose picture or text was replaced to make this one."""

    id: str
    group: str
    kind: str
    picture: DrawnPicture
    words: MemeWords
    parent: str | None = None

    @property
    def mean(self) -> bool:
        return self.picture.nice != self.words.affirms

    def row(self) -> dict[str, Any]:
        """Return the meme as a line of the benchmark's files."""
        return {
            "id": self.id,
            "img": f"img/{self.id}.png",
            "label": int(self.mean),
            "text": self.words.text,
            "kind": self.kind,
            "group": self.group,
            "parent": self.parent,
            "caption": self.picture.caption,
            "object": self.picture.object,
        }


def plan_benchmark(size: int, seed: int) -> dict[str, list[BenchmarkMeme]]:
    """Return the memes of each split, in an order and with ids that say nothing about them."""
    if not SMALLEST <= size <= LARGEST or size % GROUP:
        raise UserError(
            f"--memes is {size:,}; memes come in whole groups of {GROUP}, so give a multiple of {GROUP} "
            f"from {SMALLEST:,} to {LARGEST:,}, such as {min(max(SMALLEST, size // GROUP * GROUP), LARGEST):,}."
        )
    used: set[str] = set()
    planned: dict[str, list[BenchmarkMeme]] = {}
    start = 0
    for split, n in _groups_by_split(size // GROUP).items():
        memes = [meme for number in range(n) for meme in _group(f"{split}-{number:04}", number, seed, used)]
        rng = random.Random(f"{seed}/{split}/order")  # noqa: S311 an order, not a secret
        planned[split] = _numbered(memes, start, rng)
        start += len(memes)
    return planned


def _groups_by_split(groups: int) -> dict[str, int]:
    counts = {split: max(1, round(groups * SHARES[split])) for split in ("dev", "test")}
    return {"train": groups - sum(counts.values()), **counts}


def _numbered(memes: list[BenchmarkMeme], start: int, rng: random.Random) -> list[BenchmarkMeme]:
    """Return memes shuffled, with ids that count on from `start`."""
    rng.shuffle(memes)
    ids = {meme.id: f"{place:06}" for place, meme in enumerate(memes, start)}
    return [replace(meme, id=ids[meme.id], parent=ids[meme.parent] if meme.parent else None) for meme in memes]


def _group(name: str, number: int, seed: int, used: set[str]) -> list[BenchmarkMeme]:
    """Return the memes of a group: two halves over the same four texts, each the other's mirror.

    `used` are the texts of other groups; those of this one are added.
    """
    rng = random.Random(f"{seed}/{name}")  # noqa: S311 a plan, not a secret
    families = list(_parts()["families"].values())
    family = families[number % len(families)]
    pairs = [_unused_words(rng, sentence, used) for sentence in rng.sample(family["sentences"], 2)]
    words = {affirms: [pair[affirms] for pair in pairs] for affirms in (True, False)}
    return [meme for nice in (False, True) for meme in _half(name, nice, family, words, rng)]


def _half(
    group: str, nice: bool, family: dict[str, Any], words: dict[bool, list[MemeWords]], rng: random.Random
) -> list[BenchmarkMeme]:
    """Return five mean and five kind memes; `nice` is the side of the pictures with three of the mean ones.

    The third mean one uses the first picture and the second text again, so the kind ones are two of each
    confounder and a random one, which has the first picture's object and the text that the other half needs.
    """
    many, few = ([_draw_picture(rng, family, side) for _ in range(2)] for side in (nice, not nice))
    mean_of_many, mean_of_few = words[not nice], words[nice]
    made: list[BenchmarkMeme] = []

    def add(kind: str, picture: DrawnPicture, text: MemeWords, parent: str | None = None) -> str:
        meme = BenchmarkMeme(f"{group}/{nice}/{len(made)}", group, kind, picture, text, parent)
        made.append(meme)
        return meme.id

    for place in (0, 1):
        parent = add(MULTIMODAL_HATE, many[place], mean_of_many[place])
        add(BENIGN_IMAGE, few[place], mean_of_many[place], parent)
        add(BENIGN_TEXT, many[place], mean_of_few[place], parent)
        add(MULTIMODAL_HATE, few[place], mean_of_few[place])
    add(MULTIMODAL_HATE, many[0], mean_of_many[1])
    again = _draw_picture(rng, family, nice, many[0].emoji)
    add(RANDOM_NOT_HATEFUL, again, mean_of_few[1])
    return made


def _draw_picture(rng: random.Random, family: dict[str, Any], nice: bool, emoji: str | None = None) -> DrawnPicture:
    parts, things = _parts(), family["nice" if nice else "nasty"]
    emoji = emoji or rng.choice(sorted(things))
    size = rng.uniform(0.42, 0.52)
    one, two = rng.sample(list(parts["colours"]), 2)
    free = 1 - size
    return DrawnPicture(
        emoji=emoji,
        object=things[emoji],
        nice=nice,
        ground=rng.choice(list(parts["grounds"])),
        colours=(one, two),
        size=size,
        x=rng.uniform(0.04, free - 0.04),
        y=free / 2 + rng.uniform(-0.02, 0.02),
        angle=rng.uniform(-12, 12),
        mirrored=rng.random() < 0.5,
    )


def _unused_words(rng: random.Random, sentence: list[str], used: set[str]) -> dict[bool, MemeWords]:
    while True:
        pair = _write_words(rng, sentence)
        if pair[True].text not in used:
            used.add(pair[True].text)
            return pair


def _write_words(rng: random.Random, sentence: list[str]) -> dict[bool, MemeWords]:
    """Return words that affirm and their replacement that denies: they differ in the sentence alone."""
    parts = _parts()
    top = rng.choice(parts["openings"]).replace("NAME", rng.choice(parts["names"]))
    ending = rng.choice(parts["endings"])
    font = rng.choices(("Anton", "DejaVu Sans"), (3, 1))[0]
    colour, uppercase = rng.choice(("#ffffff", "#ffffff", "#fff27a", "#bfe8ff")), rng.random() < 0.5
    return {
        affirms: MemeWords(top, sentence[not affirms] + ending, affirms, font, colour, uppercase)
        for affirms in (True, False)
    }


@lru_cache(maxsize=1)
def _parts() -> dict[str, Any]:
    parts: dict[str, Any] = load_shipped("davy.memes", "benchmark.yaml")
    return parts


def colour_value(name: str) -> str:
    """Return a colour of the benchmark as #rrggbb."""
    return str(_parts()["colours"][name])
