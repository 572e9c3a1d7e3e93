"""The scorer for Inspect, in an evaluation of its own mock model."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from other_programs import PACKAGES, answered, asked, installed

NEEDS = """agent-client-protocol aiohappyeyeballs aiohttp aiosignal docstring-parser frozenlist ijson jsonlines
jsonpatch jsonpath-ng jsonpointer jsonref linkify-it-py mmh3 multidict nest-asyncio2 pathlib-abc platformdirs propcache
python-dotenv semver shortuuid tenacity textual tiktoken universal-pathlib yarl zipfile-zstd"""


@pytest.fixture(scope="session")
def inspect_ai(tmp_path_factory) -> Path:
    """Inspect without its cloud storage, and the adapter as `pip install -e` would announce it."""
    folder = installed(("inspect-ai==0.3.285", *NEEDS.split()), tmp_path_factory.mktemp("inspect"))
    project = tomllib.loads((PACKAGES / "davy-adapters" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "davy_adapters-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: davy-adapters\nVersion: 0\n")
    (info / "direct_url.json").write_text(json.dumps({"url": "file:///adapters", "dir_info": {"editable": True}}))
    points = [f"{name} = {module}" for name, module in project["entry-points"]["inspect_ai"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[inspect_ai]", *points]))
    return folder


EVALUATION = """
import json, os, sys
from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model

def said(text):
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

def evaluated(scorer, *texts):
    model = get_model("mockllm/model", custom_outputs=[said(text) for text in texts], memoize=False)
    task = Task(dataset=[Sample(input="x") for _ in texts], scorer=scorer)
    return eval(task, model=model, display="none", log_dir="logs", max_samples=1, max_connections=1)[0]
"""


def test_inspect_reports_davys_probabilities_and_leaves_out_what_is_not_judged(live, inspect_ai, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = """
from inspect_ai._eval.loader import scorer_from_spec
from inspect_ai.scorer._scorer import ScorerSpec
from davy_adapters.inspect_scorer import davy
from davy_adapters.server import DavyServer

UNJUDGED = {"verdict": None, "path": [], "questions": {}, "unsupported_language": "fr"}
ask = DavyServer.score  # the server's word list judges every language: a detector's answer to French stands in
DavyServer.score = lambda self, text, *rest: UNJUDGED if text == "un jour" else ask(self, text, *rest)
log = evaluated(davy("hate"), "a grumblefop", "a fine day", "un jour", "")
named = scorer_from_spec(ScorerSpec("davy_adapters/davy"), None, question="hate")
again = score(log, named, display="none", action="overwrite")

def results(log):
    return {it.name: [it.scored_samples, it.unscored_samples, it.metrics["mean"].value] for it in log.results.scores}

scores = [it.scores["davy"] for it in log.samples]
print(json.dumps([results(log), results(again), [it.reason for it in scores], scores[0].explanation]))
"""
    first, again, reasons, explanation = answered(asked(live, inspect_ai, EVALUATION + code))
    assert first == again == {"probability": [2, 2, 0.45], "yes": [2, 2, 0.5]}
    assert reasons == [None, None, "not_judged", "not_judged"]
    assert explanation == "hate: 90.00%, yes from 50.00%"


@pytest.mark.parametrize(
    ("question", "env", "words"),
    [
        ("nosuch", {}, "nosuch"),
        ("hate", {"DAVY_KEY": "davy_no_key"}, "answered 401: This API key is not known"),
    ],
)
def test_an_evaluation_that_davy_can_not_score_fails_with_the_servers_words(
    live, inspect_ai, tmp_path, monkeypatch, question, env, words
):
    monkeypatch.chdir(tmp_path)
    code = f"""
from davy_adapters.inspect_scorer import davy
log = evaluated(davy({question!r}), "a grumblefop")
print(json.dumps([log.status, log.error.message, log.results is None]))
"""
    status, message, empty = answered(asked(live, inspect_ai, EVALUATION + code, **env))
    assert (status, empty) == ("error", True)
    assert words in message
