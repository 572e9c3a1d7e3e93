"""`davy collect`: platform archives into posts, live streams into archives, deleted posts out again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from davy.cli import console
from davy.core.errors import UserError

if TYPE_CHECKING:
    from davy.collect.gather import Done
    from davy.collect.live.events import Source
    from davy.collect.strategies import Strategy


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

Platform = Annotated[
    str,
    typer.Option("--platform", "-p", metavar="P", help="x, reddit, gab, mastodon, bluesky, or plain for other files."),
]
Key = Annotated[
    Path | None,
    typer.Option("--author-key", metavar="F", help="Keep each author as a hash under the secret key in this file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]


@app.command()
def read(
    archives: Annotated[
        list[Path], typer.Argument(metavar="ARCHIVE…", help="Files to read, .zst, .gz, .xz, .bz2 too.")
    ],
    platform: Platform,
    out: Annotated[Path, typer.Option("--out", metavar="F", help="The file of posts to write, by its extension.")],
    rule: Annotated[
        str | None, typer.Option(metavar="R", help="Keep what this rule matches, in X's stream syntax.")
    ] = None,
    rule_file: Annotated[Path | None, typer.Option(metavar="F", help="The same, from a file.")] = None,
    cap: Annotated[int | None, typer.Option(metavar="N", min=1, help="Keep at most this many posts.")] = None,
    profiles: Annotated[
        Path | None, typer.Option(metavar="F", help="Keep posts by the accounts in this file, one a line.")
    ] = None,
    since: Annotated[str | None, typer.Option("--from", metavar="DAY", help="Keep posts from this day on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Keep posts up to this day, which counts.")] = None,
    strategies: Annotated[
        Path | None, typer.Option(metavar="F", help="Several ways to find posts, as YAML: docs/collecting.md.")
    ] = None,
    author_key: Key = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call the source; else the platform.")
    ] = None,
    licence: Annotated[str | None, typer.Option(metavar="NAME", help="The licence or terms of the posts.")] = None,
    encoding: Annotated[
        str | None, typer.Option(help="How lines that are not UTF-8 are written, such as cp1252.")
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out and count lines that can't be read.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start again, even where a stopped run could go on.")] = False,
    json: Json = False,
) -> None:
    """Read platform archives, keep what a rule or strategies want, and note how each post was found.

    Posts keep platform, community, time and id. User names are never stored. A run that was stopped, or that met a
    damaged archive, goes on where it was when the same command is given again.

    Examples:

      davy collect RC_2022-01.zst --platform reddit --rule '(word OR "two words") lang:de' --out posts.parquet

      davy collect read tweets/*.jsonl -p x --strategies gmhp7k.yaml --author-key KEY --out posts.jsonl
    """
    from davy.collect.gather import Settings, gather
    from davy.collect.platforms import canonical
    from davy.collect.records import Names

    if rule is not None and rule_file is not None:
        raise UserError("--rule and --rule-file both give a rule. Give one.")
    single = (rule, rule_file, profiles, since, until, cap)
    if strategies is not None and any(value is not None for value in single):
        raise UserError("--strategies says it all: leave out --rule, --rule-file, --profiles, --from, --until, --cap.")
    settings = Settings(
        canonical(platform), Names.of(author_key) if author_key else None, source, licence, encoding, skip_bad, fresh
    )
    ways = _ways(strategies, rule if rule_file is None else _file(rule_file), profiles, since, until, cap)
    with console.progress("Reading archives") as advance:
        done = gather(archives, out, ways, settings, progress=advance)
    if json:
        console.json(done.to_dict() | {"out": str(out)})
    else:
        _print(done, ways, out)


def _ways(
    file: Path | None, rule: str | None, profiles: Path | None, since: str | None, until: str | None, cap: int | None
) -> list[Strategy]:
    """Return the strategies of a file, or the one that the options describe."""
    from davy.collect import strategies
    from davy.collect.rule import Rule

    if file is not None:
        return strategies.read(file)
    start, end = strategies.span(since, until, "--from and --until")
    listed = strategies.listed(profiles, "--profiles") if profiles else frozenset()
    kind = "profiles" if listed else "search"
    made = Rule.of(rule) if rule is not None else None
    name = kind if made or listed or start or end else "everything"
    return [strategies.Strategy(name, kind, made, cap, listed, start, end)]


def _file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Can't read the rule {path}: {getattr(error, 'strerror', 'it is not UTF-8')}.") from None


def _print(done: Done, ways: list[Strategy], out: Path) -> None:
    rows = [
        (way.name, way.kind, f"{done.taken.get(way.name, 0):,}", "–" if way.cap is None else f"{way.cap:,}",
         f"{done.over.get(way.name, 0):,}")
        for way in ways
    ]  # fmt: skip
    console.table(["strategy", "kind", "taken", "cap", "left over"], rows, right=["taken", "cap", "left over"])
    parts = [f"{done.read:,} read", f"{done.no_post:,} held no post", f"{done.repeated:,} repeated"]
    if done.bad:
        parts.append(f"{done.bad:,} unreadable and left out")
    console.note(f"{', '.join(parts)}; {done.kept:,} posts → {out}")
    if done.first_bad:
        console.note(f"The first that was left out: {done.first_bad}")
    if not done.kept:
        console.note("Nothing matched. See that --platform is right, and try the rule with fewer conditions.")


@app.command()
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

      davy collect live reddit --community tea --community coffee --out reddit.jsonl
    """
    from davy.collect.live.listen import Limits, Listener
    from davy.collect.records import Names
    from davy.collect.rule import Rule

    made = Rule.of(rule) if rule is not None else None
    names = Names.of(author_key) if author_key else None
    source = _source(platform.lower(), rule, account or [], community or [], submissions, tag, local, server, every)
    own = None if platform.lower() in ("x", "twitter") else made  # X has matched its rule itself
    listener = Listener(source, out, rule=own, names=names, limits=Limits(posts, seconds), tell=console.note)
    try:
        heard = listener.run()
    except KeyboardInterrupt:
        heard = listener.heard
        console.note("Stopped. The same command goes on from here.")
    if json:
        console.json(heard.to_dict() | {"out": str(out)})
    console.note(
        f"{heard.seen:,} seen, {heard.kept:,} kept, {heard.repeated:,} repeated, {heard.withdrawn:,} deleted by their "
        f"authors, {heard.breaks:,} breaks → {out}"
    )


def _source(
    platform: str, rule: str | None, accounts: list[str], communities: list[str], submissions: bool, tag: str | None,
    local: bool, server: str | None, every: float,
) -> Source:  # fmt: skip
    """Return the connector that the options describe."""
    import os

    from davy.collect.live import bluesky, mastodon, reddit, x
    from davy.collect.live.web import Web
    from davy.collect.platforms import canonical

    name = canonical(platform)
    token = os.environ.get(f"DAVY_{name.upper()}_TOKEN")
    if name == "bluesky":
        return bluesky.Jetstream(server)
    if name == "mastodon":
        if server is None:
            raise UserError("Mastodon has many servers. Name one: --server https://example.social")
        return mastodon.PublicStream(Web(server, token), tag=tag.lstrip("#") if tag else None, local=local)
    if name == "reddit":
        if not communities:
            raise UserError("Name at least one community: --community NAME")
        web = Web(server or reddit.SERVER, token)
        return reddit.NewPosts(web, communities, kind="new" if submissions else "comments", pause=every)
    if name == "x":
        if token is None and server is None:
            raise UserError("X wants a bearer token. Put it in the environment: export DAVY_X_TOKEN=…")
        web = Web(server or x.SERVER, token)
        if accounts:
            return x.UserPosts(web, [account.lstrip("@") for account in accounts])
        if rule is None:
            raise UserError("X's stream needs a rule (--rule R), or name accounts (--account A).")
        return x.FilteredStream(web, rule)
    raise UserError(f"There is no live connector for {name}; there are bluesky, mastodon, x, reddit.")


@app.command()
def withdraw(
    ids: Annotated[
        list[str],
        typer.Argument(metavar="IDS…", help="Ids or addresses of posts, or files with one a line; '-' is stdin."),
    ],
    file: Annotated[
        list[Path] | None, typer.Option("--file", metavar="F", help="A file to take them out of; again for more.")
    ] = None,
    platform: Annotated[
        str | None, typer.Option("--platform", "-p", metavar="P", help="The platform of ids that are bare numbers.")
    ] = None,
    database: Annotated[
        str | None,
        typer.Option("--database", help="Database URL.", envvar="DAVY_DATABASE", show_default="sqlite:///davy.sqlite"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")] = False,
    json: Json = False,
) -> None:
    """Remove posts that their authors deleted, with everything derived from their text, and say what was affected.

    From the database go the posts, posts derived from them, their answers, comments and verdicts; from files the rows.
    Backups, copies elsewhere and trained detectors are out of reach: the report says so.

    Examples:

      davy collect withdraw deleted.txt --file posts.parquet --file scored.csv

      davy collect withdraw x:1503 https://x.com/somebody/status/1504 --dry-run
    """
    from davy.collect import withdraw as withdrawing

    wanted = withdrawing.listed(ids, platform)
    found: dict[str, Any] = {"asked": len(wanted), "dry_run": dry_run, "database": None, "files": []}
    if file is None or database is not None or Path("davy.sqlite").exists():
        found["database"] = _withdraw_stored(database, wanted, dry_run=dry_run)
    for path in file or []:
        done = withdrawing.clear(path, wanted, change=not dry_run)
        found["files"].append({"file": done.file, "rows": done.rows, "removed": done.removed, "derived": done.derived})
    if json:
        console.json(found)
    else:
        _print_withdrawn(found)


def _withdraw_stored(database: str | None, wanted: list[str], *, dry_run: bool) -> dict[str, Any]:
    """Remove posts from the database, or only look, and return what was touched."""
    from davy.store import events, open_store, withdrawals

    with open_store(database) as store:
        if dry_run:
            with store.read() as db:
                done = withdrawals.look(db, wanted)
        else:
            with store.write() as db:
                done = withdrawals.withdraw(db, wanted, by=events.SHELL)
            withdrawals.settle(store)
        return {
            "database": str(store), "posts": len(done.found), "derived": len(done.derived), "rows": done.rows,
            "annotators": done.annotators, "verdicts": done.verdicts,
        }  # fmt: skip


def _print_withdrawn(found: dict[str, Any]) -> None:
    would = "would be " if found["dry_run"] else ""
    rows = [(f["file"], f"{f['removed']:,}", f"{f['derived']:,}", f"{f['rows']:,}") for f in found["files"]]
    stored = found["database"]
    if stored is not None:
        rows.insert(0, (stored["database"], f"{stored['posts']:,}", f"{stored['derived']:,}", ""))
    columns = ["where", f"posts {would}removed", "derived from them", "rows before"]
    console.table(columns, rows, right=columns[1:])
    if stored is not None and stored["rows"]:
        console.note("Rows removed: " + ", ".join(f"{n:,} {name}" for name, n in stored["rows"].items()))
    if stored is not None and stored["verdicts"]:
        lost = ", ".join(f"{n:,} of {name}" for name, n in stored["verdicts"].items())
        console.note(f"Settled answers {would}gone: {lost}; by {stored['annotators']:,} people. Figures will move.")
    console.note(
        "Not reached: backups, copies elsewhere, reports already made, and detectors trained with these posts. "
        "Train those again."
    )
