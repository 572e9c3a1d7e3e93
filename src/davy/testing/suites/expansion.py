"""Templates into cases: every template with every set of fills that fits.

A template and the lexicons in, cases and links out. An id is a hash of the template's id, the set, the version and the
fills, so that cases keep theirs when templates and entries are added, and a text can be mended without one. A
template's text is words with slots in braces. A slot is one of

    {identity}                 an entry of the lexicon `identity`, in its first form
    {identity.one}             the entry in its form `one`
    {Identity}                 the same, its first letter large
    {slur.many~leet}           the form, respelt as an entry of the lexicon `leet` says
    {'despise'~leet}           a word of the template, respelt
    {thing.number? one: is, many: are}    the word that agrees with what stands in `thing`

All slots of one lexicon in a template take the same entry.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from davy.core.errors import nearest
from davy.files.yaml_nodes import Problems
from davy.testing.suite import Case
from davy.testing.suites.slot_entries import SlotEntry, entries_fit

_BRACES = re.compile(r"\{([^{}]*)\}")
_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_REFERENCE = re.compile(rf"(?P<name>{_NAME})(?:\.(?P<form>{_NAME}))?(?:~(?P<spell>{_NAME}))?")
_LITERAL = re.compile(rf"'(?P<word>[^']+)'~(?P<spell>{_NAME})")
_AGREES = re.compile(rf"(?P<name>{_NAME})\.(?P<form>{_NAME})\?(?P<options>.+)")


class SlotError(ValueError):
    """A brace that can't be read, with the reason."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One brace. `lexicon` is empty where a word of the template is respelt; `agree` maps a form's value to a word."""

    lexicon: str = ""
    form: str = ""
    spell: str = ""
    word: str = ""
    agree: Mapping[str, str] = field(default_factory=dict)
    large: bool = False

    @property
    def lexicons(self) -> tuple[str, ...]:
        """The lexicons that must be filled before this slot can be."""
        return tuple(name for name in (self.lexicon, self.spell) if name)


Part = str | Slot


def parse_slots(text: str) -> tuple[Part, ...]:
    """Return a template's parts in order; a brace that can't be read raises `SlotError`."""
    parts: list[Part] = []
    last = 0
    for found in _BRACES.finditer(text):
        parts.append(_plain(text[last : found.start()]))
        parts.append(_slot(found.group(1).strip()))
        last = found.end()
    parts.append(_plain(text[last:]))
    return tuple(part for part in parts if part != "")


def lexicon_names(parts: tuple[Part, ...]) -> tuple[str, ...]:
    """Return the lexicons that a template draws from, in the order of their first slot."""
    return tuple(dict.fromkeys(name for part in parts if isinstance(part, Slot) for name in part.lexicons))


def _plain(text: str) -> str:
    if "{" in text or "}" in text:
        raise SlotError("a brace is not closed, or one stands inside another. Write slots as {name}.")
    return text


def _slot(body: str) -> Slot:
    if found := _LITERAL.fullmatch(body):
        return Slot(spell=found["spell"], word=found["word"])
    if found := _AGREES.fullmatch(body):
        return Slot(_small(found["name"]), found["form"], agree=_options(found["options"]), large=_large(found["name"]))
    if found := _REFERENCE.fullmatch(body):
        name = found["name"]
        return Slot(_small(name), found["form"] or "", found["spell"] or "", large=_large(name))
    raise SlotError(f"the slot {{{body}}} can't be read. Write {{name}}, {{name.form}} or {{name~spelling}}.")


def _options(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in text.split(","):
        value, colon, word = part.partition(":")
        if not colon or not value.strip():
            raise SlotError(f"{part.strip()!r} is no choice. Write them as {{thing.number? one: is, many: are}}.")
        options[value.strip()] = word.strip()
    return options


def _large(name: str) -> bool:
    return name[0].isupper()


def _small(name: str) -> str:
    return name[0].lower() + name[1:]


MOST = 20_000
"""A template that gives more cases than this is a mistake, and would fill the memory."""
MOST_IN_SUITE = 50_000
"""Cases of all templates together: nine times those of the largest suite that ships or was published as templates."""
MOST_CHARACTERS = 20_000_000
"""Characters of all cases together; the largest suite that ships has a fiftieth of it."""
MOST_LINKS = 200_000
"""Links between cases and their originals; the largest suite that ships has a twentieth of it."""


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
    def key(self) -> tuple[str, int]:
        """What no other version of its template has."""
        return self.set, self.number

    @property
    def where(self) -> str:
        """What problems call it."""
        return f"template {self.template!r}" + (f", {self.set}" if self.set != "original" else "")


class ExpansionError(ValueError):
    """A version that can't be made into cases, with the reason."""


def measure(version: TemplateVersion, known: Mapping[str, Sequence[SlotEntry]]) -> tuple[int, int]:
    """Return how many cases a version makes at most, and of how many characters, as its slots say; none is made.

    A version that `expand` refuses makes none.
    """
    try:
        parts = parse_slots(version.text)
        choices = {name: _allowed(version, name, known) for name in lexicon_names(parts)}
        size = _size(version, choices.values())
    except (SlotError, ExpansionError):
        return 0, 0
    longest = {name: max(map(_longest, entries)) for name, entries in choices.items()}
    slots = [name for part in parts if isinstance(part, Slot) for name in part.lexicons]
    return size, size * (len(version.text) + sum(longest[name] for name in slots))


def expand(version: TemplateVersion, known: Mapping[str, Sequence[SlotEntry]], lang: str) -> list[Case]:
    """Return the cases of one version, or raise `ExpansionError`."""
    try:
        parts = parse_slots(version.text)
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
    originals = versions["original"]  # of one text, so all have the same slots
    slots = originals[0].fills if originals else {}
    by_fills: dict[tuple[str, ...], dict[tuple[str, ...], list[Case]]] = {}
    for name, cases in versions.items():
        if name == "original":
            continue
        for case in cases:
            shared = tuple(slot for slot in case.fills if slot in slots)
            if shared not in by_fills:
                by_fills[shared] = _grouped(originals, shared)
            for original in by_fills[shared].get(tuple(case.fills[slot] for slot in shared), ()):
                yield original.id, case.id


def _grouped(cases: Sequence[Case], slots: Sequence[str]) -> dict[tuple[str, ...], list[Case]]:
    """Return cases by what stands in some of their slots, in their order."""
    found: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        found.setdefault(tuple(case.fills[slot] for slot in slots), []).append(case)
    return found


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


def report_unpaired(cases: Sequence[tuple[Case, TemplateVersion]], spoilt: set[str], problems: Problems) -> set[str]:
    """Note versions that are compared with spoilt originals; return the ids of their cases that are."""
    unpaired = [(case, version) for case, version in cases if case.test != "MFT" and case.pair in spoilt]
    noted: set[tuple[int, str]] = set()
    for case, version in unpaired:
        if case.id not in spoilt and (version.line, version.where) not in noted:
            noted.add((version.line, version.where))
            problems.add(version.line, f"{version.where} is compared with an original that is left out.")
    return {case.id for case, _ in unpaired}


def _allowed(version: TemplateVersion, name: str, known: Mapping[str, Sequence[SlotEntry]]) -> list[SlotEntry]:
    """Return the entries that may stand in a slot of this version."""
    listed = (version.fills or {}).get(name)
    asked = None if listed is None else tuple(dict.fromkeys(listed))
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
    if version.without:
        entries = [entry for entry in entries if not entry.marks & version.without]
    if version.only:
        entries = [entry for entry in entries if entry.marks & version.only] or entries
    if not entries:
        raise ExpansionError(
            f"{version.where}: its slot {{{name}}} has no fills left. Add entries to lexicon {name!r}."
        )
    return entries


def _combinations(version: TemplateVersion, choices: list[list[SlotEntry]]) -> Iterator[tuple[SlotEntry, ...]]:
    _size(version, choices)
    return (chosen for chosen in product(*choices) if entries_fit(chosen))


def _size(version: TemplateVersion, choices: Iterable[Sequence[SlotEntry]]) -> int:
    """Return how many sets of fills there are, whether they fit together or not."""
    size = math.prod(map(len, choices))
    if size > MOST:
        raise ExpansionError(
            f"{version.where} would make up to {size} cases; the most is {MOST}. Limit its slots with `fills`."
        )
    return size


def _longest(entry: SlotEntry) -> int:
    """Return how many characters an entry brings into a text at most, as a word or as a spelling."""
    return max(map(len, (*entry.forms.values(), *entry.spell.values())), default=0)


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
        form = fills[slot.lexicon].form(slot.form)
        if form is None:
            what = f"the form {slot.form!r}" if slot.form else "a form"
            raise ExpansionError(
                f"{version.where}: an entry of lexicon {slot.lexicon!r} has no {what.split(' ', 1)[1]}."
            )
        if slot.agree:
            if form not in slot.agree:
                raise ExpansionError(
                    f"{version.where}: an entry of {slot.lexicon!r} has {slot.form} {form!r}, for which "
                    f"the slot has no word; it has {', '.join(slot.agree)}."
                )
            form = slot.agree[form]
        word = form
    if slot.spell:
        word = fills[slot.spell].respelt(word)
    return word[:1].upper() + word[1:] if slot.large else word
