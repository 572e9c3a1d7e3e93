"""Tiny random vision models of today's families: 4 × 4 patches of 8 pixels, 16 numbers wide."""

from __future__ import annotations

from pathlib import Path


def save_vision_model(kind: str, folder: Path) -> None:
    """Write a model of a family, such as CLIP, with random weights."""
    import torch
    import transformers

    tiny = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
            "image_size": 32, "patch_size": 8}  # fmt: skip
    dino = {name: value for name, value in tiny.items() if name != "intermediate_size"}
    torch.manual_seed(0)
    if kind in ("CLIP", "Siglip"):
        config = getattr(transformers, f"{kind}Config")(vision_config=tiny, text_config={
            "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16})  # fmt: skip
    elif kind == "Dinov2WithRegisters":
        config = transformers.Dinov2WithRegistersConfig(**dino, num_register_tokens=4)
    else:
        config = getattr(transformers, f"{kind}Config")(**(dino if kind == "Dinov2" else tiny))
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)


def save_clip(kind: str, folder: Path) -> Path:
    """Write a random CLIP or Siglip with both towers and a tokenizer of made-up words; return the folder."""
    import torch
    import transformers
    from tokenizers import Tokenizer

    from tiny_encoder import make_tiny_encoder

    make_tiny_encoder(folder)
    words = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    for file in folder.iterdir():
        if file.name != "tokenizer.json":
            file.unlink()
    tower = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    text = {**tower, "vocab_size": words, "max_position_embeddings": 16, "pad_token_id": 0, "eos_token_id": 3}
    vision = {**tower, "image_size": 32, "patch_size": 8}
    sizes = {} if kind == "Siglip" else {"projection_dim": 16}
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(vision_config=vision, text_config=text, **sizes)
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)
    return folder
