"""Find what the features' folders hold for the pages, without importing a feature.

The name of a folder in, such as `pages/templates`, and out come all folders of that name. A feature lies in the
package or one folder down, so nothing deeper is searched: that keeps the server's start short.
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def template_folders() -> list[Path]:
    """Return the folder of what the pages share, then every feature's own."""
    return [PACKAGE / "web" / "templates", *feature_folders("pages/templates")]


def feature_folders(name: str) -> list[Path]:
    """Return every feature's folder of this name, in the order of their paths."""
    return sorted([*PACKAGE.glob(f"*/{name}"), *PACKAGE.glob(f"*/*/{name}")])
