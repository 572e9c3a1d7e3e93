"""Write docs/detectors/how-good.md and the README's table from one file of figures, docs/detectors/how-good.json.

    python scripts/write_how_good.py                     the pages alone, from the file
    python scripts/write_how_good.py --detector NAME [--figures FILE] [--misses FILE] [--learnt-on FILE] [--suite FILE]

With `--detector` the file is filled first: what `dev_figures.py`, `misses.py` and `learn_on_finish.py` printed, and the
reports of `davy check --json`. Other suites come from history.json, calibration and German dev from limits.json. Every
figure belongs to the version that ships; those of another one are refused.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from detector_scores import LANGUAGES, markdown, shown, write_block

from davy.core import Metric
from davy.detectors import folder as folders
from davy.detectors.embedded import weights_folder

ROOT = Path(__file__).parents[1]
PAGE, FILE = ROOT / "docs/detectors/how-good.md", ROOT / "docs/detectors/how-good.json"
ENGLISH = [name for name, lang in LANGUAGES.items() if lang == "en"]
README = {
    "sexism, EDOS task A, dev": "sexist, macro-F1",
    "hate, dynamically generated, dev": "hate, dynahate, macro-F1",
    "hate with emoji, HatemojiBuild, dev": "hate, hatemojibuild, macro-F1",
    "offensive tweets, OLID, dev": "offensive, OLID, macro-F1",
}


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def checked(version: str, expected: str, path: Path) -> None:
    """Raise where figures are of another version than the one that ships."""
    if version != expected:
        raise SystemExit(f"{path} is of version {version}; {expected} ships. Measure it again.")


def filled(known: dict[str, Any], args: argparse.Namespace, version: str) -> dict[str, Any]:
    """Return a detector's record with what was given put in."""
    found = {**known, "version": version} if known.get("version") == version else {"version": version}
    if args.figures:
        dev = read(args.figures)["decoded"]
        checked(dev["version"], version, args.figures)
        found["dev"] = dev["figures"]
    if args.misses:
        found["kinds"] = read(args.misses)
    if args.learnt_on:
        record = read(args.learnt_on)
        checked(record["after"]["version"], version, args.learnt_on)
        found["moved"] = record["scores moved"]
        found["ECE"] = {
            when: {key: it["value"] for key, it in record[f"{when}, decoded"].items() if key.endswith("ECE")}
            for when in ("before", "after")
        }
    for path in args.suite or ():
        report = read(path)
        model = next((it for it in report["models"] if it["version"] == version), None)
        if model is None:
            raise SystemExit(f"{path} has no model of version {version}, which ships. Check it again.")
        found.setdefault("suites", {})[report["suite"]["name"]] = model["accuracy"]
    return found


def suites(detector: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return right answers by suite: what was checked, then what the history has of this version."""
    rows = [it for it in read(ROOT / "docs/detectors/history.json") if it["detector"] == detector]
    last = {k: v for k, v in rows[-1]["figures"].items() if "dev" not in k}
    return (last if rows[-1]["version"] == record["version"] else {}) | record.get("suites", {})


def of(record: dict[str, Any] | None) -> str:
    return shown(None if record is None else Metric.from_dict({"name": "", "note": None, "level": 0.95, **record}))


def table(held: dict[str, Any], field: str) -> str:
    """Return figures of the English detectors side by side."""
    names = list(dict.fromkeys(name for it in ENGLISH for name in held[it].get(field, {})))
    rows = []
    for name in names:
        each = [held[it].get(field, {}).get(name) for it in ENGLISH]
        n = next(it["n"] for it in each if it)
        rows.append((name, f"{n:,}", *(of(it) for it in each)))
    return markdown(("what", "n", *(f"`{it}`" for it in ENGLISH)), rows)


def kinds(held: dict[str, Any], contains: str) -> str:
    """Return the share of right answers by kind of post, of kinds whose name holds a word."""
    every = held[ENGLISH[0]]["kinds"]
    names = [name for name in every if contains in name]
    rows = [(name, f"{every[name][1]:,}", *(f"{held[it]['kinds'][name][0]:.3f}" for it in ENGLISH)) for name in names]
    return markdown(("kind", "n", *(f"`{it}`" for it in ENGLISH)), rows)


def write_pages(held: dict[str, Any]) -> None:
    """Fill the page's blocks and the README's."""
    versions = ", ".join(f"`{name}` {it['version']}" for name, it in held.items())
    write_block(PAGE, "versions", f"Versions: {versions}.")
    write_block(PAGE, "dev", table(held, "dev"))
    write_block(PAGE, "lengths", kinds(held, "words"))
    rows = [
        (name, suite, f"{it['n']:,}", of(it))
        for name, record in held.items()
        for suite, it in suites(name, record).items()
    ]
    write_block(PAGE, "suites", markdown(("detector", "suite", "cases", "right"), rows))
    limits = read(ROOT / "docs/detectors/limits.json")
    errors = []
    for name, record in held.items():
        for key, after in record.get("ECE", {}).get("after", {}).items():
            errors.append((name, key.removesuffix(", ECE"), f"{after:.3f}", f"{record['ECE']['before'][key]:.3f}"))
        if limits[name]["version"] == record["version"]:
            errors += [(name, what, of(it["ECE"]), "–") for what, it in limits[name]["doubt"].items()]
    write_block(PAGE, "calibration", markdown(("detector", "on", "ECE", "version before"), errors))
    moved = []
    for name in ENGLISH:
        scores = {old: new for old, new in held[name].get("moved", {}).items() if old != "corpus"}
        moved.append((f"`{name}` now", *(f"{it:.2f}" for it in scores.values())))
    write_block(PAGE, "moved", markdown(("before", *scores), moved))
    lines = [
        "  | macro-F1 with its 95 % interval, on dev, which also chose checkpoints and thresholds | "
        + " | ".join(f"`{it}`" for it in ENGLISH) + " |",
        "  | --- | --- | --- |",
    ]  # fmt: skip
    for title, key in README.items():
        each = [held[it]["dev"][key] for it in ENGLISH]
        lines.append(f"  | {title} (n = {each[0]['n']:,}) | {' | '.join(of(it) for it in each)} |")
    readme = ROOT / "README.md"
    write_block(readme, "figures", "\n".join(lines))
    # Within its item of the list.
    readme.write_text(readme.read_text("utf-8").replace("\n<!-- /figures -->", "\n  <!-- /figures -->"), "utf-8")


def main() -> None:
    """Fill the file where figures are given, then the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--detector", choices=list(LANGUAGES))
    for option in ("--figures", "--misses", "--learnt-on"):
        parser.add_argument(option, type=Path)
    parser.add_argument("--suite", type=Path, action="append")
    args = parser.parse_args()
    held = read(FILE) if FILE.is_file() else {}
    if args.detector:
        folder = weights_folder(args.detector)
        if folder is None:
            raise SystemExit(f"{args.detector} is not installed.")
        held[args.detector] = filled(held.get(args.detector, {}), args, folders.read(folder).version)
        held = {name: held[name] for name in LANGUAGES if name in held}
        FILE.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if all(name in held for name in LANGUAGES):
        write_pages(held)


if __name__ == "__main__":
    main()
