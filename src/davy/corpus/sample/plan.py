"""Sampling plans by name or path: a YAML file in, a `SamplingPlan` out, every problem with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from davy.core.errors import UserError
from davy.corpus.sample.samplers import SAMPLERS, Sampler
from davy.files import yaml_objects
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlText

PACKAGE = "davy.corpus.sample.plans"
_KEYS = ("name", "version", "title", "source", "by", "judges", "pools", "samplers")


@dataclass(frozen=True, slots=True)
class Pool:
    """Which of a source's posts samplers may look at: `n` at random, or `each` of every category of communities.

    A community counts only with `at-least` so many posts. Without categories, all communities together are one.
    """

    n: int | None = None
    each: int | None = None
    at_least: int = 0
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    communities: str = "community"
    """The column that names a post's community."""

    def __post_init__(self) -> None:
        if self.each is not None and not self.categories:
            raise ValueError("each needs categories: name the communities of each")
        if min(self.n or 1, self.each or 1) < 1 or self.at_least < 0:
            raise ValueError("n, each and at-least must be above zero")


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """Samplers in their order; each takes its quota from every source that `by` tells apart."""

    name: str
    samplers: tuple[Sampler, ...]
    by: str | None = None
    judges: Mapping[str, str] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    folder: Path | None = None
    version: str = "1"
    every_pool: Pool | None = None
    """The pool of every source, where the plan names none and somebody asks for one."""

    @property
    def judged_by(self) -> list[str]:
        """The judges that the samplers ask, each once."""
        return list(dict.fromkeys(judge for sampler in self.samplers for judge in sampler.judged_by))

    @property
    def lists(self) -> list[str]:
        """The word lists that the samplers need, each once."""
        return list(dict.fromkeys(words for sampler in self.samplers for words in sampler.lists))


def names() -> list[str]:
    """Return the names of the plans that ship with Davy."""
    return yaml_objects.shipped_names(PACKAGE)


def load(name_or_path: str) -> SamplingPlan:
    """Return a shipped plan by its name, or the one in a YAML file."""
    folder = None if name_or_path in names() else Path(name_or_path).parent
    return parse(yaml_objects.read_shipped_or_file(name_or_path, PACKAGE, "plan"), name_or_path, folder)


def parse(raw: bytes, file: str, folder: Path | None = None) -> SamplingPlan:
    """Return the plan in a file's bytes; the first problem becomes a `UserError`."""
    problems = Problems(file, what="plan", example="davy sample --plan edos --show")
    root = yaml_objects.read_root(raw, problems, _KEYS)
    listed = root.get("samplers")
    if not isinstance(listed, YamlList) or not listed:
        raise UserError(f"{file}:{root.line_of('samplers')}: A plan needs `samplers:`, a list with at least one.")
    samplers = [
        yaml_objects.build_part(node, SAMPLERS, "sampler", problems, root.line_of("samplers")) for node in listed
    ]
    pools = {}
    for name, node in _map(root, "pools", problems).items():
        inner = node if isinstance(node, YamlMap) else YamlMap()
        pools[str(name)] = yaml_objects.build(Pool, inner, f"pool {str(name)!r}", problems, root.line_of("pools"))
    if pools and root.get("by") is None:
        problems.add(
            root.line_of("pools"),
            "'pools' are for sources, and no line `by:` says which column tells them apart. Add it or drop them.",
        )
    judges = {str(name): str(model) for name, model in _map(root, "judges", problems).items()}
    problems.raise_first()
    by = root.get("by")
    return SamplingPlan(
        str(root.get("name") or file),
        _name_samplers(samplers, file),
        str(by) if isinstance(by, YamlText) else None,
        judges,
        pools,
        folder,
        str(root.get("version") or "1"),
    )


def _map(root: YamlMap, key: str, problems: Problems) -> YamlMap:
    node = root.get(key)
    if node is not None and not isinstance(node, YamlMap):
        problems.add(root.line_of(key), f"{key!r} should be a mapping of names.")
    return node if isinstance(node, YamlMap) else YamlMap()


def _name_samplers(samplers: list[Sampler], file: str) -> tuple[Sampler, ...]:
    """Return the samplers, each with a name: its own, or its kind; two of one name are refused."""
    from dataclasses import replace

    kinds = {kind: name for name, kind in SAMPLERS.items()}
    made = [sampler if sampler.name else replace(sampler, name=kinds[type(sampler)]) for sampler in samplers]
    seen: set[str] = set()
    for sampler in made:
        if sampler.name in seen:
            raise UserError(f"{file}: two samplers are called {sampler.name!r}. Give each a name: {{name: …}}.")
        seen.add(sampler.name)
    return tuple(made)
