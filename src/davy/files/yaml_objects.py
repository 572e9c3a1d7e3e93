"""Turn YAML lists of named parts into dataclasses: a part's parameters are its class's fields.

A mapping node in, an object out, or problems with their lines. Which names there
are is the caller's to say; a wrong name or parameter is answered with the
nearest known one.
"""

from __future__ import annotations

import os
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from davy.core.errors import UserError, nearest
from davy.files import yaml_nodes
from davy.files.yaml_nodes import LARGEST, Problems, YamlList, YamlMap, YamlNode, YamlText, line_at

BuildOne = Callable[[type, YamlMap, str, Problems, int], Any]
"""Makes one object of a dataclass, as `build` does."""

YES_NO = {"true": True, "yes": True, "false": False, "no": False}


def shipped_names(package: str) -> list[str]:
    """Return the names of the YAML files in a package of ours."""
    files = resources.files(package).iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def read_shipped_or_file(name_or_path: str | Path, package: str, what: str) -> bytes:
    """Return the bytes of a shipped file by its name, or of a file at a path."""
    return read_bytes(find_file(name_or_path, package, what), package, what)


def find_file(name_or_path: str | Path, package: str, what: str) -> Path:
    """Return the path of a shipped file by its name, or of a file that is there."""
    name, path, known = str(name_or_path), Path(name_or_path), shipped_names(package)
    if name in known:
        return Path(str(resources.files(package) / f"{name}.yaml"))
    if path.suffix not in (".yaml", ".yml") and len(path.parts) < 2 and not os.path.exists(path):
        raise UserError(
            f"There is no {what} {name!r}; Davy has {', '.join(known)}.{nearest(name, known)} "
            "For your own, give the path of its YAML file.",
            status=404,
        )
    read_bytes(path, package, what)  # a folder or a file that is not there is said here
    return path


def read_bytes(path: Path, package: str, what: str) -> bytes:
    """Return the bytes of a YAML file, no more than one may have; errors name what ships in the package instead."""
    try:
        if path.is_dir():
            raise UserError(f"{path} is a folder. Give the path of a {what}'s YAML file.")
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except FileNotFoundError:
        known = ", ".join(shipped_names(package))
        raise UserError(f"There is no file {path}. Give a {what}'s YAML file, or one of: {known}.") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}.") from None


def read_root(raw: bytes, problems: Problems, allowed: tuple[str, ...]) -> YamlMap:
    """Return the file's mapping, its keys checked; the first problem is raised."""
    text = yaml_nodes.decode(raw, problems)
    root = yaml_nodes.parse_tree(text, problems) if text is not None else None
    if root is not None:
        for key in root:
            if key not in allowed:
                hint = nearest(str(key), list(allowed))
                problems.add(
                    line_at(key, root.line), f"{str(key)!r} is not known here; known: {', '.join(allowed)}.{hint}"
                )
    problems.raise_first()
    assert root is not None  # without one a problem was noted, and raised
    return root


def build_part(node: YamlNode, known: Mapping[str, type], what: str, problems: Problems, where: int) -> Any:
    """Return the object that `name` or `name: {parameter: value}` stands for, or None with the problem noted."""
    line = line_at(node, where)
    if isinstance(node, YamlText):
        name: str = node
        given = YamlMap()
    elif isinstance(node, YamlMap) and len(node) == 1:
        name, inner = next(iter(node.items()))
        if inner is not None and not isinstance(inner, YamlMap):
            problems.add(
                line, f"{what} {str(name)!r}: write its parameters as a mapping, `{name}: {{parameter: value}}`."
            )
            return None
        given = inner or YamlMap()
    else:
        problems.add(line, f"A {what} is a name, or one name with its parameters: `- name: {{parameter: value}}`.")
        return None
    if name not in known:
        hint = nearest(str(name), list(known))
        problems.add(line, f"There is no {what} {str(name)!r}.{hint} Known: {', '.join(known)}.")
        return None
    return build(known[str(name)], given, f"{what} {str(name)!r}", problems, line)


def build(kind: type, given: YamlMap, title: str, problems: Problems, line: int) -> Any:
    """Return an object of a dataclass from a mapping's values, or None with the problems noted."""
    slots = {_spelt(slot): slot for slot in fields(kind)}
    types_ = typing.get_type_hints(kind)
    values: dict[str, Any] = {}
    before = len(problems.found)
    for key, node in given.items():
        at = line_at(key, line)
        if key not in slots:
            takes = f"it takes {', '.join(slots)}" if slots else "it takes none"
            problems.add(at, f"{title} has no parameter {str(key)!r}; {takes}.{nearest(str(key), list(slots))}")
            continue
        try:
            values[slots[str(key)].name] = _value(node, types_[slots[str(key)].name])
        except ValueError as error:
            problems.add(at, f"{title}: {str(key)!r} {error}.")
    for spelt, slot in slots.items():
        if slot.default is MISSING and slot.default_factory is MISSING and spelt not in given:
            problems.add(line, f"{title} needs the parameter {spelt!r}.")
    if len(problems.found) > before:
        return None
    try:
        return kind(**values)
    except (ValueError, UserError) as error:
        problems.add(line, f"{title}: {error}")
        return None


def build_list(root: YamlMap, key: str, kind: type, problems: Problems, build_one: BuildOne = build) -> tuple[Any, ...]:
    """Return an object for each entry of the list at `key`, those without problems; no list is none."""
    node = root.get(key)
    if node is None:
        return ()
    if not isinstance(node, YamlList):
        problems.add(root.line_of(key), f"`{key}` must be a list. Begin each entry with a hyphen.")
        return ()
    made = []
    for item in node:
        line = line_at(item, root.line_of(key))
        if not isinstance(item, YamlMap):
            problems.add(line, f"An entry of `{key}` is a mapping that begins with `- name: …`.")
            continue
        title = f"`{key}`, {str(item.get('name') or item.get('login') or '?')!r}"
        made.append(build_one(kind, item, title, problems, line))
    return tuple(it for it in made if it is not None)


def parameters(made: Any) -> dict[str, Any]:
    """Return the parameters of an object as a file would write them, those that are as usual left out."""
    values = {}
    for slot in fields(made):
        value = getattr(made, slot.name)
        usual = slot.default_factory() if slot.default_factory is not MISSING else slot.default
        if value != usual:
            values[_spelt(slot)] = list(value) if isinstance(value, tuple) else value
    return values


def _spelt(slot: Field[Any]) -> str:
    return slot.name.rstrip("_").replace("_", "-")


def _value(node: YamlNode, kind: Any) -> Any:
    """Return a node as the type that a field has; what it should be is in the error."""
    if isinstance(kind, types.UnionType):
        kinds = [one for one in typing.get_args(kind) if one is not type(None)]
        if node is None:
            return None
        kind = kinds[0]
    if typing.get_origin(kind) is tuple:
        items = node if isinstance(node, YamlList) else [node]
        return tuple(_value(item, typing.get_args(kind)[0]) for item in items)
    if typing.get_origin(kind) in (dict, Mapping) or kind is dict:
        if not isinstance(node, YamlMap):
            raise ValueError("should be a mapping")
        inner = typing.get_args(kind)[1]
        return {str(key): _value(item, inner) for key, item in node.items()}
    if not isinstance(node, YamlText):
        raise ValueError("should be one value")
    if kind is bool:
        if node.lower() not in YES_NO:
            raise ValueError(f"should be true or false, not {str(node)!r}")
        return YES_NO[node.lower()]
    if kind is str:
        return str(node)
    return _number(str(node), kind)


def _number(text: str, kind: type) -> float:
    try:
        value: float = kind(text.replace("_", ""))
    except ValueError:
        word = "a whole number" if kind is int else "a number"
        raise ValueError(f"should be {word}, not {text!r}") from None
    if not abs(value) < float("inf"):
        raise ValueError("should be a finite number")
    return value
