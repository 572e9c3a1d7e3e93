"""The papers that travel with a corpus: data statement, datasheet, statement of harm, dataset card.

A description and a user's own answers in, Markdown out. What Davy knows is filled
in; every question that only people can answer is marked OPEN, so that nobody
takes silence for an answer. The forms are data, in `forms/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

import yaml

from davy.core.errors import nearest
from davy.corpus.describe.describe import CorpusStatistics
from davy.files.yaml_nodes import Problems, YamlText, line_at, load_shipped, read_file
from davy.text.mask import mask
from davy.version import __version__


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


OPEN = "**OPEN**"
FORMS = ("data_statement", "datasheet")


@dataclass(frozen=True, slots=True)
class CorpusDocuments:
    """Four Markdown texts, and how many questions are answered and open."""

    statement: str
    datasheet: str
    harm: str
    card: str
    answered: int
    open: tuple[str, ...]


def write_documents(
    statistics: CorpusStatistics, columns: list[str], about: Mapping[str, str] | None = None
) -> CorpusDocuments:
    """Return the papers; `about` holds people's own answers by the id of the question."""
    known = {**facts(statistics, columns), "version": __version__}
    given = dict(about or {})
    pages: dict[str, str] = {}
    done = 0
    left: list[str] = []
    for form in FORMS:
        pages[form], answered, missing = _filled(_form(form), known, given, statistics.name)
        done, left = done + answered, left + missing
    harm, card = _harm(known, given, statistics), _card(known, given, statistics)
    return CorpusDocuments(pages["data_statement"], pages["datasheet"], harm, card, done, tuple(dict.fromkeys(left)))


def statement(name: str, known: Mapping[str, str], given: Mapping[str, str]) -> str:
    """Return a data statement from facts alone, for a corpus that streams by and is never one frame."""
    return _filled(_form("data_statement"), {**known, "version": __version__}, given, name)[0]


def questions() -> dict[str, str]:
    """Return every question that can be answered, by its id."""
    asked = {q["id"]: q["ask"] for form in FORMS for s in _form(form)["sections"] for q in s["questions"]}
    return {**asked, "pretty_name": "What is the corpus called?", "harm_more": "Which other harm is possible?"}


def read_about(path: Path) -> dict[str, str]:
    """Return the answers of a YAML file, `id: answer`; an unknown id is an error."""
    problems = Problems(str(path), what="file of answers", example="docs/data/describing.md")
    root = read_file(path, problems)
    known = questions()
    for key, answer in (root or {}).items():
        if str(key) not in known:
            problems.add(line_at(key, 1), f"There is no question {str(key)!r}.{nearest(str(key), list(known))}")
        elif answer is not None and not isinstance(answer, YamlText):
            problems.add(line_at(key, 1), f"The answer to {str(key)!r} must be one text.")
    problems.raise_first()
    return {str(key): str(answer) for key, answer in (root or {}).items() if answer}


def _form(name: str) -> dict[str, Any]:
    form: dict[str, Any] = load_shipped("davy.corpus.describe.forms", f"{name}.yaml")
    return form


def _filled(
    form: Mapping[str, Any], known: Mapping[str, str], given: Mapping[str, str], name: str
) -> tuple[str, int, list[str]]:
    """Return a form as Markdown, how many questions have an answer, and the ids of those that have none."""
    lines = [f"# {form['title']}: {name}", "", form["intro"], ""]
    answered, left = 0, []
    for section in form["sections"]:
        lines += [f"## {section['title']}", ""]
        for question in section["questions"]:
            answer = given.get(question["id"]) or _from(question.get("fill"), known)
            answered += answer is not None
            if answer is None:
                left.append(question["id"])
                answer = f"{OPEN}: only you can answer this (`{question['id']}`)."
            lines += [f"**{question['ask']}**", "", mask(answer), ""]
    note = f"{len(left)} of {answered + len(left)} questions are open." if left else "Every question has an answer."
    return "\n".join([*lines[:4], f"*{note}*", "", *lines[4:]]), answered, left


def _from(fill: str | None, known: Mapping[str, str]) -> str | None:
    """Return a template filled with what is known, or None where something in it is not."""
    if fill is None:
        return None
    names = [name for _, name, _, _ in Formatter().parse(fill) if name]
    missing = any(name not in known or (not known[name] and name != "with_images") for name in names)
    return None if missing else fill.format(**known)


def _harm(known: Mapping[str, str], given: Mapping[str, str], statistics: CorpusStatistics) -> str:
    topics = known.get("topics", "")
    parts = [
        f"# Possible harm and misuse: {statistics.name}",
        "",
        "- **To those who read it.** The posts are abusive. Show them masked, let people stop, spread hard posts out.",
        "- **To those written about.** Republishing an attack can repeat it. Mask names; give posts out only for "
        "research and moderation.",
        "- **To those who wrote.** Texts can be searched for and lead back to accounts, though no names are kept. "
        "Don't publish quotes with a wide reach; follow deletions with `davy collect withdraw`.",
        "- **To those judged by a detector trained on it.** It will err: harmless posts held back cost a voice, "
        "hateful ones let through cost safety. Errors fall on dialects, reclaimed words and counter-speech first. "
        "Measure by group before use, and let people object.",
        "- **By misuse.** The hateful part could teach a system to write hate, or to hunt for targets. Don't train "
        "generators on it, and don't use it to profile people.",
        f"- **By topic.** {topics}" if topics else "",
        f"- **Also.** {given['harm_more']}"
        if given.get("harm_more")
        else f"- {OPEN}: which other harm is possible here, and who was asked about it (`harm_more`)?",
        "",
    ]
    return mask("\n".join(part for part in parts if part or part == ""))


def _card(known: Mapping[str, str], given: Mapping[str, str], statistics: CorpusStatistics) -> str:
    """Return a dataset card as Hugging Face reads it: facts in front, then the words."""
    langs = [value for value, _ in statistics.origins.get("lang", []) if value.isalpha()]
    licences = [value for value, _ in statistics.origins.get("licence", []) if not value.startswith("(")]
    front: dict[str, Any] = {
        "pretty_name": given.get("pretty_name") or statistics.name,
        **({"language": langs} if langs else {}),
        "license": _licence(licences),
        "task_categories": ["text-classification"],
        "tags": ["hate-speech", "not-for-all-audiences"],
        "size_categories": [_size(statistics.posts)],
    }
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    rows = [
        f"| {level.question} | {label} | {n:,} |" for level in statistics.levels for label, n in level.labels.items()
    ]
    purpose = given.get("purpose") or f"{OPEN}: what is it for (`purpose`)?"
    return mask(
        f"---\n{head}---\n\n# {front['pretty_name']}\n\n> **Content warning:** the posts hold abusive language.\n\n"
        f"{purpose}\n\n## What is in it\n\n{statistics.posts:,} posts. {known.get('languages', '')}\n\n"
        f"| question | label | posts |\n| --- | --- | ---: |\n" + "\n".join(rows) + "\n\n"
        f"{known.get('splits', '')}\n\n## Sources and licences\n\n{known.get('sources') or OPEN}\n\n"
        "## Papers\n\n[Data statement](data_statement.md), [datasheet](datasheet.md), "
        "[possible harm and misuse](harm.md), [report](report.html).\n"
    )  # fmt: skip


_HUGGING_FACE = {"cc-by-4.0", "cc0-1.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "mit", "apache-2.0", "pddl", "odc-by"}


def _licence(licences: list[str]) -> str:
    names = {name.lower().replace(" ", "-") for name in licences}
    if len(names) == 1 and (one := names.pop()) in _HUGGING_FACE:
        return one
    return "other" if licences else "unknown"


def _size(posts: int) -> str:
    for most, name in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M")):
        if posts < most:
            return name
    return "1M<n<10M"
