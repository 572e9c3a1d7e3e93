"""The argument `gold` of the verbs: which column answers which question.

What a caller gave in; entries as `--gold` takes them out, or an error that shows the form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from davy.core.errors import UserError
from davy.scoring import frames


def gold_entries(gold: Mapping[str, str] | None) -> list[str]:
    """Return question → column as `--gold` takes them; anything but a mapping is an error."""
    if gold is None or isinstance(gold, Mapping):
        return frames.gold_entries(gold)
    if isinstance(gold, str):
        form = f'gold={{"hate": {json.dumps(gold, ensure_ascii=False)}}}'
        raise UserError(f"gold={gold!r} does not say which question that column answers. Name it: {form}")
    raise UserError(
        f'gold is a {type(gold).__name__}; it says which column answers which question: gold={{"hate": "label"}}'
    )
