"""What Davy knows about a corpus, as sentences that fill its papers; nothing is guessed."""

from __future__ import annotations

import re

from davy.corpus.describe.describe import CorpusStatistics


def facts(statistics: CorpusStatistics, columns: list[str]) -> dict[str, str]:
    """Return fact → sentence; an empty sentence means not known."""
    words, emoji = statistics.lengths["all posts"]["words"], statistics.emoji
    unanswered = [
        f"{statistics.posts - level.answered:,} of {statistics.posts:,} posts have no answer to {level.question}"
        for level in statistics.levels
        if level.answered < statistics.posts
    ]
    values = {
        "posts": f"{statistics.posts:,}",
        "empty": f"{statistics.empty:,}",
        "repeated": f"{statistics.repeated:,}",
        "words": "" if words.n == 0 else f"{words.mean:.1f} words each on average (median {words.median:.0f})",
        "emoji": f"{emoji.posts_with:,} of them have emoji ({emoji.unique:,} different ones)",
        "labels": "; ".join(_labels(level.question, level.labels, level.answered) for level in statistics.levels),
        "languages": _listed(statistics, "lang"),
        "platforms": _listed(statistics, "platform") or _listed(statistics, "source"),
        "samplers": _listed(statistics, "sampler"),
        "licences": _listed(statistics, "licence"),
        "splits": f"By split: {split}." if (split := _listed(statistics, "split")) else "",
        "sources": _sources(statistics),
        "found": _found_notes(statistics),
        "columns": ", ".join(columns),
        "unanswered": ("; ".join(unanswered) + ".") if unanswered else "",
        "related": "Replies and derived posts name their parent in `parent`." if "parent" in columns else "",
        "with_images": " and image" if statistics.images else "",
        "identifiable": "Davy's readers keep no user names; an author is at most a keyed hash. Names inside texts are "
        "there unless cleaning masked them." if "platform" in columns else "",
        "collected": "Between {} and {}.".format(*statistics.collected) if statistics.collected else "",
        "withdrawal": "`davy collect withdraw` removes a post that its author deleted, with all that was derived from "
        "its text.",
        "scheme": f"Scheme {statistics.scheme}." if statistics.scheme else "",
        "topics": _topics(statistics),
        "data": statistics.data,
    }  # fmt: skip
    if statistics.times:
        values["first_time"], values["last_time"] = statistics.times
    return values


def _found_notes(statistics: CorpusStatistics) -> str:
    """Return the ways that `davy collect` noted; a mere file name does not say how posts were found."""
    ways = [(way, n) for way, n in statistics.found if re.match("(search|profiles|trend|corpus)[:,]|everything", way)]
    return "; ".join(f"{way} ({n:,})" for way, n in ways[:8])


def _listed(statistics: CorpusStatistics, column: str) -> str:
    values = [(value, n) for value, n in statistics.origins.get(column, []) if value != "(none)"]
    return ", ".join(f"{value} ({n:,})" for value, n in values)


def _labels(question: str, labels: dict[str, int], answered: int) -> str:
    given = ", ".join(f"{label} {n:,} ({n / answered:.2%})" for label, n in labels.items() if answered)
    return f"{question}: {given}"


def _sources(statistics: CorpusStatistics) -> str:
    sources, licences = _listed(statistics, "source"), _listed(statistics, "licence")
    if not sources:
        return ""
    return f"Sources: {sources}. Licences: {licences}." if licences else f"Sources: {sources}. Licences not recorded."


def _topics(statistics: CorpusStatistics) -> str:
    """Return how many topic words give a class away; the words themselves stay in the report."""
    if not statistics.words:
        return ""
    by_class: dict[str, int] = {}
    for topic in statistics.topics:
        name = f"{topic.question}: {topic.label}"
        by_class[name] = by_class.get(name, 0) + 1
    if not by_class:
        return "No topic word was found that clearly goes with a class."
    listed = ", ".join(f"{n} for {name}" for name, n in by_class.items())
    return f"Topic words that clearly go with a class were found ({listed}); the report lists them."
