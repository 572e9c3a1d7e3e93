"""What the corpus offers to the rest."""

from davy.core.feature import Command, Feature

FEATURE = Feature(
    commands={
        "convert": Command(
            "davy.corpus.cli:convert",
            "Convert a file of posts between CSV, TSV, JSONL and Parquet, without loss.",
            "Make a corpus",
        ),
        "corpus": Command(
            "davy.corpus.cli:app", "Look at the public corpora that Davy reads by name.", "Make a corpus"
        ),
        "clean": Command(
            "davy.corpus.clean.cli:clean",
            "Clean posts by a recipe and print the funnel: how many came to each step, were dropped, changed and left.",
            "Make a corpus",
        ),
        "collect": Command(
            "davy.corpus.collect.cli:app",
            "Collect posts from platform archives and live streams; withdraw posts that their authors deleted.",
            "Make a corpus",
        ),
        "describe": Command(
            "davy.corpus.describe.cli:describe",
            "Describe a corpus: labels, sources, lengths, emoji, words by class with NPMI, word clouds, papers.",
            "Make a corpus",
        ),
        "split": Command(
            "davy.corpus.split.cli:split",
            "Split posts into parts that look alike, and never part an original from its contrast or a post from "
            "its twin.",
            "Make a corpus",
        ),
        "sample": Command(
            "davy.corpus.sample.cli:sample",
            "Take posts for labelling: each sampler of the plan fills its quota from each source, no post is "
            "taken twice.",
            "Make a corpus",
        ),
    },
)
