"""What can stand in a slot: entries of a lexicon, with their forms, tags and conditions.

An entry in a suite's YAML is a text, or a mapping: forms by name (the first is
what a bare slot shows), `target` (the group that a case with it is about),
`tags`, `only` and `not` (what must, or must not, stand beside it), `spell`
(letters → what replaces them). A lexicon may be a file instead, one entry a
line, tabs between the columns; a `.lexicon` file is encoded like the masking
lexicon, so that nobody meets its words by browsing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from davy.core.errors import UserError
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlNode, YamlText, line_at
from davy.text.lexicons.read import fill_in

RESERVED: tuple[str, ...] = ("name", "target", "tags", "only", "not", "spell")
VOWELS = "aeiouäöüAEIOUÄÖÜ"


@dataclass(frozen=True, slots=True)
class SlotEntry:
    """One fill. Its `name` is what case ids are made from, so it must not change."""

    name: str
    forms: Mapping[str, str]
    target: str | None = None
    tags: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    spell: Mapping[str, str] = field(default_factory=dict)
    hurtful: bool = False
    """Whether the words come from an encoded file, so that they are masked wherever they are shown."""

    @property
    def marks(self) -> frozenset[str]:
        """What conditions can ask for: the entry's tags, its name and its target."""
        return self.tags | {self.name} | ({self.target} if self.target else frozenset())

    def form(self, name: str) -> str | None:
        """Return a form by name, the first one where no name is given, or None."""
        return self.forms.get(name) if name else next(iter(self.forms.values()), None)

    def respelt(self, word: str) -> str:
        """Return the word with one letter replaced: the first vowel that `spell` lists, else the first letter it does.

        The key `vowel` stands for every vowel. A word that holds none of the letters stays as it is.
        """
        table = self.spell
        if "vowel" in table:
            table = {**dict.fromkeys(VOWELS, table["vowel"]), **table}
        for allowed in (VOWELS, None):
            for place, letter in enumerate(word):
                key = letter if letter in table else letter.lower()
                if key in table and (allowed is None or letter in allowed):
                    return word[:place] + table[key] + word[place + 1 :]
        return word


def entries_fit(entries: Iterable[SlotEntry]) -> bool:
    """Return whether entries may stand in one case: each one's `only` and `not` are met by the others."""
    chosen = list(entries)
    for entry in chosen:
        beside: frozenset[str] = frozenset().union(*(other.marks for other in chosen if other is not entry))
        if (entry.only and not entry.only & beside) or entry.never & beside:
            return False
    return True


def read_lexicons(node: YamlNode, folder: Path, problems: Problems, lang: str = "en") -> dict[str, list[SlotEntry]]:
    """Return the lexicons of a suite by name, with every problem noted."""
    lexicons: dict[str, list[SlotEntry]] = {}
    if not isinstance(node, YamlMap):
        return lexicons
    for name, value in node.items():
        line = line_at(name, node.line)
        if not name.isidentifier() or not name[0].islower():
            problems.add(line, f"lexicon {str(name)!r}: write its name with a small letter first, then letters and _.")
            continue
        if isinstance(value, YamlMap) and "shipped" in value:
            entries = _shipped(str(name), value, lang, problems)
        elif isinstance(value, YamlMap):
            entries = _from_file(str(name), value, folder, problems)
        elif isinstance(value, YamlList):
            entries = [entry for item in value if (entry := _entry(str(name), item, problems))]
        else:
            problems.add(line, f"lexicon {str(name)!r} must be a list of entries, or {{file: …, columns: […]}}.")
            continue
        for twice in sorted(word for word, n in Counter(entry.name for entry in entries).items() if n > 1):
            problems.add(line, f"lexicon {str(name)!r} has two entries called {_veiled(twice, value)}. Rename one.")
        kept: dict[str, SlotEntry] = {}
        for entry in entries:  # names make case ids, so only the first of a name stays
            kept.setdefault(entry.name, entry)
        lexicons[str(name)] = list(kept.values())
    return lexicons


def _entry(lexicon: str, node: YamlNode, problems: Problems) -> SlotEntry | None:
    if isinstance(node, YamlText) and node:
        return SlotEntry(str(node), {"text": str(node)})
    if not isinstance(node, YamlMap):
        problems.add(line_at(node, 1), f"lexicon {lexicon!r}: an entry must be a text or a mapping of forms.")
        return None
    fields: dict[str, frozenset[str]] = {}
    for key in ("tags", "only", "not"):
        value = node.get(key)
        items = value if isinstance(value, YamlList) else [value] if isinstance(value, YamlText) else []
        fields[key] = frozenset(str(item) for item in items if isinstance(item, YamlText))
    spell = node.get("spell")
    table = {str(key): str(item or "") for key, item in spell.items()} if isinstance(spell, YamlMap) else {}
    forms = {str(key): str(item) for key, item in node.items() if key not in RESERVED and isinstance(item, YamlText)}
    name, target = node.get("name"), node.get("target")
    if not forms and not isinstance(name, YamlText):
        problems.add(node.line, f"lexicon {lexicon!r}: the entry has neither a name nor a form. Add `text: …`.")
        return None
    called = str(name) if isinstance(name, YamlText) else next(iter(forms.values()))
    aimed = str(target) if isinstance(target, YamlText) else None
    return SlotEntry(called, forms, aimed, fields["tags"], fields["only"], fields["not"], table)


def _shipped(lexicon: str, node: YamlMap, lang: str, problems: Problems) -> list[SlotEntry]:
    """Return the words of a list that ships with Davy, such as {shipped: religion}; with `target`, each is a group."""
    try:
        words = fill_in(lang, str(node["shipped"]))
    except UserError as error:
        problems.add(node.line_of("shipped"), f"lexicon {lexicon!r}: {error.message}")
        return []
    as_target = str(node.get("target") or "") in ("yes", "true")
    return [SlotEntry(word, {"text": word}, word.lower() if as_target else None) for word in words]


def _from_file(lexicon: str, node: YamlMap, folder: Path, problems: Problems) -> list[SlotEntry]:
    """Return the entries of a file beside the suite; columns are forms, or `name`, `target`, `tags`."""
    name, columns = node.get("file"), node.get("columns")
    if not isinstance(name, YamlText) or not isinstance(columns, YamlList):
        problems.add(node.line, f"lexicon {lexicon!r} must be a list of entries, or {{file: …, columns: […]}}.")
        return []
    path = folder / name
    if Path(name).name != name or not path.is_file():
        problems.add(name.line, f"lexicon {lexicon!r}: there is no file {str(name)!r} beside the suite.")
        return []
    heads = [str(column) for column in columns]
    entries = []
    try:
        lines = _lines(path)
    except (OSError, ValueError):
        problems.add(
            name.line, f"lexicon {lexicon!r}: {name} can't be read. Encode it: python -m davy.testing.suites encode."
        )
        return []
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        if len(cells) > len(heads):
            many = f"{len(cells)} columns, not {len(heads)}"
            problems.add(name.line, f"lexicon {lexicon!r}: entry {number} of {name} has {many}.")
            continue
        row = {head: cell for head, cell in zip(heads, cells, strict=False) if cell}
        forms = {head: cell for head, cell in row.items() if head not in RESERVED}
        tags = frozenset(tag.strip() for tag in row.get("tags", "").split(",") if tag.strip())
        called = row.get("name") or next(iter(forms.values()), "")
        entries.append(SlotEntry(called, forms, row.get("target"), tags, hurtful=path.suffix == ".lexicon"))
    return entries


def _lines(path: Path) -> list[str]:
    from davy.text.lexicons.read import decode_line

    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    return [decode_line(line) for line in lines] if path.suffix == ".lexicon" else lines


def _veiled(name: str, node: YamlNode) -> str:
    """Return an entry's name for a message, unless it comes from a file whose words are not to be shown."""
    return "the same" if isinstance(node, YamlMap) else repr(name)
