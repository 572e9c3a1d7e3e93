"""The files of `deploy/` fit the program: options that it has, one user, and a port that the check asks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml
from typer.testing import CliRunner

from davy.moderation.attribute_map import load_attributes
from davy.shell.app import app
from davy.text.words import sentence_spans
from davy.web.metrics import GAUGES, Metrics

DEPLOY = Path(__file__).parent.parent.parent / "deploy"


def test_the_file_of_options_is_taken_by_davy_serve(monkeypatch):
    asked = []
    monkeypatch.setattr("davy.server.start.run", asked.append)
    done = CliRunner().invoke(app, ["serve", "--config", str(DEPLOY / "serve.yaml")])
    assert done.exit_code == 0, done.output
    assert (asked[0].workers, asked[0].log_json, asked[0].base_url) == (2, True, "https://davy.example.org")


def test_the_compose_file_names_variables_that_davy_serve_reads():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    given = {name.removesuffix("_FILE") for name in services["davy"]["environment"] if name.startswith("DAVY_")}
    sources = [
        DEPLOY.parent / "src/davy" / name
        for name in ("server/cli/serve.py", "web/settings.py", "annotation/project/store/images.py", "store/url.py")
    ]
    text = "".join(path.read_text() for path in sources)
    assert [name for name in given if name not in text] == []
    assert {"DAVY_FILES", "DAVY_IMAGES", "DAVY_SECRET_KEY"} <= given, "PostgreSQL needs these"


def test_every_service_of_the_compose_file_has_limits_and_every_secret_is_a_file_that_it_names():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        assert {"mem_limit", "pids_limit", "logging", "restart"} <= set(service), name
        environment = service.get("environment", {})
        files = {value.removeprefix("/run/secrets/") for key, value in environment.items() if key.endswith("_FILE")}
        assert files == set(service.get("secrets", [])), name
        assert files <= set(compose["secrets"])
        assert not [key for key in environment if key.endswith(("PASSWORD", "SECRET_KEY"))], name


def test_a_build_sees_what_it_copies_and_neither_data_nor_secrets():
    lines = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    let_in = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert [name for name in let_in if not (DEPLOY.parent / name).exists()] == []
    assert {"src", "pyproject.toml", "constraints.txt", "hatch_build.py", "README.md", "LICENSE"} <= let_in
    assert {"**/*.sqlite*", "**/*.secret"} <= set(lines)
    assert let_in.isdisjoint({"tests", "secrets", ".git", "docs"})


def known_series() -> dict[str, set[str]]:
    """Return the series that a server tells, with their labels, from a real answer."""
    metrics = Metrics()
    metrics.answered("GET", "/", 200, 0.1)
    metrics.scored("m@1", 1, 0.1)
    metrics.gauges = lambda: [(name, {"model": "m", "what": "waiting", "state": "failed"}, 1) for name in GAUGES]
    found: dict[str, set[str]] = {}
    for line in metrics.text().splitlines():
        if series := re.match(r"([a-z_]+)(?:\{(.*)\})? ", line):
            found.setdefault(series[1], set()).update(re.findall(r'(\w+)="', series[2] or ""))
    return found


def expressions() -> list[str]:
    alerts = yaml.safe_load((DEPLOY / "prometheus-alerts.yaml").read_text())["groups"][0]["rules"]
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    return [rule["expr"] for rule in alerts] + [it["expr"] for panel in panels for it in panel["targets"]]


def test_alerts_and_the_dashboard_ask_for_series_and_labels_that_there_are():
    known = known_series()
    assert len(expressions()) > 20
    for expression in expressions():
        for name, labels in re.findall(r"\b(davy_\w+)(?:\{([^}]*)\})?", expression):
            assert name in known, expression
            assert set(re.findall(r"(\w+)\s*=~?", labels)) <= known[name], expression
        for grouped in re.findall(r"by \(([^)]*)\)", expression):
            assert set(grouped.split(", ")) <= set.union(*known.values()), expression


def test_each_alert_says_what_is_wrong_and_what_to_do():
    for rule in yaml.safe_load((DEPLOY / "prometheus-alerts.yaml").read_text())["groups"][0]["rules"]:
        assert rule["labels"]["severity"] in ("page", "ticket", "info")
        assert {"summary", "action"} <= set(rule["annotations"]), rule["alert"]
        opened, closed = rule["expr"].count("("), rule["expr"].count(")")
        assert opened == closed, rule["alert"]


def test_the_unit_and_its_socket_fit_each_other():
    unit, sock = ((DEPLOY / name).read_text() for name in ("davy.service", "davy.socket"))
    assert "Type=notify" in unit
    assert "Requires=davy.socket" in unit
    options = yaml.safe_load((DEPLOY / "serve.yaml").read_text())
    assert f"ListenStream={options['host']}:{options['port']}" in sock


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
