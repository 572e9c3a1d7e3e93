"""Whether a name on the Hugging Face hub can be had: from its cache, from the hub, or not at all.

A name in, the options for `from_pretrained` out. Without a network the hub's client asks again for the better part
of a minute before it gives up; we look once.
"""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from davy.core.errors import UserError

SECONDS = 5.0


def download_options(name: str) -> dict[str, bool]:
    """Return what to tell `from_pretrained` about a folder or hub name; one that can't be had is an error."""
    # Said outright: where nothing is said, transformers asks on the terminal whether to run a stranger's code.
    safe = {"trust_remote_code": False}
    if Path(name).expanduser().is_dir() or is_reachable():
        return safe
    if not is_cached(name):
        raise UserError(f"{name!r} is no folder, not in the cache, and the hub can't be reached. Name a folder.")
    return {**safe, "local_files_only": True}


def is_cached(name: str) -> bool:
    """Return whether the hub's cache on this machine has a model's config."""
    from huggingface_hub import try_to_load_from_cache

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except ValueError:  # no name that the hub could have
        return False


def is_reachable() -> bool:
    """Return whether the hub answers; behind a proxy only its client can tell."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    if getproxies():
        return True
    address = urlsplit(constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=SECONDS).close()
    except OSError:
        return False
    return True
