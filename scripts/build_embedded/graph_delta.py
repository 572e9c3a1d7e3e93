"""What a network that learnt on has that its start has not: a file that travels, and back.

    python graph_delta.py cut --start FILE --new FILE --out FILE      constants that are the start's lose their bytes
    python graph_delta.py join --start FILE --delta FILE --out FILE

Tables of word pieces don't learn, so that a delta is a half of its graph.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import onnx

LEFT_OUT = "as at the start"


def cut(start: Any, new: Any) -> Any:
    """Return the new graph without the bytes of constants that the start has, too."""
    known = {it.name: it.SerializeToString() for it in start.graph.initializer}
    for constant in new.graph.initializer:
        if known.get(constant.name) == constant.SerializeToString() and len(constant.raw_data) > 256:
            constant.ClearField("raw_data")
            constant.doc_string = LEFT_OUT
    return new


def join(start: Any, delta: Any) -> Any:
    """Return the new graph from the start and what `cut` left."""
    known = {it.name: it for it in start.graph.initializer}
    for constant in delta.graph.initializer:
        if constant.doc_string == LEFT_OUT:
            constant.CopyFrom(known[constant.name])
    return delta


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("cut", "join"))
    for option in ("--start", "--out"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--new", type=Path)
    parser.add_argument("--delta", type=Path)
    args = parser.parse_args()
    start = onnx.load(str(args.start))
    found = cut(start, onnx.load(str(args.new))) if args.step == "cut" else join(start, onnx.load(str(args.delta)))
    args.out.write_bytes(found.SerializeToString())
    print(args.step, args.out, args.out.stat().st_size)


if __name__ == "__main__":
    main()
