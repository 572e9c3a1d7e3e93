"""The labeler's commands: `key`, `label`, `retract`, `serve`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from davy_adapters.bluesky.labels import Journal, Labeler, checked, make_key
from davy_adapters.bluesky.posts import events, post
from davy_adapters.bluesky.serve import start
from davy_adapters.server import DavyError, DavyServer


def main() -> None:
    """Run a command; what goes wrong is one line."""
    try:
        asked = _arguments()
        asked.run(asked)
    except DavyError as error:
        sys.exit(f"davy-bluesky: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _key(asked: argparse.Namespace) -> None:
    print(make_key(asked.key))


def _label(asked: argparse.Namespace) -> None:
    labeler, server, journal = (
        Labeler(asked.did, asked.key),
        DavyServer.from_environment(),
        Journal(asked.labels).refresh(),
    )
    lines = events(asked.jetstream) if asked.jetstream else sys.stdin.buffer
    counts = {"posts": 0, "labels": 0, "not judged": 0, "not read": 0}
    try:
        for line in lines:
            label_post(line, labeler, server, dict(asked.label), journal, counts)
    finally:
        print(", ".join(f"{what}: {n}" for what, n in counts.items()), file=sys.stderr)


def label_post(
    line: str | bytes,
    labeler: Labeler,
    server: DavyServer,
    values: dict[str, str],
    journal: Journal,
    counts: dict[str, int],
) -> None:
    """Write a label for every question that is answered yes; what anybody can send does not stop the labeler."""
    try:
        found = post(line)
    except ValueError:
        counts["not read"] += 1
        return
    if found is None:
        return
    counts["posts"] += 1
    record = (
        server.score(found.text, questions=list(values)) if found.text.strip() else {"verdict": None, "questions": {}}
    )
    counts["not judged"] += record["verdict"] is None
    for question, answer in record["questions"].items():
        if "probability" not in answer:
            raise DavyError(f"{question!r} has other answers than yes and no. Name another question.")
        value = values[question]
        if answer["probability"] >= answer["threshold"] and not journal.has(found.uri, value):
            journal.write(labeler.label(found.uri, value, found.cid))
            counts["labels"] += 1


def _retract(asked: argparse.Namespace) -> None:
    journal = Journal(asked.labels).refresh()
    if not journal.has(asked.uri, asked.value):
        raise DavyError(f"{asked.labels} has no label {asked.value} for {asked.uri}.")
    journal.write(Labeler(asked.did, asked.key).label(asked.uri, asked.value, negates=True))


def _serve(asked: argparse.Namespace) -> None:
    async def run() -> None:
        server = await start(Journal(asked.labels).refresh(), asked.host, asked.port)
        host, port = server.sockets[0].getsockname()[:2]
        print(f"Labels at http://{host}:{port}/xrpc/", flush=True)
        await server.serve_forever()

    asyncio.run(run())


def _pair(text: str) -> tuple[str, str]:
    question, given, value = text.partition("=")
    if not given:
        raise argparse.ArgumentTypeError("write QUESTION=LABEL, such as hate=hate-speech")
    return question, checked(value)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="davy-bluesky", description="A labeler for Bluesky that asks a server of Davy."
    )
    commands = parser.add_subparsers(required=True)
    by = argparse.ArgumentParser(add_help=False)
    by.add_argument("--did", required=True, help="the labeler's DID")
    by.add_argument("--key", required=True, type=Path, help="the file of its key")
    key = commands.add_parser("key", help="make a key and print its public half for the DID document")
    key.add_argument("key", type=Path)
    key.set_defaults(run=_key)
    label = commands.add_parser("label", parents=[by], help="label posts: events of Jetstream, a line each")
    label.add_argument("labels", type=Path)
    label.add_argument("--label", type=_pair, action="append", required=True, metavar="QUESTION=LABEL")
    label.add_argument("--jetstream", metavar="wss://…", help="listen to this server instead of reading lines")
    label.set_defaults(run=_label)
    retract = commands.add_parser("retract", parents=[by], help="take a label back")
    retract.add_argument("labels", type=Path)
    retract.add_argument("uri")
    retract.add_argument("value")
    retract.set_defaults(run=_retract)
    serve = commands.add_parser("serve", help="give the labels to who queries or subscribes")
    serve.add_argument("labels", type=Path)
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8100)
    serve.set_defaults(run=_serve)
    return parser.parse_args()


if __name__ == "__main__":
    main()
