"""The demo: a fresh database with three people, posts that we wrote and memes that we drew.

An empty folder in, a filled SQLite file and the folder of its images out. The
insults are made up ("grumblefop"), so that the demo shows how masking and scoring
look without showing anybody anything bad. Its passwords are public: loopback only.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from davy.core.scorer import Scorer
    from davy.lexicons.read import Lexicon

WORD_LIST = "demo word list"


@dataclass(frozen=True, slots=True)
class Person:
    """An account of the demo, with the password that its sign-in page shows."""

    login: str
    password: str
    role: str
    name: str


PEOPLE: tuple[Person, ...] = (
    Person("humphry", "three warm lamps", "admin", "Humphry (admin)"),
    Person("jane", "seven quiet rooms", "expert", "Jane (expert)"),
    Person("michael", "one small candle", "annotator", "Michael (annotator)"),
)


def build(folder: Path) -> str:
    """Make the demo's database in a folder and return its URL."""
    from davy.serve.passwords import hash_password
    from davy.store import events, open_store, users

    url = f"sqlite:///{folder / 'demo.sqlite'}"
    hashes = [hash_password(person.password) for person in PEOPLE]
    with open_store(url, create=True) as store, store.write() as db:
        for person, hashed in zip(PEOPLE, hashes, strict=True):
            users.add(
                db,
                login=person.login,
                name=person.name,
                role=person.role,
                password_hash=hashed,
                by=events.SYSTEM,
            )
    return url


def image_folder() -> Path:
    """Return the folder with the memes."""
    return Path(str(resources.files("davy.serve"))) / "demo" / "images"


def lexicon() -> Lexicon:
    """Return what the demo masks: what Davy always masks, and the demo's own made-up words."""
    from davy.lexicons.read import Lexicon, load

    return Lexicon("demo", (*load("masking").entries, *_words().entries))


def scorer() -> Scorer:
    """Return the demo's stand-in where no embedded detector is installed: a list of its own words."""
    from davy.models.keywords import Keywords
    from davy.schemes.read import load

    return Keywords(_words(), load("hate").question("hate"), WORD_LIST)


def _words() -> Lexicon:
    from davy.lexicons.read import load

    return load(Path(str(resources.files("davy.serve"))) / "demo" / "words.txt")
