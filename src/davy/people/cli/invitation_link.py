"""An invitation's link as the shell prints it: a token and the server's address in, the link out.

The shell does not know where people reach the server. Without `--base-url` the link is a path, and the command says
what goes before it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from davy.core.errors import UserError
from davy.shell import console

BaseUrl = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="Where people reach the server, to print whole links.")
]


def invitation_time(days: float) -> timedelta:
    """Return how long an invitation lasts; `days` is what the option says."""
    if not 0 < days <= 365:
        raise UserError(f"--days is {days:g}. An invitation lasts more than 0 and at most 365 days.")
    return timedelta(days=days)


def invitation_link(base_url: str, token: str) -> str:
    """Return the link of an invitation; a path where no address is given."""
    return f"{base_url.rstrip('/')}/invitation/{token}"


def note_address(base_url: str) -> None:
    """Say what goes before a link that is only a path."""
    if not base_url:
        console.note(
            "Put the server's address before /invitation, such as https://davy.example.org/invitation/…, "
            "or name it next time: --base-url https://davy.example.org"
        )
