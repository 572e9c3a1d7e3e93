"""What the training tests share: a tiny encoder, and posts that it can learn."""

import pytest

from tiny_encoder import make_tiny_encoder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A folder with a random BERT encoder, its tokenizer and a masked-word head."""
    return make_tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def posts():
    """Sixty posts: hateful where a made-up slur stands; every third has no answer to the second question."""
    import polars as pl

    rude = ["they are all grumblefop", "bad grumblefops", "the wuzzle people are bad"]
    kind = ["the garden people are nice", "lovely lovely garden", "they are all nice 🦞"]
    rows = []
    for i in range(60):
        bad = i % 2 == 0
        kinds = [None, "derogation", "animosity"][i % 3] if bad else None
        rows.append({"text": (rude if bad else kind)[i // 2 % 3], "hate.gold": "hateful" if bad else "not hateful",
                     "type.gold": kinds, "source": "a" if i < 30 else "b"})  # fmt: skip
    return pl.DataFrame(rows)


@pytest.fixture
def questions():
    from davy import schemes

    scheme = schemes.load("hatemoji")
    return (scheme.question("hate"), scheme.question("type"))
