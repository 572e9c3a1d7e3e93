"""A formula over a detector's answers and word lists: `offensive * max(hate, type["threatening language"])`.

A line of text in, a `Formula` out that computes one number for each post. A name is the probability of that yes/no
question, `question["label"]` that of one label, and `words(kind, …)` is 1 where the text has such a word, else 0.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

LONGEST = 500
_WHAT = 'questions, question["label"], numbers, + - * ( ), max(…), min(…) and words(kind, …)'


@dataclass(frozen=True, slots=True)
class Formula:
    """A checked formula; `answers` are the questions, each with the label that it takes or None for its yes."""

    text: str
    answers: tuple[tuple[str, str | None], ...]
    words: tuple[str, ...]
    """The kinds of words that it looks for."""
    _tree: ast.expr = field(repr=False, compare=False)

    def value(self, chance: Callable[[str, str | None], Array], has_word: Callable[[tuple[str, ...]], Array]) -> Array:
        """Return the number for each post, between 0 and 1."""
        import numpy as np

        def of(node: ast.expr) -> Any:
            if isinstance(node, ast.Constant):
                return node.value
            if isinstance(node, ast.BinOp):
                left, right = of(node.left), of(node.right)
                if isinstance(node.op, ast.Mult):
                    return left * right
                return left + right if isinstance(node.op, ast.Add) else left - right
            if isinstance(node, ast.Call):
                name = _name(node.func)
                if name == "words":
                    return has_word(_kinds(node))
                return (np.maximum if name == "max" else np.minimum).reduce(np.broadcast_arrays(*map(of, node.args)))
            return chance(*_answer(node))

        return np.clip(np.asarray(of(self._tree), dtype=np.float64), 0.0, 1.0)


def parse_formula(text: str) -> Formula:
    """Return a formula; a ValueError says what is wrong with it."""
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text)} characters; at most {LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"{text!r} is no formula; it has {_WHAT}") from None
    answers: dict[tuple[str, str | None], None] = {}
    words: dict[str, None] = {}
    for node in _leaves(tree):
        if isinstance(node, ast.Call):
            words |= dict.fromkeys(_kinds(node))
        elif not isinstance(node, ast.Constant):
            answers[_answer(node)] = None
    if not answers and not words:
        raise ValueError(f"{text!r} has neither a question nor words, so it is the same for every post")
    return Formula(text.strip(), tuple(answers), tuple(words), tree)


def _leaves(node: ast.expr) -> Iterable[ast.expr]:
    """Yield what a formula computes with; a ValueError names what is not allowed."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        yield from _leaves(node.left)
        yield from _leaves(node.right)
    elif isinstance(node, ast.Call) and _name(node.func) in ("max", "min") and len(node.args) > 1 and not node.keywords:
        for argument in node.args:
            yield from _leaves(argument)
    elif (
        (isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value <= 100)
        or (isinstance(node, ast.Call) and _name(node.func) == "words" and _kinds(node))
        or (isinstance(node, ast.Name | ast.Subscript) and _answer(node)[0])
    ):
        yield node
    else:
        raise ValueError(f"{ast.unparse(node)!r} can't stand in a formula; it has {_WHAT}")


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _kinds(node: ast.Call) -> tuple[str, ...]:
    names = tuple(_name(argument) for argument in node.args)
    return names if all(names) and not node.keywords else ()


def _answer(node: ast.expr) -> tuple[str, str | None]:
    """Return a question and its label, or None for its yes; an empty question where the node is neither."""
    if isinstance(node, ast.Subscript):
        label = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return (_name(node.value), label) if isinstance(label, str) else ("", None)
    return _name(node), None
