"""What a team would write in an afternoon: FastAPI and onnxruntime over the network of `embedded-en`, and no more.

Texts in, probabilities out. No keys, limits, languages, windows or decoded answers. Run by `benchmarks.beside`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import onnxruntime
from fastapi import FastAPI
from pydantic import BaseModel
from tokenizers import Tokenizer

from davy.detectors.embedded import WEIGHTS

LONGEST = 128
QUESTION = "hate"


class Texts(BaseModel):
    """What is asked: one text or several."""

    text: str | None = None
    texts: list[str] = []


def create_app() -> FastAPI:
    """Return the service with its network loaded."""
    tokenizer = Tokenizer.from_file(str(WEIGHTS / "embedded-en" / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # one process a core does more than two threads in one run
    session = onnxruntime.InferenceSession(str(WEIGHTS / "embedded-en" / "model.onnx"), options)
    app = FastAPI()

    @app.post("/v1/score")
    def score(asked: Texts) -> dict[str, Any]:
        rows = tokenizer.encode_batch([asked.text] if asked.text is not None else asked.texts)
        ids = np.array([row.ids for row in rows], dtype=np.int64)
        mask = np.array([row.attention_mask for row in rows], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        names = {it.name for it in session.get_inputs()}
        (logits,) = session.run([QUESTION], {name: value for name, value in feed.items() if name in names})
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return {"results": (odds / odds.sum(axis=1, keepdims=True)).tolist()}

    return app


def main() -> None:
    """Serve on the port that is named, with so many workers."""
    import uvicorn

    uvicorn.run(
        "benchmarks._plain_service:create_app", factory=True, port=int(sys.argv[1]), workers=int(sys.argv[2]),
        log_level="error",
    )  # fmt: skip


if __name__ == "__main__":
    main()
