"""Errors in a Python user's words: an error that names shell options in, the same error with arguments out.

Actions are the shell's too, and their errors say `--gold hate=label`. A verb of the library that is marked
`python_words` says `gold={"hate": "label"}` instead, for each option that is one of its arguments. Commands
(`davy train F --out DIR`) stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from davy.core.errors import ArgumentError, UserError

Given = ParamSpec("Given")
Made = TypeVar("Made")

ARGUMENTS = {"text-column": "text", "id-column": "id", "model": "models", "judge": "judges", "baseline": "baselines"}
"""Options whose argument has another name."""
ELSEWHERE = {"images": "davy.load(NAME, images=FOLDER)", "image": "detector.score_meme(FILE)"}
"""Options that another verb has, and how that is called."""
_OPTION = re.compile(
    r"""--(?P<option>[a-z]+(?:-[a-z]+)*)
    (?:[ ](?P<value>[\w.-]+=[\w.-]*\w | (?:[A-Z]+ | \d[\d.]*(?<!\.) | '[^']*')(?![\w-])))?""",
    re.VERBOSE,
)
"""An option, with what follows it where that is a value: NAME, 3, 'x', Q=COLUMN."""
_COMMAND = re.compile(r"\bdavy [a-z][^.:;]*$")


def python_words(verb: Callable[Given, Made]) -> Callable[Given, Made]:
    """Return the verb with errors that name its arguments, not the shell's options; plain ones are ValueErrors."""
    arguments = frozenset(signature(verb).parameters)

    @wraps(verb)
    def worded(*args: Given.args, **options: Given.kwargs) -> Made:
        try:
            return verb(*args, **options)
        except UserError as error:
            error.message = say_arguments(error.message, arguments)
            error.args = (error.message,)
            if type(error) is not UserError:
                raise
            raise ArgumentError(error.message, status=error.status).with_traceback(error.__traceback__) from None

    return worded


def say_arguments(message: str, arguments: frozenset[str]) -> str:
    """Return a message with the options that are among the arguments named as those."""

    def spelt(found: re.Match[str]) -> str:
        option, value = found["option"], found["value"]
        if _COMMAND.search(message[: found.start()]):
            return found[0]
        if option == "set" and value and "settings" in arguments:
            return value
        name = next((it for it in (option, ARGUMENTS.get(option, "")) if it.replace("-", "_") in arguments), None)
        if name is None:
            return ELSEWHERE.get(option, found[0])
        name = name.replace("-", "_")
        if not value:
            return f"`{name}`"
        key, equals, rest = value.partition("=")
        return f'{name}={{"{key}": "{rest}"}}' if equals else f"{name}={value}"

    return _OPTION.sub(spelt, message)
