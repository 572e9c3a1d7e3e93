"""`davy community`: thresholds, review and webhooks of communities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from davy.core.errors import UserError
from davy.shell import console
from davy.shell.options import Database, GoldColumns, Json
from davy.store import events, open_store
from davy.text.language_code import check_language

if TYPE_CHECKING:
    from davy.moderation.store.communities import Community

app = typer.Typer(no_args_is_help=True, help="Set thresholds by community, send what is uncertain to review.")

Question = Annotated[
    str | None,
    typer.Option(
        "--question", metavar="Q", help="The yes/no question that decides; else the first threshold's, or hate."
    ),
]
Thresholds = Annotated[
    Path | None, typer.Option("--thresholds", metavar="F", help="Thresholds of davy migrate compare.")
]
Threshold = Annotated[
    list[str] | None,
    typer.Option("--threshold", metavar="[LANG:]Q=T", help="A threshold, such as hate=0.6 or de:hate=0.4; repeat."),
]
Uncertain = Annotated[
    str | None, typer.Option("--uncertain", metavar="LOW:HIGH", help="What goes to review, such as 0.4:0.7; none: -.")
]
Keys = Annotated[
    list[str] | None, typer.Option("--key", metavar="PREFIX", help="A key that may use it (davy key list); repeat.")
]
Project = Annotated[
    str | None, typer.Option("--project", metavar="P", help="The project that reviews. Its texts are kept there.")
]
Webhook = Annotated[
    str | None,
    typer.Option("--webhook", metavar="URL", help="Who is told of decisions and of what reviewers settle; none: -."),
]
Language = Annotated[
    str | None,
    typer.Option("--lang", metavar="LANG", help="The language of comments that name none, where it can't be told."),
]

Policy = Annotated[
    Path | None,
    typer.Option("--policy", metavar="F", help="What flagged posts break and what happens to them, as YAML."),
]
Unjudged = Annotated[
    bool | None,
    typer.Option("--review-unjudged/--no-review-unjudged", help="Whether posts that were not judged go to review."),
]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What programs send as community.")],
    question: Question = None,
    thresholds: Thresholds = None,
    threshold: Threshold = None,
    uncertain: Uncertain = None,
    key: Keys = None,
    project: Project = None,
    webhook: Webhook = None,
    lang: Language = None,
    policy: Policy = None,
    review_unjudged: Unjudged = None,
    database: Database = None,
) -> None:
    """Add a community. Where it has a webhook, the secret of its signatures is printed now and never again.

    Examples:

      davy community create forum --threshold hate=0.6 --uncertain 0.4:0.6 --key ab12cd34 --project forum-review

      davy community create news --thresholds migration/thresholds.yaml --webhook https://example.org/hook
    """
    from davy.moderation.communities import create_community

    with open_store(database) as store, store.write() as db:
        changes = _changes(db, question, thresholds, threshold, uncertain, key, project, webhook, lang)
        changes |= _policy_changes(policy, review_unjudged)
        made = create_community(db, name, changes, by=events.SHELL)
        known = _prefixes(db)
    _tell(made, made.secret, known)


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The community.")],
    question: Question = None,
    thresholds: Thresholds = None,
    threshold: Threshold = None,
    uncertain: Uncertain = None,
    key: Keys = None,
    project: Project = None,
    webhook: Webhook = None,
    lang: Language = None,
    policy: Policy = None,
    review_unjudged: Unjudged = None,
    remove_key: Annotated[
        list[str] | None,
        typer.Option("--remove-key", metavar="PREFIX", help="A key that may use it no more; repeat. All: -."),
    ] = None,
    database: Database = None,
) -> None:
    """Change a community. What is not named stays; running servers follow within seconds.

    Keys and thresholds that are named are added to those it has; --remove-key takes keys away, and is done first.

    Examples:

      davy community set forum --thresholds migration/thresholds.yaml

      davy community set forum --uncertain 0.35:0.65

      davy community set forum --key ef56ab78

      davy community set forum --remove-key - --key ef56ab78    # this key alone
    """
    from davy.moderation.communities import change_community
    from davy.moderation.store import communities

    with open_store(database) as store, store.write() as db:
        changes = _changes(db, question, thresholds, threshold, uncertain, key, project, webhook, lang)
        changes |= _policy_changes(policy, review_unjudged)
        if key or remove_key:
            before = communities.get(db, name).keys
            changes["keys"] = _keys_after(db, before, remove_key or [], changes.get("keys", ()))
        made, secret = change_community(db, name, changes, by=events.SHELL)
        known = _prefixes(db)
    _tell(made, secret, known)


@app.command("list")
def list_(database: Database = None, json: Json = False) -> None:
    """List the communities.

    Examples:

      davy community list
    """
    from davy.moderation.communities import community_record
    from davy.moderation.store import communities, decisions

    with open_store(database) as store, store.read() as db:
        known = [community_record(one, decisions.totals(db, one.name)) for one in communities.list_communities(db)]
    if json:
        console.json(known)
        return
    rows = [
        (
            one["name"],
            one["question"],
            ", ".join(
                [
                    *(f"{q} {t:g}" for q, t in one["thresholds"].items()),
                    *(f"{lang}:{q} {t:g}" for lang, own in one["language_thresholds"].items() for q, t in own.items()),
                ]
            ),
            "" if one["uncertain"] is None else "{:g} to {:g}".format(*one["uncertain"]),
            one["project"] or "",
            f"{sum(one['decisions'].values()):,}",
        )
        for one in known
    ]
    console.table(["name", "decides", "thresholds", "uncertain", "project", "decisions"], rows, right=("decisions",))


@app.command("fit")
def fit(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The community.")],
    files: Annotated[
        list[str], typer.Argument(metavar="F…", help="Posts with settled answers (Q.gold) of the community.")
    ],
    rule: Annotated[
        str, typer.Option("--threshold-rule", metavar="RULE", help="precision=0.9, recall=0.9, macro-f1 or cost=5.")
    ] = "precision=0.9",
    model: Annotated[str, typer.Option("--model", "-m", metavar="M", help="The detector.")] = "embedded",
    gold: GoldColumns = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Set a community's threshold by a target on labelled posts; its page then shows the curve.

    Examples:

      davy community fit forum labelled.csv --threshold-rule precision=0.9
    """
    from davy.core.gold import name_gold
    from davy.corpus.post_source import load_posts
    from davy.files.input_paths import join_paths
    from davy.moderation.communities import fit_threshold, keep_threshold
    from davy.moderation.store import communities
    from davy.scoring.scorers import load_scorer

    with open_store(database) as store:
        with store.read() as db:
            community = communities.get(db, name)
        scorer = load_scorer(model)
        source = load_posts(join_paths(files))
        posts = name_gold(source.posts, gold or (), scorer.questions, [community.question], file=source.path)
        fitted = fit_threshold(posts, scorer, community.question, rule)
        with store.write() as db:
            keep_threshold(db, name, fitted, by=events.SHELL)
    if json:
        console.json({"question": fitted.question, "threshold": fitted.threshold, **fitted.basis})
        return
    precision, recall = fitted.basis["precision"], fitted.basis["recall"]
    console.note(
        f"{fitted.question} from {fitted.threshold:.3f} on: precision {precision['value']:.3f} "
        f"[{precision['low']:.3f}, {precision['high']:.3f}], recall {recall['value']:.3f} "
        f"[{recall['low']:.3f}, {recall['high']:.3f}] on {fitted.basis['posts']:,} posts."
    )


@app.command("export")
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The community.")],
    out: Annotated[Path, typer.Option("--out", metavar="F", help="The file: CSV, TSV, JSONL or Parquet.")],
    database: Database = None,
) -> None:
    """Write a community's decisions with their reasons and what reviewers settled on. No texts are in it.

    Examples:

      davy community export forum --out decisions.csv
    """
    from davy.moderation.communities import export_decisions

    with open_store(database) as store:
        n = export_decisions(store, name, out)
    console.note(f"{n:,} decisions: {out}")


@app.command("reasons")
def reasons(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The community.")],
    out: Annotated[Path, typer.Option("--out", metavar="F", help="The JSON file.")],
    decision: Annotated[
        str | None, typer.Option("--decision", metavar="ID", help="This decision alone, by its id or yours.")
    ] = None,
    database: Database = None,
) -> None:
    """Write statements of reasons as the EU's DSA transparency database takes them. Nothing is sent.

    One for each decision that restricts a post and holds, after its review and its appeal. No texts are in it.

    Examples:

      davy community reasons forum --out statements.json
    """
    from davy.files.atomic import write_json
    from davy.moderation.statements import statements_of
    from davy.moderation.store import communities

    with open_store(database) as store, store.read() as db:
        made = list(statements_of(db, communities.get(db, name), decision=decision))
    write_json(out, {"statements": made})
    console.note(f"{len(made):,} statements of reasons: {out}")


def _tell(made: Community, secret: str | None, known: dict[str, str]) -> None:
    if secret:
        print(secret)
        console.note("The secret of its webhook's signatures. It is not shown again.")
    own = "".join(f", {lang} {made.threshold_in(lang):g}" for lang in made.language_thresholds)
    band = "" if made.low is None or made.high is None else f" Uncertain from {made.low:g} to {made.high:g}."
    keys = _told_keys(known, made.keys)
    console.note(f"Community {made.name}: {made.question} from {made.threshold:g} on{own}.{band} {keys}")


def _changes(
    db: Any,
    question: str | None,
    file: Path | None,
    threshold: list[str] | None,
    uncertain: str | None,
    key: list[str] | None,
    project: str | None,
    webhook: str | None,
    lang: str | None,
) -> dict[str, Any]:
    """Return the fields that the options name."""
    changes: dict[str, Any] = {}
    if question is not None:
        changes["question"] = question
    common, languages = _thresholds(file, threshold or [])
    if common:
        changes["thresholds"] = common
    if languages:
        changes["language_thresholds"] = languages
    if uncertain is not None:
        changes |= _band(uncertain)
    if key is not None:
        changes["keys"] = tuple(_key_id(db, one) for one in key)
    if project is not None:
        changes["project"] = project
    if webhook is not None:
        changes["webhook"] = None if webhook == "-" else webhook
    if lang is not None:
        changes["lang"] = check_language(lang)
    return changes


def _policy_changes(policy: Path | None, review_unjudged: bool | None) -> dict[str, Any]:
    from davy.moderation.policy_file import read_policy

    changes: dict[str, Any] = {} if policy is None else {"policy": read_policy(policy)}
    return changes if review_unjudged is None else {**changes, "review_unjudged": review_unjudged}


def _thresholds(file: Path | None, given: list[str]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return the thresholds of a file and of options: common ones, and those of languages."""
    from davy.moderation.threshold_file import read_thresholds

    read = read_thresholds(file) if file is not None else None
    common = dict(read.common) if read else {}
    languages = {lang: dict(own) for lang, own in read.languages.items()} if read else {}
    for one in given:
        name, _, number = one.partition("=")
        lang, colon, question = name.rpartition(":")
        try:
            value = float(number)
        except ValueError:
            raise UserError(f"--threshold {one!r} is no threshold. Write one like hate=0.6 or de:hate=0.4.") from None
        where = languages.setdefault(str(check_language(lang)), {}) if colon else common
        where[question] = value
    return common, languages


def _band(text: str) -> dict[str, float | None]:
    if text == "-":
        return {"low": None, "high": None}
    low, _, high = text.partition(":")
    try:
        return {"low": float(low), "high": float(high)}
    except ValueError:
        raise UserError(f"--uncertain {text!r} is no range. Write one like 0.4:0.7, or - for none.") from None


def _keys_after(db: Any, before: tuple[str, ...], remove: list[str], add: tuple[str, ...]) -> tuple[str, ...]:
    """Return a community's keys after some were taken away and then some added; `-` takes all away."""
    gone = set(before) if "-" in remove else {_key_id(db, one) for one in remove}
    if strangers := gone - set(before):
        known = _prefixes(db)
        shown = ", ".join(known.get(one, one) for one in sorted(strangers))
        raise UserError(f"The community does not have the key {shown}. {_told_keys(known, before)}")
    return tuple(dict.fromkeys([*(one for one in before if one not in gone), *add]))


def _prefixes(db: Any) -> dict[str, str]:
    """Return the prefix of every key by its id."""
    from davy.people.store import keys

    return {key.id: key.prefix for key in keys.list_keys(db)}


def _told_keys(known: dict[str, str], keys: tuple[str, ...]) -> str:
    """Return a sentence about who may use a community."""
    if not keys:
        return "No key may use it yet: davy community set NAME --key PREFIX"
    return f"Keys: {', '.join(known.get(one, one) for one in keys)}."


def _key_id(db: Any, prefix: str) -> str:
    from davy.people.store import keys

    wanted = prefix.removeprefix("davy_")[:8]
    for key in keys.list_keys(db):
        if key.prefix == wanted or key.id == prefix:
            return key.id
    raise UserError(f"There is no key {wanted!r}. List them: davy key list")
