"""`davy collect live`: a platform's stream into an archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from davy.core.errors import UserError
from davy.corpus.collect.live import bluesky, mastodon, reddit, x
from davy.corpus.collect.live.listener import Listener, ListenLimits
from davy.corpus.collect.live.web import WebClient
from davy.corpus.collect.platforms import canonical_name
from davy.corpus.collect.records import AccountHasher
from davy.corpus.collect.rule import FilterRule
from davy.files.atomic import read_text
from davy.shell import console

if TYPE_CHECKING:
    from davy.corpus.collect.live.events import PostStream

Key = Annotated[
    Path | None,
    typer.Option("--author-key", metavar="F", help="Keep each author as a hash under the secret key in this file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]


def live(
    platform: Annotated[str, typer.Argument(metavar="PLATFORM", help="bluesky, mastodon, x or reddit.")],
    out: Annotated[Path, typer.Option("--out", metavar="F", help="The archive to add to, .jsonl.")],
    rule: Annotated[
        str | None, typer.Option(metavar="R", help="Keep what this rule matches; X needs one for its stream.")
    ] = None,
    account: Annotated[
        list[str] | None,
        typer.Option("--account", metavar="A", help="X: an account whose posts to fetch; again for more."),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--ids", metavar="F", help="X: fetch the posts whose ids this file lists, one a line."),
    ] = None,
    community: Annotated[
        list[str] | None, typer.Option("--community", metavar="C", help="Reddit: a community; again for more.")
    ] = None,
    submissions: Annotated[bool, typer.Option("--submissions", help="Reddit: submissions, not comments.")] = False,
    tag: Annotated[str | None, typer.Option(metavar="T", help="Mastodon: posts with this hashtag only.")] = None,
    local: Annotated[bool, typer.Option("--local", help="Mastodon: the server's own posts only.")] = False,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="The server; Mastodon needs one, others have their own.")
    ] = None,
    posts: Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop after this many kept posts.")] = None,
    seconds: Annotated[float | None, typer.Option(metavar="S", min=0, help="Stop after this time.")] = None,
    every: Annotated[float, typer.Option(metavar="S", min=1, help="Seconds between two looks at Reddit.")] = 10.0,
    author_key: Key = None,
    json: Json = False,
) -> None:
    """Listen to a platform and write what comes to an archive that davy collect reads; Ctrl-C stops it.

    The same command goes on where it stopped. Names are not written. Tokens come from the environment:
    DAVY_X_TOKEN, DAVY_MASTODON_TOKEN, DAVY_REDDIT_TOKEN. Ids of deleted posts go to F.withdrawn, for
    davy collect withdraw.

    Examples:

      davy collect live bluesky --rule '(word OR "two words") lang:de' --posts 1000 --out bluesky.jsonl

      davy collect live mastodon --server https://example.social --seconds 3600 --out mastodon.jsonl

      davy collect live x --ids charitidis.txt --out tweets.jsonl

      davy collect live reddit --community tea --community coffee --out reddit.jsonl
    """

    on_x = platform.lower() in ("x", "twitter")  # X matches the rule itself, and knows more than an archive can tell
    made = FilterRule.of(rule, archive=not on_x) if rule is not None else None
    names = AccountHasher.of(author_key) if author_key else None
    wanted = _read_ids(ids) if ids is not None else []
    source = _source(
        platform.lower(), rule, account or [], wanted, community or [], submissions, tag, local, server, every
    )
    own = None if on_x else made
    listener = Listener(source, out, rule=own, names=names, limits=ListenLimits(posts, seconds), tell=console.note)
    try:
        counts = listener.run()
    except KeyboardInterrupt:
        counts = listener.counts
        console.note("Stopped. The same command goes on from here.")
    if json:
        console.json(counts.to_dict() | {"out": str(out)})
    console.note(
        f"{counts.seen:,} seen, {counts.kept:,} kept, {counts.repeated:,} repeated, "
        f"{counts.withdrawn:,} deleted by their authors, {counts.breaks:,} breaks → {out}"
    )


def _read_ids(file: Path) -> list[str]:
    """Return the ids of a file, one a line."""
    ids = [line.strip() for line in read_text(file, "list of ids").splitlines() if line.strip()]
    wrong = next((one for one in ids if not one.isdigit()), None)
    if wrong is not None or not ids:
        raise UserError(
            f"{file} should list ids of posts, one number a line" + (f"; it has {wrong[:40]!r}." if wrong else ".")
        )
    return ids


def _source(
    platform: str, rule: str | None, accounts: list[str], ids: list[str], communities: list[str], submissions: bool,
    tag: str | None, local: bool, server: str | None, every: float,
) -> PostStream:  # fmt: skip
    """Return the connector that the options describe."""
    import os

    name = canonical_name(platform)
    token = os.environ.get(f"DAVY_{name.upper()}_TOKEN")
    if name == "bluesky":
        return bluesky.Jetstream(server)
    if name == "mastodon":
        if server is None:
            raise UserError("Mastodon has many servers. Name one: --server https://example.social")
        return mastodon.PublicStream(WebClient(server, token), tag=tag.lstrip("#") if tag else None, local=local)
    if name == "reddit":
        if not communities:
            raise UserError("Name at least one community: --community NAME")
        web = WebClient(server or reddit.SERVER, token)
        return reddit.NewPosts(web, communities, kind="new" if submissions else "comments", pause=every)
    if name == "x":
        if token is None and server is None:
            raise UserError("X wants a bearer token. Put it in the environment: export DAVY_X_TOKEN=…")
        web = WebClient(server or x.SERVER, token)
        if ids:
            return x.PostsById(web, ids)
        if accounts:
            return x.UserPosts(web, [account.lstrip("@") for account in accounts])
        if rule is None:
            raise UserError("X's stream needs a rule (--rule R), or name accounts (--account A) or ids (--ids F).")
        return x.FilteredStream(web, rule)
    raise UserError(f"There is no live connector for {name}; there are bluesky, mastodon, x, reddit.")
