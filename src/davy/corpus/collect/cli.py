"""`davy collect`: platform archives into posts, live streams into archives, deleted posts out again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from davy.core.errors import UserError
from davy.core.options import Option
from davy.corpus.collect.collect_run import CollectCounts
from davy.corpus.collect.gather import gather
from davy.corpus.collect.live import connectors
from davy.corpus.collect.live.listener import Listener, ListenLimits
from davy.corpus.collect.live.web import WebClient
from davy.corpus.collect.platforms import canonical_name
from davy.corpus.collect.records import AccountHasher
from davy.corpus.collect.rule import FilterRule
from davy.files.atomic import read_text
from davy.files.file_table import list_columns
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

if TYPE_CHECKING:
    from davy.corpus.collect.live.web import PostStream
    from davy.corpus.collect.strategies import Strategy


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
    most: Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop after this many kept posts.")] = None,
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

      davy collect live bluesky --rule '(word OR "two words") lang:de' --most 1000 --out bluesky.jsonl

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
    listener = Listener(source, out, rule=own, names=names, limits=ListenLimits(most, seconds), tell=console.note)
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
        return connectors.Jetstream(server)
    if name == "mastodon":
        if server is None:
            raise UserError("Mastodon has many servers. Name one: --server https://example.social")
        return connectors.PublicStream(WebClient(server, token), tag=tag.lstrip("#") if tag else None, local=local)
    if name == "reddit":
        if not communities:
            raise UserError("Name at least one community: --community NAME")
        web = WebClient(server or connectors.REDDIT_SERVER, token)
        return connectors.NewPosts(web, communities, kind="new" if submissions else "comments", pause=every)
    if name == "x":
        if token is None and server is None:
            raise UserError("X wants a bearer token. Put it in the environment: export DAVY_X_TOKEN=…")
        web = WebClient(server or connectors.X_SERVER, token)
        if ids:
            return connectors.PostsById(web, ids)
        if accounts:
            return connectors.UserPosts(web, [account.lstrip("@") for account in accounts])
        if rule is None:
            raise UserError("X's stream needs a rule (--rule R), or name accounts (--account A) or ids (--ids F).")
        return connectors.FilteredStream(web, rule)
    raise UserError(f"There is no live connector for {name}; there are bluesky, mastodon, x, reddit.")


class _ReadByDefault(TyperGroup):
    """A group in which `davy collect ARCHIVE…` means `davy collect read ARCHIVE…`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `read` before arguments that name no command."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["read", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ReadByDefault,
    no_args_is_help=True,
    help="Collect posts from platform archives and live streams; withdraw posts that their authors deleted.\n\n"
    "davy collect ARCHIVE… is short for davy collect read ARCHIVE…",
)


@app.command()
@verb_command(
    gather,
    "out [archives] platform rule rule_file most profiles from until strategies author_key source licence encoding "
    "text_column column skip_bad fresh json",
)
def read(
    run: Run[CollectCounts],
    archives: list[Path] | None,
    out: Path,
    platform: str | None,
    rule: str | None,
    rule_file: Path | None,
    text_column: str | None,
    column: list[str] | None,
    strategies: Path | None,
    json: Annotated[bool, Option("Print what was done as JSON.")] = False,
) -> None:
    """Read platform archives, keep what a rule or strategies want, and note how each post was found.

    Posts keep platform, community, time and id. User names are never stored. A run that was stopped, or that met a
    damaged archive, goes on where it was when the same command is given again.

    Examples:

      davy collect RC_2022-01.zst --platform reddit --rule '(word OR "two words") lang:de' --out posts.parquet

      davy collect reddit.parquet gab.parquet --platform plain --out both.parquet    # what each says of its posts stays

      davy collect own.csv --platform plain --text-column Wortlaut --column time=Datum --out posts.csv

      davy collect result.json --platform telegram --out channel.parquet     # youtube and facebook likewise

      davy collect --strategies corpora.yaml --out judge.parquet             # earlier corpora need no archive

      davy collect read tweets/*.jsonl --platform x --strategies gmhp7k.yaml --author-key KEY --out posts.jsonl
    """

    if rule is not None and rule_file is not None:
        raise UserError("--rule and --rule-file both give a rule. Give one.")
    if archives and platform is None:
        raise UserError("Say which platform the archives are of: --platform reddit, or plain for other files.")
    if (text_column is not None or column) and canonical_name(platform or "plain") != "plain":
        option = "--column" if text_column is None else "--text-column"
        raise UserError(f"{option} goes with --platform plain: archives of {platform} say what each field is.")
    single = ("rule", "rule_file", "profiles", "from", "until", "most")
    if strategies is not None and any(run.given[key] is not None for key in single):
        raise UserError("--strategies says it all: leave out --rule, --rule-file, --profiles, --from, --until, --most.")
    ways = run.arguments["strategies"]
    if not archives and any(way.kind != "corpus" for way in ways):
        raise UserError("Name the archives to read. Only strategies of kind corpus need none.")
    with console.progress("Reading archives") as advance:
        done = run(paths=archives or [], progress=advance)
    if json:
        console.json(done.to_dict() | {"out": str(out)})
    else:
        _print(done, ways, out)


def _print(done: CollectCounts, ways: list[Strategy], out: Path) -> None:
    rows = [
        (way.name, way.kind, f"{done.taken.get(way.name, 0):,}", "–" if way.cap is None else f"{way.cap:,}",
         f"{done.over.get(way.name, 0):,}")
        for way in ways
    ]  # fmt: skip
    console.table(["strategy", "kind", "taken", "cap", "left over"], rows, right=["taken", "cap", "left over"])
    for way in ways:
        if way.name in done.profiles:
            named = zip(sorted(way.profiles), done.profiles[way.name], strict=True)
            each = [(name, f"{n:,}") for name, n in named]
            console.table(["account", "posts"], each, title=f"Accounts of {way.name}", right=["posts"])
    parts = [f"{done.read:,} read", f"{done.no_post:,} held no post", f"{done.repeated:,} repeated"]
    if done.bad:
        parts.append(f"{done.bad:,} unreadable and left out")
    console.note(f"{', '.join(parts)}; {done.kept:,} posts → {out}")
    if done.first_bad:
        console.note(f"The first that was left out: {done.first_bad}")
    if done.kept and done.no_post > done.read / 2:
        console.note("More than half of what was read holds no post. Is --platform right?")
    if done.left_out_columns:
        columns = list_columns(done.left_out_columns)
        console.note(f"Columns that collected posts don't keep: {columns}. davy convert keeps every column.")
    if not done.kept and done.read == done.no_post:
        console.note("Nothing that was read holds a post. See that --platform is right.")
    elif not done.kept:
        console.note("Nothing matched. See that --platform is right, and try the rule with fewer conditions.")


app.command()(live)
