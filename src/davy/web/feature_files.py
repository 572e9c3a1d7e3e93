"""Find what the features' folders hold for the pages, without importing a feature: templates and words.

The name of a folder or a file in, and out come the folders of that name, or one catalogue of words. A feature lies in
the package or one folder down. Nothing deeper is searched, which keeps the server's start short.
"""

from __future__ import annotations

from pathlib import Path

from davy.files.yaml_nodes import load_values

PACKAGE = Path(__file__).parents[1]


def template_folders() -> list[Path]:
    """Return the folder of what the pages share, then every feature's own."""
    return [PACKAGE / "web" / "templates", *feature_folders("pages/templates")]


def feature_folders(name: str) -> list[Path]:
    """Return every feature's folder of this name, in the order of their paths."""
    return sorted([*PACKAGE.glob(f"*/{name}"), *PACKAGE.glob(f"*/*/{name}")])


def load_words(file: str) -> dict[str, str]:
    """Return the words of all `locale` folders that have this file; that two folders have one key is an error."""
    return merge_words([path for folder in feature_folders("locale") if (path := folder / file).is_file()])


def merge_words(paths: list[Path]) -> dict[str, str]:
    """Return the words of several files as one catalogue."""
    words: dict[str, str] = {}
    for path in paths:
        part: dict[str, str] = load_values(path.read_text("utf-8"), path.name)
        if repeated := sorted(words.keys() & part.keys()):
            raise ValueError(f"{path} has keys that another locale folder has too: {', '.join(repeated)}")
        words |= part
    return words
