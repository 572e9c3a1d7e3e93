"""Every example of docs/start/library.md runs, from top to bottom, on small data made here."""

import random
import re
from pathlib import Path

import polars as pl
import pytest

from tiny_encoder import make_tiny_classifier, make_tiny_encoder

PAGE = Path(__file__).parents[2] / "docs" / "start" / "library.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)

PLAN = """\
name: small
version: 1
samplers:
  - random: {n: 20}
"""


def rows() -> list[dict]:
    """Posts that are no near duplicates: ten words each, with a made-up slur in every second one."""
    chance = random.Random(7)
    words = ["river", "stone", "cloud", "paper", "window", "market", "engine", "forest", "letter", "summer", "bridge"]
    found = []
    for i in range(120):
        text = [*chance.choices(words, k=9), "grumblefop" if i % 2 else "friend"]
        chance.shuffle(text)
        found.append({"id": f"p{i}", "text": " ".join(text), "label": "sexist" if i % 2 else "not sexist"})
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with all that the page names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    posts = pl.DataFrame(rows())
    posts.write_csv("posts.csv")
    Path("parts").mkdir()
    import zstandard

    for part in range(2):
        lines = posts[part * 60 : part * 60 + 60].rename({"text": "body"}).write_ndjson()
        Path(f"parts/{part}.jsonl.zst").write_bytes(zstandard.compress(lines.encode()))
    Path("edos").mkdir()
    labels = posts.select(
        pl.col("id").alias("rewire_id"),
        "text",
        pl.col("label").alias("label_sexist"),
        pl.when(pl.col("label") == "sexist")
        .then(pl.lit("2. derogation"))
        .otherwise(pl.lit("none"))
        .alias("label_category"),
        pl.when(pl.col("label") == "sexist")
        .then(pl.lit("2.1 descriptive attacks"))
        .otherwise(pl.lit("none"))
        .alias("label_vector"),
        pl.lit("train").alias("split"),
    )
    labels.write_csv("edos/edos_labelled_aggregated.csv")
    people = [
        {
            "row": f"{i}{who}",
            "post": f"p{i}",
            "who": who,
            "text": "",
            "sexist": "sexist" if (i + (who == "c" and not i % 9)) % 2 else "not sexist",
        }
        for i in range(30)
        for who in "abc"
    ]
    pl.DataFrame(people).write_csv("answers.csv")
    Path("plan.yaml").write_text(PLAN)
    make_tiny_encoder(tmp_path / "tiny-encoder")
    make_tiny_classifier(
        tmp_path / "unitary" / "toxic-bert",
        ["toxic", "insult", "identity_hate"],
        problem_type="multi_label_classification",
    )
    return tmp_path


def test_every_example_of_the_page_runs(folder):
    assert len(BLOCKS) > 10
    names: dict = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    assert names["check"].passed
    assert (folder / "report" / "report.html").is_file()
    assert set(names["result"].frame["model"]) == {"mine", "toxic-bert"}
    assert names["mine"].calibration.thresholds.keys() == {"sexist"}
