"""What is advised to install: nothing that a stranger could register under our name."""

import re
from pathlib import Path

from davy.core import install

ROOT = Path(__file__).parents[2]
NAMES_OF_OURS = re.compile(r"pip install (?:--upgrade |-U )?['\"]?davy(?![\w./])")


def test_no_message_or_page_names_a_package_that_is_not_on_the_index():
    assert not install.ON_THE_INDEX, "after the release the pages may name the index; write them and turn this around"
    files = [*(ROOT / "src").rglob("*.*"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("*.md")]
    texts = {path: path.read_text("utf-8") for path in files if path.suffix in (".py", ".yaml", ".html", ".md")}
    kept = {ROOT / "docs" / "decisions.md", ROOT / "src" / "davy" / "core" / "install.py"}
    named = [path for path, text in texts.items() if path not in kept and NAMES_OF_OURS.search(text)]
    assert len(texts) > 500
    assert not named


def test_commands_are_for_the_clone_until_the_release(monkeypatch):
    assert install.install_extra("memes", "train") == "pip install '.[memes,train]'"
    assert install.install_package("davy-large") == "pip install ./packages/davy-large"
    monkeypatch.setattr(install, "ON_THE_INDEX", True)
    assert install.install_extra("train") == "pip install 'davy[train]'"
    assert install.install_package("davy-large") == "pip install davy-large"
