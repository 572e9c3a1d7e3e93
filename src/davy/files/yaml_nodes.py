"""The one reader of YAML: text in, a tree of nodes with line numbers out, or the problems that keep it from being one.

A scalar stays the text that the author typed, so a label called `no` or a code
`1.10` means what it says. What could blow up (anchors, deep nesting, very large
files) is refused while the text is still a stream of events. Who wants numbers
asks for them with `plain_values`, which follows YAML 1.2: `true` and `false` are
the only words that are no words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from davy.core.errors import UserError

LARGEST = 256 * 1024
DEEPEST = 12

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to mend: where it is, and what to do about it."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass
class Problems:
    """Collects what is wrong with one file; `what` and `example` word the advice for the kind of file it is."""

    file: str
    found: list[Problem] = field(default_factory=list)
    what: str = "scheme"
    example: str = "davy scheme show edos"
    _known: set[Problem] = field(default_factory=set, repr=False)

    def add(self, line: int, message: str) -> None:
        """Note a problem at a line, counted from 1; the same one twice counts once."""
        problem = Problem(self.file, line, message)
        if problem not in self._known:
            self._known.add(problem)
            self.found.append(problem)

    def sorted(self) -> list[Problem]:
        """Return the problems from the top of the file to its end."""
        return sorted(self.found, key=lambda problem: problem.line)

    def raise_first(self) -> None:
        """Raise the first problem in the file, with how many more there are; nothing where there is none."""
        if self.found:
            first, *more = self.sorted()
            rest = f" ({len(more)} more problem{'s' * (len(more) > 1)} after it)" if more else ""
            raise UserError(f"{first}{rest}")


class YamlText(str):
    """A scalar as it was typed, with its line; `quoted` says whether it stood in quotes or in a block."""

    line: int = 1
    quoted: bool = False


class YamlList(list["YamlNode"]):
    """A sequence, with its line."""

    line: int = 1


class YamlMap(dict[str, "YamlNode"]):
    """A mapping, with its line; the keys know theirs. `source` names the scheme that it was included from."""

    line: int = 1
    source: str | None = None

    def line_of(self, key: str) -> int:
        """Return the line of a key, or of the mapping where the key is missing."""
        return next((line_at(known, self.line) for known in self if known == key), self.line)


def line_at(value: object, otherwise: int) -> int:
    """Return the line that a value knows, else another."""
    return int(getattr(value, "line", otherwise))


YamlNode = YamlText | YamlList | YamlMap | None
"""None stands for a value that was left empty."""


def decode(raw: bytes, problems: Problems) -> str | None:
    """Return the text of a file's bytes, or None with a problem noted."""
    if len(raw) > LARGEST:
        problems.add(
            1, f"The file has more than {LARGEST:,} bytes, too many for a {problems.what}. Is it the right file?"
        )
        return None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        problems.add(line, f"Byte 0x{raw[error.start]:02x} is not UTF-8. Save the file as UTF-8.")
        return None


def read_file(path: Path, problems: Problems) -> YamlMap | None:
    """Return the root mapping of a YAML file, or None with the problems noted."""
    text = file_text(path, problems)
    return parse_tree(text, problems) if text is not None else None


def file_text(path: Path, problems: Problems) -> str | None:
    """Return the text of a file that may be YAML, or None with a problem noted; a file that can't be read raises."""
    try:
        with path.open("rb") as file:
            return decode(file.read(LARGEST + 1), problems)
    except OSError as error:
        raise UserError(f"The {problems.what} {path} can't be read: {error.strerror}.") from None


def top_value(path: Path, key: str) -> str | None:
    """Return a plain value at the top of a YAML file, or None; what stands below it in the file is not read."""
    depth, name = 0, None  # `name` is a key of the top whose value comes next
    with path.open(encoding="utf-8") as file:
        for event in yaml.parse(file, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
                name = None if depth == 1 else name
            elif isinstance(event, yaml.ScalarEvent) and depth == 1:
                if name == key:
                    return str(event.value)
                name = event.value if name is None else None
    return None


def parse_node(text: str, problems: Problems) -> YamlNode:
    """Return the root of a YAML text, whatever it is; None where it is empty or a problem was noted."""
    try:
        if not _harmless(text, problems):
            return None
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        problems.add(*_syntax(text, error))
        return None
    return None if root is None else _unfold(root, problems)


def load_values(source: str | Path, name: str, what: str = "file") -> Any:
    """Return a YAML text, or the file at a path, as plain values; the first problem in it is raised with its line."""
    problems = Problems(name, what=what)
    text = file_text(source, problems) if isinstance(source, Path) else source
    node = parse_node(text, problems) if text is not None else None
    problems.raise_first()
    return plain_values(node)


def load_shipped(package: str, name: str) -> Any:
    """Return the plain values of a YAML file in a package of ours."""
    return load_values((resources.files(package) / name).read_text("utf-8"), name)


def plain_values(node: YamlNode, *, numbers: bool = True) -> Any:
    """Return a node as Python's own dicts, lists and texts, and with `numbers` also as numbers, true and false."""
    if isinstance(node, YamlMap):
        return {str(key): plain_values(item, numbers=numbers) for key, item in node.items()}
    if isinstance(node, YamlList):
        return [plain_values(item, numbers=numbers) for item in node]
    if node is None:
        return None
    text = str(node)
    if not numbers or node.quoted:
        return text
    if text in _FLAGS:
        return _FLAGS[text]
    return int(text) if _INTEGER.fullmatch(text) else float(text) if _NUMBER.fullmatch(text) else text


def parse_tree(text: str, problems: Problems) -> YamlMap | None:
    """Return the root mapping of a YAML text, or None with the problems noted."""
    before = len(problems.found)
    value = parse_node(text, problems)
    if value is None and len(problems.found) > before:
        return None
    if not value:
        problems.add(1, f"The file is empty. Look at a shipped {problems.what} first: {problems.example}")
        return None
    if not isinstance(value, YamlMap):
        what, example = problems.what, problems.example
        problems.add(value.line, f"A {what} is a mapping that starts with `name: …`. See: {example}")
        return None
    return value


def _unfold(node: yaml.Node, problems: Problems) -> YamlNode:
    """Return a node as text, list or mapping that knows its line; a repeated key is a problem."""
    value: YamlText | YamlList | YamlMap
    if isinstance(node, yaml.ScalarNode):
        if node.tag == "tag:yaml.org,2002:null":
            return None
        value = YamlText(node.value.strip())
        value.quoted = bool(node.style) and node.style in "'\"|>"
        if _CONTROL.search(value):  # they could rewrite a terminal that shows the text
            problems.add(node.start_mark.line + 1, "The text here has an escaped control character. Remove it.")
    elif isinstance(node, yaml.SequenceNode):
        value = YamlList(_unfold(item, problems) for item in node.value)
    else:
        value = YamlMap()
        for key_node, item in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                problems.add(line, "A key must be a plain word.")
                continue
            key = YamlText(key_node.value.strip())
            key.line = line
            if key in value:
                problems.add(line, f"The key {str(key)!r} is here twice, first on line {value.line_of(key)}. Keep one.")
                continue
            value[key] = _unfold(item, problems)
    value.line = node.start_mark.line + 1
    return value


def _harmless(text: str, problems: Problems) -> bool:
    """Return whether the event stream has no anchors, tags, second document or deep nesting. Syntax errors raise."""
    depth = documents = refused = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if documents > 1:
            problems.add(line, f"A second document starts here (`---`). Put each {problems.what} into its own file.")
            return False
        if depth > DEEPEST:
            problems.add(line, f"More than {DEEPEST} levels are nested here; a {problems.what} needs no more than 6.")
            return False
        if getattr(event, "anchor", None):
            problems.add(line, f"Anchors and aliases (&{event.anchor}, *{event.anchor}) are not read. Write it out.")
            refused += 1
        if getattr(event, "tag", None) not in (None, "!"):
            problems.add(line, f"The tag {event.tag!r} is not read. Remove it.")
            refused += 1
        if refused > 20:
            return False
    return not refused


def _syntax(text: str, error: yaml.YAMLError) -> tuple[int, str]:
    """Return the line and the wording of a syntax error."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if "quoted" in str(getattr(error, "context", "")):  # a quote that was never closed: where it opens helps more
        mark = getattr(error, "context_mark", None) or mark
    if mark is not None:
        problem = " ".join(part for part in (getattr(error, "problem", None), getattr(error, "context", None)) if part)
        return mark.line + 1, f"This is not YAML: {problem}. Check the indentation, colons and quotes here."
    position = getattr(error, "position", None)
    line = text[:position].count("\n") + 1 if isinstance(position, int) else 1
    return line, "This is not YAML: it has a control character that can't be read. Remove it."
