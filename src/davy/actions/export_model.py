"""Export a model: a trained folder as an ONNX folder that runs without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from davy.actions.posts import Posts, load_joined
from davy.core.errors import UserError


def export_model(
    model: Path,
    out: Path,
    *,
    dev: Posts | None = None,
    exact: bool = False,
    table_bits: int = 8,
    matrix_bits: int = 8,
) -> dict[str, Any]:
    """Write a trained model as ONNX, rounded to int8 unless `exact`; return its size and, with dev, the gaps in scores.

    The settled answers of `dev` also set thresholds and calibration.
    """
    from davy.train.export import export_onnx

    for option, bits in (("--table-bits", table_bits), ("--matrix-bits", matrix_bits)):
        if bits not in (4, 8):
            raise UserError(f"{option} is {bits}; it is 8 or 4.")
    if exact and (table_bits, matrix_bits) != (8, 8):
        raise UserError("--exact keeps 32 bits; leave it out, or --table-bits and --matrix-bits.")
    posts = None if dev is None else load_joined([dev])
    return export_onnx(model, out, dev=posts, int8=not exact, table_bits=table_bits, matrix_bits=matrix_bits)
