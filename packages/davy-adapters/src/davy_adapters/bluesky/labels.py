"""Labels of the AT Protocol (com.atproto.label.defs#label, version 1): signed, and kept in a file that only grows."""

from __future__ import annotations

import base64
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import libipld
from atproto_crypto.did import format_did_key
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from davy_adapters.server import DavyError

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""Of secp256k1: a signature's s is at most half of it."""
VALUE = re.compile(r"[a-z]+(-[a-z]+)*")
"""As the specification recommends; labels of the system, such as `!hide`, are people's to give."""


def checked(value: str) -> str:
    """Return a label's value if it can be one."""
    if not VALUE.fullmatch(value) or len(value) > 128:
        raise DavyError(f"{value!r} can't be a label. Write small letters from a to z, with dashes between words.")
    return value


class Labeler:
    """Who labels: a DID, and the key that its document has as #atproto_label."""

    def __init__(self, did: str, key: Path) -> None:
        if not re.fullmatch(r"did:(plc|web):[\w.:%-]+", did):
            raise DavyError(f"{did!r} is no DID. Write did:plc:… or did:web:…")
        self.did, self._key = did, read_key(key)

    def label(self, uri: str, value: str, cid: str | None = None, *, negates: bool = False) -> dict[str, Any]:
        """Return a signed label as JSON has it."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        label = {"ver": 1, "src": self.did, "uri": uri, "val": checked(value), "cts": now}
        label |= {**({"cid": cid} if cid else {}), **({"neg": True} if negates else {})}
        r, s = decode_dss_signature(self._key.sign(libipld.encode_dag_cbor(label), ec.ECDSA(SHA256())))
        signature = r.to_bytes(32, "big") + min(s, ORDER - s).to_bytes(32, "big")
        return {**label, "sig": {"$bytes": base64.b64encode(signature).decode().rstrip("=")}}


def make_key(path: Path) -> str:
    """Write a new key that only its owner reads, and return its public half for the DID document."""
    key = ec.generate_private_key(ec.SECP256K1())
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise DavyError(f"{path} can't be written as a new file: {error.strerror}") from None
    with os.fdopen(file, "w") as out:
        out.write(f"{key.private_numbers().private_value:064x}\n")
    return format_did_key("ES256K", key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))


def read_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Return the key of a file: 64 hexadecimal digits."""
    try:
        digits = path.read_text().strip()
        if len(digits) != 64:
            raise ValueError
        return ec.derive_private_key(int(digits, 16), ec.SECP256K1())
    except (OSError, ValueError):
        raise DavyError(f"{path} has no key: 64 hexadecimal digits, as the command `key` writes them.") from None


class Journal:
    """The file of labels, one a line: a label's number in the stream is that of its line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._labels: list[dict[str, Any]] = []
        self._taken_back: dict[tuple[str, str], int] = {}
        self._given: set[tuple[str, str]] = set()
        self._read = 0

    def __len__(self) -> int:
        return len(self._labels)

    def refresh(self) -> Journal:
        """Read the lines that came since; one that is not complete yet waits."""
        if self._size() > self._read:
            with self.path.open("rb") as file:
                file.seek(self._read)
                for line in file:
                    if line.endswith(b"\n"):
                        self._add(line)
        return self

    def after(self, number: int) -> list[tuple[int, dict[str, Any]]]:
        """Return what follows a number, without the labels that were taken back later."""
        numbered = enumerate(self._labels[number:], number + 1)
        return [(at, it) for at, it in numbered if at >= self._taken_back.get((it["uri"], it["val"]), 0)]

    def has(self, uri: str, value: str) -> bool:
        """Whether people or Davy gave this label or took it back: it is not given twice, and never against people."""
        return (uri, value) in self._given

    def write(self, label: dict[str, Any]) -> None:
        """Add a label; half a line, left by a break, goes first."""
        if self.refresh()._size() > self._read:
            os.truncate(self.path, self._read)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(label) + "\n")
        self.refresh()

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _add(self, line: bytes) -> None:
        try:
            label = json.loads(line)
            subject = (label["uri"], label["val"])
        except (ValueError, KeyError, TypeError):
            raise DavyError(f"{self.path}: line {len(self) + 1} is no label. Take it from a copy.") from None
        self._labels.append(label)
        self._given.add(subject)
        if label.get("neg"):
            self._taken_back[subject] = len(self)
        self._read += len(line)
