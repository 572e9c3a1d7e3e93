"""How posts are to be split: which parts of which size, balanced by what, and what must stay together.

`70/10/20`, a shipped plan's name or a YAML file in, a `SplitPlan` out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from davy.core.errors import UserError
from davy.corpus.split.quality import QualityRule
from davy.files import yaml_objects
from davy.files.yaml_nodes import Problems, YamlMap
from davy.image.perceptual_hash import NEAR

PACKAGE = "davy.corpus.split.plans"
ASIDE = "aside"
"""Where posts go that fit no part without breaking its composition."""
REST = "rest"
UNSEEN = "test_unseen"
"""A second test set that is made with the first and looked at by nobody until the end."""
_OPTIONS = ("stratify", "groups", "near-duplicates", "near-pictures")
_KEYS = ("name", "version", "title", "source", "parts", "composition", "quality", *_OPTIONS)
_NAMES: Mapping[int, tuple[str, ...]] = {2: ("train", "test"), 3: ("train", "dev", "test")}


@dataclass(frozen=True, slots=True)
class Composition:
    """Parts that hold fixed shares of the labels of a column."""

    column: str
    of: tuple[str, ...]
    shares: dict[str, float]

    def __post_init__(self) -> None:
        if not self.shares or any(share < 0 for share in self.shares.values()) or not sum(self.shares.values()):
            raise ValueError("shares must be numbers of which at least one is above 0")


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """Parts with their sizes: a share (0.7), a number of posts (500), or None for the rest."""

    parts: Mapping[str, float | int | None]
    name: str = ""
    stratify: tuple[str, ...] | None = None
    """Columns or questions to balance by; None means every settled answer and the source."""
    groups: tuple[str, ...] | None = None
    """Columns whose equal values stay together; `parent` ties a post to the one it was derived from. None: parent.

    A name that ends in `?` is a column that may be missing.
    """
    near_duplicates: float = 0.8
    """Posts this alike stay together; 0 turns it off."""
    composition: Composition | None = None
    seed: int = field(default=0)
    near_pictures: int = NEAR
    """Memes whose pictures' hashes differ in at most so many bits stay together; 0 turns it off."""
    quality: QualityRule | None = None
    """What a meme needs to be in any part."""

    def with_unseen(self, size: str) -> SplitPlan:
        """Return the plan with a second test set, composed as `test` is."""
        if UNSEEN in self.parts:
            raise UserError(f"The plan has a part {UNSEEN!r} already. Leave out --test-unseen.")
        parts = _checked({**self.parts, UNSEEN: _size(size, "--test-unseen")}, "--test-unseen")
        rule = self.composition
        if rule is not None and "test" in rule.of:
            rule = replace(rule, of=(*rule.of, UNSEEN))
        return replace(self, parts=parts, composition=rule)

    def sizes(self, n: int) -> dict[str, int]:
        """Return how many of n posts each part gets."""
        wanted = {name: size if isinstance(size, int) else (size or 0) * n for name, size in self.parts.items()}
        fixed = sum(size for size in self.parts.values() if isinstance(size, int))
        if fixed > n:
            raise UserError(f"The parts ask for {fixed:,} posts, and there are {n:,}. Ask for fewer.")
        open_ = [name for name, size in self.parts.items() if size is None]
        if not open_ and not fixed and abs(sum(s for s in self.parts.values() if s) - 1) < 1e-9:
            return whole_number(wanted, n)
        sizes = {name: round(size) for name, size in wanted.items()}
        if open_:
            sizes[open_[0]] = n - sum(size for name, size in sizes.items() if name != open_[0])
        if sum(sizes.values()) > n or min(sizes.values()) < 0:
            raise UserError(f"The parts ask for {sum(sizes.values()):,} posts, and there are {n:,}. Ask for fewer.")
        return sizes


def whole_number(wanted: Mapping[str, float], n: int) -> dict[str, int]:
    """Return whole numbers that add up to n, the largest remainders rounded up."""
    sizes = {name: int(size) for name, size in wanted.items()}
    by_rest = sorted(wanted, key=lambda name: sizes[name] - wanted[name])
    for name in by_rest[: n - sum(sizes.values())]:
        sizes[name] += 1
    return sizes


def load(asked: str) -> SplitPlan:
    """Return the plan that `70/10/20`, `train=8000,dev=500,test=1000`, a name or a YAML file stands for."""
    if re.fullmatch(r"[\d.]+(?:/[\d.]+)+", asked):
        return SplitPlan(_ratios(asked), asked)
    if "=" in asked:
        return SplitPlan(_sizes(asked), asked)
    if re.fullmatch(r"[\d.]+(?:[-:, ]+[\d.]+)+", asked):
        raise UserError(f"{asked!r} is no plan. Shares are written {'/'.join(re.findall('[0-9.]+', asked))}.")
    return parse(yaml_objects.read_shipped_or_file(asked, PACKAGE, "plan"), asked)


def _ratios(asked: str) -> dict[str, float | int | None]:
    numbers = [_number(part, asked) for part in asked.split("/")]
    total = sum(numbers)
    if len(numbers) not in _NAMES:
        raise UserError(f"{asked!r} has {len(numbers)} parts; write two (train/test) or three (train/dev/test).")
    if abs(total - 100) > 1e-6 and abs(total - 1) > 1e-9:
        raise UserError(f"The parts of {asked!r} add up to {total:g}; they should add up to 100.")
    return dict(zip(_NAMES[len(numbers)], (number / total for number in numbers), strict=True))


def _sizes(asked: str) -> dict[str, float | int | None]:
    parts: dict[str, float | int | None] = {}
    for piece in asked.split(","):
        name, _, size = (part.strip() for part in piece.partition("="))
        if not name or name == ASIDE or name in parts:
            raise UserError(f"{asked!r}: write each part once, as train=8000,dev=500,test=1000.")
        parts[name] = _size(size, asked)
    return _checked(parts, asked)


def _size(text: str, where: str) -> float | int | None:
    """Return a share for `70%`, a number of posts for `500`, None for `rest`."""
    if text == REST:
        return None
    if text.endswith("%"):
        return _number(text[:-1], where) / 100
    if re.fullmatch(r"[\d_,]+", text):
        return int(text.replace("_", "").replace(",", ""))
    raise UserError(f"{where}: {text!r} is not a size. Write 70%, a number of posts such as 500, or rest.")


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{where}: {text!r} is not a number.") from None


def _checked(parts: dict[str, float | int | None], where: str) -> dict[str, float | int | None]:
    shares = sum(size for size in parts.values() if isinstance(size, float))
    if shares > 1 + 1e-9:
        raise UserError(f"{where}: the parts add up to {100 * shares:g} %, more than there is.")
    if sum(size is None for size in parts.values()) > 1:
        raise UserError(f"{where}: only one part can take the rest.")
    if len(parts) < 2:
        folds = " For k folds in Python: davy.sklearn.GroupedKFold." if "fold" in next(iter(parts)).casefold() else ""
        raise UserError(f"{where}: a split has two parts or more, such as train=80%,test=20%.{folds}")
    if not any(size is None or size > 0 for size in parts.values()):
        raise UserError(f"{where}: every part is empty.")
    return parts


def parse(raw: bytes, file: str) -> SplitPlan:
    """Return the plan in a file's bytes; the first problem becomes a `UserError`."""
    problems = Problems(file, what="plan", example="davy split --plan edos --show")
    root = yaml_objects.read_root(raw, problems, _KEYS)
    listed = root.get("parts")
    if not isinstance(listed, YamlMap) or not listed:
        raise UserError(f"{file}:{root.line_of('parts')}: A plan needs `parts:`, such as {{train: 80%, test: 20%}}.")
    parts = {str(name): _size(str(size), f"{file}:{listed.line_of(name)}") for name, size in listed.items()}
    composed = root.get("composition")
    composition = None
    if isinstance(composed, YamlMap):
        composition = yaml_objects.build(Composition, composed, "composition", problems, composed.line)
        for name in composition.of if composition else ():
            if name not in parts:
                problems.add(composed.line, f"composition names the part {name!r}; the parts are {', '.join(parts)}.")
    given = root.get("quality")
    quality = None
    if isinstance(given, YamlMap):
        quality = yaml_objects.build(QualityRule, given, "quality", problems, given.line)
    options = YamlMap({key: root[key] for key in _OPTIONS if key in root})
    made = yaml_objects.build(_Options, options, "the plan", problems, root.line)
    problems.raise_first()
    return SplitPlan(
        _checked(parts, file),
        str(root.get("name") or file),
        made.stratify,
        made.groups,
        made.near_duplicates,
        composition,
        near_pictures=made.near_pictures,
        quality=quality,
    )


@dataclass(frozen=True, slots=True)
class _Options:
    stratify: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    near_duplicates: float = 0.8
    near_pictures: int = NEAR
