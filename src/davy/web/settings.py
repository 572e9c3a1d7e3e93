"""What an operator decides about the server, and the secret that signs its forms.

Options and environment in, one frozen `ServerSettings` out. The secret key comes from
`DAVY_SECRET_KEY`, else from a file beside the SQLite database that only its owner
can read; with PostgreSQL the variable is required, as several servers must share it.
"""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from davy.core.errors import UserError
from davy.jobs import job_files
from davy.store.url import parse_url, sqlite_path

LOOPBACK_NAMES: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")
DEMO_WORD_LIST = "demo word list"
"""The model's name where the demo scores by its own words."""
_SHORTEST_SECRET = 32
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-]+(:\d{1,5})?|https?://\[[0-9a-fA-F:.]+\](:\d{1,5})?")


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """An account of the demo, with the password that its sign-in page shows."""

    login: str
    password: str
    role: str
    name: str


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Everything that `create_app` needs; `base_url` is where people reach the server."""

    database: str
    model: str
    secret_key: str = field(repr=False)
    base_url: str = "http://127.0.0.1:8460"
    hosts: tuple[str, ...] = ()
    """Further names that the Host header may carry; the base URL's and loopback's always may."""
    demo_accounts: tuple[DemoAccount, ...] = ()
    """Whom the sign-in page offers, with their passwords; only the demo has any."""
    files: Path | None = None
    """Where exports and uploads are kept; None is beside the SQLite file."""
    shared: Path | None = None
    """The file that the processes of this server share while they run; None where there is one process."""
    max_body: int = 1_048_576
    max_upload: int = 52_428_800
    max_text: int = 10_000
    max_batch: int = 100
    request_seconds: float = 30.0
    """How long a detector may take for one request."""
    most_wait: float = 1.0
    """How many seconds a post may wait for its turn; what would wait longer is refused with 429."""
    largest_batch: int = 64
    """Posts that are scored together; 1 scores each request on its own."""
    threads: int | None = None
    """Cores that a detector uses in one process; None is all of them."""
    screen: bool = False
    """Whether a detector's screen clears plainly harmless posts without reading them to the end."""
    prevalence: float | Mapping[str, float] | None = None
    """The share of posts that are a yes here, to which detectors' probabilities are moved."""
    shadow: str | None = None
    """The detector that scores along and whose answers nobody sees."""
    shadow_texts: bool = False
    """Whether posts on which the shadow differs are kept with their texts."""
    attributes: str = "perspective"
    """The file that says what Perspective's attributes mean; the shipped one by its name."""
    categories: str = "moderation"
    """The file that says what OpenAI's categories mean; the shipped one by its name."""
    drop_unsupported: bool = False
    """Whether attributes that can't be answered are left out, as with `dropUnsupportedAttributes`."""
    default_language: str | None = None
    """The language of a comment that names none and whose language can't be told."""
    cors_origins: tuple[str, ...] = ()
    """Sites whose pages may call the API from a browser."""
    worker: int = 0
    """Which of the server's processes this is."""
    session_hours: int = 14 * 24
    log_details: bool = False
    """Whether the log of a bug has the error's message, which may quote what somebody posted."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise UserError(f"The base URL {self.base_url!r} should look like https://davy.example.org")
        for origin in self.cors_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise UserError(f"{origin!r} is no origin. Write it as https://forum.example, without a path.")
        if len(self.secret_key) < _SHORTEST_SECRET:
            raise UserError(
                f"DAVY_SECRET_KEY has {len(self.secret_key)} characters and needs {_SHORTEST_SECRET}. "
                'Make one: python -c "import secrets; print(secrets.token_hex(32))"'
            )

    @property
    def demo(self) -> bool:
        """Whether this is the demo, which anybody may enter."""
        return bool(self.demo_accounts)

    @property
    def https(self) -> bool:
        """Whether people reach the server through TLS, so that cookies can insist on it."""
        return self.base_url.startswith("https://")

    @property
    def files_folder(self) -> Path | None:
        """Where exports, uploads and trained models are kept; None where nobody has named a place."""
        return job_files.files_folder(self.database, self.files)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The host names, without ports, that requests may ask for."""
        own = urlsplit(self.base_url).hostname or ""
        return frozenset(name.lower() for name in (own, bracketed(own), *LOOPBACK_NAMES, *self.hosts) if name)


def bracketed(host: str) -> str:
    """Return an IPv6 address as the Host header writes it, anything else unchanged."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def is_loopback(host: str) -> bool:
    """Return whether an address or name can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def secret_key_for(database: str) -> str:
    """Return the server's secret: from the environment, else kept beside the SQLite file (made on first use)."""
    url = parse_url(database)
    given = os.environ.get("DAVY_SECRET_KEY")
    if given:
        return given
    if url.get_backend_name() != "sqlite":
        raise UserError(
            "With this database set DAVY_SECRET_KEY to at least 32 random characters, the same on all servers"
        )
    path = sqlite_path(url)
    return _kept_secret(path.with_name(path.name + ".secret"))


def _kept_secret(path: Path) -> str:
    if path.exists():
        return _read_secret(path)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        try:
            # A link appears whole or not at all, and only once: servers that start together agree on one secret.
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    except OSError as error:
        why = error.strerror or str(error)
        raise UserError(f"Can't keep the server's secret in {path}: {why}. Name another place.") from error
    return _read_secret(path)


def _read_secret(path: Path) -> str:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise UserError(f"Others can read the server's secret. Run: chmod 600 {path}")
    try:
        return path.read_text().strip()
    except OSError as error:
        raise UserError(
            f"Can't read the server's secret in {path}: {error.strerror}. "
            f"Give the file to the account that the server runs as: chown ACCOUNT {path}"
        ) from None
