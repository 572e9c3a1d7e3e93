"""The lowest versions that pyproject.toml allows leave out those with known holes, and so do the pinned ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent

MENDED_IN = {
    "jinja2": ("3.1.6", "CVE-2025-27516: a sandbox that could be left"),
    "pillow": ("11.3", "CVE-2025-48379: a buffer overflow when a picture is written"),
    "python-multipart": ("0.0.18", "CVE-2024-53981: a form that keeps a core busy"),
    "starlette": ("0.49.1", "CVE-2025-62727: a Range header that keeps a core busy"),
    "torch": ("2.6", "CVE-2025-32434: code in weights in spite of weights_only"),
    "pyarrow": ("14.0.1", "CVE-2023-47248: code in a file"),
    "onnx": ("1.17", "CVE-2024-5187: paths out of an archive"),
}


def requirements() -> list[Requirement]:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [told["dependencies"], *told["optional-dependencies"].values()]
    return [Requirement(line) for each in lists for line in each]


@pytest.mark.parametrize("name", MENDED_IN)
def test_the_lowest_version_has_no_known_hole(name):
    mended, why = MENDED_IN[name]
    lowest = [
        Version(bound.version)
        for it in requirements()
        if it.name == name
        for bound in it.specifier
        if bound.operator in (">=", "==")
    ]
    assert lowest, f"{name} has no lower bound"
    assert min(lowest) >= Version(mended), why


def test_the_pinned_versions_have_none_either():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;]+)", text, re.MULTILINE))
    for name, (mended, why) in MENDED_IN.items():
        if name in pinned:
            assert Version(pinned[name]) >= Version(mended), why
    assert {"jinja2", "starlette", "pillow"} <= {name.lower() for name in pinned}
