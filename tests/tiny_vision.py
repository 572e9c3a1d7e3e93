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
