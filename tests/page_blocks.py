"""The code blocks of a page of the docs, in their order, for the tests that run them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SERVE = Path(__file__).parents[1] / "docs" / "serve"
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between two fences."""

    language: str
    text: str

    def commands(self, program: str = "davy", *, placeholders: Mapping[str, str] | None = None) -> list[list[str]]:
        """Return the arguments of each line that calls the program, without remarks, placeholders filled in."""
        text = self.text
        for placeholder, value in (placeholders or {}).items():
            assert placeholder in text, placeholder
            text = text.replace(placeholder, value)
        lines = re.findall(rf"^(?:\$ )?{program} (.*)$", text, re.M)
        return [shlex.split(line, comments=True) for line in lines]


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page of docs/serve."""
    found = BLOCK.findall((SERVE / page).read_text(encoding="utf-8"))
    return [Block(language, re.sub(f"^{indent}", "", text, flags=re.M)) for indent, language, text in found]


def commands(page: str) -> list[list[str]]:
    """Return the arguments of each `davy` line of a page's blocks."""
    return [arguments for block in blocks(page) for arguments in block.commands()]


def block(page: str, beginning: str) -> Block:
    """Return the one block of a page that begins so."""
    [found] = [it for it in blocks(page) if it.text.startswith(beginning)]
    return found
