"""A corpus's description as one self-contained page with pictures."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from davy.corpus.describe.cloud import Cloud, cloud
from davy.corpus.describe.counts import LabelLevel, LengthSpread, rounded_shares, whole_bins
from davy.corpus.describe.describe import CorpusStatistics
from davy.corpus.describe.documents import CorpusDocuments
from davy.corpus.describe.memes import MemeStatistics, add_memes
from davy.measure.intervals import proportion
from davy.report import Column, Page, Provenance, Table
from davy.report.plots import bars, heat, histogram

if TYPE_CHECKING:
    from davy.image.picture_names import Pictures

CLOUD_SIZES = {"npmi": "npmi", "frequency": "posts"}
SHOWN = 20
"""Topic words that are shown before the fold."""


def page(
    statistics: CorpusStatistics,
    papers: CorpusDocuments,
    *,
    cloud_size: str = "npmi",
    memes: MemeStatistics | None = None,
    pictures: Pictures | None = None,
    command: str = "",
) -> Page:
    """Return the page of a description; of memes too, where there are some, with blurred `pictures` of a few.

    Words of the clouds are sized by `npmi` or by `frequency`.
    """
    report = Page(
        statistics.name,
        lead=f"{statistics.posts:,} posts: what they are, where they come from, which words go with which label, and "
        "what is still to be said about them.",
        provenance=Provenance(statistics.data, command=command, more={"Scheme": statistics.scheme}),
        texts=True,
    )
    _overview(report, statistics)
    for level in statistics.levels:
        _level(report, statistics, level)
    if memes is not None:
        add_memes(report, memes, pictures)
    _texts(report, statistics)
    _words(report, statistics, cloud_size)
    _topics(report, statistics)
    _papers(report, papers)
    return report


def clouds(statistics: CorpusStatistics, size: str = "npmi") -> dict[tuple[str, str], Cloud]:
    """Return the word cloud of each class, words sized by `npmi` or by `frequency`: the posts of the class with it."""
    column = CLOUD_SIZES[size]
    return {
        (question, label): cloud(
            list(frame.filter(frame["class"] == label).select("word", column).iter_rows()), title=f"{question}: {label}"
        )
        for question, frame in statistics.words.items()
        for label in frame["class"].unique(maintain_order=True)
    }


def overview(statistics: CorpusStatistics) -> Table:
    """Return the corpus in a few counts."""
    rows: list[tuple[str, object]] = [
        ("posts", statistics.posts), ("with an image", statistics.images), ("empty", statistics.empty),
        ("texts that repeat an earlier one", statistics.repeated), ("emoji", statistics.emoji.total),
        ("posts with an emoji", statistics.emoji.posts_with), ("different emoji", statistics.emoji.unique),
    ]  # fmt: skip
    return Table.of([Column("what"), Column("n", "count")], rows)


def label_table(statistics: CorpusStatistics, level: LabelLevel) -> Table:
    """Return a question's labels with their share of the posts that have an answer, and of all posts."""
    given = list(level.labels.values())
    whole = [n + (level.implied if label == level.no else 0) for label, n in level.labels.items()]
    shares = [
        rounded_shares(given, level.answered) if level.answered else [None] * len(given),
        rounded_shares(whole, statistics.posts) if statistics.posts else [None] * len(given),
    ]
    rows = list(zip(level.labels, given, *shares, strict=True))
    columns = [Column("label"), Column("posts", "count"), Column("of the answered", "share", digits=2),
               Column("of all posts", "share", digits=2)]  # fmt: skip
    note = f"{level.answered:,} of {statistics.posts:,} posts have an answer."
    if level.under:
        note += f" Asked under {level.under}."
    if level.implied:
        note += f" Of all posts, the {level.implied:,} that were passed over count as {level.no}."
    return Table.of(columns, rows, note=note)


def _overview(report: Page, statistics: CorpusStatistics) -> None:
    report.section("What is in it")
    report.table(overview(statistics))
    for column, values in statistics.origins.items():
        columns = [Column(column), Column("posts", "count"), Column("share", "share")]
        rows = [(value, n, n / statistics.posts) for value, n in values]
        report.table(Table.of(columns, rows, title=f"By {column}"))
    if statistics.found:
        report.table(
            Table.of(
                [Column("how it was found", "text"), Column("posts", "count")], statistics.found, title="How found"
            )
        )
    if statistics.times:
        report.say(f"Written between {statistics.times[0]} and {statistics.times[1]}.")


def _level(report: Page, statistics: CorpusStatistics, level: LabelLevel) -> None:
    report.section(f"Answers: {level.question}")
    report.table(label_table(statistics, level))
    if len(level.labels) > 1:
        shares = [proportion(label, n, level.answered) for label, n in level.labels.items() if level.answered]
        report.plot(bars(shares, title=level.question, x="share of the answered"), "Share of each label, with its n.")
    for name, cells in statistics.across.items():
        question, _, column = name.partition(" by ")
        if question == level.question and cells:
            totals: dict[str, int] = {}
            for value, _, n in cells:
                totals[value] = totals.get(value, 0) + n
            if len(totals) <= 30:
                shares_of = [(value, label, n / totals[value]) for value, label, n in cells]
                report.plot(
                    heat(shares_of, title=f"{name}", domain=(0, 1)), f"Share of each label within each {column}."
                )
            _folded(
                report,
                f"The counts of {name}",
                Table.of([Column(column), Column("label"), Column("posts", "count")], cells),
            )


def _texts(report: Page, statistics: CorpusStatistics) -> None:
    report.section("Lengths and emoji")
    columns = [Column("posts"), Column("n", "count"), *(Column(c, "number", digits=1) for c in _SPREAD)]
    for unit in ("words", "characters"):
        rows = [(name, *_cells(both[unit])) for name, both in statistics.lengths.items()]
        report.table(Table.of(columns, rows, title=f"Length in {unit}"))
    picture = histogram(
        statistics.histogram, title="Words a post", x="words", bins=whole_bins(statistics.histogram["all posts"])
    )
    report.plot(picture, "The longest hundredth is drawn at its edge.")
    rows = [
        (name, e.per_post.n, e.total, e.posts_with / e.per_post.n if e.per_post.n else None, e.per_post.mean, e.unique)
        for name, e in {"all posts": statistics.emoji, **statistics.emoji_by_class}.items()
    ]
    report.table(
        Table.of(
            [Column("posts"), Column("n", "count"), Column("emoji", "count"), Column("posts with one", "share"),
             Column("a post", "number", digits=2), Column("different ones", "count")],
            rows, title="Emoji",
        )
    )  # fmt: skip
    if statistics.emoji.most:
        report.table(
            Table.of([Column("emoji"), Column("times", "count")], statistics.emoji.most, title="Most frequent emoji")
        )


_SPREAD = ("mean", "sd", "least", "lower quarter", "median", "upper quarter", "most")


def _cells(s: LengthSpread) -> tuple[float | None, ...]:
    return (s.n, s.mean, s.sd, s.least, s.lower, s.median, s.upper, s.most)


def _words(report: Page, statistics: CorpusStatistics, cloud_size: str) -> None:
    if not statistics.words:
        return
    report.section(
        "Words by class",
        "Words are counted once a post. PMI says how much more often a word and a class meet than chance would have "
        f"it, NPMI the same between −1 and 1. Words in fewer than {statistics.least} posts and function words are left "
        "out.",
    )
    drawn = clouds(statistics, cloud_size)
    larger = "the higher their NPMI" if cloud_size == "npmi" else "the more of its posts hold them"
    for question, frame in statistics.words.items():
        for label in frame["class"].unique(maintain_order=True):
            report.heading(f"{question}: {label}")
            report.plot(drawn[question, label], f"Words of {label}: the larger, {larger}.")
            some = frame.filter(frame["class"] == label).head(15)
            rows = list(some.select("word", "posts", "posts_with_word", "share", "pmi", "npmi").iter_rows())
            top = [(w["word"], w["posts"], w["share"], w["npmi"]) for w in statistics.top[question][label][:15]]
            nearest = Table.of(_COLUMNS, rows, title=f"Words nearest to {label}")
            frequent = Table.of(
                [_COLUMNS[0], _COLUMNS[1], _COLUMNS[3], _COLUMNS[5]], top, title=f"Most frequent words of {label}"
            )
            _folded(report, f"The figures of {label}", nearest, frequent)
    if len(statistics.pairs):
        report.heading("Words that go together")
        report.table(
            Table.of(
                [Column("word", "text"), Column("with", "text"), Column("posts with both", "count"),
                 Column("PMI", "number"), Column("NPMI", "number")],
                list(statistics.pairs.head(25).iter_rows()),
            )
        )  # fmt: skip


_COLUMNS = [
    Column("word", "text"),
    Column("posts", "count"),
    Column("posts with the word", "count"),
    Column("share of the class", "share"),
    Column("PMI", "number"),
    Column("NPMI", "number"),
]


def _folded(report: Page, summary: str, *tables: Table) -> None:
    """Add tables that open on a press, so that the page can be read through."""
    inner = "".join(table.html() for table in tables)
    texts = any(column.kind == "text" for table in tables for column in table.columns)
    report.part(f"<details><summary>{escape(summary)}</summary>{inner}</details>\n", texts=texts)


def _topics(report: Page, statistics: CorpusStatistics) -> None:
    report.section(
        "Topic words that give a class away",
        "These words are not hurtful by themselves, yet posts that hold them are in the class far more often than "
        "others. A detector trained here may learn the topic. Look at them, add harmless posts that hold them, "
        "or tell users.",
    )
    rows = [
        (f"{t.question}: {t.label}", t.word, f"{t.posts:,} of {t.posts_with_word:,}", t.rate, t.low, t.base, t.npmi)
        for t in sorted(statistics.topics, key=lambda t: -t.npmi)
    ]
    columns = [
        Column("class"), Column("word", "text"), Column("posts"), Column("in class", "share"),
        Column("at least", "share"), Column("all posts", "share"), Column("NPMI", "number"),
    ]  # fmt: skip
    note = (
        "“Posts” are those in the class of those with the word; “at least” is the low end of the 95 % interval "
        "(Wilson); “all posts” is the class's share of the corpus."
    )
    report.table(Table.of(columns, rows[:SHOWN], note=note))
    if len(rows) > SHOWN:
        _folded(report, f"{len(rows) - SHOWN} more", Table.of(columns, rows[SHOWN:]))


def _papers(report: Page, papers: CorpusDocuments) -> None:
    for title, text in (
        ("Data statement", papers.statement), ("Datasheet", papers.datasheet), ("Possible harm and misuse", papers.harm)
    ):  # fmt: skip
        report.section(title)
        report.markdown(text.split("\n", 1)[1] if text.startswith("# ") else text)
