"""Which files a path means: itself, those of a folder, those that match a pattern, or several paths.

A path in, files out, in order of their names. Several paths are one text with a line each (`join_paths`), so that
whatever takes a path takes several. A folder that Hugging Face's `datasets` saved is known by its own lists,
and its splits by their folders.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from davy.core.errors import UserError
from davy.files.formats import EXTENSIONS, STDIO, format_of, names_format

DATASET = ("dataset_dict.json", "state.json")
"""Either says that `datasets` saved a folder: several splits, or one."""


def join_paths(paths: Sequence[Path | str]) -> str:
    """Return several paths as one text that every reader of files takes; stdin can't be among them."""
    if len(paths) > 1 and STDIO in map(str, paths):
        raise UserError("'-' is stdin, which can't be read together with files. Write it to a file first.")
    return "\n".join(map(str, paths))


def split_paths(source: Path | str) -> list[str]:
    """Return the paths that `join_paths` made one text of; one path is itself."""
    return str(source).splitlines() or [""]


def short_name(source: Path | str) -> str:
    """Return how reports call a source: the file's name without its folder, and how many more there are."""
    first, *more = split_paths(source)
    name = "stdin" if first == STDIO else Path(first).name
    return f"{name} and {len(more)} more" if more else name


def files_of(source: Path | str) -> list[Path | str]:
    """Return the files that a path, a folder, a pattern or several of these mean."""
    paths = split_paths(source)
    if len(paths) > 1:
        return [file for one in paths for file in files_of(one)]
    path = Path(source).expanduser()
    if str(source) == STDIO or path.is_file():
        return [source if str(source) == STDIO else path]
    if path.is_dir():
        if any((path / name).is_file() for name in DATASET):
            within = sorted(file for file in path.rglob("*.arrow") if not file.name.startswith("cache-"))
        else:
            within = [file for file in sorted(path.rglob("*")) if file.is_file() and _holds_posts(file, path)]
        if not within:
            raise UserError(f"The folder {path} holds no file of posts: {', '.join('.' + e for e in EXTENSIONS)}.")
        return list(within)
    if is_pattern(source):
        matches = [Path(name) for name in sorted(glob.glob(str(path), recursive=True)) if Path(name).is_file()]
        if not matches:
            raise UserError(f"No file matches {source}.")
        return list(matches)
    return [path]


def refuse_mixed(files: Sequence[Path | str], source: Path | str) -> None:
    """Raise where a folder's files have several formats: they were hardly meant to be one table."""
    kinds = sorted({format_of(file).name for file in files}) if Path(source).expanduser().is_dir() else []
    if len(kinds) > 1:
        raise UserError(
            f"The folder {source} holds files of several formats: {', '.join(kinds)}. Name them with a pattern in "
            f"quotes, such as '{Path(source) / '*.csv'}'."
        )


def is_many(source: Path | str) -> bool:
    """Return whether a path means a folder, a pattern or several paths, not one file."""
    if len(split_paths(source)) > 1:
        return True
    path = Path(source).expanduser()
    return str(source) != STDIO and not path.is_file() and (path.is_dir() or is_pattern(source))


def is_pattern(source: Path | str) -> bool:
    """Return whether a path has a sign that stands for others."""
    return any(sign in str(source) for sign in "*?[")


def split_of(file: Path, source: Path | str) -> str | None:
    """Return the split that a file of a saved dataset belongs to: the folder that it lies in."""
    root = Path(source).expanduser()
    return file.parent.name if (root / DATASET[0]).is_file() and file.parent != root else None


def _holds_posts(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    return not hidden and names_format(file)
