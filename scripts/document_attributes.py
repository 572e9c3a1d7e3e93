"""Write the table of Perspective's attributes in docs/serve/perspective.md from the map that ships, or check it.

The map and the questions of the embedded detectors in; the lines between the two markers of the page out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from davy.detectors import embedded
from davy.moderation.attribute_map import AttributeMap, AttributeSource, load_attributes
from davy.text.lexicons.read import SHIPPED

PAGE = Path(__file__).parent.parent / "docs" / "serve" / "perspective.md"
BEGIN, END = "<!-- attributes: make docs -->", "<!-- attributes end -->"
LANGUAGES = {"en": "English", "de": "German"}


def table() -> str:
    """Return the table's lines: what is answered, then what is not."""
    attributes = load_attributes()
    questions = {lang: _questions(name) for lang, name in embedded.ROUTES.items()}
    lines = ["| attribute | what stands behind it | | languages |", "| --- | --- | --- | --- |"]
    for name, source in attributes.attributes.items():
        if not source:
            continue
        langs = [LANGUAGES[lang] for lang, known in questions.items() if _is_answered(source, lang, known)]
        kind = "approximation" if source.approximation else "measured"
        lines.append(f"| `{name}` | `{source.text}` | {kind} | {', '.join(langs)} |")
    return "\n".join([*lines, "", _absent(attributes)])


def _absent(attributes: AttributeMap) -> str:
    absent = {name: source for name, source in attributes.attributes.items() if not source}
    hinted = ", ".join(f"`{name}` (ask for `{it.instead}`)" for name, it in absent.items() if it.instead)
    others = ", ".join(f"`{name}`" for name, it in absent.items() if not it.instead)
    return f"Refused, because nothing stands behind them: {hinted}; {others}."


def _questions(name: str) -> dict[str, list[str]]:
    """Return the labels of each question that an embedded detector answers."""
    manifest = json.loads((embedded.WEIGHTS / name / "manifest.json").read_text("utf-8"))
    return {it["name"]: list(it["labels"]) for it in manifest["questions"]}


def _is_answered(source: AttributeSource, lang: str, known: dict[str, list[str]]) -> bool:
    if source.words and lang not in SHIPPED:
        return False
    asked = source.formula.answers if source.formula else [(source.question, source.label)]
    return all(name in known and (label is None or label in known[name]) for name, label in asked)


def main() -> int:
    """Write the table, or with `--check` say whether it is current."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    fresh = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    if "--check" in sys.argv:
        return 0 if fresh == text else 1
    PAGE.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
