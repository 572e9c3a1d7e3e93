"""Templates into cases: every template with every set of fills that fits.

A template and the lexicons in, cases and links out. An id is a hash of the
template's id, the set, the version and the fills, so that cases keep theirs
when templates and entries are added, and a text can be mended without one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from davy.core.errors import nearest
from davy.core.suite import Case
from davy.files.yaml_nodes import Problems
from davy.suites.grammar import Part, Slot, SlotError, lexicon_names, parse
from davy.suites.slot_entries import SlotEntry, entries_fit

MOST = 20_000
"""A template that gives more cases than this is a mistake, and would fill the memory."""


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """A template's text in one set, with what its file says about it."""

    template: str
    functionality: str
    set: str
    text: str
    expected: str
    line: int
    test: str = "MFT"
    number: int = 0
    fills: Mapping[str, tuple[str, ...]] | None = None
    only: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()

    @property
    def where(self) -> str:
        """What problems call it."""
        return f"template {self.template!r}" + (f", {self.set}" if self.set != "original" else "")


class ExpansionError(ValueError):
    """A version that can't be made into cases, with the reason."""


def expand(version: TemplateVersion, known: Mapping[str, Sequence[SlotEntry]], lang: str) -> list[Case]:
    """Return the cases of one version, or raise `Broken`."""
    try:
        parts = parse(version.text)
    except SlotError as error:
        raise ExpansionError(f"{version.where}: {error}") from None
    names = lexicon_names(parts)
    unused = [name for name in version.fills or {} if name not in names]
    if unused:
        raise ExpansionError(f"{version.where}: `fills` names {unused[0]!r}, but the text has no such slot.")
    choices = [_allowed(version, name, known) for name in names]
    cases = []
    for chosen in _combinations(version, choices):
        fills = dict(zip(names, chosen, strict=True))
        cases.append(_case(version, parts, fills, lang))
    if not cases:
        raise ExpansionError(f"{version.where}: no fills of its slots fit together. Look at their `only` and `not`.")
    return cases


def contrast_pairs(versions: Mapping[str, Sequence[Case]]) -> Iterator[tuple[str, str]]:
    """Yield (original, perturbed) ids of one template: cases that agree in every slot that both have."""
    for name, cases in versions.items():
        if name == "original":
            continue
        for case in cases:
            for original in versions["original"]:
                if all(original.fills.get(slot, fill) == fill for slot, fill in case.fills.items()):
                    yield original.id, case.id


def report_duplicates(cases: Sequence[tuple[Case, TemplateVersion]], problems: Problems) -> set[str]:
    """Note texts that occur twice; return the ids of those that two labels claim."""
    first: dict[str, tuple[Case, TemplateVersion]] = {}
    spoilt: set[str] = set()
    for case, version in cases:
        key = " ".join(case.text.split())
        if key not in first:
            first[key] = (case, version)
            continue
        other, theirs = first[key]
        if case.expected != other.expected:
            problems.add(
                version.line,
                f"{version.where} makes a text that {theirs.where} on line {theirs.line} makes too, but expects "
                f"{case.expected!r} where that expects {other.expected!r}. Change one of them.",
            )
            spoilt |= {case.id, other.id}
        else:
            problems.add(
                version.line, f"{version.where} makes a text that {theirs.where} on line {theirs.line} makes too."
            )
            spoilt.add(case.id)
    return spoilt


def _allowed(version: TemplateVersion, name: str, known: Mapping[str, Sequence[SlotEntry]]) -> list[SlotEntry]:
    """Return the entries that may stand in a slot of this version."""
    asked = (version.fills or {}).get(name)
    if name not in known:
        if asked:
            return [SlotEntry(text, {"text": text}) for text in asked]
        hint = nearest(name, list(known))
        raise ExpansionError(f"{version.where} has the slot {{{name}}}, but there is no lexicon of that name.{hint}")
    entries = list(known[name])
    if asked is not None:
        names = [entry.name for entry in entries]
        odd = next((text for text in asked if text not in names), None)
        if odd is not None:
            raise ExpansionError(f"{version.where}: `fills` asks for an entry that lexicon {name!r} does not have.")
        entries = [entry for text in asked for entry in entries if entry.name == text]
    entries = [entry for entry in entries if not entry.marks & version.without]
    tagged = [entry for entry in entries if entry.marks & version.only]
    entries = tagged if version.only and tagged else entries
    if not entries:
        raise ExpansionError(
            f"{version.where}: its slot {{{name}}} has no fills left. Add entries to lexicon {name!r}."
        )
    return entries


def _combinations(version: TemplateVersion, choices: list[list[SlotEntry]]) -> Iterator[tuple[SlotEntry, ...]]:
    size = 1
    for entries in choices:
        size *= len(entries)
    if size > MOST:
        raise ExpansionError(
            f"{version.where} would make up to {size} cases; the most is {MOST}. Limit its slots with `fills`."
        )
    return (chosen for chosen in product(*choices) if entries_fit(chosen))


def _case(version: TemplateVersion, parts: tuple[Part, ...], fills: dict[str, SlotEntry], lang: str) -> Case:
    text = "".join(part if isinstance(part, str) else _filled(version, part, fills) for part in parts)
    names = {slot: entry.name for slot, entry in fills.items()}
    key = "\x1f".join(
        [version.template, version.set, str(version.number), *(f"{k}={v}" for k, v in sorted(names.items()))]
    )
    targets = sorted({entry.target for entry in fills.values() if entry.target})
    return Case(
        id=f"{version.template}-{hashlib.sha256(key.encode()).hexdigest()[:10]}",
        text=text,
        functionality=version.functionality,
        expected=version.expected,
        set=version.set,
        target="|".join(targets) or None,
        template=version.template,
        pair="?" if version.test != "MFT" else None,
        test=version.test,
        fills=names,
        lang=lang,
    )


def _filled(version: TemplateVersion, slot: Slot, fills: Mapping[str, SlotEntry]) -> str:
    word = slot.word
    if slot.lexicon:
        found = fills[slot.lexicon].form(slot.form)
        if found is None:
            what = f"the form {slot.form!r}" if slot.form else "a form"
            raise ExpansionError(
                f"{version.where}: an entry of lexicon {slot.lexicon!r} has no {what.split(' ', 1)[1]}."
            )
        if slot.agree:
            if found not in slot.agree:
                raise ExpansionError(
                    f"{version.where}: an entry of {slot.lexicon!r} has {slot.form} {found!r}, for which "
                    f"the slot has no word; it has {', '.join(slot.agree)}."
                )
            found = slot.agree[found]
        word = found
    if slot.spell:
        word = fills[slot.spell].respelt(word)
    return word[:1].upper() + word[1:] if slot.large else word
