"""The files of `deploy/` fit the program: options that it has, one user, and a port that the check asks."""

from __future__ import annotations

from pathlib import Path

import yaml
from typer.testing import CliRunner

from davy.moderation.attribute_map import load_attributes
from davy.shell.app import app
from davy.text.words import sentence_spans

DEPLOY = Path(__file__).parent.parent.parent / "deploy"


def test_the_file_of_options_is_taken_by_davy_serve(monkeypatch):
    asked = []
    monkeypatch.setattr("davy.server.start.run", asked.append)
    done = CliRunner().invoke(app, ["serve", "--config", str(DEPLOY / "serve.yaml")])
    assert done.exit_code == 0, done.output
    assert (asked[0].workers, asked[0].log_json, asked[0].base_url) == (2, True, "https://davy.example.org")


def test_the_compose_file_names_variables_that_davy_serve_reads():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    given = {name for name in services["davy"]["environment"] if name.startswith("DAVY_")}
    sources = [
        DEPLOY.parent / "src/davy" / name
        for name in ("server/cli/serve.py", "web/settings.py", "annotation/project/store/images.py")
    ]
    text = "".join(path.read_text() for path in sources)
    assert [name for name in given if name not in text] == []
    assert {"DAVY_FILES", "DAVY_IMAGES", "DAVY_SECRET_KEY"} <= given, "PostgreSQL needs these"


def test_the_unit_and_the_container_start_what_there_is():
    assert "ExecStart=/opt/davy/bin/davy serve" in (DEPLOY / "davy.service").read_text()
    container = (DEPLOY / "Containerfile").read_text()
    assert 'CMD ["davy", "serve"]' in container
    assert "USER davy" in container


def test_sentences_are_found_as_in_perspectives_example():
    text = "What kind of name is foo? Sorry, I like your name."
    assert [text[a:b] for a, b in sentence_spans(text)] == ["What kind of name is foo?", "Sorry, I like your name."]
    assert [len(sentence_spans(it)) for it in ("", "  ", "one", "Dr. Who, e.g. z.B. 3.5 metres. Two", "a\nb\n\nc")] == [
        0, 0, 1, 2, 3,
    ]  # fmt: skip
    assert len(sentence_spans("A bee. " * 500, most=10)) == 10


def test_every_attribute_of_the_guide_is_in_the_shipped_file():
    guide = (DEPLOY.parent / "docs/serve/perspective.md").read_text()
    covered = [name for name, source in load_attributes().attributes.items() if source]
    assert [name for name in covered if f"| `{name}`" not in guide] == []
