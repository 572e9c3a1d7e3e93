"""Begin a new feature: a folder with a noun, a table, a command, a page, words in both languages, and tests that pass.

    python scripts/new_feature.py lantern lanterns

The singular and the plural name in; `src/davy/lanterns/` and `tests/lanterns/` out, made from `feature_template/`, and
lines in `davy/features.py` and in the shelves and budgets of `tests/test_contract.py`. Take out what you don't need.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

TEMPLATE = Path(__file__).parent / "feature_template"
LISTS = (
    ("src/davy/features.py", "FEATURES = (\n", '    "davy.{plural}.feature",\n'),
    ("tests/test_contract.py", '    {"moderation",', '    {"{plural}", "moderation",'),
    ("tests/test_contract.py", "BUDGETS = {\n", '    "{plural}": 300,\n'),
)
"""Where a feature is named outside of its folder: the file, what stands there, and what comes after or in its place."""


def new_feature(root: Path, singular: str, plural: str) -> list[Path]:
    """Write the feature into a checkout; return the files that are new."""
    for name in (singular, plural):
        if not re.fullmatch(r"[a-z][a-z_]+", name):
            raise SystemExit(f"{name!r} is not a name: use small letters and underscores, such as lantern lanterns.")
    if (root / "src/davy" / plural).exists():
        raise SystemExit(f"src/davy/{plural} exists. Choose another name.")
    made = []
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        path = root / renamed(source.relative_to(TEMPLATE).as_posix(), singular, plural)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(renamed(source.read_text("utf-8"), singular, plural), encoding="utf-8")
        made.append(path)
    for name, before, line in LISTS:
        text = (root / name).read_text("utf-8")
        if before not in text:
            raise SystemExit(f"{name} has no line {before.strip()!r} any more: mend LISTS in scripts/new_feature.py.")
        new = line.replace("{plural}", plural)
        text = text.replace(before, before + new if before.endswith("\n") else new, 1)
        (root / name).write_text(text, encoding="utf-8")
    return made


def renamed(text: str, singular: str, plural: str) -> str:
    """Return a text of the template with the feature's own names."""
    text = text.replace("lanterns", plural).replace("Lanterns", plural.replace("_", " ").capitalize())
    return text.replace("lantern", singular).replace("Lantern", singular.title().replace("_", ""))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("singular", help="what one is called, such as lantern")
    parser.add_argument("plural", help="what the folder is called, such as lanterns")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout")
    options = parser.parse_args(arguments)
    for path in new_feature(options.root, options.singular, options.plural):
        print(path.relative_to(options.root))
    print(
        f"Next: make docs, pytest tests/{options.plural}, the page's row in tests/server/test_routes.py, German words."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
