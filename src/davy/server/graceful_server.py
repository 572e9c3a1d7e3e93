"""uvicorn that stops without a refused request: it takes what has come, closes its door, and answers what it took.

At SIGTERM every process of a server stops to listen at once. Whoever is connected is answered, told to connect anew,
and has some seconds to send what is on its way: a connection that is closed under a request loses it.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

DRAIN_SECONDS = 2.0
"""How long an idle connection stays open after SIGTERM, for a request that is on its way."""


class GracefulServer(uvicorn.Server):
    """Serves on one socket. `is_shared`: others accept from it, too, before and after this process.

    `when_started` is called in a thread once requests are answered, `when_stopping` in a signal handler.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        is_shared: bool,
        when_started: Callable[[], None],
        when_stopping: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._is_shared = is_shared
        self._when_started = when_started
        self._when_stopping = when_stopping
        self._drains = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if self.started:
            await asyncio.to_thread(self._when_started)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; the other processes of this server are told at once, so that none goes on listening."""
        self._drains = sig == signal.SIGTERM
        self._when_stopping()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, answer who is connected, then close what is left."""
        if not self._is_shared:
            for listening in sockets or []:
                await self._accept_waiting(listening)
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        if self._drains:
            await self._drain()
        await super().shutdown(sockets)

    async def _accept_waiting(self, listening: socket.socket) -> None:
        """Take the connections that wait in the kernel: they are reset where their socket is closed."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):  # BlockingIOError: none waits
            while True:
                connection, _ = listening.accept()
                connection.setblocking(False)
                await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    async def _drain(self) -> None:
        """Tell whoever asks to connect anew, until all have gone or the time is over."""
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        end = asyncio.get_running_loop().time() + DRAIN_SECONDS
        while self.server_state.connections and asyncio.get_running_loop().time() < end and not self.force_exit:
            await asyncio.sleep(0.02)
