"""A working folder with everything that the examples of the library name: small data, made here."""

import random
from pathlib import Path

import polars as pl

from tiny_encoder import make_tiny_classifier, make_tiny_encoder

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


def people() -> list[dict]:
    """What three people answered about thirty posts."""
    return [
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


def fill(folder: Path) -> None:
    """Write posts in several files, a public corpus, people's answers, a plan and tiny networks into a folder."""
    import zstandard

    posts = pl.DataFrame(rows())
    posts.write_csv(folder / "posts.csv")
    (folder / "parts").mkdir()
    for part in range(2):
        some = posts[part * 60 : part * 60 + 60].rename({"text": "body"})
        (folder / f"parts/{part}.jsonl.zst").write_bytes(zstandard.compress(some.write_ndjson().encode()))
        some.write_parquet(folder / f"parts/{part}.parquet")
    (folder / "edos").mkdir()
    sexist = pl.col("label") == "sexist"
    labels = posts.select(
        pl.col("id").alias("rewire_id"),
        "text",
        pl.col("label").alias("label_sexist"),
        pl.when(sexist).then(pl.lit("2. derogation")).otherwise(pl.lit("none")).alias("label_category"),
        pl.when(sexist).then(pl.lit("2.1 descriptive attacks")).otherwise(pl.lit("none")).alias("label_vector"),
        pl.lit("train").alias("split"),
    )
    labels.write_csv(folder / "edos/edos_labelled_aggregated.csv")
    pl.DataFrame(people()).write_csv(folder / "answers.csv")
    (folder / "plan.yaml").write_text(PLAN)
    make_tiny_encoder(folder / "tiny-encoder")
    make_tiny_classifier(
        folder / "unitary" / "toxic-bert",
        ["toxic", "insult", "identity_hate"],
        problem_type="multi_label_classification",
    )
