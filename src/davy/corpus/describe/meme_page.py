"""The part of a description's page that is about memes: tables and figures beside the paper's, and blurred examples."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

from davy.core.errors import UserError
from davy.corpus.describe.counts import whole_bins
from davy.corpus.describe.memes import PAPER_KINDS, PAPER_PARTS, Frequent, MemeStatistics
from davy.image.picture import on_white
from davy.image.preview import make_preview
from davy.measure.intervals import proportion
from davy.report import Column, Page, Table
from davy.report.markup import hidden_text
from davy.report.plots import bars, heat, histogram

if TYPE_CHECKING:
    from davy.image.picture_names import Pictures

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
    _examples(report, found, pictures)


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


def _examples(report: Page, found: MemeStatistics, pictures: Pictures | None) -> None:
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
