"""Base encoders with the new vocabulary, packed small enough to travel.

A model folder and the ids whose mean vector each new token starts from in; one
`.npz` out whose matrices are int8 in groups of 64 with a half-precision scale
(about 0.3 % error, which fine-tuning does not notice), and the way back.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

GROUP = 64


def pack(tensors: dict[str, np.ndarray], config: dict) -> bytes:
    """Return the tensors and the config as the bytes of an `.npz`."""
    arrays: dict[str, np.ndarray] = {"config": np.frombuffer(json.dumps(config).encode(), dtype=np.uint8)}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.size % GROUP == 0 and tensor.size > 100_000:
            groups = tensor.astype(np.float32).reshape(-1, GROUP)
            scale = (np.abs(groups).max(axis=1, keepdims=True) / 127).clip(1e-6).astype(np.float16)
            arrays[f"q:{name}"] = np.round(groups / scale.astype(np.float32)).clip(-127, 127).astype(np.int8)
            arrays[f"s:{name}"] = scale
            arrays[f"h:{name}"] = np.array(tensor.shape)
        else:
            arrays[f"f:{name}"] = tensor.astype(np.float32)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpack(data: bytes) -> tuple[dict[str, np.ndarray], dict]:
    """Return what `pack` packed: float32 tensors and the config."""
    with np.load(io.BytesIO(data)) as arrays:
        config = json.loads(arrays["config"].tobytes())
        tensors = {}
        for key in arrays.files:
            tag, _, name = key.partition(":")
            if tag == "f":
                tensors[name] = arrays[key]
            elif tag == "q":
                groups = arrays[key].astype(np.float32) * arrays[f"s:{name}"].astype(np.float32)
                tensors[name] = groups.reshape(arrays[f"h:{name}"])
    return tensors, config


def with_vocabulary(folder: Path, rows: list[list[int]], prefix: str = "") -> tuple[dict[str, np.ndarray], dict]:
    """Return a folder's tensors with a new word embedding table, and its config to match."""
    from safetensors.numpy import load_file

    tensors = {name.removeprefix(prefix): tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    config = json.loads((folder / "config.json").read_text())
    key = "embeddings.word_embeddings.weight"
    old = tensors[key].astype(np.float32)
    mean = old.mean(axis=0)
    table = np.stack([old[ids].mean(axis=0) if ids else mean for ids in rows])
    tensors[key] = table
    tensors = {name: tensor for name, tensor in tensors.items() if "pooler" not in name and "position_ids" not in name}
    config |= {"vocab_size": len(rows), "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config.pop("_name_or_path", None)
    return tensors, config
