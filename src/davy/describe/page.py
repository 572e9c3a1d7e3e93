"""A corpus's description as one self-contained page with pictures."""

from __future__ import annotations

from html import escape

from davy.describe.cloud import Cloud, cloud
from davy.describe.counts import LabelLevel, LengthSpread
from davy.describe.describe import CorpusStatistics
from davy.describe.documents import CorpusDocuments
from davy.measure.intervals import proportion
from davy.report import Column, Page, Provenance, Table
from davy.report.plots import bars, heat, histogram

SHOWN = 20
"""Topic words that are shown before the fold."""


def page(found: CorpusStatistics, papers: CorpusDocuments, *, command: str = "") -> Page:
    """Return the page of a description."""
    made = Page(
        found.name,
        lead=f"{found.posts:,} posts: what they are, where they come from, which words go with which label, and what "
        "is still to be said about them.",
        provenance=Provenance(found.data, command=command, more={"Scheme": found.scheme}),
        texts=True,
    )
    _overview(made, found)
    for level in found.levels:
        _level(made, found, level)
    _texts(made, found)
    _words(made, found)
    _topics(made, found)
    _papers(made, papers)
    return made


def clouds(found: CorpusStatistics) -> dict[tuple[str, str], Cloud]:
    """Return the word cloud of each class, size by NPMI."""
    return {
        (question, label): cloud(
            list(frame.filter(frame["class"] == label).select("word", "npmi").iter_rows()), title=f"{question}: {label}"
        )
        for question, frame in found.words.items()
        for label in frame["class"].unique(maintain_order=True)
    }


def overview(found: CorpusStatistics) -> Table:
    """Return the corpus in a few counts."""
    rows: list[tuple[str, object]] = [
        ("posts", found.posts), ("with an image", found.images), ("empty", found.empty),
        ("texts that repeat an earlier one", found.repeated), ("emoji", found.emoji.total),
        ("posts with an emoji", found.emoji.posts_with), ("different emoji", found.emoji.unique),
    ]  # fmt: skip
    return Table.of([Column("what"), Column("n", "count")], rows)


def label_table(found: CorpusStatistics, level: LabelLevel) -> Table:
    """Return a question's labels with their share of the posts that have an answer, and of all posts."""
    rows = [
        (label, n, n / level.answered if level.answered else None, n / found.posts if found.posts else None)
        for label, n in level.labels.items()
    ]
    columns = [Column("label"), Column("posts", "count"), Column("of the answered", "share", digits=2),
               Column("of all posts", "share", digits=2)]  # fmt: skip
    note = f"{level.answered:,} of {found.posts:,} posts have an answer."
    return Table.of(columns, rows, note=f"{note} Asked under {level.under}." if level.under else note)


def _overview(made: Page, found: CorpusStatistics) -> None:
    made.section("What is in it")
    made.table(overview(found))
    for column, values in found.origins.items():
        made.table(Table.of([Column(column), Column("posts", "count"), Column("share", "share")],
                            [(value, n, n / found.posts) for value, n in values], title=f"By {column}"))  # fmt: skip
    if found.found:
        made.table(
            Table.of([Column("how it was found", "text"), Column("posts", "count")], found.found, title="How found")
        )
    if found.times:
        made.say(f"Written between {found.times[0]} and {found.times[1]}.")


def _level(made: Page, found: CorpusStatistics, level: LabelLevel) -> None:
    made.section(f"Answers: {level.question}")
    made.table(label_table(found, level))
    if len(level.labels) > 1:
        shares = [proportion(label, n, level.answered) for label, n in level.labels.items() if level.answered]
        made.plot(bars(shares, title=level.question, x="share of the answered"), "Share of each label, with its n.")
    for name, cells in found.across.items():
        question, _, column = name.partition(" by ")
        if question == level.question and cells:
            totals: dict[str, int] = {}
            for value, _, n in cells:
                totals[value] = totals.get(value, 0) + n
            if len(totals) <= 30:
                shares_of = [(value, label, n / totals[value]) for value, label, n in cells]
                made.plot(heat(shares_of, title=f"{name}", domain=(0, 1)), f"Share of each label within each {column}.")
            _folded(
                made,
                f"The counts of {name}",
                Table.of([Column(column), Column("label"), Column("posts", "count")], cells),
            )


def _texts(made: Page, found: CorpusStatistics) -> None:
    made.section("Lengths and emoji")
    columns = [Column("posts"), Column("n", "count"), *(Column(c, "number", digits=1) for c in _SPREAD)]
    for unit in ("words", "characters"):
        rows = [(name, *_cells(both[unit])) for name, both in found.lengths.items()]
        made.table(Table.of(columns, rows, title=f"Length in {unit}"))
    picture = histogram(found.histogram, title="Words a post", x="words", bins=_bins(found.histogram["all posts"]))
    made.plot(picture, "The longest hundredth is drawn at its edge.")
    rows = [
        (name, e.per_post.n, e.total, e.posts_with / e.per_post.n if e.per_post.n else None, e.per_post.mean, e.unique)
        for name, e in {"all posts": found.emoji, **found.emoji_by_class}.items()
    ]
    made.table(
        Table.of(
            [Column("posts"), Column("n", "count"), Column("emoji", "count"), Column("posts with one", "share"),
             Column("a post", "number", digits=2), Column("different ones", "count")],
            rows, title="Emoji",
        )
    )  # fmt: skip
    if found.emoji.most:
        made.table(Table.of([Column("emoji"), Column("times", "count")], found.emoji.most, title="Most frequent emoji"))


def _bins(lengths: list[int]) -> int:
    """Return bins that each hold as many whole numbers, so that none sticks out for that reason alone."""
    span = max(lengths, default=1) - min(lengths, default=0) or 1
    return max(1, span // (span // 40 + 1))


_SPREAD = ("mean", "sd", "least", "lower quarter", "median", "upper quarter", "most")


def _cells(s: LengthSpread) -> tuple[float | None, ...]:
    return (s.n, s.mean, s.sd, s.least, s.lower, s.median, s.upper, s.most)


def _words(made: Page, found: CorpusStatistics) -> None:
    if not found.words:
        return
    made.section(
        "Words by class",
        "Words are counted once a post. PMI says how much more often a word and a class meet than chance would have "
        f"it, NPMI the same between −1 and 1. Words in fewer than {found.least} posts and function words are left out.",
    )
    drawn = clouds(found)
    for question, frame in found.words.items():
        for label in frame["class"].unique(maintain_order=True):
            made.heading(f"{question}: {label}")
            made.plot(drawn[question, label], f"Words that go with {label}: the larger, the higher their NPMI.")
            some = frame.filter(frame["class"] == label).head(15)
            rows = list(some.select("word", "posts", "posts_with_word", "share", "pmi", "npmi").iter_rows())
            top = [(w["word"], w["posts"], w["share"], w["npmi"]) for w in found.top[question][label][:15]]
            nearest = Table.of(_COLUMNS, rows, title=f"Words nearest to {label}")
            frequent = Table.of(
                [_COLUMNS[0], _COLUMNS[1], _COLUMNS[3], _COLUMNS[5]], top, title=f"Most frequent words of {label}"
            )
            _folded(made, f"The figures of {label}", nearest, frequent)
    if len(found.pairs):
        made.heading("Words that go together")
        made.table(
            Table.of(
                [Column("word", "text"), Column("with", "text"), Column("posts with both", "count"),
                 Column("PMI", "number"), Column("NPMI", "number")],
                list(found.pairs.head(25).iter_rows()),
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


def _folded(made: Page, summary: str, *tables: Table) -> None:
    """Add tables that open on a press, so that the page can be read through."""
    inner = "".join(table.html() for table in tables)
    texts = any(column.kind == "text" for table in tables for column in table.columns)
    made.part(f"<details><summary>{escape(summary)}</summary>{inner}</details>\n", texts=texts)


def _topics(made: Page, found: CorpusStatistics) -> None:
    made.section(
        "Topic words that give a class away",
        "These words are not hurtful by themselves, yet posts that hold them are in the class far more often than "
        "others. A detector trained here may learn the topic. Look at them, add harmless posts that hold them, "
        "or tell users.",
    )
    rows = [
        (f"{t.question}: {t.label}", t.word, f"{t.posts:,} of {t.posts_with_word:,}", t.rate, t.low, t.base, t.npmi)
        for t in sorted(found.topics, key=lambda t: -t.npmi)
    ]
    columns = [
        Column("class"), Column("word", "text"), Column("posts"), Column("in class", "share"),
        Column("at least", "share"), Column("all posts", "share"), Column("NPMI", "number"),
    ]  # fmt: skip
    note = (
        "“Posts” are those in the class of those with the word; “at least” is the low end of the 95 % interval "
        "(Wilson); “all posts” is the class's share of the corpus."
    )
    made.table(Table.of(columns, rows[:SHOWN], note=note))
    if len(rows) > SHOWN:
        _folded(made, f"{len(rows) - SHOWN} more", Table.of(columns, rows[SHOWN:]))


def _papers(made: Page, papers: CorpusDocuments) -> None:
    for title, text in (
        ("Data statement", papers.statement), ("Datasheet", papers.datasheet), ("Possible harm and misuse", papers.harm)
    ):  # fmt: skip
        made.section(title)
        made.markdown(text.split("\n", 1)[1] if text.startswith("# ") else text)
