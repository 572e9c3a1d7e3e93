"""The data statement that travels with an export: what its rows say, and who labelled, as counts.

Rows pass by once and only counts are kept. What people said about themselves
comes from `care.demographics`, which lets no small group be seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from davy.annotation.exchange.rows import AnsweredPost

if TYPE_CHECKING:
    from davy.annotation.project.project import Phase, Project
    from davy.core import Scheme
    from davy.store import Connection

RELEASE_TERMS = (
    "Adversarial texts, made to get past a detector. Use them to test, train and mend detectors. Do not post them, do "
    "not teach a system to write with them, and pass them on only with these terms. Where people have not confirmed a "
    "label, it is a proposal."
)
"""What every file and page with entries of a round or proposals of the attacker carries."""
MOST_LISTED = 12
MOST_COUNTED = 10_000
"""Different sources that are counted; some corpora have one for every post."""


class DataStatement:
    """Counts rows as they pass; `text` is the statement about all that passed."""

    def __init__(
        self, project: Project, scheme: Scheme, phases: Iterable[Phase], people: str, terms: str, agreement: str = ""
    ) -> None:
        self._project = project
        self._scheme = scheme
        self._phases = list(phases)
        self._people = people
        self._terms = terms
        self._agreement = agreement
        self._who: set[str] = set()
        self._answers = self._posts = self._empty = self._words = self._images = 0
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in ("lang", "source", "licence", "found")}
        self._labels: dict[str, Counter[str]] = {question.name: Counter() for question in scheme.questions}
        self._settled: Counter[str] = Counter()
        self._bases: Counter[str] = Counter()

    @classmethod
    def of_project(cls, db: Connection, project: Project, scheme: Scheme, phases: Iterable[Phase]) -> DataStatement:
        """Return a statement that knows who labelled; rows are still to pass."""
        from davy.annotation.care.demographics import statement_counts

        lines = []
        for found in statement_counts(db, project):
            counts = [f"{count.answer or 'other or no answer'} ({count.n})" for count in found.counts]
            lines.append(f"{found.question.capitalize()}: {', '.join(counts)}.")
        chosen = list(phases)
        return cls(project, scheme, chosen, " ".join(lines), _terms(project), _agreement(db, chosen))

    def through(self, rows: Iterable[AnsweredPost]) -> Iterator[AnsweredPost]:
        """Yield the rows, counted."""
        for row in rows:
            self._posts += 1
            self._empty += not (row.text or "").strip()
            self._images += row.image is not None
            self._words += len((row.text or "").split())
            for name, counter in self._counts.items():
                value = getattr(row, name)
                if value and (value in counter or len(counter) < MOST_COUNTED):
                    counter[value] += 1
            for given in row.given:
                self._who.add(given.annotator)
                self._answers += 1
            for name, settled in row.settled.items():
                self._settled[name] += 1
                self._bases[settled.basis] += 1
                self._labels.setdefault(name, Counter()).update(settled.labels or ["none"])
            yield row

    def text(self) -> str:
        """Return the statement in Markdown; what nobody can know but people is marked OPEN."""
        from davy.corpus.describe.documents import statement

        known = {
            "languages": _listed(self._counts["lang"]),
            "platforms": _listed(self._counts["source"]),
            "sources": self._sources(),
            "found": _listed(self._counts["found"]),
            "labels": "; ".join(self._spread(name) for name in self._labels if self._settled[name]),
        }
        given = {"annotators": self._annotators(), "text_kind": self._kind()}
        given |= {"annotators_terms": self._terms} if self._terms else {}
        given |= {"agreement": self._agreement} if self._agreement else {}
        if any(phase.behaviour.from_round for phase in self._phases):
            given["audience"] = (
                f"Written in rounds to get past a detector, and published nowhere. Release terms: {RELEASE_TERMS}"
            )
        given |= {"quality": f"{self._empty:,} posts have no text."} if self._posts else {}
        return statement(self._project.title, known, given)

    def _annotators(self) -> str:
        phases = ", ".join(f"{phase.name} ({phase.kind})" for phase in self._phases)
        sentence = f"{len(self._who):,} people gave {self._answers:,} answers in the phases {phases}."
        if self._bases:
            sentence += f" Verdicts by basis: {_listed(self._bases)}."
        if self._people:
            sentence += f" What they said about themselves, where at least three said it: {self._people}"
        return sentence

    def _kind(self) -> str:
        if not self._posts:
            return "No posts."
        pictures = f"; {self._images:,} have an image" if self._images else ""
        return f"{self._posts:,} posts of {self._words / self._posts:.1f} words on average{pictures}."

    def _sources(self) -> str:
        licences = _listed(self._counts["licence"])
        sources = _listed(self._counts["source"])
        return f"{sources}. Licences: {licences}." if sources and licences else sources

    def _spread(self, name: str) -> str:
        n = self._settled[name]
        parts = [f"{label} {count:,} ({count / n:.0%})" for label, count in self._labels[name].most_common(MOST_LISTED)]
        return f"{name} (n = {n:,}): {', '.join(parts)}"


def _terms(project: Project) -> str:
    """Return how people were paid and cared for, by the project's settings."""
    from davy.annotation.care.care import rules_of

    pay, rules = project.settings.get("pay") or {}, rules_of(project)
    sentences = []
    if pay.get("per_hour"):
        experts = f", experts {pay['expert_per_hour']:g}" if pay.get("expert_per_hour") else ""
        sentences.append(f"Paid {pay['per_hour']} {pay.get('currency', '')} an hour{experts}.".replace("  ", " "))
    if project.settings.get("care"):
        limits = [
            (rules.break_after_minutes, f"a break of {rules.break_minutes:g} minutes after {{:g}} minutes of work"),
            (rules.break_after_hard, "a break after {:g} hard posts"),
            (rules.daily_minutes, "at most {:g} minutes a day"),
            (rules.daily_items, "at most {:g} posts a day"),
        ]
        kept = [words.format(value) for value, words in limits if value]
        sentences += [f"Care: {', '.join(kept)}; posts could be skipped or refused without a reason."] if kept else []
    return " ".join(sentences)


def _agreement(db: Connection, phases: Iterable[Phase]) -> str:
    """Return the agreement that was last measured in each phase, in words; nothing where none was."""
    from davy.annotation.project.monitoring import question_agreements
    from davy.annotation.settling.store import agreements

    parts = []
    for phase in phases:
        for found in question_agreements(agreements.newest(db, phase.id)):
            kappa = next((metric for metric in found.metrics if metric.name == "fleiss"), None)
            if kappa is not None and kappa.value is not None:
                parts.append(f"{found.question} in phase {phase.name} {kappa.value:.3f} (n = {kappa.n:,} posts)")
    return f"Fleiss' κ: {'; '.join(parts)}." if parts else ""


def _listed(counts: Counter[str]) -> str:
    shown = [f"{value} ({n:,})" for value, n in counts.most_common(MOST_LISTED)]
    rest = len(counts) - len(shown)
    return ", ".join([*shown, *([f"{rest:,} more"] if rest > 0 else [])])
