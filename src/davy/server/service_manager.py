"""What systemd gives a service and wants to hear: a socket that is kept over restarts, and when it is ready.

`LISTEN_FDS` in, the listening socket out; `NOTIFY_SOCKET` is told `READY=1` and `STOPPING=1`. Without systemd both do
nothing. Any program that sets the same variables can take its place.
"""

from __future__ import annotations

import os
import socket

from davy.core.errors import UserError

FIRST = 3
"""The number of the first file that is passed on, by systemd's convention."""


def inherited_socket() -> socket.socket | None:
    """Return the listening socket that a service manager holds for this process, or None where there is none."""
    count, for_process = os.environ.pop("LISTEN_FDS", ""), os.environ.pop("LISTEN_PID", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if not count or for_process != str(os.getpid()):
        return None
    if count != "1":
        raise UserError(f"The service manager passes {count} sockets, and davy serve takes one. Give it one address.")
    try:
        found = socket.socket(fileno=FIRST)
        listens = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise UserError(f"What the service manager passes is not a socket ({error.strerror}). Correct it.") from None
    if not listens or found.type != socket.SOCK_STREAM or found.family not in (socket.AF_INET, socket.AF_INET6):
        found.close()
        raise UserError("The service manager's socket is not a listening TCP socket. Set ListenStream=HOST:PORT.")
    os.set_inheritable(FIRST, False)
    return found


def notify(state: str) -> None:
    """Tell the service manager a state, such as `READY=1`."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as teller:
        # A name that begins with @ stands for one outside the file system.
        teller.sendto(state.encode(), "\0" + address[1:] if address.startswith("@") else address)
