"""What an expert reads about an entry of a round: what it is, and after their decision what the target said."""

from __future__ import annotations

from davy.annotation.project.project import Project
from davy.annotation.project.project_scheme import scheme_of
from davy.rounds.pages.rounds import label_title
from davy.rounds.store import entries, rounds
from davy.store import Connection
from davy.web.i18n import Translator


def post_facts(db: Connection, project: Project, post_id: str, words: Translator) -> tuple[str, str]:
    """Return what pages tell an expert about an entry, before and after the decision; empty for other posts."""
    row = entries.find_text(db, project.id, post_id)
    if row is None:
        return "", ""
    entry, round_ = row.entry, rounds.get(db, row.entry.round)
    scheme = scheme_of(db, project)
    before = words(f"rounds.fact.{entry.set}", n=words.number(round_.number))
    said = [(it.target, label_title(words, scheme, round_, it.label)) for it in entry.predictions]
    after = " ".join(words("rounds.fact.said", target=target, label=label) for target, label in said)
    return before, after
