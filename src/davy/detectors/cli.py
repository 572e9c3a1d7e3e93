"""`davy model`: which detectors there are, what one answers, which a server uses, and weights made safe to load."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.core.errors import UserError
from davy.core.install import install_package
from davy.detectors import store as detectors
from davy.detectors.registered import register_detector
from davy.scoring.scorers import load_scorer
from davy.shell import console
from davy.shell.options import Database, Json
from davy.store import events, open_store

if TYPE_CHECKING:
    from davy.core.scorer import Scorer
    from davy.detectors.store import RegisteredDetector

app = typer.Typer(
    no_args_is_help=True,
    help="Look at the detectors, tell a server which to use, and convert weights.\n\n"
    "Examples:\n\n  davy model list\n\n  davy model show majority@edos\n\n  davy model convert pytorch_model.bin",
)

KEYS = {"perspective": "PERSPECTIVE_API_KEY", "openai": "OPENAI_API_KEY"}


Registered = Annotated[str, typer.Argument(metavar="NAME", help="The detector: NAME or NAME@VERSION.")]


@app.command("list")
def list_(
    # Not the usual option: its environment variable would change what this lists.
    database: Annotated[
        str | None, typer.Option("--database", metavar="URL", help="List what the server of this database knows.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the names that --model takes, and whether each can be used here; with --database, a server's detectors.

    Examples:

      davy model list

      davy model list --database sqlite:///davy.sqlite
    """
    if database is not None:
        _list_registered(database, json=json)
        return
    from davy.detectors.load import NAMES

    rows = [(name, what, _state(name)) for name, what in NAMES.items()]
    if json:
        console.json([{"name": name, "what": what, "state": state} for name, what, state in rows])
        return
    console.table(["name", "what", "here"], rows)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The model, as --model takes it.")],
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show a model: its version, the questions it answers with their labels, and its card.

    Examples:

      davy model show keywords:words.txt

      davy model show my-model/ --json
    """
    from davy.detectors.folder import CARD, question_to_json

    scorer = load_scorer(name)
    card = _card(scorer, CARD)
    questions = [question_to_json(question) for question in scorer.questions]
    if json:
        console.json({"name": scorer.name, "version": scorer.version, "questions": questions, "card": card})
        return
    typer.echo(f"{scorer.name} (version {scorer.version})")
    rows = [(q["name"], q["kind"], ", ".join(_labels(q)), q.get("positive"), _under(q)) for q in questions]
    console.table(["question", "kind", "labels", "yes is", "asked under"], rows)
    typer.echo(f"card: {card}" if card else "It has no model card.")


@app.command()
def add(
    source: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model folder on the server, or an embedded or remote model.")
    ],
    name: Annotated[
        str | None, typer.Option("--name", help="How people ask for it; else the model's own name.")
    ] = None,
    shadow: Annotated[
        bool, typer.Option("--as-shadow", help="Answer only who asks for exactly this version (NAME@VERSION).")
    ] = False,
    default: Annotated[bool, typer.Option("--default", help="Answer who names no detector.")] = False,
    threshold: Annotated[
        list[str] | None, typer.Option("--threshold", metavar="Q=T", help="Another threshold for a question. Repeat.")
    ] = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Tell the server about a detector. It is loaded once to see that it can be; running servers notice in seconds.

    It takes the place of the active version of its name, which is retired.

    Examples:

        davy model add runs/mine/seed-0/model --name comments --default

        davy model add embedded-en-large --as-shadow

        davy model add my-model/ --threshold hate=0.7
    """

    with open_store(database) as store:
        entry = register_detector(
            store,
            source,
            by=events.SHELL,
            name=name,
            thresholds=_thresholds(threshold),
            shadow=shadow,
            default=default,
        )
    _tell(entry, json=json)


@app.command()
def activate(name: Registered, database: Database = None, json: Json = False) -> None:
    """Let a version answer for its name; the version that did so is retired.

    Examples:

        davy model activate comments@3f1d7a6b2c90
    """
    _set_state(name, "active", database, json=json)


@app.command()
def retire(name: Registered, database: Database = None, json: Json = False) -> None:
    """Let a version answer nobody from now on. It stays known, and can be activated again.

    Examples:

        davy model retire comments
    """
    _set_state(name, "retired", database, json=json)


@app.command("default")
def default_(name: Registered, database: Database = None, json: Json = False) -> None:
    """Let an active detector answer who names none.

    Examples:

        davy model default comments
    """

    with open_store(database) as store, store.write() as db:
        entry = detectors.set_default(db, detectors.find(db, name).id, by=events.SHELL)
    _tell(entry, json=json)


@app.command()
def convert(
    file: Annotated[Path, typer.Argument(metavar="F", help="Weights: .bin .pt .pth .ckpt or .npz.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="F2", help="The .safetensors file to write; else beside F: model.safetensors for pytorch_model.bin."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Turn PyTorch or NumPy weights into safetensors, without running what is in them.

    Examples:

      davy model convert pytorch_model.bin

      davy model convert weights.npz --out model.safetensors
    """
    from davy.detectors.convert import convert as converted

    # Encoders are looked for under this name, whatever the old weights were called.
    named = "model.safetensors" if file.name == "pytorch_model.bin" else f"{file.stem}.safetensors"
    out = out or file.with_name(named)
    tensors = converted(file, out)
    size = sum(tensor.nbytes for tensor in tensors.values())
    if json:
        console.json({"out": str(out), "tensors": len(tensors), "bytes": size})
        return
    console.note(f"{len(tensors)} tensors, {size / 1e6:,.1f} MB → {out}")


def _list_registered(database: str, *, json: bool) -> None:

    with open_store(database) as store, store.read() as db:
        entries = detectors.list_detectors(db)
    if json:
        console.json([_as_json(entry) for entry in entries])
        return
    rows = [
        (e.name, e.version, "default" if e.is_default else e.state, ", ".join(e.questions), e.source) for e in entries
    ]
    console.table(["name", "version", "state", "questions", "model"], rows)


def _set_state(name: str, state: str, database: str | None, *, json: bool) -> None:

    with open_store(database) as store, store.write() as db:
        entry = detectors.set_state(db, detectors.find(db, name).id, state, by=events.SHELL)
    _tell(entry, json=json)


def _tell(entry: RegisteredDetector, *, json: bool) -> None:
    if json:
        console.json(_as_json(entry))
        return
    console.note(f"{entry.full_name} is {entry.state}{', and the default' if entry.is_default else ''}.")


def _as_json(entry: RegisteredDetector) -> dict[str, Any]:
    return {**asdict(entry), "added_at": entry.added_at.isoformat()}


def _thresholds(given: list[str] | None) -> dict[str, float]:
    thresholds = {}
    for text in given or []:
        question, _, value = text.partition("=")
        try:
            thresholds[question.strip()] = float(value)
        except ValueError:
            raise UserError(f"--threshold takes a question and a number, such as hate=0.7, not {text!r}.") from None
    return thresholds


def _state(name: str) -> str:
    from davy.detectors.embedded import ROUTES, shipped_names

    if name.startswith("embedded"):
        asks = {"embedded": [*ROUTES.values()], "embedded-careful": [*ROUTES.values(), "embedded-en-large"]}
        shipped = shipped_names()
        held = [detector for detector in asks.get(name, [name]) if detector in shipped]
        if not held:
            return "no weights in this installation"
        if name == "embedded-careful" and "embedded-en-large" not in shipped:
            return f"needs embedded-en-large: {install_package('davy-large')}"
        return f"ready: asks {', '.join(held)}" if name in asks else "ready"
    if name in KEYS:
        return "key is set" if os.environ.get(KEYS[name]) else f"needs {KEYS[name]}"
    return ""


def _card(scorer: Scorer, card: str) -> str | None:
    folder = scorer.abilities.folder
    return str(folder / card) if folder is not None and (folder / card).is_file() else None


def _labels(question: dict[str, Any]) -> list[str]:
    return [label if isinstance(label, str) else label["name"] for label in question["labels"]]


def _under(question: dict[str, Any]) -> str:
    parent, labels = question.get("under", ("", ()))
    return f"{parent}: {', '.join(labels)}" if parent else ""
