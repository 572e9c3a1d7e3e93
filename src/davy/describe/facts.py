"""What Davy knows about a corpus, as sentences that fill its papers; nothing is guessed."""

from __future__ import annotations

import re

from davy.describe.describe import CorpusStatistics


def facts(found: CorpusStatistics, columns: list[str]) -> dict[str, str]:
    """Return fact → sentence; an empty sentence means not known."""
    words, emoji = found.lengths["all posts"]["words"], found.emoji
    unanswered = [
        f"{found.posts - level.answered:,} of {found.posts:,} posts have no answer to {level.question}"
        for level in found.levels
        if level.answered < found.posts
    ]
    told = {
        "posts": f"{found.posts:,}",
        "empty": f"{found.empty:,}",
        "repeated": f"{found.repeated:,}",
        "words": "" if words.n == 0 else f"{words.mean:.1f} words each on average (median {words.median:.0f})",
        "emoji": f"{emoji.posts_with:,} of them have emoji ({emoji.unique:,} different ones)",
        "labels": "; ".join(_labels(level.question, level.labels, level.answered) for level in found.levels),
        "languages": _listed(found, "lang"),
        "platforms": _listed(found, "platform") or _listed(found, "source"),
        "samplers": _listed(found, "sampler"),
        "licences": _listed(found, "licence"),
        "splits": f"By split: {split}." if (split := _listed(found, "split")) else "",
        "sources": _sources(found),
        "found": _found(found),
        "columns": ", ".join(columns),
        "unanswered": ("; ".join(unanswered) + ".") if unanswered else "",
        "related": "Replies and derived posts name their parent in `parent`." if "parent" in columns else "",
        "with_images": " and image" if found.images else "",
        "identifiable": "Davy's readers keep no user names; an author is at most a keyed hash. Names inside texts are "
        "there unless cleaning masked them." if "platform" in columns else "",
        "collected": f"Between {found.collected[0]} and {found.collected[1]}." if found.collected else "",
        "withdrawal": "`davy collect withdraw` removes a post that its author deleted, with all that was derived from "
        "its text.",
        "scheme": f"Scheme {found.scheme}." if found.scheme else "",
        "topics": _topics(found),
        "data": found.data,
    }  # fmt: skip
    if found.times:
        told["first_time"], told["last_time"] = found.times
    return told


def _found(found: CorpusStatistics) -> str:
    """Return the ways that `davy collect` noted; a mere file name does not say how posts were found."""
    ways = [(way, n) for way, n in found.found if re.match("(search|profiles|trend|corpus)[:,]|everything", way)]
    return "; ".join(f"{way} ({n:,})" for way, n in ways[:8])


def _listed(found: CorpusStatistics, column: str) -> str:
    values = [(value, n) for value, n in found.origins.get(column, []) if value != "(none)"]
    return ", ".join(f"{value} ({n:,})" for value, n in values)


def _labels(question: str, labels: dict[str, int], answered: int) -> str:
    given = ", ".join(f"{label} {n:,} ({n / answered:.2%})" for label, n in labels.items() if answered)
    return f"{question}: {given}"


def _sources(found: CorpusStatistics) -> str:
    sources, licences = _listed(found, "source"), _listed(found, "licence")
    if not sources:
        return ""
    return f"Sources: {sources}. Licences: {licences}." if licences else f"Sources: {sources}. Licences not recorded."


def _topics(found: CorpusStatistics) -> str:
    """Return how many topic words give a class away; the words themselves stay in the report."""
    if not found.words:
        return ""
    by_class: dict[str, int] = {}
    for topic in found.topics:
        name = f"{topic.question}: {topic.label}"
        by_class[name] = by_class.get(name, 0) + 1
    if not by_class:
        return "No topic word was found that clearly goes with a class."
    listed = ", ".join(f"{n} for {name}" for name, n in by_class.items())
    return f"Topic words that clearly go with a class were found ({listed}); the report lists them."
