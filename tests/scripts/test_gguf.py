"""Weights of language models are read as their format defines them, value by value."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts/build_embedded"))
import gguf


def half(raw: bytes) -> float:
    return float(np.frombuffer(raw, np.float16)[0])


def q4_k(block: bytes) -> list[float]:
    """One block of Q4_K by the format's own words: 6-bit scales and minima for eight groups of 32 codes."""
    scale, least, packed, codes = half(block[:2]), half(block[2:4]), block[4:16], block[16:]
    found = []
    for group in range(8):
        if group < 4:
            step, low = packed[group] & 63, packed[group + 4] & 63
        else:
            step = (packed[group + 4] & 15) | (packed[group - 4] >> 6) << 4
            low = (packed[group + 4] >> 4) | (packed[group] >> 6) << 4
        for i in range(32):
            byte = codes[group // 2 * 32 + i]
            code = byte >> 4 if group % 2 else byte & 15
            found.append(scale * step * code - least * low)
    return found


def q6_k(block: bytes) -> list[float]:
    """One block of Q6_K: codes of four low and two high bits, sixteen signed scales."""
    low, high, scales, scale = block[:128], block[128:192], block[192:208], half(block[208:])
    found = []
    for place in range(256):
        part, quarter, i = place // 128, place % 128 // 32, place % 32
        byte = low[part * 64 + quarter % 2 * 32 + i]
        four = byte >> 4 if quarter > 1 else byte & 15
        code = (four | (high[part * 32 + i] >> 2 * quarter & 3) << 4) - 32
        found.append(scale * struct.unpack("b", scales[place // 16 : place // 16 + 1])[0] * code)
    return found


def blocks(kind: int, count: int) -> bytes:
    """Random blocks whose half-precision scales are plain numbers."""
    rng = np.random.default_rng(kind)
    raw = rng.integers(0, 256, (count, gguf.BYTES[kind]), dtype=np.uint8)
    where = slice(0, 4) if kind == gguf.Q4_K else slice(208, 210)
    raw[:, where] = rng.uniform(0.01, 2, (count, (where.stop - where.start) // 2)).astype(np.float16).view(np.uint8)
    return raw.tobytes()


@pytest.mark.parametrize(("kind", "plainly"), [(gguf.Q4_K, q4_k), (gguf.Q6_K, q6_k)])
def test_packed_values_are_what_the_format_defines(kind, plainly):
    data, size = blocks(kind, 6), gguf.BYTES[kind]
    tensor = gguf.Tensor(kind, (3, 512), data)
    expected = [value for i in range(6) for value in plainly(data[i * size : (i + 1) * size])]
    np.testing.assert_allclose(tensor.values(), np.reshape(expected, (3, 512)), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(tensor.rows(np.array([2, 0])).values(), tensor.values()[[2, 0]])


def test_a_file_gives_its_metadata_and_tensors(tmp_path):
    def text(it: str) -> bytes:
        return struct.pack("<Q", len(it.encode())) + it.encode()

    packed, plain = blocks(gguf.Q4_K, 2), np.arange(4, dtype=np.float32)
    fields = text("general.name") + struct.pack("<I", 8) + text("Lobster")
    fields += text("words") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("ä")
    index = text("w") + struct.pack("<IQQIQ", 2, 256, 2, gguf.Q4_K, 0)
    index += text("b") + struct.pack("<IQIQ", 1, 4, gguf.F32, 288)
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 2) + fields + index
    body = packed + plain.tobytes()
    (tmp_path / "m.gguf").write_bytes(head + b"\0" * (-len(head) % 32) + body)
    about, tensors = gguf.read(tmp_path / "m.gguf")
    assert about == {"general.name": "Lobster", "words": ["a", "ä"]}
    assert tensors["w"] == gguf.Tensor(gguf.Q4_K, (2, 256), packed)
    np.testing.assert_array_equal(tensors["b"].values(), plain)


def test_another_file_is_refused(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"PK not a model, but long enough to look at")
    with pytest.raises(SystemExit, match="no GGUF"):
        gguf.read(tmp_path / "m.gguf")
