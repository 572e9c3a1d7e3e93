"""Measure masking on real texts against an outside word list: shares and speed, never a word.

`python scripts/measure_masking.py DIR`, where DIR holds edos/, davidson2017/, hatemojibuild/, dynahate/, gmhp7k/,
germeval2018/ and lexicons/ldnoobw/ as they are published. Prints the table of docs/annotate/masking.md.
"""

import csv
import re
import sys
import time
from pathlib import Path

from davy.text.mask import mask

CORPORA = {
    "EDOS": ("en", "edos/edos_labelled_aggregated.csv", "text"),
    "Davidson": ("en", "davidson2017/labeled_data.csv", "tweet"),
    "HatemojiBuild": ("en", "hatemojibuild/train.csv", "text"),
    "R1–4": ("en", "dynahate/dynahate.csv", "text"),
    "GMHP7k": ("de", "gmhp7k/misogynistic_hatespeech_phase3.csv", "review_text"),
    "GermEval 2018": ("de", "germeval2018/germeval2018.training.txt", ""),
}


def read(path: Path, column: str) -> list[str]:
    """Return the texts of a CSV column, or the first field of every line of a headerless TSV."""
    if not column:
        return [line.split("\t")[0] for line in path.read_text("utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        return [row[column] for row in csv.DictReader(file) if row[column]]


def measure(name: str, texts: list[str], listed: re.Pattern[str]) -> str:
    """Return one row of the table."""
    start = time.process_time()
    shown = [mask(text) for text in texts]
    seconds = time.process_time() - start
    covered = [
        [after[slice(*m.span())] != m[0] for m in listed.finditer(text)]
        for text, after in zip(texts, shown, strict=True)
    ]
    having = [found for found in covered if found]
    every = [one for found in having for one in found]
    return (
        f"| {name} | {len(texts):,} | {len(having):,} | {sum(map(all, having)) / len(having):.1%} | "
        f"{sum(every) / len(every):.1%} ({len(every):,}) | {len(texts) / seconds:,.0f} |"
    )


def main(folder: Path) -> None:
    """Print the table, a corpus a row."""
    csv.field_size_limit(10**9)
    for name, (lang, path, column) in CORPORA.items():
        words = (folder / "lexicons" / "ldnoobw" / lang).read_text("utf-8").split("\n")
        terms = sorted(filter(None, map(str.strip, words)), key=len, reverse=True)
        listed = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, terms))})(?!\w)", re.IGNORECASE)
        print(measure(name, read(folder / path, column), listed), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
