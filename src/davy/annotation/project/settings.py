"""What a project decides: how answers are settled, how people are cared for and paid, whom they can turn to.

A project file (`project_file.read_plan`) or a project's stored `settings` in, one `ProjectSettings` out. What is stored
is plain JSON; `from_dict(to_dict(settings))` gives the same again. What is not set has the default of its class here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from fractions import Fraction
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from davy.annotation.project.project import PROJECT_ROLES, Project
from davy.core import FLAGS
from davy.core.errors import UserError, nearest

RULES: tuple[str, ...] = ("majority", "unanimous", "share", "single", "severe")
MIDDLES: tuple[str, ...] = ("counts", "left out")
OTHERWISE: tuple[str, ...] = ("expert", "drop", "open")
MASKINGS: tuple[str, ...] = ("masked", "blurred", "plain")
LANGUAGES: tuple[str, ...] = ("en", "de")
CONSENT_UNREAD = "consent_unread"
"""In `Project.settings`: the consent text is a preset's, and nobody has said yet that it is true here."""


def one_of(value: str, known: tuple[str, ...], what: str) -> None:
    """Refuse a value that is not among those known."""
    if value not in known:
        raise ValueError(f"{what} is {value!r}; it can be {', '.join(known)}.{nearest(value, list(known))}")


@dataclass(frozen=True, slots=True)
class AdjudicationRule:
    """How a question's answers become a verdict, and what happens where they don't."""

    rule: str = "majority"
    share: str = "1/2"
    """With `rule: share`, the least part of the answers that must agree, such as 2/3."""
    otherwise: str = "expert"
    experts: int = 1
    """How many experts decide what comes to them; where they disagree, the post is dropped."""
    least: int = 0
    """With `rule: severe`, how many answers at each end of the scale make a split severe; 0: a third of them."""
    middle: str = "counts"
    """With `rule: severe`, whether answers between the ends count (the median decides), or are left out."""

    def __post_init__(self) -> None:
        one_of(self.rule, RULES, "rule")
        one_of(self.otherwise, OTHERWISE, "otherwise")
        one_of(self.middle, MIDDLES, "middle")
        if not 0 <= self.least <= 99:
            raise ValueError(f"least is {self.least}; write how many answers at each end, 0 for a third")
        try:
            part = Fraction(self.share)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"share is {self.share!r}; write a fraction such as 2/3") from None
        if not 0 < part <= 1:
            raise ValueError(f"share is {self.share}; it lies above 0 and is at most 1")
        if not 1 <= self.experts <= 9:
            raise ValueError(f"experts is {self.experts}; 1 to 9 experts decide")


@dataclass(frozen=True, slots=True)
class Care:
    """When people rest and what they see at first. None switches a rule off."""

    break_after_minutes: float | None = 50
    break_minutes: float = 10
    break_after_hard: int | None = 20
    daily_minutes: float | None = 240
    daily_items: int | None = None
    may_postpone: bool = True
    postpone_minutes: float = 10
    hard: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The labels of each question that count as hard to read, besides those that the scheme calls severe."""
    severity: float | None = None
    timezone: str = "UTC"
    veil: str = "masked"

    def __post_init__(self) -> None:
        one_of(self.veil, MASKINGS, "veil")
        check_zone(self.timezone)
        for name in ("break_after_minutes", "break_minutes", "break_after_hard", "daily_minutes", "daily_items"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name.replace('_', '-')} is {value:g}; it must be above 0, or empty for no limit")


@dataclass(frozen=True, slots=True)
class Contact:
    """Whom people can turn to: shown on every page of the project."""

    name: str
    words: Mapping[str, str] = field(default_factory=dict)
    link: str = ""
    phone: str = ""

    def __post_init__(self) -> None:
        if self.link and not self.link.startswith(("https://", "http://", "mailto:")):
            raise ValueError(f"link is {self.link[:40]!r}; it begins with https:// or mailto:")


@dataclass(frozen=True, slots=True)
class Pay:
    """What an hour is paid, for the page of hours."""

    currency: str = "EUR"
    per_hour: float = 0.0
    expert_per_hour: float = 0.0
    """What experts get; 0: the same as everybody."""

    def __post_init__(self) -> None:
        for name, rate in (("per-hour", self.per_hour), ("expert-per-hour", self.expert_per_hour)):
            if rate < 0:
                raise ValueError(f"{name} is {rate:g}, below zero")


@dataclass(frozen=True, slots=True)
class Deletion:
    """What goes when somebody has their data deleted: always their personal data, their answers where it says so."""

    answers: str = "keep"

    def __post_init__(self) -> None:
        one_of(self.answers, ("keep", "delete"), "answers")


@dataclass(frozen=True, slots=True)
class ConfounderBounds:
    """How far a confounder may lie from its meme, so that it is a small change; None sets no bound."""

    most_words: int | None = None
    """Words that may change in the text."""
    most_picture: int | None = None
    """Bits of 256 in which the pictures' hashes (PDQ) may differ; unlike pictures differ in about 128."""

    def __post_init__(self) -> None:
        if self.most_words is not None and self.most_words < 1:
            raise ValueError(f"most-words is {self.most_words}; a confounder changes 1 word at least")
        if self.most_picture is not None and not 1 <= self.most_picture <= 256:
            raise ValueError(f"most-picture is {self.most_picture}; write 1 to 256 bits")


@dataclass(frozen=True, slots=True)
class AgreementGate:
    """How far people must agree before a calibration phase is passed."""

    coefficient: str = "fleiss kappa"
    at_least: float = 0.6
    questions: tuple[str, ...] = ()
    """Empty: every question that was measured."""

    def __post_init__(self) -> None:
        if not -1 <= self.at_least <= 1:
            raise ValueError(f"at-least is {self.at_least:g}; agreement lies between -1 and 1")


def level_marks(levels: Sequence[str]) -> dict[str, float]:
    """Return question → accuracy from entries `question=accuracy`."""
    marks = {}
    for entry in levels:
        question, _, accuracy = (part.strip() for part in str(entry).partition("="))
        try:
            marks[question] = float(accuracy)
        except ValueError:
            marks[question] = 0.0
        if not question or not 0 < marks[question] <= 1:
            raise ValueError(f"levels has {entry!r}; write question=accuracy, such as category=0.6")
    return marks


@dataclass(frozen=True, slots=True)
class PassMark:
    """How many answers must equal gold before a person has passed a screening.

    `levels` are marks of further questions, `question=accuracy`: finer ones are harder.
    """

    accuracy: float = 0.8
    questions: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.accuracy <= 1:
            raise ValueError(f"accuracy is {self.accuracy:g}; it lies above 0 and is at most 1")
        level_marks(self.levels)


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of a phase for named people (logins or pseudonyms), with how many each should do and until when."""

    people: tuple[str, ...] = ()
    quota: int | None = None
    deadline: str | None = None
    posts: int | None = None
    """How many posts it gets; None: an equal share of the rest."""

    def __post_init__(self) -> None:
        check_date(self.deadline)


@dataclass(frozen=True, slots=True)
class RosterPerson:
    """Somebody for the roster: an account by its login, or one to invite."""

    login: str
    roles: tuple[str, ...] = ("annotator",)
    pool: str | None = None

    def __post_init__(self) -> None:
        for role in self.roles:
            one_of(role, PROJECT_ROLES, "role")


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """Everything a project decides beside its phases."""

    languages: tuple[str, ...] = LANGUAGES
    adjudication: Mapping[str, AdjudicationRule] = field(default_factory=dict)
    flags: Mapping[str, AdjudicationRule] = field(default_factory=dict)
    care: Care = field(default_factory=Care)
    support: tuple[Contact, ...] = ()
    consent: Mapping[str, str] = field(default_factory=dict)
    debrief: Mapping[str, str] = field(default_factory=dict)
    pay: Pay | None = None
    deletion: Deletion | None = None
    confounders: ConfounderBounds | None = None

    def __post_init__(self) -> None:
        for lang in self.languages:
            one_of(lang, LANGUAGES, "language")
        for flag in self.flags:
            one_of(flag, FLAGS, "flag")


def check_zone(name: str) -> None:
    """Refuse a time zone that this machine does not know."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"timezone is {name[:40]!r}, which is not known; write a name such as Europe/Berlin") from None


def check_date(value: str | None) -> None:
    """Refuse a day that is not written as 2026-12-31."""
    if value is None:
        return
    try:
        date.fromisoformat(value[:10])
    except ValueError:
        raise ValueError(f"deadline is {value[:40]!r}; write a day such as 2026-12-31") from None


def to_dict(settings: ProjectSettings) -> dict[str, Any]:
    """Return settings as plain JSON values, as `Project.settings` keeps them."""
    made: dict[str, Any] = as_plain_json(asdict(settings))
    return {name: value for name, value in made.items() if value is not None}


def as_plain_json(value: Any) -> Any:
    """Return a value with lists for tuples and plain dicts for mappings, as JSON gives it back."""
    if isinstance(value, Mapping):
        return {str(key): as_plain_json(part) for key, part in value.items()}
    return [as_plain_json(part) for part in value] if isinstance(value, tuple | list) else value


def from_dict(kept: Mapping[str, Any]) -> ProjectSettings:
    """Return the settings that a project keeps; sections that this module does not know are left alone."""
    try:
        return ProjectSettings(
            languages=tuple(kept.get("languages") or LANGUAGES),
            adjudication={
                name: _from_values(AdjudicationRule, it) for name, it in (kept.get("adjudication") or {}).items()
            },
            flags={name: _from_values(AdjudicationRule, it) for name, it in (kept.get("flags") or {}).items()},
            care=_from_values(Care, kept.get("care") or {}),
            support=tuple(_from_values(Contact, it) for it in kept.get("support") or ()),
            consent=as_wording(kept.get("consent")),
            debrief=as_wording(kept.get("debrief")),
            pay=_from_values(Pay, kept["pay"]) if kept.get("pay") else None,
            deletion=_from_values(Deletion, kept["deletion"]) if kept.get("deletion") else None,
            confounders=_from_values(ConfounderBounds, kept["confounders"]) if kept.get("confounders") else None,
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(f"The project's settings can't be read: {error}. Change them on the project's page.") from None


def as_wording(value: Any) -> dict[str, str]:
    """Return a text as one by language; a plain text is English."""
    if not value:
        return {}
    return {"en": value} if isinstance(value, str) else {str(lang): str(text) for lang, text in value.items()}


T = TypeVar("T")


def _from_values(kind: type[T], kept: Mapping[str, Any]) -> T:
    """Return an object of a dataclass from the values that it knows."""
    values: dict[str, Any] = {}
    for slot in fields(kind):  # type: ignore[arg-type]
        if slot.name not in kept:
            continue
        value = kept[slot.name]
        if slot.name == "words":
            value = as_wording(value)
        elif slot.name == "hard":
            value = {name: tuple(labels) for name, labels in (value or {}).items()}
        values[slot.name] = tuple(value) if isinstance(value, list) else value
    return kind(**values)


def to_yaml(settings: ProjectSettings) -> str:
    """Return settings as a project file writes them: hyphens in names, long texts line by line."""
    import yaml

    class Writer(yaml.SafeDumper):
        """Writes texts of several lines as blocks."""

    def text(writer: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Writer.add_representer(str, text)
    kept = to_dict(settings)
    usual = to_dict(ProjectSettings(care=Care(), pay=Pay()))
    for section in ("care", "pay"):
        # What is empty as usual is left out; what was switched off is written down, or it would come back.
        kept[section] = {
            name.replace("_", "-"): _without_point(value)
            for name, value in (kept.get(section) or {}).items()
            if value not in (None, {}) or usual[section][name] not in (None, {})
        }
    if "confounders" in kept:
        kept["confounders"] = {
            name.replace("_", "-"): value for name, value in kept["confounders"].items() if value is not None
        }
    for rule in (*kept["adjudication"].values(), *kept["flags"].values()):
        usual_values = {"share": rule["rule"] != "share", "experts": rule["experts"] == 1}
        usual_values |= {"least": rule["least"] == 0, "middle": rule["middle"] == "counts"}
        for name, is_usual in usual_values.items():
            if is_usual:
                del rule[name]
    kept["support"] = [{name: value for name, value in it.items() if value} for it in kept["support"]]
    kept = {name: value for name, value in kept.items() if value not in ({}, [])}
    made: str = yaml.dump(kept, Dumper=Writer, allow_unicode=True, sort_keys=False, width=100)
    return made


def _without_point(value: Any) -> Any:
    """Return a whole number without its point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def pay_of(project: Project) -> dict[str, Any] | None:
    """Return what an hour is paid, where the project says it."""
    pay = project.settings.get("pay") or {}
    per_hour = pay.get("per_hour")
    if not isinstance(per_hour, int | float) or per_hour <= 0:
        return None
    return {"currency": str(pay.get("currency") or ""), "per_hour": float(per_hour)}


def rate_of(project: Project, roles: Sequence[str]) -> float:
    """Return what an hour of somebody with these roles is paid: experts may have a rate of their own."""
    pay = project.settings.get("pay") or {}
    own = pay.get("expert_per_hour") if "expert" in roles else None
    return float(own or pay.get("per_hour") or 0.0)
