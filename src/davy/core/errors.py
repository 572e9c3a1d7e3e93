"""The one error that a user can fix.

The shell turns it into one line and exit code 2, HTTP into a 4xx page or JSON.
Anything else that is raised is our bug and shows its traceback in the log.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from davy.core.install import install_extra

EXTRAS = {
    "train": (
        *("accelerate", "huggingface_hub", "ml_dtypes", "onnx", "peft", "safetensors", "scipy", "sklearn", "torch"),
        *("transformers", "xgboost"),
    ),
    "memes": ("cv2", "rapidocr"),
    "scale": ("pyarrow", "ray"),
    "postgres": ("psycopg",),
}
"""The packages that come with each extra and not with the base install."""


class UserError(Exception):
    """What is wrong, with which value, and what to do next, in one line.

    `status` is the HTTP status that the web door answers with, `field` the field of a form that it is about, if known.
    """

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.field = ""

    def __str__(self) -> str:
        return self.message


@contextmanager
def about_field(name: str) -> Iterator[None]:
    """Note on an error that is raised in the block which field of a form it is about."""
    try:
        yield
    except UserError as error:
        error.field = error.field or name
        raise


class ArgumentError(UserError, ValueError):
    """A `UserError` as callers of the library get it: a `ValueError`, too."""


class MissingFile(UserError, FileNotFoundError):
    """A file or folder that does not exist."""


class UnknownName(UserError, KeyError):
    """A column, question or model that does not exist, among some that do."""


class KeyedError(UserError):
    """A `UserError` that pages word themselves, in the reader's language: `error.KEY`, filled with `values`."""

    def __init__(self, key: str, message: str, *, status: int = 422, **values: object) -> None:
        super().__init__(message, status=status)
        self.key = key
        self.values = values


def nearest(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known word closest to `word`, or nothing."""
    from difflib import get_close_matches

    folded = {each.casefold(): each for each in reversed(list(known))}
    close = get_close_matches(word.casefold(), list(folded), n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def missing_extra(error: ModuleNotFoundError) -> UserError | None:
    """Return what to install for a package that comes with an extra; None for any other package."""
    root = (error.name or "").partition(".")[0]
    extra = next((name for name, packages in EXTRAS.items() if root in packages), None)
    if extra is None:
        return None
    return UserError(f"This needs {root!r}, which is not installed: {install_extra(extra)}", status=501)
