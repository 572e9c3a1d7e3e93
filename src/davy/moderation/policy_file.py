"""A community's policy as a YAML file: which rule flagged posts break, and what happens to them."""

from __future__ import annotations

from pathlib import Path

from davy.core.errors import UserError
from davy.files.yaml_nodes import Problems
from davy.files.yaml_objects import YES_NO, read_root
from davy.moderation.store.communities import Policy

_FIELDS = ("ground", "explanation", "url", "illegal", "action")


def read_policy(path: Path) -> Policy:
    """Return the policy of a file."""
    problems = Problems(str(path), what="policy", example="docs/serve/communities.md")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"Can't read the policy {path}: {error.strerror}.") from None
    root = read_root(raw, problems, _FIELDS)
    text = {name: str(root[name]).strip() if root.get(name) is not None else "" for name in _FIELDS}
    illegal = YES_NO.get(text["illegal"].lower()) if text["illegal"] else False
    if illegal is None:
        problems.add(root.line_of("illegal"), "`illegal` is true or false.")
    problems.raise_first()
    return Policy(text["ground"], text["explanation"], text["url"], bool(illegal), text["action"] or "removed")
