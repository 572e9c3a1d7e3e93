"""The demo: a fresh database with three people, posts that we wrote, memes that we drew, and projects under way.

An empty folder in, a filled SQLite file and its pictures beside it out. The
insults are made up ("grumblefop"), so that the demo shows how masking and scoring
look without showing anybody anything bad. Its passwords are public: loopback only.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from davy import schemes as shipped
from davy.annotation.project.images import Credit, add_pictures, pictures_in_folder, storing_pictures
from davy.annotation.project.store import posts
from davy.annotation.settling.store import verdicts
from davy.challenges.challenge import Challenge
from davy.challenges.challenge_baselines import BaselineFile, add_baselines
from davy.challenges.challenge_creation import create_challenge
from davy.challenges.challenge_file import parse_plan
from davy.challenges.run_challenge import RANK_BOARD, SCORE_SUBMISSION, SubmissionRequest, name_key, take_submission
from davy.challenges.store import teams
from davy.core import Post, Source, Verdict
from davy.core.scorer import Scorer
from davy.demo import demo_memes, demo_projects, demo_rounds
from davy.detectors import embedded
from davy.detectors.keywords import Keywords
from davy.detectors.load import DEFAULT, load
from davy.detectors.registered import register_detector
from davy.jobs import job_files
from davy.jobs import store as jobs
from davy.jobs.kinds import job_kinds
from davy.jobs.worker import JobWorker
from davy.people.passwords import rehash_password
from davy.people.store import users
from davy.runs import store as project_suites
from davy.runs.jobs.tasks import CHECK
from davy.runs.jobs.training import TRAIN
from davy.schemes.store import schemes
from davy.store import Connection, Store, events, open_store
from davy.store.columns import now
from davy.text.lexicons.read import Lexicon
from davy.text.lexicons.read import load as load_lexicon
from davy.web.settings import DEMO_WORD_LIST, DemoAccount

_CREDIT = Credit("Apache-2.0", "drawn by the Davy developers", "demo")
DETECTOR_PROJECT = "mill-valley"
DETECTOR_NAME = "valley"
SUITE = "What people of the valley say"
CHALLENGE_TEAMS: tuple[tuple[str, str, int], ...] = (("Lamplighters", "ada", 5), ("Field Mice", "karl", 3))
"""Each team, the colleague who sends for it, and of how many posts it gets one wrong."""
SYSTEM_SURVEYS: tuple[dict[str, list[str]], ...] = (
    {"architecture": ["transformer"], "training": ["fine_tuned"], "data": ["labelled_only"], "features": ["none"]},
    {"architecture": ["traditional"], "training": ["none"], "data": ["labelled_only"], "features": ["lexicons"]},
)


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
        add_challenge(store, people, _folder())
        demo_memes.add_memes(store, people, _folder())
        add_detector(store, people, _folder(), files, source)
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
    return Keywords(_words(), shipped.load("hate").question("hate"), DEMO_WORD_LIST)


def _words() -> Lexicon:
    return load_lexicon(_folder() / "words.txt")


def _folder() -> Path:
    return Path(str(resources.files("davy.demo"))) / "data"


def add_detector(store: Store, people: Mapping[str, str], folder: Path, files: Path, source: str) -> None:
    """Train the detector, tell the server of it and check it; `people` are the ids of humphry, jane and michael.

    `source` is how the server's own detector is loaded, which is checked beside it; empty for the demo's word list.
    """
    told: dict[str, Any] = {"project": DETECTOR_PROJECT, "name": DETECTOR_NAME, "kind": "tfidf", "seed": 1}
    made = _run_job(store, people["humphry"], TRAIN, told, files)
    register_detector(store, str(made["model"]), by=people["humphry"], name=DETECTOR_NAME)
    with store.write() as db:
        text = (folder / "valley-suite.yaml").read_text(encoding="utf-8")
        suite = project_suites.create(db, DETECTOR_PROJECT, SUITE, text, by=people["humphry"])
    models = {source: source, str(made["model"]): DETECTOR_NAME} if source else {str(made["model"]): DETECTOR_NAME}
    told = {"models": list(models), "names": list(models.values()), "out": "", "project": DETECTOR_PROJECT}
    told |= {"suite": f"{suite.id}@{suite.version}", "suite_title": SUITE}
    _run_job(store, people["humphry"], CHECK, told, files)


def _run_job(store: Store, who: str, kind: str, told: Mapping[str, Any], files: Path) -> Mapping[str, Any]:
    """Do a job at once, as a worker does, and return what came of it."""
    with store.write() as db:
        job = jobs.enqueue(db, kind, dict(told), owner=who, project=DETECTOR_PROJECT)
    with JobWorker(store, {kind: job_kinds()[kind].function}, files=files, once=True) as worker:
        worker.join()
    with store.read() as db:
        done = jobs.get(db, job.id)
    if done.state != "done":
        raise RuntimeError(f"the demo's job {kind} is {done.state}: {done.error}")
    result: Mapping[str, Any] = done.result
    return result


def add_challenge(store: Store, people: Mapping[str, str], folder: Path) -> None:
    """Add the challenge; `people` are the ids of humphry, jane and michael."""
    lines = (folder / "project_posts.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["project"] == "mill-valley"]
    parts = {"train": rows[::2], "test": rows[1::2]}
    with tempfile.TemporaryDirectory(prefix="davy-demo-") as place:
        files = Path(place)
        for name, part in parts.items():
            _write_csv(files / f"{name}.csv", ["id", "text", "sexist.gold", "category.gold"], map(_cells, part))
        plan = parse_plan((folder / "lamp-cup.yaml").read_bytes(), "lamp-cup.yaml", at=now())
        made = create_challenge(store, plan, files, by=events.SYSTEM, organiser=people["jane"])
        for (team, login, every), survey in zip(CHALLENGE_TEAMS, SYSTEM_SURVEYS, strict=True):
            _send_entry(store, made, files, parts, team, login, every, survey)
        path = files / "B0.csv"
        _write_csv(path, ["id", "sexist.label"], ([row["id"], "not sexist"] for row in rows))
        add_baselines(store, made.id, [BaselineFile(path, "B0 most frequent")], by=events.SYSTEM)
    with JobWorker(
        store, {kind: job_kinds()[kind].function for kind in (SCORE_SUBMISSION, RANK_BOARD)}, once=True
    ) as worker:
        worker.join()


def _send_entry(
    store: Store,
    made: Challenge,
    files: Path,
    parts: Mapping[str, list[dict[str, Any]]],
    name: str,
    login: str,
    every: int,
    survey: dict[str, list[str]],
) -> None:
    """Make a team and send for both phases."""
    with store.write() as db:
        user = users.find(db, login)
        teams.accept_rules(db, made.id, user.id)
        team = teams.create(db, made.id, name, name_key(name), by=user.id, captain=user.id)
    other = {"sexist": "not sexist", "not sexist": "sexist"}
    for phase, data in (("practice", "train"), ("test", "test")):
        said = [row["answers"]["sexist"][0] for row in parts[data]]
        said = [other[label] if place % every == 1 else label for place, label in enumerate(said)]
        path = files / "predictions.csv"
        _write_csv(path, ["id", "label"], ([row["id"], label] for row, label in zip(parts[data], said, strict=True)))
        wanted = SubmissionRequest(made.id, phase, "A", team.id, user.id, "predictions.csv", survey=survey)
        take_submission(store, path, wanted)


def _cells(row: dict[str, Any]) -> list[str]:
    answers = row["answers"]
    return [row["id"], row["text"], answers["sexist"][0], (answers.get("category") or [""])[0]]


def _write_csv(path: Path, head: list[str], rows: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])
