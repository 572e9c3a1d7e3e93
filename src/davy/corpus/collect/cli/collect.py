"""`davy collect`: platform archives into posts, live streams into archives, deleted posts out again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from davy.annotation.project.cli import withdraw as collect_withdraw
from davy.core.errors import UserError
from davy.core.options import Option
from davy.corpus.collect.cli import live as collect_live
from davy.corpus.collect.collect_run import CollectCounts
from davy.corpus.collect.gather import gather
from davy.corpus.collect.platforms import canonical_name
from davy.files.file_table import list_columns
from davy.shell import console
from davy.shell.verb_command import Run, verb_command

if TYPE_CHECKING:
    from davy.corpus.collect.strategies import Strategy


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
    "out [archives] platform rule rule_file cap profiles from until strategies author_key source licence encoding "
    "text_column skip_bad fresh json",
)
def read(
    run: Run[CollectCounts],
    archives: list[Path] | None,
    out: Path,
    platform: str | None,
    rule: str | None,
    rule_file: Path | None,
    text_column: str | None,
    strategies: Path | None,
    json: Annotated[bool, Option("Print what was done as JSON.")] = False,
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
    single = ("rule", "rule_file", "profiles", "from", "until", "cap")
    if strategies is not None and any(run.given[key] is not None for key in single):
        raise UserError("--strategies says it all: leave out --rule, --rule-file, --profiles, --from, --until, --cap.")
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


app.command()(collect_live.live)
app.command()(collect_withdraw.withdraw)
