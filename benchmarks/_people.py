"""Annotators over HTTP: they load the labelling page, answer, and get the next post with the answer's reply.

Requests are written and read by hand on one connection a person, because the
client shares the machine's cores with the server that is measured.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote_plus

SHEET = re.compile(rb'data-path="([^"]+)"')
FORM_ID = re.compile(rb'name="annotation_id" value="([^"]+)"')
TOKEN = re.compile(rb'name="csrf" value="([0-9a-f]{64})"')


@dataclass
class RunOutcomes:
    """What the annotators met: answers that were acknowledged, how long each took, and what went wrong."""

    acknowledged: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    out_of_posts: int = 0


class Line:
    """One kept-alive connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self, request: bytes) -> tuple[int, bytes, bytes]:
        """Return (status, headers, body) of the answer to a whole request."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        assert self._reader is not None
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        lower = head.lower()
        length = re.search(rb"\r\ncontent-length: (\d+)", lower)
        body = await self._reader.readexactly(int(length.group(1))) if length else b""
        if b"\r\nconnection: close" in lower:
            self.close()
        return int(head[9:12]), head, body

    def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


class Person:
    """One annotator with a session; `answers` gives the next form's fields."""

    def __init__(self, base: str, session: str, answers: Callable[[], dict[str, str]], outcomes: RunOutcomes) -> None:
        self.base, self.outcomes, self.answers = base, outcomes, answers
        self.cookie = f"davy-session={session}"
        self.path = self.form_id = self.token = ""
        self.pending: dict[str, str] | None = None
        self.answered = 0

    def use(self, port: int) -> None:
        """Talk to the server on this port from now on."""
        self.line = Line(port)
        self._host = f"Host: 127.0.0.1:{port}\r\nCookie: {self.cookie}\r\nOrigin: http://127.0.0.1:{port}\r\n"

    async def begin(self) -> bool:
        """Load the labelling page; return whether it has a post."""
        status, _, body = await self.line.send(self._request("GET", f"{self.base}/label"))
        if status != 200:
            self.outcomes.errors.append(f"GET label: {status}")
            return False
        found = TOKEN.search(body)
        self.token = found.group(1).decode() if found else ""
        return self._read(body)

    async def answer(self) -> bool:
        """Save and go on; return whether there is a next post. What was sent before and not answered is sent again."""
        if self.pending is None:
            self.pending = {
                "csrf": self.token,
                "annotation_id": self.form_id,
                "seconds": "1.5",
                "guideline": "1",
                "do": "save",
                **self.answers(),
            }
        body = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in self.pending.items())
        started = time.perf_counter()
        status, head, page = await self.line.send(self._request("POST", self.path, body))
        took = time.perf_counter() - started
        if status != 200:
            self.outcomes.errors.append(f"POST: {status}")
            self.pending = None
            return await self.begin()
        self.outcomes.seconds.append(took)
        self.outcomes.acknowledged.append(self.pending["annotation_id"])
        self.answered += 1
        self.pending = None
        if b"hx-redirect" in head.lower():
            self.outcomes.out_of_posts += 1
            return False
        return self._read(page)

    def _read(self, body: bytes) -> bool:
        sheet, form = SHEET.search(body), FORM_ID.search(body)
        if sheet is None or form is None:
            self.outcomes.out_of_posts += 1
            return False
        self.path, self.form_id = sheet.group(1).decode(), form.group(1).decode()
        return True

    def _request(self, method: str, path: str, body: str = "") -> bytes:
        more = ""
        if method == "POST":
            more = (
                "HX-Request: true\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                f"Content-Length: {len(body)}\r\n"
            )
        return f"{method} {path} HTTP/1.1\r\n{self._host}Accept: text/html\r\n{more}\r\n{body}".encode()


def choices(seed: str) -> Callable[[], dict[str, str]]:
    """Return answers to EDOS's questions: mostly "not sexist", so that most posts are settled and some are not."""
    chance = random.Random(seed)  # noqa: S311 — answers, not secrets

    def fields() -> dict[str, str]:
        if chance.random() < 0.8:
            return {"answer.sexist": "not sexist"}
        return {"answer.sexist": "sexist", "answer.category": "derogation", "answer.vector": "descriptive attacks"}

    return fields


async def work(person: Person, answers: int, *, think: float, late: float) -> None:
    """Answer so many posts, with a pause before each; begin `late` seconds in, so that not all come at once."""
    await asyncio.sleep(late)
    try:
        more = await person.begin()
        for _ in range(answers):
            if not more:
                return
            if think:
                await asyncio.sleep(think)
            more = await person.answer()
    except (OSError, asyncio.IncompleteReadError) as error:
        person.outcomes.errors.append(f"{type(error).__name__}: {error}")
    finally:
        person.line.close()
