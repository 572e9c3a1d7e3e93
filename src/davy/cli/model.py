"""`davy model`: which detectors there are, what one answers, and weights made safe to load."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.cli import console

if TYPE_CHECKING:
    from davy.core.scorer import Scorer

app = typer.Typer(
    no_args_is_help=True,
    help="Look at the detectors, and convert weights.\n\n"
    "Examples:\n\n  davy model list\n\n  davy model show majority@edos\n\n  davy model convert pytorch_model.bin",
)

KEYS = {"perspective": "PERSPECTIVE_API_KEY", "openai": "OPENAI_API_KEY"}


@app.command("list")
def list_(json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the names that --model takes, and whether each can be used here.

    Examples:

      davy model list
    """
    from davy.models.load import NAMES

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
    from davy.cli import model_files
    from davy.models.folder import CARD, question_to_json
    from davy.models.load import load

    scorer = load(name, read=model_files.read_posts)
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
def convert(
    file: Annotated[
        Path, typer.Argument(metavar="F", help="Weights: .bin .pt .pth .ckpt .npz .h5 .keras .index, or a SavedModel.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="F2", help="The .safetensors file to write; else beside F: model.safetensors for pytorch_model.bin."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Turn PyTorch, NumPy, Keras or TensorFlow weights into safetensors, without running what is in them.

    Examples:

      davy model convert pytorch_model.bin

      davy model convert weights.npz --out model.safetensors

      davy model convert bert_model.ckpt.index
    """
    from davy.models.convert import convert as converted

    # Encoders are looked for under this name, whatever the old weights were called.
    named = "model.safetensors" if file.name == "pytorch_model.bin" else f"{file.stem}.safetensors"
    out = out or file.with_name(named)
    tensors = converted(file, out)
    size = sum(len(tensor.data) for tensor in tensors.values())
    if json:
        console.json({"out": str(out), "tensors": len(tensors), "bytes": size})
        return
    console.note(f"{len(tensors)} tensors, {size / 1e6:,.1f} MB → {out}")


def _state(name: str) -> str:
    from davy.models.embedded import ROUTES, shipped_names

    if name.startswith("embedded"):
        asks = {"embedded": [*ROUTES.values()], "embedded-careful": [*ROUTES.values(), "embedded-en-large"]}
        held = [it for it in asks.get(name, [name]) if it in shipped_names()]
        if not held:
            return "no weights in this installation"
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
