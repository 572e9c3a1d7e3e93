"""The demo: a fresh database with three people, posts that we wrote, memes that we drew, and projects under way.

An empty folder in, a filled SQLite file and its pictures beside it out. The
insults are made up ("grumblefop"), so that the demo shows how masking and scoring
look without showing anybody anything bad. Its passwords are public: loopback only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from davy import schemes as shipped
from davy.annotation.project.images import Credit, add_pictures, pictures_in_folder, storing_pictures
from davy.annotation.project.store import posts
from davy.annotation.settling.store import verdicts
from davy.core import Post, Source, Verdict
from davy.core.scorer import Scorer
from davy.demo import demo_challenge, demo_detector, demo_memes, demo_projects, demo_rounds
from davy.detectors import embedded
from davy.detectors.keywords import Keywords
from davy.detectors.load import DEFAULT, load
from davy.jobs import job_files
from davy.people.passwords import rehash_password
from davy.people.store import users
from davy.schemes.store import schemes
from davy.store import Connection, Store, events, open_store
from davy.text.lexicons.read import Lexicon
from davy.text.lexicons.read import load as load_lexicon

WORD_LIST = "demo word list"
_CREDIT = Credit("Apache-2.0", "drawn by the Davy developers", "demo")


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """An account of the demo, with the password that its sign-in page shows."""

    login: str
    password: str
    role: str
    name: str


PEOPLE: tuple[DemoAccount, ...] = (
    DemoAccount("humphry", "three warm lamps", "admin", "Humphry"),
    DemoAccount("jane", "seven quiet rooms", "expert", "Jane"),
    DemoAccount("michael", "one small candle", "annotator", "Michael"),
)


def build(folder: Path) -> str:
    """Make the demo's database in a folder and return its URL."""
    url = f"sqlite:///{folder / 'demo.sqlite'}"
    hashes = [rehash_password(person.password) for person in PEOPLE]
    target, source = _target()
    with open_store(url, create=True) as store:
        people = _fill(store, hashes)
        files = job_files.files_folder(url)
        assert files is not None  # SQLite has one beside it
        demo_rounds.add_rounds(store, people, _folder(), target, source, files)
        demo_challenge.add_challenge(store, people, _folder())
        demo_memes.add_memes(store, people, _folder())
        demo_detector.add_detector(store, people, _folder(), files, source)
    return url


def _target() -> tuple[Scorer, str]:
    """Return what people write against, and how it is loaded: the embedded detector, else the demo's word list."""
    return (load(DEFAULT), DEFAULT) if embedded.shipped_names() else (scorer(), "")


def _fill(store: Store, hashes: Sequence[str]) -> dict[str, str]:
    """Add people, posts and the labelling projects; return the ids of the people by login."""
    with (
        storing_pictures(store, pictures_in_folder(_folder() / "images"), _pictures(), credit=_CREDIT) as pictures,
        store.write() as db,
    ):
        ids = {}
        for person, hashed in zip(PEOPLE, hashes, strict=True):
            made = users.add(
                db,
                login=person.login,
                name=person.name,
                role=person.role,
                password_hash=hashed,
                by=events.SYSTEM,
            )
            ids[person.login] = made.id
        _add_posts(db, {name: picture.key for name, picture in pictures.items()})
        add_pictures(db, None, pictures, by=events.SYSTEM)
        demo_projects.add(db, ids, _folder())
    return ids


def _add_posts(db: Connection, pictures: Mapping[str, str]) -> None:
    """Add the demo's posts with their verdicts, scheme by scheme; `pictures` are keys by name."""
    from davy import schemes as shipped

    source = Source("demo", licence="Apache-2.0", found="written by the Davy developers")
    rows = _posts()
    for name in dict.fromkeys(row["scheme"] for row in rows):
        scheme = shipped.load(name)
        schemes.save(db, scheme, shipped.text_of(name).decode(), by=events.SYSTEM)
        given: list[Verdict] = []
        for row in (row for row in rows if row["scheme"] == name):
            image = pictures.get(row.get("image", ""))
            post = Post(row["id"], row["text"], row["lang"], image, source)
            key = posts.add(db, post, project=None, by=events.SYSTEM)
            answers = scheme.completed({question: tuple(labels) for question, labels in row["answers"].items()})
            given += [Verdict(key, question, labels, "published") for question, labels in answers.items()]
        verdicts.add_published(db, given, scheme, by=events.SYSTEM)


def _posts() -> list[dict[str, Any]]:
    text = (_folder() / "posts.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _pictures() -> set[str]:
    return {row["image"] for row in _posts() if row.get("image")}


def lexicon() -> Lexicon:
    """Return what the demo masks: what Davy always masks, and the demo's own made-up words."""
    return Lexicon("demo", (*load_lexicon("masking").entries, *_words().entries))


def scorer() -> Scorer:
    """Return the demo's stand-in where no embedded detector is installed: a list of its own words."""
    return Keywords(_words(), shipped.load("hate").question("hate"), WORD_LIST)


def _words() -> Lexicon:
    return load_lexicon(_folder() / "words.txt")


def _folder() -> Path:
    return Path(str(resources.files("davy.demo"))) / "data"
