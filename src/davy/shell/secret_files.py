"""Secrets from files: `DAVY_SECRET_KEY_FILE=/run/secrets/key` in place of `DAVY_SECRET_KEY`.

Containers and systemd hand secrets over as files. Each is read once, at the start, and stands in the environment of
this process and of those that it starts from then on.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

from davy.core.errors import UserError

SECRETS: tuple[str, ...] = ("DAVY_SECRET_KEY", "DAVY_DATABASE", "DAVY_DATABASE_PASSWORD")
LARGEST = 10_000


def read_secret_files(environment: MutableMapping[str, str]) -> None:
    """Set each secret whose file is named; a secret and its file together are refused."""
    for name in SECRETS:
        path = environment.get(f"{name}_FILE")
        if not path:
            continue
        if environment.get(name):
            raise UserError(f"{name} and {name}_FILE are both set. Keep one of them.")
        try:
            text = Path(path).read_text(encoding="utf-8")[:LARGEST].strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise UserError(f"{name}_FILE: can't read {path}: {why}") from None
        if not text:
            raise UserError(f"{name}_FILE: {path} is empty.")
        environment[name] = text
        del environment[f"{name}_FILE"]  # processes that this one starts have the secret itself
