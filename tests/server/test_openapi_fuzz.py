"""schemathesis makes requests from our OpenAPI document, right ones and wrong ones: none may be a bug of ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from pydantic import TypeAdapter

from davy.moderation.api_answers import (
    DetectorAnswer,
    ModerationAnswer,
    PerspectiveAnswer,
    PerspectiveCorrection,
    ScoreAnswer,
)
from davy.people.store import users
from davy.server.api_description import Error, GoogleError, OpenAIError
from davy.web.error_pages import OPENAI
from web_site import make_key

SECONDS = 240


@pytest.mark.slow
def test_no_request_that_the_document_allows_or_forbids_is_a_bug(live, tmp_path):
    _, secret = make_key(live.site, role="admin", scopes=("admin",), per_minute=10_000_000)
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        f"{live.url}/api/openapi.json",
        "--header",
        f"Authorization: Bearer {secret}",
        "--checks",
        "not_a_server_error",
        "--phases",
        "coverage,fuzzing",
        "--max-examples",
        "12",
        "--seed",
        "7",
        "--report",
        "ndjson",
        "--report-dir",
        str(tmp_path),
        "--suppress-health-check",
        "all",
        "--no-color",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-6000:]
    assert httpx.get(f"{live.url}/healthz").status_code == 200


@pytest.fixture
def document(site):
    return site.visitor().get("/api/openapi.json").json()


def test_the_document_is_valid_and_has_the_addresses_for_programs(document):
    assert {"/v1/score", "/v1/moderations", "/v1alpha1/comments:analyze"} <= set(document["paths"])
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert named <= set(document["components"]["schemas"])


def test_each_operation_says_its_key_its_scope_and_the_errors_in_their_own_shape(document):
    schemes = document["components"]["securitySchemes"]
    score = document["paths"]["/v1/score"]["post"]
    assert (score["x-davy-scope"], score["security"]) == ("score", [{"bearer": []}, {"session": []}])
    analyze = document["paths"]["/v1alpha1/comments:analyze"]["post"]
    assert analyze["security"] == [{"key": []}, {"google": []}, {"bearer": []}]
    for path, methods in document["paths"].items():
        shape = "GoogleError" if "v1alpha1" in path else "OpenAIError" if path.startswith(OPENAI) else "Error"
        for operation in methods.values():
            assert {name for it in operation.get("security", []) for name in it} <= set(schemes)
            for status, answer in operation["responses"].items():
                if status != "200":
                    schema = answer["content"]["application/json"]["schema"]
                    assert schema["$ref"].endswith(f"/{shape}"), (path, status)
    open_to_all = {
        path for path, methods in document["paths"].items() if not any("security" in it for it in methods.values())
    }
    assert open_to_all == {"/healthz", "/readyz", "/metrics", "/$discovery/rest"}


def test_answers_and_errors_are_of_the_types_that_the_document_has(site):
    _, secret = make_key(site, scopes=("score", "read"))
    asked = site.visitor(authorization=f"Bearer {secret}", accept="application/json")
    scored = asked.post(
        "/v1/score", json={"posts": [{"text": "a grumblefop", "id": "1"}], "lang": "en", "explain": True}
    )
    ScoreAnswer.model_validate(scored.json(), strict=True)
    TypeAdapter(list[DetectorAnswer]).validate_python(asked.get("/v1/detectors").json(), strict=True)
    body = {"comment": {"text": "a grumblefop"}, "languages": ["en"], "requestedAttributes": {"IDENTITY_ATTACK": {}}}
    PerspectiveAnswer.model_validate(asked.post("/v1alpha1/comments:analyze", json=body).json())
    sent = {**body, "attributeScores": {"IDENTITY_ATTACK": {"summaryScore": {"value": 1}}}}
    del sent["requestedAttributes"]
    PerspectiveCorrection.model_validate(asked.post("/v1alpha1/comments:suggestscore", json=sent).json())
    ModerationAnswer.model_validate(asked.post("/v1/moderations", json={"input": "a day"}).json(), strict=True)
    for path, shape in (
        ("/v1/score", Error),
        ("/v1alpha1/comments:analyze", GoogleError),
        ("/v1/moderations", OpenAIError),
    ):
        for caller in (asked, site.visitor(authorization="Bearer davy_no")):
            refused = caller.post(path, json={"nonsense": 1})
            assert refused.status_code in (400, 401, 422)
            shape.model_validate(refused.json(), strict=True)


@pytest.mark.parametrize("lang", ["en", "de"])
def test_the_page_lists_every_operation_and_type_without_anything_from_elsewhere(site, document, lang):
    text = site.visitor(**{"accept-language": lang}).get("/api").text
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in text
    for used in re.findall(r'href="#(\w+)"', text):
        assert f'id="{used}"' in text
    assert "https://" not in text


def test_the_page_is_in_the_language_of_who_is_signed_in_and_says_so_at_the_top(site):
    with site.store.write() as db:
        users.set_language(db, site.people["annotator"].id, "de", by="davy")
    text = site.as_("annotator").get("/api").text
    assert "Wo ein Schlüssel stehen darf" in text
    assert 'href="/account"' in text
