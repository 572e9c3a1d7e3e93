"""Tell a community what was decided, or settled by its reviewers: one signed POST, never to one's own network.

Decisions in, a request out. `Davy-Signature` is `t=SECONDS,v1=HEX`: HMAC-SHA256, with the community's secret, of the
seconds, a full stop and the body. The name is resolved once, every address it has must be public, and the request goes
to the address that was checked, so that no second answer of the name server can send it elsewhere.
DAVY_WEBHOOK_NETWORKS lists private networks that the operator allows (`10.0.0.0/8, 127.0.0.1`).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from davy.core.errors import UserError
from davy.moderation.decision_records import DecisionRecord, records_of
from davy.moderation.store import appeals, communities, decisions
from davy.moderation.store.communities import Community
from davy.store import Store
from davy.version import __version__

NETWORKS = "DAVY_WEBHOOK_NETWORKS"
SECONDS = 10.0

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class WebhookFailed(UserError):
    """The receiver did not take it; trying again later may help."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=502)


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """Where a webhook goes: the URL's parts and the address that was checked."""

    parts: SplitResult
    address: str


def deliver(store: Store, community_name: str, ids: Sequence[str]) -> int:
    """Send decisions to their community's webhook; return the status. Raises `WebhookFailed` where it was not taken."""
    with store.read() as db:
        community = communities.get(db, community_name)
        made = records_of(db, community, decisions.get_many(db, ids))
    return send(community, {"decisions": [_told(one) for one in made]})


def deliver_reviews(store: Store, community_name: str, ids: Sequence[str]) -> int:
    """Send what reviewers have settled by now about decisions; else as `deliver`."""
    with store.read() as db:
        community = communities.get(db, community_name)
        made = records_of(db, community, decisions.get_many(db, ids))
    return send(community, {"reviews": [_told(one) for one in made]})


def deliver_appeals(store: Store, community_name: str, ids: Sequence[str]) -> int:
    """Send what became of appeals, each with its decision; else as `deliver`."""
    with store.read() as db:
        community = communities.get(db, community_name)
        made = decisions.get_many(db, [one.decision for one in appeals.get_many(db, ids)])
        told = [_told(one) for one in records_of(db, community, made)]
    return send(community, {"appeals": told})


def send(community: Community, content: Mapping[str, Any]) -> int:
    """Send a community what is to be told; return the status."""
    import httpx

    if not community.webhook or not community.secret:
        raise UserError(f"Community {community.name!r} has no webhook any more.", status=410)
    body = json.dumps({"community": community.name, **content}).encode()
    target = check_url(str(community.webhook))
    host = target.parts.hostname or ""
    named = f"[{target.address}]" if ":" in target.address else target.address
    port = f":{target.parts.port}" if target.parts.port else ""
    path = target.parts.path or "/"
    query = f"?{target.parts.query}" if target.parts.query else ""
    headers = {
        "Host": f"{host}{port}",
        "Content-Type": "application/json",
        "User-Agent": f"davy/{__version__}",
        "Davy-Signature": sign(str(community.secret), body, int(time.time())),
    }
    try:
        with (
            httpx.Client(timeout=SECONDS, follow_redirects=False, trust_env=False) as client,
            client.stream(
                "POST",
                f"{target.parts.scheme}://{named}{port}{path}{query}",
                content=body,
                headers=headers,
                extensions={"sni_hostname": host},
            ) as answer,
        ):
            status = answer.status_code  # what else it says is not read
    except httpx.HTTPError as error:
        reason = type(error).__name__
        if isinstance(error, httpx.TimeoutException):
            reason = f"no answer within {SECONDS:g} seconds"
        elif isinstance(error, httpx.ConnectError):
            reason = "no connection"
        raise WebhookFailed(f"{host} could not be reached: {reason}") from None
    if not 200 <= status < 300:
        raise WebhookFailed(f"{host} answered {status}")
    return status


def sign(secret: str, body: bytes, seconds: int) -> str:
    """Return the signature of a body that is sent at a time."""
    made = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={made}"


def check_url(url: str, networks: Sequence[Network] | None = None) -> WebhookTarget:
    """Return where a webhook's URL leads; an address in a private network is refused unless it is allowed."""
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or len(url) > 2000:
        raise UserError("A webhook's address is an https URL without a password in it.", status=422)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        raise UserError(f"The webhook's host {parts.hostname[:100]} is not known.", status=422) from None
    allowed = allowed_networks() if networks is None else networks
    addresses = [ipaddress.ip_address(str(info[4][0]).partition("%")[0]) for info in found]
    inside = all(any(address in network for network in allowed) for address in addresses)
    if not inside and not all(_is_public(address) for address in addresses):
        raise UserError(
            f"{parts.hostname[:100]} is an address inside a network, where webhooks must not go. "
            f"Whoever runs the server can allow it: {NETWORKS}=10.0.0.0/8",
            status=422,
        )
    if parts.scheme == "http" and not inside:
        raise UserError("A webhook that leaves one's own network needs https.", status=422)
    return WebhookTarget(parts, str(addresses[0]))


def allowed_networks(environment: Mapping[str, str] | None = None) -> list[Network]:
    """Return the private networks that the operator allows."""
    listed = (environment or os.environ).get(NETWORKS, "")
    try:
        return [ipaddress.ip_network(part.strip()) for part in listed.split(",") if part.strip()]
    except ValueError as error:
        raise UserError(f"{NETWORKS}: {error}. Write networks such as 10.0.0.0/8, 127.0.0.1") from None


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    return address.is_global and not address.is_multicast and (mapped is None or mapped.is_global)


def _told(record: DecisionRecord) -> dict[str, Any]:
    """Return what a receiver is told about a decision."""
    return {name: value for name, value in record.to_dict().items() if name != "community"}
