"""A Codabench bundle: settled posts as a benchmark, with a scoring program that needs Python alone.

Public are ids, texts and languages; verdicts and everything else of the posts
are reference data, which only the scoring program sees. People's single answers
are not part of a benchmark, so this format does not hold them.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from davy.annotation.exchange import json_stream
from davy.annotation.exchange.extra_fields import mapping, post_extras, post_fields, strings, text
from davy.annotation.exchange.rows import AnsweredPost, ExchangeContext, Rows, SettledAnswer, check_basis
from davy.core import UserError

_PUBLIC = ("lang", "image")


def write(rows: Rows, path: Path, about: ExchangeContext) -> None:
    """Write the bundle into an empty folder."""
    labelled = tuple(question for question in about.scheme.questions if question.of_labels)  # no label, no score
    about = replace(about, scheme=replace(about.scheme, questions=labelled))
    for name in ("input_data", "reference_data", "scoring_program"):
        (path / name).mkdir()
    n = _write_data(rows, path, about)
    if not n:
        raise UserError("No post is settled yet, so there is nothing to score against. Settle some first.", status=409)
    program = resources.files("davy.annotation.exchange").joinpath("codabench_score.py").read_text(encoding="utf-8")
    (path / "scoring_program" / "score.py").write_text(program, encoding="utf-8")
    (path / "scoring_program" / "metadata.yaml").write_text(
        "command: python3 /app/program/score.py /app/input /app/output\n", encoding="utf-8"
    )
    for name, words in _pages(about, n).items():
        (path / name).write_text(words, encoding="utf-8")
    (path / "logo.png").write_bytes(_logo())
    (path / "competition.yaml").write_text(_competition(about), encoding="utf-8")


def read(path: Path, about: ExchangeContext) -> Iterator[AnsweredPost]:  # noqa: ARG001
    """Yield the settled posts of a bundle that `write` made."""
    places = [path / "input_data" / "posts.jsonl", path / "reference_data" / "reference.jsonl"]
    for file in places:
        if not file.exists():
            raise UserError(f"The bundle has no {file.parent.name}/{file.name}. Give one that Davy wrote.")
    for (number, post), (_, gold) in zip(json_stream.lines(places[0]), json_stream.lines(places[1]), strict=True):
        place = f"reference.jsonl: line {number}"
        if post.get("id") != gold.get("id"):
            raise UserError(f"{place} is about another post than the same line of posts.jsonl.")
        known = post_fields(mapping(gold.get("post"), place), place)
        known |= {name: post[name] for name in _PUBLIC if post.get(name) is not None}
        basis, reason = mapping(gold.get("basis"), place), mapping(gold.get("reason"), place)
        known["settled"] = {
            name: SettledAnswer(strings(labels, place), check_basis(basis.get(name), place), reason.get(name))
            for name, labels in mapping(gold.get("answers"), place).items()
        }
        yield AnsweredPost(id=text(post.get("id"), place), text=post.get("text"), **known, place=place)


def _write_data(rows: Rows, path: Path, about: ExchangeContext) -> int:
    n = 0
    posts = (path / "input_data" / "posts.jsonl").open("w", encoding="utf-8", newline="\n")
    gold = (path / "reference_data" / "reference.jsonl").open("w", encoding="utf-8", newline="\n")
    with posts, gold:
        for row in rows:
            settled = {name: row.settled[name] for name in about.questions if name in row.settled}
            if not settled:
                continue
            n += 1
            public = {"id": row.id, "text": row.text, **{k: v for k, v in row.known.items() if k in _PUBLIC}}
            rest = {k: v for k, v in post_extras(row).items() if k not in (*_PUBLIC, "settled")}
            kept = {
                "id": row.id,
                "answers": {name: list(it.labels) for name, it in settled.items()},
                "basis": {name: it.basis for name, it in settled.items()},
                "reason": {name: it.reason for name, it in settled.items() if it.reason},
                "post": rest,
            }
            posts.write(json.dumps(public, ensure_ascii=False) + "\n")
            gold.write(json.dumps(kept, ensure_ascii=False) + "\n")
    return n


def _competition(about: ExchangeContext) -> str:
    import yaml

    columns = [("macro_f1", "Macro-F1, mean")]
    columns += [(f"{name}_macro_f1", f"{name}: macro-F1") for name in about.questions]
    columns += [(f"{name}_accuracy", f"{name}: accuracy") for name in about.questions]
    made: dict[str, Any] = {
        "version": 2,
        "title": about.title or about.project,
        "description": f"Predict the settled labels of {about.title or about.project}.",
        "image": "logo.png",
        "docker_image": "codalab/codalab-legacy:py37",
        "registration_auto_approve": False,
        "terms": "terms.md",
        "pages": [{"title": name.capitalize(), "file": f"{name}.md"} for name in ("overview", "evaluation", "data")],
        "tasks": [
            {
                "index": 0,
                "name": about.title or about.project,
                "description": "Labels of all posts in input_data.",
                "input_data": "input_data",
                "reference_data": "reference_data",
                "scoring_program": "scoring_program",
            }
        ],
        "phases": [
            {
                "index": 0,
                "name": "Benchmark",
                "description": "Open without end; set dates before you publish it.",
                "start": "2026-01-01 00:00:00",
                "max_submissions_per_day": 5,
                "tasks": [0],
            }
        ],
        "leaderboards": [
            {
                "title": "Results",
                "key": "main",
                "columns": [
                    {"title": title, "key": key, "index": index, "sorting": "desc"}
                    for index, (key, title) in enumerate(columns)
                ],
            }
        ],
    }
    return yaml.safe_dump(made, sort_keys=False, allow_unicode=True)


def _pages(about: ExchangeContext, n: int) -> dict[str, str]:
    asked = "\n".join(f"- `{name}`: {', '.join(about.scheme.question(name).label_names)}" for name in about.questions)
    return {
        "overview.md": f"# {about.title or about.project}\n\nThe texts of this benchmark are hurtful. They are here so "
        f"that hate can be studied and countered.\n\nFor each of {n:,} posts, predict:\n\n{asked}\n",
        "evaluation.md": "# Evaluation\n\nHand in a zip with `predictions.csv` (or `predictions.jsonl`): a column `id` "
        "and one for each question, several labels joined by `|`. A question counts for the posts where the reference "
        "answers it; a missing prediction is wrong. The board sorts by the mean over questions of macro-F1.\n",
        "data.md": "# Data\n\n`input_data/posts.jsonl` has one post a line: `id`, `text`, `lang`.\n\n"
        f"{about.statement()}\n",
        "terms.md": "# Terms\n\nUse the texts for research against hate only. Don't try to find out who wrote or "
        "labelled them, and don't show them without warning.\n",
    }


def _logo(size: int = 64) -> bytes:
    """Return a PNG: a warm lamp on a grey ground."""
    middle = (size - 1) / 2
    lines = b""
    for y in range(size):
        lit = (bytes((0xE0, 0x9F, 0x3E)), bytes((0x2B, 0x2D, 0x31)))
        lines += b"\0" + b"".join(lit[(x - middle) ** 2 + (y - middle) ** 2 > (size / 3) ** 2] for x in range(size))
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    made = b"\x89PNG\r\n\x1a\n"
    for kind, body in parts:
        made += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return made
