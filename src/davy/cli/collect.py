"""`davy collect`: platform archives into posts, live streams into archives, deleted posts out again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from davy.cli import collect_live, collect_withdraw, console
from davy.collect.gather import GatherSettings, gather
from davy.collect.platforms import canonical_name
from davy.collect.records import AccountHasher
from davy.collect.rule import FilterRule
from davy.core.errors import UserError
from davy.files.atomic import read_text
from davy.files.file_table import list_columns

if TYPE_CHECKING:
    from davy.collect.collect_run import CollectCounts
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
    str | None,
    typer.Option("--platform", "-p", metavar="P", help="x, reddit, gab, mastodon, bluesky, or plain for other files."),
]
Key = Annotated[
    Path | None,
    typer.Option("--author-key", metavar="F", help="Keep each author as a hash under the secret key in this file."),
]
Json = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]


@app.command()
def read(
    out: Annotated[Path, typer.Option("--out", metavar="F", help="The file of posts to write, by its extension.")],
    archives: Annotated[
        list[Path] | None, typer.Argument(metavar="ARCHIVE…", help="Files to read, .zst, .gz, .xz, .bz2 too.")
    ] = None,
    platform: Platform = None,
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
        Path | None, typer.Option(metavar="F", help="Several ways to find posts, as YAML: docs/data/collecting.md.")
    ] = None,
    author_key: Key = None,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call the source; else the platform.")
    ] = None,
    licence: Annotated[str | None, typer.Option(metavar="NAME", help="The licence or terms of the posts.")] = None,
    encoding: Annotated[
        str | None, typer.Option(help="How lines that are not UTF-8 are written, such as cp1252.")
    ] = None,
    text_column: Annotated[
        str | None, typer.Option(metavar="C", help="The column with the text of plain files, by no usual name.")
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

      davy collect reddit.parquet gab.parquet -p plain --out both.parquet    # what each says of its posts stays

      davy collect --strategies corpora.yaml --out judge.parquet             # earlier corpora need no archive

      davy collect read tweets/*.jsonl -p x --strategies gmhp7k.yaml --author-key KEY --out posts.jsonl
    """

    if rule is not None and rule_file is not None:
        raise UserError("--rule and --rule-file both give a rule. Give one.")
    if archives and platform is None:
        raise UserError("Say which platform the archives are of: --platform reddit, or plain for other files.")
    if text_column is not None and canonical_name(platform or "plain") != "plain":
        raise UserError(f"--text-column goes with --platform plain: archives of {platform} say where the text is.")
    single = (rule, rule_file, profiles, since, until, cap)
    if strategies is not None and any(value is not None for value in single):
        raise UserError("--strategies says it all: leave out --rule, --rule-file, --profiles, --from, --until, --cap.")
    settings = GatherSettings(
        canonical_name(platform or "plain"),
        AccountHasher.of(author_key) if author_key else None,
        source,
        licence,
        encoding,
        skip_bad,
        fresh,
        text_column,
    )
    ways = _ways(strategies, rule if rule_file is None else read_text(rule_file, "rule"), profiles, since, until, cap)
    if not archives and any(way.kind != "corpus" for way in ways):
        raise UserError("Name the archives to read. Only strategies of kind corpus need none.")
    with console.progress("Reading archives") as advance:
        done = gather(archives or [], out, ways, settings, progress=advance)
    if json:
        console.json(done.to_dict() | {"out": str(out)})
    else:
        _print(done, ways, out)


def _ways(
    file: Path | None, rule: str | None, profiles: Path | None, since: str | None, until: str | None, cap: int | None
) -> list[Strategy]:
    """Return the strategies of a file, or the one that the options describe."""
    from davy.collect import strategies

    if file is not None:
        return strategies.read(file)
    start, end = strategies.parse_span(since, until, "--from and --until")
    listed = strategies.read_accounts(profiles, "--profiles") if profiles else frozenset()
    kind = "profiles" if listed else "search"
    made = FilterRule.of(rule) if rule is not None else None
    name = kind if made or listed or start or end else "everything"
    return [strategies.Strategy(name, kind, made, cap, listed, start, end)]


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


app.command()(collect_live.live)
app.command()(collect_withdraw.withdraw)
