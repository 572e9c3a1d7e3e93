"""A tiny encoder made in the test: two layers, thirty-two numbers wide, with a tokenizer of made-up words."""

from __future__ import annotations

from pathlib import Path

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


def make_tiny_encoder(folder: Path) -> Path:
    """Write a random BERT encoder, its tokenizer and a masked-word head; return the folder."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=40,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


def make_tiny_classifier(folder: Path, labels: list[str], **changes: object) -> Path:
    """Write a random BERT classifier with these labels, and its tokenizer; return the folder."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    folder.parent.mkdir(parents=True, exist_ok=True)
    make_tiny_encoder(folder)
    names = dict(enumerate(labels))
    known = {"id2label": names, "label2id": {label: i for i, label in names.items()}, **changes}
    torch.manual_seed(0)
    BertForSequenceClassification(BertConfig.from_pretrained(folder, **known)).save_pretrained(folder)
    return folder
