"""What model folders say of themselves: a model's name or folder in, a card for each folder behind it out.

Nothing is loaded and nothing is hashed, so a page can show cards of detectors that are not in memory. A model that has
no folder (a word list, an endpoint) has no card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.detectors import folder as folders
from davy.detectors.embedded import LARGE, ROUTES, shipped_names, weights_folder


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One model folder: its manifest in short, and its card cut at its headings, as (title, Markdown)."""

    name: str
    version: str
    languages: tuple[str, ...]
    questions: tuple[Question, ...]
    thresholds: Mapping[str, float]
    data_hash: str | None
    intro: str
    sections: tuple[tuple[str, str], ...]


def model_cards(source: str) -> tuple[ModelCard, ...]:
    """Return the cards of the folders that a model's name stands for; none where there is no sound folder."""
    cards = []
    for folder in _folders(source):
        try:
            manifest = folders.read(folder, check=False)
        except UserError:  # shown as one without a card; loading it says what is wrong
            continue
        intro, sections = card_sections(folder / folders.CARD)
        cards.append(
            ModelCard(
                manifest.name,
                manifest.version,
                tuple(manifest.languages),
                manifest.questions,
                manifest.thresholds,
                manifest.settings.get(folders.DATA),
                intro,
                sections,
            )
        )
    return tuple(cards)


def card_sections(path: Path) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a card's first words without its title, and its sections by their headings; empty where there is none."""
    if not path.is_file():
        return "", ()
    first, *rest = f"\n{path.read_text('utf-8')}".split("\n## ")
    intro = "\n".join(line for line in first.splitlines() if not line.startswith("# ")).strip()
    cut = [part.partition("\n") for part in rest]
    return intro, tuple((title.strip(), text.strip()) for title, _, text in cut)


def _folders(source: str) -> list[Path]:
    path = Path(source).expanduser()
    if path.is_dir():
        return [path]
    names = {"embedded": [*ROUTES.values()], "embedded-careful": [*ROUTES.values(), LARGE]}.get(source, [source])
    return [folder for name in names if name in shipped_names() and (folder := weights_folder(name)) is not None]
