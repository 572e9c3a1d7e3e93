"""Bluesky: Jetstream events, answers of its API (search, feeds, threads), post records, and an account's own export.

An address at://… names the account that wrote the post, so it is not kept: the
id is a hash of the address. Whoever knows the address can make the same id, so
that a post can still be withdrawn by it (`key`). An export is a `.car` file:
blocks in DAG-CBOR, one commit that names the account, tree nodes that name each
record, and the records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.corpus.collect.records import Record, parse_time

POSTS = "app.bsky.feed.post"


def records(raw: Any) -> Iterator[Record]:
    """Yield the posts of an event, a view, a page of views."""
    if isinstance(raw, list):
        for one in raw:
            yield from records(one)
    elif "commit" in raw:
        commit = raw["commit"]
        if commit.get("collection") == POSTS and commit.get("operation") == "create":
            address = f"at://{raw.get('did', '')}/{POSTS}/{commit.get('rkey', '')}"
            yield from _post(commit["record"], address, raw.get("did"), None)
    elif "posts" in raw or "feed" in raw:
        for one in raw.get("posts") or raw.get("feed") or ():
            yield from records(one)
    elif "post" in raw:
        for one in records(raw["post"]):
            one.retweet = "reasonRepost" in str((raw.get("reason") or {}).get("$type"))
            yield one
    elif "thread" in raw:
        yield from records(raw["thread"])
    elif "record" in raw or "value" in raw:
        author = raw.get("author") or {}
        address = str(raw.get("uri") or "")
        account = author.get("did") or (address.split("/")[2] if address.count("/") > 2 else None)
        yield from _post(raw.get("record") or raw["value"], address, account, author.get("handle"))


def key(address: str) -> str:
    """Return the id of the post at an at:// address."""
    return f"bluesky:{hashlib.sha256(address.encode()).hexdigest()[:24]}"


def _post(record: dict[str, Any], address: str, account: str | None, handle: str | None) -> Iterator[Record]:
    if record.get("$type", POSTS) != POSTS or "text" not in record:
        return
    reply = record.get("reply") or {}
    embed = record.get("embed") or {}
    kinds = f"{embed.get('$type', '')} {(embed.get('media') or {}).get('$type', '')}"
    facets = [part for facet in record.get("facets") or () for part in facet.get("features") or ()]
    urls = [str(part["uri"]) for part in facets if part.get("uri")]
    if "embed.external" in kinds:
        urls.append(str((embed.get("external") or {}).get("uri", "")))
    langs = record.get("langs") or []
    parent = (reply.get("parent") or {}).get("uri")
    root = (reply.get("root") or {}).get("uri")
    yield Record(
        id=key(address),
        text=str(record["text"]),
        platform="bluesky",
        lang=str(langs[0]).split("-")[0].lower() if len(langs) == 1 else None,
        time=parse_time(record.get("createdAt")),
        author=handle.lower() if handle else None,
        author_id=account,
        reply_to=key(parent) if parent else None,
        conversation=key(root) if root else None,
        retweet=False,
        reply=bool(reply),
        quote="embed.record" in kinds,
        media="images" in kinds or "video" in kinds,
        images="images" in kinds,
        videos="video" in kinds,
        links=bool(urls),
        urls=" ".join(urls) or None,
    )


LARGEST = 2 << 30


def read_car(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of an export with their addresses, in the order of the file."""
    import libipld

    if path.stat().st_size > LARGEST:
        raise UserError(
            f"{path} has {path.stat().st_size:,} bytes; an account's export has less. Is it the right file?"
        )
    try:
        _, blocks = libipld.decode_car(path.read_bytes())
        names = dict(_names(blocks))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is cut off or damaged: it is not a whole .car file ({error}). Export it again."
        ) from None
    did = next((b["did"] for b in blocks.values() if isinstance(b, dict) and "did" in b and "data" in b), None)
    if did is None:
        raise UserError(f"{path} holds no commit, so it is no Bluesky export. Name another file.")
    for key, block in blocks.items():
        if isinstance(block, dict) and "$type" in block and key in names:
            yield {"uri": f"at://{did}/{names[key]}", "record": block}


def _names(blocks: Mapping[bytes, Any]) -> Iterator[tuple[bytes, str]]:
    """Yield (address of a record, its name); a node's names leave out what they share with the one before."""
    for block in blocks.values():
        if not isinstance(block, dict) or not isinstance(block.get("e"), list):
            continue
        last = b""
        for entry in block["e"]:
            last = last[: entry["p"]] + entry["k"]
            yield bytes(entry["v"]), last.decode()
