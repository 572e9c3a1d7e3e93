"""A Bluesky account's own export: a `.car` file of its repository.

Bytes in, values as Bluesky's API would give them out (`uri`, `record`). The file
is a row of blocks in DAG-CBOR: one commit that names the account, tree nodes
that name each record, and the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from davy.core.errors import UserError

LARGEST = 2 << 30


def read_car(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of an export with their addresses, in the order of the file."""
    import libipld

    if path.stat().st_size > LARGEST:
        raise UserError(
            f"{path} has {path.stat().st_size:,} bytes; an account's export has less. Is it the right file?"
        )
    try:
        _, blocks = libipld.decode_car(path.read_bytes())
        names = dict(_names(blocks))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is cut off or damaged: it is not a whole .car file ({error}). Export it again."
        ) from None
    did = next((b["did"] for b in blocks.values() if isinstance(b, dict) and "did" in b and "data" in b), None)
    if did is None:
        raise UserError(f"{path} holds no commit, so it is no Bluesky export. Name another file.")
    for key, block in blocks.items():
        if isinstance(block, dict) and "$type" in block and key in names:
            yield {"uri": f"at://{did}/{names[key]}", "record": block}


def _names(blocks: Mapping[bytes, Any]) -> Iterator[tuple[bytes, str]]:
    """Yield (address of a record, its name); a node's names leave out what they share with the one before."""
    for block in blocks.values():
        if not isinstance(block, dict) or not isinstance(block.get("e"), list):
            continue
        last = b""
        for entry in block["e"]:
            last = last[: entry["p"]] + entry["k"]
            yield bytes(entry["v"]), last.decode()
