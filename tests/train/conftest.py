"""A tiny encoder made in the test: two layers, sixteen numbers wide, with a tokenizer of made-up words."""

import pytest

WORDS = [
    "grumblefop",
    "wuzzle",
    "lovely",
    "garden",
    "they",
    "are",
    "the",
    "all",
    "nice",
    "people",
    "bad",
    "##s",
    "lobster",
]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A folder with a random BERT encoder, its tokenizer and a masked-word head."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path_factory.mktemp("tiny")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=40,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


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
