"""Qwen2 as a teacher: a frozen decoder with thin layers that learn, heads on the last token; and as a writer.

Weights as `german.py` packed them in; logits of posts, or new posts, out. Posts are padded on the right, so that
causal attention needs no mask. `adapt` puts new thin layers in, `fold` adds what they learnt to the matrices.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gguf
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor, nn

PART = 60_000_000
HEAD = 128
WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Where Qwen's tokenizer cuts a text before it looks for pieces."""


def tokenizer_of(about: dict) -> Tokenizer:
    """Return the tokenizer that a file's metadata describes."""
    vocab = {piece: i for i, piece in enumerate(about["tokenizer.ggml.tokens"])}
    merges = [tuple(pair.split(" ")) for pair in about["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    cut = pre_tokenizers.Split(Regex(WORDS), "isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, letters])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def pack(tensors: dict[str, gguf.Tensor], about: dict, out: Path) -> None:
    """Write tensors as they are, in parts that travel, with an index."""
    index, blob = {}, bytearray()
    for name, tensor in tensors.items():
        index[name] = (tensor.kind, tensor.shape, len(blob), len(tensor.data))
        blob += tensor.data
    for i in range(0, len(blob), PART):
        (out / f"qwen.{i // PART:02}").write_bytes(blob[i : i + PART])
    (out / "qwen.json").write_text(json.dumps({"index": index, "eps": about["qwen2.attention.layer_norm_rms_epsilon"]}))


def unpack(keep: Path) -> None:
    """Write the packed parts as one file of half-precision tensors, which loads fast."""
    index = json.loads((keep / "qwen.json").read_text())["index"]
    blob = b"".join(path.read_bytes() for path in sorted(keep.glob("qwen.??")))

    def tensor(name: str) -> Tensor:
        kind, shape, start, size = index[name]
        return torch.tensor(gguf.Tensor(kind, tuple(shape), blob[start : start + size]).values()).bfloat16()

    with ThreadPoolExecutor(8) as pool:
        save_file(dict(zip(index, pool.map(tensor, index), strict=True)), keep / "qwen.safetensors")


class Adapted(nn.Module):
    """A matrix that stays as it is, and a thin one beside it that learns."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight, persistent=False)
        self.register_buffer("bias", bias, persistent=False)
        self.down: nn.Parameter | None = None
        self.up: nn.Parameter | None = None
        self.drop = nn.Dropout(0.05)

    def adapt(self, rank: int) -> None:
        """Put a new thin layer in, which says nothing yet."""
        rows, columns = self.weight.shape
        device = self.weight.device
        self.down = nn.Parameter(torch.randn(rank, columns, device=device) * columns**-0.5)
        self.up = nn.Parameter(torch.zeros(rows, rank, device=device))

    def fold(self) -> None:
        """Add what was learnt to the matrix."""
        if self.up is not None and self.down is not None:
            with torch.no_grad():
                self.weight.copy_(self.weight.float() + self.up @ self.down)
            self.up = self.down = None

    def forward(self, states: Tensor) -> Tensor:
        out = F.linear(states, self.weight, self.bias)
        if self.up is None or self.down is None:
            return out
        return out + F.linear(F.linear(self.drop(states), self.down), self.up)


class Layer(nn.Module):
    """Attention over what came before, then the gated network; `past` keeps keys and values where posts are written."""

    def __init__(self, weights: dict[str, Tensor], at: int, eps: float) -> None:
        super().__init__()
        w = {name.removeprefix(f"blk.{at}."): it for name, it in weights.items() if name.startswith(f"blk.{at}.")}
        self.qkv = Adapted(
            torch.cat([w[f"attn_{n}.weight"] for n in "qkv"]), torch.cat([w[f"attn_{n}.bias"] for n in "qkv"])
        )
        self.out = Adapted(w["attn_output.weight"], None)
        self.gate = Adapted(torch.cat([w["ffn_gate.weight"], w["ffn_up.weight"]]), None)
        self.down = Adapted(w["ffn_down.weight"], None)
        self.register_buffer("norm1", w["attn_norm.weight"], persistent=False)
        self.register_buffer("norm2", w["ffn_norm.weight"], persistent=False)
        self.width, self.eps = w["attn_q.weight"].shape[0], eps
        self.past: tuple[Tensor, Tensor] | None = None

    def forward(self, states: Tensor, turn: tuple[Tensor, Tensor], at: int = 0) -> Tensor:
        batch, length, _ = states.shape
        mixed = self.qkv(F.rms_norm(states, (states.shape[2],), self.norm1, self.eps))
        q, k, v = (
            part.reshape(batch, length, -1, HEAD).transpose(1, 2)
            for part in mixed.split([self.width, *[(mixed.shape[2] - self.width) // 2] * 2], dim=2)
        )
        q, k = turned(q, turn), turned(k, turn)
        if self.past is not None:
            keys, values = self.past
            keys[:, :, at : at + length], values[:, :, at : at + length] = k, v
            k, v = keys[:, :, : at + length], values[:, :, : at + length]
        # Tokens that go on after others see those and what came before among themselves.
        open_to = k.new_ones(length, at + length, dtype=torch.bool).tril(at) if at and length > 1 else None
        seen = F.scaled_dot_product_attention(q, k, v, open_to, is_causal=length > 1 and not at, enable_gqa=True)
        states = states + self.out(seen.transpose(1, 2).reshape(batch, length, -1))
        gate, up = self.gate(F.rms_norm(states, (states.shape[2],), self.norm2, self.eps)).chunk(2, dim=2)
        return states + self.down(F.silu(gate) * up)


def turned(heads: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Return queries or keys turned by their place (RoPE)."""
    cos, sin = turn
    half = heads.shape[-1] // 2
    other = torch.cat([-heads[..., half:], heads[..., :half]], dim=-1)
    return heads * cos + other * sin


class Qwen(nn.Module):
    """The decoder: token ids in, states of the last norm out."""

    def __init__(self, keep: Path, device: torch.device, layers: int | None = None) -> None:
        super().__init__()
        weights = {name: it.to(device) for name, it in load_file(keep / "qwen.safetensors").items()}
        eps = json.loads((keep / "qwen.json").read_text())["eps"]
        count = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("blk."))
        self.register_buffer("words", weights["output.weight"], persistent=False)
        self.register_buffer("norm", weights["output_norm.weight"], persistent=False)
        self.layers = nn.ModuleList(Layer(weights, at, eps) for at in range(min(count, layers or count)))
        self.eps = eps
        speed = 1_000_000.0 ** (-torch.arange(0, HEAD, 2, device=device) / HEAD)
        angle = torch.arange(384, device=device)[:, None] * speed
        angle = torch.cat([angle, angle], dim=1)
        self.register_buffer("cos", angle.cos().to(self.words.dtype), persistent=False)
        self.register_buffer("sin", angle.sin().to(self.words.dtype), persistent=False)

    def adapted(self) -> list[Adapted]:
        return [it for it in self.modules() if isinstance(it, Adapted)]

    def forward(self, ids: Tensor, at: int = 0) -> Tensor:
        states = F.embedding(ids, self.words)
        turn = self.cos[at : at + ids.shape[1]], self.sin[at : at + ids.shape[1]]
        for layer in self.layers:
            states = layer(states, turn, at)
        return F.rms_norm(states, (states.shape[2],), self.norm, self.eps)


class Teacher(nn.Module):
    """The decoder with one linear layer for all heads on the state of each post's last token."""

    def __init__(self, body: Qwen, labels: int) -> None:
        super().__init__()
        self.body = body
        self.out = nn.Linear(body.words.shape[1], labels, device=body.words.device)
        nn.init.normal_(self.out.weight, std=0.01)
        nn.init.zeros_(self.out.bias)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.out(self.last(ids, mask))

    def last(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the state of each post's last token."""
        return self.body(ids)[torch.arange(len(ids), device=ids.device), mask.sum(1) - 1].float()


def take(network: Teacher, state: dict[str, Tensor]) -> None:
    """Load thin layers and heads, and fold the layers into the matrices."""
    for name, layer in network.named_modules():
        if isinstance(layer, Adapted):
            layer.down, layer.up = (nn.Parameter(state[f"{name}.{it}"].float()) for it in ("down", "up"))
            layer.fold()
    network.out.load_state_dict({it: state[f"out.{it}"].float() for it in ("weight", "bias")})


def remember(body: Qwen, posts: int, length: int) -> None:
    """Give each layer room for the keys and values of so many posts."""
    for layer in body.layers:
        heads = (layer.qkv.weight.shape[0] - layer.width) // 2 // HEAD
        room = (posts, heads, length, HEAD)
        layer.past = tuple(torch.zeros(room, device=body.words.device, dtype=body.words.dtype) for _ in "kv")


@torch.inference_mode()
def write(
    body: Qwen, starts: Tensor, longest: int, ends: Tensor, warmth: float, *, best: int = 200, shared: int = 0
) -> Tensor:
    """Return what follows each start (rows of one length), sampled from the `best` likeliest tokens of each place.

    `ends` are the tokens that end a text, the first of them fills it up. The first `shared` tokens are the same in all.
    """
    device = body.words.device
    posts, before = starts.shape
    remember(body, 1, max(1, shared))
    if shared:
        body(starts[:1, :shared])
    once = [layer.past for layer in body.layers]
    remember(body, posts, before + longest)
    for layer, pair in zip(body.layers, once, strict=True):
        for kept, first in zip(layer.past, pair, strict=True):
            kept[:, :, : first.shape[2]] = first
    ended = torch.zeros(posts, dtype=torch.bool, device=device)
    ids, fed, at = starts, starts[:, shared:], shared
    while ids.shape[1] < before + longest:
        logits = F.linear(body(fed, at)[:, -1], body.words).float() / warmth
        top = logits.topk(min(best, logits.shape[1]))
        chance = top.values.softmax(1)
        chance[chance.cumsum(1) - chance > 0.97] = 0
        token = top.indices.gather(1, torch.multinomial(chance, 1))
        token[ended] = ends[0]
        ended |= torch.isin(token[:, 0], ends)
        at, fed = ids.shape[1], token
        ids = torch.cat([ids, token], dim=1)
        if at % 8 == 0 and bool(ended.all()):
            break
    for layer in body.layers:
        layer.past = None
    return ids[:, before:]
