"""What teams of a challenge download: data sets as far as they are public, and the starting kit as a zip.

The one thing to know: what comes out here is decided by the clock and by whether a set's labels are public, never by
who asks; posts are JSON lines, so that texts stay exact and no spreadsheet runs them. Pictures go by their keys,
since the names of their files may tell labels.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from davy.annotation.project.images import files_of, folder_of
from davy.annotation.project.store import images
from davy.challenges.challenge import Challenge, ChallengeEntry, ChallengePhase, ChallengeTask
from davy.challenges.store import challenges
from davy.core.errors import UserError
from davy.files.atomic import atomic_path
from davy.store import Connection, Store
from davy.store.columns import now


def released(challenge: Challenge, at: datetime) -> Iterator[tuple[ChallengePhase, ChallengeTask]]:
    """Yield each phase and task whose posts are given out by now."""
    for phase in challenge.phases:
        for task in challenge.tasks:
            window = phase.window(task)
            if window is not None and window.state(at) != "waiting":
                yield phase, task


def entry_lines(db: Connection, challenge: Challenge, name: str, task: str | None, *, at: datetime) -> Iterator[str]:
    """Yield a data set as JSON lines, as far as it is public by now: labels where they are, posts where released."""
    known = challenges.data_sets(db, challenge.id)
    if name not in known:
        raise UserError(f"There is no data {name[:30]!r}.", status=404)
    shown = challenges.pictures(db, challenge.id)
    for entry in _released_entries(db, challenge, name, task, at=at):
        image = {"image": f"{entry.image}.png"} if entry.image in shown else {}
        yield json.dumps({"id": entry.id, "text": entry.text, **image, **entry.labels}, ensure_ascii=False)


def _released_entries(
    db: Connection, challenge: Challenge, name: str, task: str | None, *, at: datetime
) -> Iterator[ChallengeEntry]:
    """Return a data set's posts as far as they are public by now."""
    ranked = {phase.data for phase in challenge.phases}
    if challenges.data_sets(db, challenge.id)[name].labels_public:
        return challenges.labelled(db, challenge.id, name)
    if name not in ranked and task is None:
        return challenges.unlabelled(db, challenge.id, name)
    if any(phase.data == name and each.name == task for phase, each in released(challenge, at)):
        return challenges.unlabelled(db, challenge.id, name, task)
    raise UserError(f"The data {name!r} has not been released.", status=403)


def write_kit(store: Store, challenge_id: str, path: Path, *, at: datetime | None = None) -> None:
    """Write the starting kit: what the challenge asks, data and pictures as far as they are public, and a sample."""
    at = at or now()
    with (
        store.read() as db,
        atomic_path(path) as draft,
        zipfile.ZipFile(draft, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=6) as archive,
    ):
        challenge = challenges.get(db, challenge_id)
        known = challenges.data_sets(db, challenge_id)
        ranked = {phase.data for phase in challenge.phases}
        shown: set[str] = set()
        archive.writestr("README.md", _kit_text(challenge, pictures=bool(challenges.pictures(db, challenge_id))))
        for name, data in known.items():
            if data.labels_public or name not in ranked:
                _pack(archive, f"data/{name}.jsonl", entry_lines(db, challenge, name, None, at=at))
                shown |= _pictures_of(db, challenge, name, None, at)
        for phase, task in released(challenge, at):
            if not known[phase.data].labels_public:
                lines = entry_lines(db, challenge, phase.data, task.name, at=at)
                _pack(archive, f"data/{phase.name}-{task.name}.jsonl", lines)
                shown |= _pictures_of(db, challenge, phase.data, task.name, at)
            _pack(archive, f"sample/{phase.name}-{task.name}.csv", _sample(db, challenge, phase, task))
        _pack_pictures(store, db, archive, shown & challenges.pictures(db, challenge_id))


def _pictures_of(db: Connection, challenge: Challenge, name: str, task: str | None, at: datetime) -> set[str]:
    return {each.image for each in _released_entries(db, challenge, name, task, at=at) if each.image}


def _pack_pictures(store: Store, db: Connection, archive: zipfile.ZipFile, keys: Collection[str]) -> None:
    """Write pictures in the order of their keys, with licences and credits, without the names that their files had."""
    if not keys:
        return
    rows = [replace(it, name="", source=None) for it in images.of_project(db, None) if it.key in keys]
    for name, data in files_of(folder_of(store), sorted(rows, key=lambda it: it.key)):
        packed = data if isinstance(data, bytes) else data.read_bytes()
        archive.writestr(f"pictures/{name}", packed, compress_type=zipfile.ZIP_STORED)


def _pack(archive: zipfile.ZipFile, name: str, lines: Iterator[str]) -> None:
    with archive.open(name, "w", force_zip64=True) as file:
        for line in lines:
            file.write(line.encode() + b"\n")


def _sample(db: Connection, challenge: Challenge, phase: ChallengePhase, task: ChallengeTask) -> Iterator[str]:
    """Yield a submission that is taken and says the same of every post."""
    value = "0.5" if task.kind == "score" else json.dumps(task.labels[0], ensure_ascii=False)
    yield f"id,{'score' if task.kind == 'score' else 'label'}"
    for key in challenges.entry_ids(db, challenge.id, phase.data, task.name):
        quoted = key.replace('"', '""')
        yield f'"{quoted}",{value}'


def _kit_text(challenge: Challenge, *, pictures: bool) -> str:
    lines = [f"# {challenge.title}", "", str(challenge.settings.get("description") or ""), "", "## Tasks", ""]
    for task in challenge.tasks:
        lines.append(f"- **{task.name}** {task.title}. Ranked by {task.metric}. Labels: {', '.join(task.labels)}")
    lines += ["", "## Phases (UTC)", ""]
    for phase in challenge.phases:
        for task in challenge.tasks:
            window = phase.window(task)
            if window is not None:
                opens, closes = (moment.astimezone(UTC) for moment in (window.opens, window.closes))
                lines.append(f"- {phase.name}, {task.name}: {opens:%Y-%m-%d %H:%M} to {closes:%Y-%m-%d %H:%M}, "
                             f"{phase.limit} submissions a team")  # fmt: skip
    lines += [
        "",
        "## Files",
        "",
        "`data/` has one JSON object a line: `id`, `text`, and one field a task where labels are public.",
        "`sample/` has a submission for each open task: columns `id` and `label` (or `score`), one row for each post.",
        *(["`pictures/` has the pictures that `image` names, and `credits.csv`."] if pictures else []),
        "",
        f"    davy challenge submit {challenge.id} predictions.csv --task {challenge.tasks[0].name} --server URL",
        "",
        "## Rules",
        "",
        str(challenge.settings.get("rules") or ""),
        "",
    ]
    return "\n".join(lines)
