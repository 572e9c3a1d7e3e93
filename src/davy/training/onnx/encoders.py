"""The encoders whose graphs Davy writes itself: BERT's, RoBERTa's and MPNet's families.

A transformers encoder in; its parts under names of our own out, or None where it is of
another family or uses something that the written graph has not. The modules
are read, never run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from davy.training.onnx.activation_ranges import RANGE
from davy.training.onnx.matrices import LinearLayer


@dataclass(frozen=True)
class LayerNorm:
    """A layer normalisation."""

    weight: Tensor
    bias: Tensor
    epsilon: float


@dataclass(frozen=True)
class EncoderLayer:
    """One layer: attention over `query`, `key` and `value`, then two matrices with a GELU between; norms come after."""

    query: LinearLayer
    key: LinearLayer
    value: LinearLayer
    out: LinearLayer
    attended: LayerNorm
    up: LinearLayer
    down: LinearLayer
    norm: LayerNorm


@dataclass(frozen=True)
class EncoderParts:
    """An encoder. `positions` are added to the word vectors; token types, which are always 0, are in them.

    Positions count from 0, or, where `padding` names a token, from one after it, padding left out.
    `distances` (heads × 2n - 1) is added to the attention of a token to one that is -n + 1 … n - 1 places on.
    """

    words: nn.Embedding
    positions: Tensor
    embedded: LayerNorm
    layers: tuple[EncoderLayer, ...]
    heads: int
    padding: int | None = None
    distances: Tensor | None = None


def parts_of(encoder: nn.Module) -> EncoderParts | None:
    """Return the parts of an encoder that the written graph can hold, else None."""
    read = {"BertModel": _bert, "RobertaModel": _bert, "XLMRobertaModel": _bert, "MPNetModel": _mpnet}
    config: Any = getattr(encoder, "config", None)
    family = read.get(type(encoder).__name__)
    if family is None or config.hidden_act != "gelu":
        return None
    if getattr(config, "is_decoder", False) or getattr(config, "position_embedding_type", "absolute") != "absolute":
        return None
    with torch.no_grad():
        return family(encoder)


def _bert(encoder: Any) -> EncoderParts:
    given = encoder.embeddings
    padding = getattr(given, "padding_idx", None)
    layers = tuple(
        EncoderLayer(
            query=_linear(it.attention.self.query),
            key=_linear(it.attention.self.key),
            value=_linear(it.attention.self.value),
            out=_linear(it.attention.output.dense),
            attended=_norm(it.attention.output.LayerNorm),
            up=_linear(it.intermediate.dense),
            down=_linear(it.output.dense),
            norm=_norm(it.output.LayerNorm),
        )
        for it in encoder.encoder.layer
    )
    positions = given.position_embeddings.weight + given.token_type_embeddings.weight[0]
    return _parts(encoder, positions, layers, padding)


def _mpnet(encoder: Any) -> EncoderParts:
    given, body = encoder.embeddings, encoder.encoder
    layers = tuple(
        EncoderLayer(
            query=_linear(it.attention.attn.q),
            key=_linear(it.attention.attn.k),
            value=_linear(it.attention.attn.v),
            out=_linear(it.attention.attn.o),
            attended=_norm(it.attention.LayerNorm),
            up=_linear(it.intermediate.dense),
            down=_linear(it.output.dense),
            norm=_norm(it.output.LayerNorm),
        )
        for it in body.layer
    )
    longest = given.position_embeddings.num_embeddings
    buckets = body.relative_position_bucket(torch.arange(1 - longest, longest))
    distances = body.relative_attention_bias.weight[buckets].T
    return _parts(encoder, given.position_embeddings.weight, layers, given.padding_idx, distances)


def _parts(
    encoder: Any,
    positions: Tensor,
    layers: tuple[EncoderLayer, ...],
    padding: int | None,
    distances: Tensor | None = None,
) -> EncoderParts:
    given, heads = encoder.embeddings, encoder.config.num_attention_heads
    return EncoderParts(given.word_embeddings, positions, _norm(given.LayerNorm), layers, heads, padding, distances)


def _linear(layer: nn.Linear) -> LinearLayer:
    return LinearLayer(layer.weight, layer.bias, getattr(layer, RANGE, None))


def _norm(layer: nn.LayerNorm) -> LayerNorm:
    return LayerNorm(layer.weight, layer.bias, layer.eps)
