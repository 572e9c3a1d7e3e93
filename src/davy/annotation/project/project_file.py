"""A project as a file: YAML in, a `ProjectPlan` out, or what is wrong with it by file and line.

A file may start from a preset (`preset: edos`) and say only what differs. Its own
`phases` as a list replace the preset's; as a mapping (`{2a: {posts: 20}}`) they
change some of them. Names of files in it are relative to the file itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from davy.annotation.project.phase_kind import PHASE_KINDS, PhaseKind
from davy.annotation.project.settings import (
    AdjudicationRule,
    AgreementGate,
    Batch,
    Care,
    ConfounderBounds,
    Contact,
    Deletion,
    PassMark,
    Pay,
    ProjectSettings,
    RosterPerson,
    as_plain_json,
    as_wording,
    check_date,
    one_of,
)
from davy.core.errors import UserError, nearest
from davy.files import yaml_objects
from davy.files.yaml_nodes import Problems, YamlList, YamlMap, YamlNode, YamlText, line_at

PACKAGE = "davy.annotation.project.presets"
SETTINGS: tuple[str, ...] = (
    "languages",
    "adjudication",
    "flags",
    "care",
    "support",
    "consent",
    "debrief",
    "pay",
    "deletion",
    "confounders",
)
KEYS: tuple[str, ...] = ("name", "title", "preset", "scheme", *SETTINGS, "survey", "posts", "seed", "phases", "roster")
REST = "rest"
EVERYONE = "everyone"
_MERGED = ("care", "adjudication", "flags")


@dataclass(frozen=True, slots=True)
class PhasePlan:
    """One phase of a plan. `posts` is a number taken from the pool, `rest` of it, or the name of a file."""

    name: str
    kind: str
    posts: str = "0"
    answers: str | None = None
    in_corpus: bool | None = None
    gate: AgreementGate | None = None
    pass_: PassMark | None = None
    batches: Mapping[str, Batch] = field(default_factory=dict)
    lease_minutes: float | None = None
    quota: int | None = None
    deadline: str | None = None
    feedback: bool | None = None

    def __post_init__(self) -> None:
        one_of(self.kind, tuple(PHASE_KINDS), "kind")
        if self.behaviour.from_round:
            raise ValueError(f"kind is {self.kind!r}; such a phase comes with its round: davy round open")
        check_date(self.deadline)
        if self.answers is not None and not re.fullmatch(rf"[1-9]\d?|{EVERYONE}", self.answers):
            raise ValueError(f"answers is {self.answers!r}; write how many people answer each post, or {EVERYONE}")
        if not self.posts:
            raise ValueError(f"posts is empty; write a number, {REST} or the name of a file")

    @property
    def behaviour(self) -> PhaseKind:
        """What its kind needs, gives, shows and closes by."""
        return PHASE_KINDS[self.kind]

    @property
    def count(self) -> int | None:
        """How many posts it takes from the pool; None where it takes the rest or a file."""
        return int(self.posts) if self.posts.isascii() and self.posts.isdigit() else None

    @property
    def file(self) -> str | None:
        """The file that its posts are in, or None."""
        return self.posts if self.count is None and self.posts != REST else None

    @property
    def people(self) -> int | None:
        """How many people answer each post; None is everyone on the roster."""
        if self.answers is not None:
            return None if self.answers == EVERYONE else int(self.answers)
        return self.behaviour.answers

    @property
    def corpus(self) -> bool:
        """Whether its answers enter the corpus: where its kind gives verdicts, unless the file says otherwise."""
        return self.behaviour.gives_verdicts if self.in_corpus is None else self.in_corpus

    def settings(self) -> dict[str, Any]:
        """Return what `Phase.settings` keeps of it."""
        kept = {
            "gate": asdict(self.gate) if self.gate else None,
            "pass": asdict(self.pass_) if self.pass_ else None,
            "batches": {name: asdict(batch) for name, batch in self.batches.items()} or None,
            "lease_minutes": self.lease_minutes,
            "quota": self.quota,
            "deadline": self.deadline,
            "feedback": self.behaviour.feedback if self.feedback is None else self.feedback,
        }
        made: dict[str, Any] = as_plain_json({name: value for name, value in kept.items() if value is not None})
        return made


@dataclass(frozen=True, slots=True)
class SurveyPlan:
    """A question of the survey at the end: a scale from 1 to 5, or a text."""

    name: str
    kind: str = "scale"
    words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        one_of(self.kind, ("scale", "text"), "kind")

    def to_dict(self) -> dict[str, Any]:
        """Return what `Project.settings` keeps of it."""
        return {"id": self.name, "kind": self.kind, "words": dict(self.words)}


@dataclass(frozen=True, slots=True)
class ProjectPlan:
    """A whole project file."""

    name: str
    title: str
    scheme: str
    settings: ProjectSettings
    phases: tuple[PhasePlan, ...]
    posts: tuple[str, ...] = ()
    """Files whose posts form the pool."""
    roster: tuple[RosterPerson, ...] = ()
    seed: int = 0
    preset: str | None = None
    survey: tuple[SurveyPlan, ...] = ()
    """Questions of the survey at the end; none: the usual ones."""


def phase_plan(name: str, kind: str, *, at_least: float | None = None, **more: Any) -> PhasePlan:
    """Return the plan of one phase, `at_least` the kappa of its gate; what a file is refused for is a `UserError`."""
    try:
        gate = AgreementGate(at_least=at_least) if at_least is not None else None
        return PhasePlan(name, kind, gate=gate, **more)
    except ValueError as error:
        raise UserError(f"{error}.", status=422) from None


def preset_names() -> list[str]:
    """Return the names of the presets that ship with Davy."""
    return yaml_objects.shipped_names(PACKAGE)


def read_plan(path_or_preset: str | Path) -> ProjectPlan:
    """Return the plan in a file, or of a preset by its name."""
    return parse_plan(yaml_objects.read_shipped_or_file(str(path_or_preset), PACKAGE, "project"), str(path_or_preset))


def parse_plan(raw: bytes, file: str) -> ProjectPlan:
    """Return the plan of a file's bytes; the first problem in it becomes a `UserError` with its line."""
    problems = Problems(file, what="project", example="docs/project/projects.md")
    own = yaml_objects.read_root(raw, problems, KEYS)
    root, preset = _on_preset(own, problems)
    plan = _plan(root, preset, problems)
    problems.raise_first()
    assert plan is not None  # without one a problem was noted, and raised
    return plan


def parse_settings(raw: bytes, file: str) -> ProjectSettings:
    """Return the settings of a file that has only those: what a project's settings page sends."""
    problems = Problems(file, what="project's settings", example="docs/project/projects.md")
    settings = _settings(yaml_objects.read_root(raw, problems, SETTINGS), problems)
    problems.raise_first()
    assert settings is not None  # without them a problem was noted, and raised
    return settings


def _on_preset(own: YamlMap, problems: Problems) -> tuple[YamlMap, str | None]:
    """Return a file's mapping with the preset's values where it has none, and the preset's name."""
    name = own.get("preset")
    if name is None:
        return own, None
    if name not in preset_names():
        hint = nearest(str(name), preset_names())
        problems.add(
            own.line_of("preset"), f"There is no preset {str(name)!r}; Davy has {', '.join(preset_names())}.{hint}"
        )
        problems.raise_first()
    kept = yaml_objects.read_shipped_or_file(str(name), PACKAGE, "preset")
    inner = Problems(f"preset {name}")
    base, _ = _on_preset(yaml_objects.read_root(kept, inner, KEYS), inner)
    root = _joined(base, own)
    for key in _MERGED:
        theirs, ours = base.get(key), own.get(key)
        if isinstance(theirs, YamlMap) and isinstance(ours, YamlMap):
            root[_key_of(own, key)] = _joined(theirs, ours)
    if isinstance(own.get("phases"), YamlMap):
        root[_key_of(own, "phases")] = _changed_phases(base, own, problems)
    return root, str(name)


def _changed_phases(base: YamlMap, own: YamlMap, problems: Problems) -> YamlList:
    """Return the preset's phases with what the file changes in some of them, by name."""
    changes, line = own["phases"], own.line_of("phases")
    theirs = base.get("phases")
    assert isinstance(changes, YamlMap)
    assert isinstance(theirs, YamlList)
    phases = YamlList(YamlMap(phase) for phase in theirs if isinstance(phase, YamlMap))
    phases.line = line
    known = {str(phase["name"]): phase for phase in phases if isinstance(phase, YamlMap)}
    for name, change in changes.items():
        if name not in known or not isinstance(change, YamlMap):
            hint = nearest(str(name), list(known))
            problems.add(line_at(name, line), f"The preset has no phase {str(name)!r} to change so.{hint}")
            continue
        for key in change:
            known[str(name)].pop(key.replace("_", "-"), None)
        known[str(name)].update(change)
        known[str(name)].line = line_at(name, line)
    return phases


def _joined(theirs: YamlMap, ours: YamlMap) -> YamlMap:
    # Our keys first: a key that both have keeps our line.
    names = {key.replace("_", "-") for key in ours}
    joined = YamlMap({**ours, **{key: value for key, value in theirs.items() if key not in names}})
    joined.line = ours.line
    return joined


def _key_of(root: YamlMap, key: str) -> str:
    return next(known for known in root if known == key)


def _plan(root: YamlMap, preset: str | None, problems: Problems) -> ProjectPlan | None:
    for key in ("name", "title", "scheme", "phases"):
        if root.get(key) is None:
            problems.add(root.line, f"The project lacks `{key}:`. Add it.")
    values: dict[str, Any] = {"preset": preset}
    for key in ("name", "title", "scheme"):
        node = root.get(key)
        if node is not None and not isinstance(node, YamlText):
            problems.add(root.line_of(key), f"`{key}` must be one text.")
        values[key] = str(node)
    values["phases"] = yaml_objects.build_list(root, "phases", PhasePlan, problems, _built)
    values["roster"] = yaml_objects.build_list(root, "roster", RosterPerson, problems, _built)
    values["survey"] = yaml_objects.build_list(root, "survey", SurveyPlan, problems, _built)
    values["posts"] = _texts(root, "posts", problems)
    values["seed"] = _seed(root, problems)
    values["settings"] = _settings(root, problems)
    _check_names(values["phases"], root, problems)
    return None if problems.found else ProjectPlan(**values)


def _settings(root: YamlMap, problems: Problems) -> ProjectSettings | None:
    care = _one(root, "care", Care, problems)
    pay = _one(root, "pay", Pay, problems)
    values: dict[str, Any] = {
        "adjudication": _by_name(root, "adjudication", AdjudicationRule, problems),
        "flags": _by_name(root, "flags", AdjudicationRule, problems),
        "support": yaml_objects.build_list(root, "support", Contact, problems, _built),
        "consent": _wording(root, "consent", problems),
        "debrief": _wording(root, "debrief", problems),
        "pay": pay,
        "deletion": _one(root, "deletion", Deletion, problems),
        "confounders": _one(root, "confounders", ConfounderBounds, problems),
    }
    if languages := _texts(root, "languages", problems):
        values["languages"] = languages
    if care is not None:
        values["care"] = care
    try:
        return ProjectSettings(**values)
    except ValueError as error:
        key = "languages" if "language" in str(error) else "flags"
        problems.add(root.line_of(key), f"{error}")
        return None


def _one(root: YamlMap, key: str, kind: type, problems: Problems) -> Any:
    node = root.get(key)
    if node is None:
        return None
    if not isinstance(node, YamlMap):
        problems.add(root.line_of(key), f"`{key}` must be a mapping of names to values.")
        return None
    return _built(kind, node, f"`{key}`", problems, root.line_of(key))


def _by_name(root: YamlMap, key: str, kind: type, problems: Problems) -> dict[str, Any]:
    node = root.get(key)
    if node is None:
        return {}
    if not isinstance(node, YamlMap):
        problems.add(root.line_of(key), f"`{key}` must be a mapping of names to rules.")
        return {}
    by_name = {}
    for name, inner in node.items():
        line = line_at(name, root.line_of(key))
        if isinstance(inner, YamlText):  # `sexist: unanimous` says enough
            inner = YamlMap({"rule": inner})
        if not isinstance(inner, YamlMap):
            problems.add(line, f"`{key}`, {str(name)!r}: write a rule's name or a mapping such as {{rule: unanimous}}.")
            continue
        by_name[str(name)] = _built(kind, inner, f"`{key}`, {str(name)!r}", problems, line)
    return by_name


def _built(kind: type, node: YamlMap, title: str, problems: Problems, line: int) -> Any:
    """Return an object of a dataclass, its inner parts read first; underscores in keys are taken for hyphens."""
    flat, inner = YamlMap(), {}
    flat.line = node.line
    for key, value in node.items():
        name = YamlText(key.replace("_", "-"))
        name.line = line_at(key, line)
        if name in ("gate", "pass") and isinstance(value, YamlMap):
            of = AgreementGate if name == "gate" else PassMark
            inner[f"{name}_" if name == "pass" else str(name)] = _built(
                of, value, f"{title}, {name}", problems, name.line
            )
        elif kind is PhasePlan and name == "batches":
            inner["batches"] = _by_name(node, "batches", Batch, problems)
        elif kind in (Contact, SurveyPlan) and name == "words":
            inner["words"] = _wording(node, "words", problems)
        else:
            flat[name] = value
    made = yaml_objects.build(kind, flat, title, problems, line)
    return None if made is None else replace(made, **inner)


def _wording(root: YamlMap, key: str, problems: Problems) -> dict[str, str]:
    """Return a text by language."""
    from davy.schemes import scheme_fields

    node = root.get(key)
    if node is None:
        return {}
    return as_wording(scheme_fields.wording(node, f"`{key}`", root.line_of(key), problems))


def _texts(root: YamlMap, key: str, problems: Problems) -> tuple[str, ...]:
    node = root.get(key)
    items: list[YamlNode] = list(node) if isinstance(node, YamlList) else [] if node is None else [node]
    if not all(isinstance(item, YamlText) and item for item in items):
        problems.add(root.line_of(key), f"`{key}` must be a text or a list of texts.")
        return ()
    return tuple(str(item) for item in items)


def _seed(root: YamlMap, problems: Problems) -> int:
    node = root.get("seed")
    if node is None:
        return 0
    if not isinstance(node, YamlText) or not re.fullmatch(r"\d{1,9}", node):
        problems.add(root.line_of("seed"), "`seed` must be a whole number from 0.")
        return 0
    return int(node)


def _check_names(phases: tuple[PhasePlan, ...], root: YamlMap, problems: Problems) -> None:
    names = [phase.name for phase in phases]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            problems.add(root.line_of("phases"), f"Two phases are called {name!r}. Give each a name of its own.")
    rests = [phase.name for phase in phases if phase.posts == REST]
    if len(rests) > 1:
        problems.add(root.line_of("phases"), f"Phases {' and '.join(rests)} both take the rest of the posts. One can.")
