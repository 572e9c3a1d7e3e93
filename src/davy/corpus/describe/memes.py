"""What is in a corpus of memes, as the Hateful Memes paper describes one, and the part of the page that shows it.

Posts in (with `kind` where it is known, and pictures), a `MemeStatistics` out. A class is a meme's kind, or without
kinds the answer to the first question. As in the paper, words and objects are counted on the test part, protected
categories and types of attack on the dev part; without such a part, the nearest one stands in and is named.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from davy.core.errors import UserError
from davy.core.meme import MEME_KINDS
from davy.corpus.describe.counts import whole_bins
from davy.corpus.describe.word_counts import stopwords, tokens
from davy.image.picture import make_preview, on_white
from davy.measure.intervals import proportion
from davy.report import Column, Page, Table
from davy.report.plots import bars, heat, histogram
from davy.report.tables import hidden_text

if TYPE_CHECKING:
    from davy.detectors.object_boxes import ObjectDetector
    from davy.image.picture_names import Pictures


TOP = 10
"""Words and objects a class, as in the paper."""
EXAMPLES = 3
"""Pictures a class in the report."""
TEST_PARTS = ("test_seen", "test", "dev_seen", "dev", "val")
DEV_PARTS = ("dev_seen", "dev", "val", "test_seen", "test")
PAPER_KINDS = {
    "multimodal hate": 0.4, "unimodal hate": 0.1, "benign image": 0.2, "benign text": 0.2, "random non-hateful": 0.1
}  # fmt: skip
"""Shares of dev and test in the Hateful Memes paper, section 2.4."""
PAPER_PARTS = {"train": 8500, "dev": 500, "dev_seen": 500, "test": 1000, "test_seen": 1000}
"""Memes a part in the paper: 85, 5 and 10 % of 10,000."""


@dataclass(frozen=True, slots=True)
class Frequent:
    """A word or an object's label: how often it stands in a class, and its share of all that were counted there."""

    name: str
    n: int
    share: float


@dataclass(frozen=True)
class MemeStatistics:
    """A corpus of memes in figures. `parts` say which split each table is of, "" for the whole corpus."""

    class_by: str
    """`kind`, or the question whose answers are the classes."""
    words_part: str
    answers_part: str
    classes_by_part: dict[str, dict[str, int]]
    """Split → class → memes."""
    words: dict[str, list[Frequent]]
    answers: dict[str, dict[str, int]]
    """Question below the first → label → memes, on the dev part."""
    answered: dict[str, int]
    tokens: dict[str, list[int]]
    """Class or `question: label` → tokens of each meme's text."""
    objects: dict[str, list[Frequent]] = field(default_factory=dict)
    objects_note: str = ""
    """Why there are no objects, where there are none."""
    examples: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """Class → memes that are shown: `id`, `image` and `text`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON has them; the examples' texts and pictures are left out."""
        record = asdict(self)
        record["examples"] = {name: [meme["id"] for meme in memes] for name, memes in self.examples.items()}
        return record


def describe_memes(
    posts: pl.DataFrame, questions: Sequence[str], *, langs: Sequence[str] = ("en", "de")
) -> MemeStatistics:
    """Return the figures of posts with pictures, without objects. `questions` are those with answers, in order."""
    class_by = "kind" if _has(posts, "kind") else questions[0] if questions else ""
    classed = posts.with_columns(_class=_classes(class_by))
    words_on, words_part = _part(classed, TEST_PARTS)
    answers_on, answers_part = _part(classed, DEV_PARTS)
    names = _ordered(classed["_class"].drop_nulls().unique().to_list())
    first = f"{questions[0]}.gold" if questions else ""
    return MemeStatistics(
        class_by,
        words_part,
        answers_part,
        _by_part(classed, names),
        {name: top_words(words_on.filter(pl.col("_class") == name)["text"], langs) for name in names},
        {q: _labels(answers_on, q) for q in questions[1:] if answers_on[f"{q}.gold"].drop_nulls().len()},
        {q: answers_on[f"{q}.gold"].drop_nulls().len() for q in questions[1:]},
        _token_counts(classed, names, first),
        examples={name: _examples(words_on.filter(pl.col("_class") == name)) for name in names},
    )


def top_words(texts: pl.Series, langs: Sequence[str] = ("en", "de")) -> list[Frequent]:
    """Return the most frequent words of texts, as shares of all their words; function words are left out of both."""
    stop = {word for lang in langs for word in stopwords(lang)}
    counted = Counter(
        word for words in tokens(texts).to_list() for word in words or () if word not in stop and len(word) > 1
    )
    return _most(counted)


def count_objects(
    posts: pl.DataFrame,
    found: MemeStatistics,
    pictures: Pictures,
    detector: ObjectDetector,
    *,
    min_score: float,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, list[Frequent]]:
    """Return the most frequent labels of boxes on the pictures of each class; each box counts."""
    some, _ = _part(posts.with_columns(_class=_classes(found.class_by)), TEST_PARTS)
    counted: dict[str, Counter[str]] = {name: Counter() for name in found.words}
    for name, image in some.select("_class", "image").iter_rows():
        progress()
        if name in counted and image:
            boxes = detector.find(pictures(image))
            counted[name].update(box.label for box in boxes if box.score >= min_score and box.label)
    return {name: _most(labels) for name, labels in counted.items()}


def objects_total(posts: pl.DataFrame) -> int:
    """Return how many pictures `count_objects` will look at."""
    return len(_part(posts, TEST_PARTS)[0])


def _most(counted: Counter[str]) -> list[Frequent]:
    total = counted.total()
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    return [Frequent(name, n, n / total) for name, n in ranked]


def _has(posts: pl.DataFrame, column: str) -> bool:
    return column in posts.columns and posts[column].drop_nulls().len() > 0


def _classes(class_by: str) -> pl.Expr:
    if not class_by:
        return pl.lit("all memes")
    return pl.col("kind" if class_by == "kind" else f"{class_by}.gold").cast(pl.String)


def _part(posts: pl.DataFrame, parts: Sequence[str]) -> tuple[pl.DataFrame, str]:
    """Return the memes of the first of these splits that has memes with a class, and its name."""
    if _has(posts, "split"):
        known = posts.filter(pl.col("_class").is_not_null()) if "_class" in posts.columns else posts
        names = set(known["split"].cast(pl.String).drop_nulls())
        for name in parts:
            if name in names:
                return posts.filter(pl.col("split").cast(pl.String) == name), name
    return posts, ""


def _ordered(names: list[str]) -> list[str]:
    known = [kind for kind in MEME_KINDS if kind in names]
    return [*known, *sorted(name for name in names if name not in known)]


def _by_part(posts: pl.DataFrame, names: list[str]) -> dict[str, dict[str, int]]:
    part = pl.col("split").cast(pl.String).fill_null("(none)") if "split" in posts.columns else pl.lit("all")
    counted = Counter(posts.select(part.alias("part"), "_class").rows())
    parts = list(dict.fromkeys(name for name, _ in counted))
    return {each: {name: counted[each, name] for name in names} for each in sorted(parts, key=_part_order)}


def _part_order(name: str) -> tuple[int, str]:
    stems = ("train", "dev", "val", "test")
    return next((place for place, stem in enumerate(stems) if name.startswith(stem)), len(stems)), name


def _labels(posts: pl.DataFrame, question: str) -> dict[str, int]:
    cells = posts[f"{question}.gold"].drop_nulls().cast(pl.String)
    return dict(Counter(label for cell in cells for label in cell.split("|") if label).most_common())


def _token_counts(posts: pl.DataFrame, names: list[str], first: str) -> dict[str, list[int]]:
    """Return how many tokens the text of each meme has, by class, and by the first question where classes are kinds."""
    n = tokens(posts["text"]).list.len()
    counted = posts.with_columns(_n=n)
    by_class = {name: counted.filter(pl.col("_class") == name)["_n"].to_list() for name in names}
    if first and f"{first}" in posts.columns and _has(posts, "kind"):
        for label in sorted(posts[first].drop_nulls().unique()):
            by_class[f"{first.removesuffix('.gold')}: {label}"] = counted.filter(pl.col(first) == label)["_n"].to_list()
    return by_class


def _examples(posts: pl.DataFrame) -> list[dict[str, str]]:
    """Return the first memes of a class, in the order of their ids' hashes, so that neighbours are not alike."""
    some = posts.filter(pl.col("image").is_not_null())
    some = some.with_columns(_place=pl.col("id").cast(pl.String).hash(0)).sort("_place").head(EXAMPLES)
    return [dict(zip(("id", "image", "text"), row, strict=True)) for row in some.select("id", "image", "text").rows()]


PAPER = "the Hateful Memes paper (Kiela et al. 2020)"
_PREVIEW = 240
_STYLE = ".memes { display: flex; flex-wrap: wrap; gap: 16px; } .memes figure { max-width: 240px; margin: 0; }"
_MOST_FREQUENT = {
    "protected": "In the paper, race and religion are the most frequent.",
    "attack": "In the paper, comparison with criminals, stereotypes and mocking hate crimes are most frequent.",
}
"""What appendix C says in words; a post can attack several categories, so shares may add up to more than one."""


def add_memes(report: Page, found: MemeStatistics, pictures: Pictures | None) -> None:
    """Add the sections on memes to a page; without pictures, no examples are shown."""
    report.section("Memes: kinds and splits", f"Laid out as in {PAPER}, section 2.4 and appendices B and C.")
    report.table(class_table(found))
    if len(found.classes_by_part) > 1:
        shares = [
            (part, name, n / max(1, sum(counts.values())))
            for part, counts in found.classes_by_part.items()
            for name, n in counts.items()
        ]
        picture = heat(shares, title=f"{found.class_by} by split", domain=(0, 1))
        report.plot(picture, "Share of each class in each split.")
    report.section("Tokens of a meme's text", "As in the paper's Figure 4: by answer and by kind, all splits together.")
    bins = whole_bins([n for counts in found.tokens.values() for n in counts])
    report.plot(histogram(found.tokens, title="Tokens a meme", x="tokens", bins=bins), "Tokens of the texts.")
    _frequent(report, "Words by class", "Table 3", "word", found.words, found.words_part)
    if found.objects:
        _frequent(report, "Objects by class", "Table 4", "object", found.objects, found.words_part)
        report.say(
            "Objects are boxes that SSD-MobileNet-v2 (COCO's 80 kinds of object) is sure of by 0.3 or more; the paper "
            "used Mask R-CNN. Such detectors are biased, in whom they see and what they take people for."
        )
    elif found.objects_note:
        report.section("Objects by class", found.objects_note)
    _answers(report, found)
    _show_examples(report, found, pictures)


def class_table(found: MemeStatistics) -> Table:
    """Return how many memes each split has of each class, with the paper's share of dev and test beside ours."""
    columns = [Column("split"), Column(found.class_by or "class"), Column("memes", "count"), Column("share", "share")]
    rows: list[tuple[object, ...]] = []
    for part, counts in found.classes_by_part.items():
        total = sum(counts.values())
        composed = part in PAPER_PARTS and part != "train"
        for name, n in counts.items():
            rows.append((part, name, n, n / total if total else None, PAPER_KINDS.get(name) if composed else None))
        rows.append((part, "all", total, 1.0 if total else None, None))
    if found.class_by != "kind":
        return Table.of(columns, [row[:-1] for row in rows], title="Memes by split")
    sizes = "The paper has 8,500, 500 and 1,000 memes in train, dev and test."
    return Table.of([*columns, Column("paper", "share")], rows, title="Memes by split", note=sizes)


def answer_table(found: MemeStatistics, question: str) -> Table:
    """Return a question's labels on the dev part: half of Table 5."""
    answered = found.answered[question]
    rows = [(label, n, n / answered) for label, n in found.answers[question].items()]
    note = f"{answered:,} memes have an answer. {_MOST_FREQUENT.get(question, '')}".rstrip()
    return Table.of([Column(question), Column("memes", "count"), Column("share", "share")], rows, note=note)


def frequent_table(name: str, frequent: dict[str, list[Frequent]], *, kind: str = "text") -> Table:
    """Return the most frequent words or objects of every class, one column a class: ranked, with their shares."""
    columns = [Column("rank", "count"), *(Column(each, kind) for each in frequent)]
    most = max((len(ranked) for ranked in frequent.values()), default=0)
    rows = []
    for place in range(most):
        ranks = (ranked[place] if place < len(ranked) else None for ranked in frequent.values())
        rows.append((place + 1, *(one and f"{one.name} ({one.share:.1%})" for one in ranks)))
    return Table.of(columns, rows, title=f"Most frequent {name}s by class")


def _frequent(report: Page, title: str, number: str, name: str, frequent: dict[str, list[Frequent]], part: str) -> None:
    where = f"on {part}" if part else "on all memes, as there is no test part"
    note = f"As in the paper's {number}, {where}. Shares are of all {name}s counted in the class."
    report.section(title, note + (" Function words are left out." if name == "word" else ""))
    report.table(frequent_table(name, frequent, kind="text" if name == "word" else "name"))


def _answers(report: Page, found: MemeStatistics) -> None:
    if not found.answers:
        return
    where = f"on {found.answers_part}" if found.answers_part else "on all memes, as there is no dev part"
    report.section("Categories and types of attack", f"As in the paper's Table 5, {where}.")
    for question, labels in found.answers.items():
        report.heading(question)
        report.table(answer_table(found, question))
        shares = [proportion(label, n, found.answered[question]) for label, n in labels.items()]
        report.plot(bars(shares, title=question, x="share of the answered"), "Share of each label, with its n.")


def _show_examples(report: Page, found: MemeStatistics, pictures: Pictures | None) -> None:
    if pictures is None or not any(found.examples.values()):
        return
    report.section("Examples", "Pictures are grey and blurred, hurtful words masked. Chosen by a hash of their ids.")
    for name, memes in found.examples.items():
        figures = "".join(_figure(meme, pictures) for meme in memes)
        if figures:
            report.heading(name)
            report.part(f'<div class="memes">{figures}</div>\n', style=_STYLE, texts=True)


def _figure(meme: dict[str, str], pictures: Pictures) -> str:
    try:
        image = pictures(meme["image"]).image
    except UserError:
        return ""
    data = io.BytesIO()
    flat = on_white(image) if image.mode == "RGBA" else image
    make_preview(flat, longest=_PREVIEW).save(data, "JPEG", quality=70)
    source = base64.b64encode(data.getvalue()).decode()
    words = hidden_text(meme["text"] or "")
    return (
        f'<figure><img alt="Meme {escape(str(meme["id"]))}, blurred" src="data:image/jpeg;base64,{source}">'
        f"<figcaption>{words}</figcaption></figure>"
    )
