"""schemathesis makes requests from our OpenAPI document, right ones and wrong ones: none may be a bug of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

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


def test_the_document_has_the_doors_for_programs(site):
    document = site.visitor().get("/api/openapi.json").json()
    assert {"/v1/score", "/v1/moderations", "/v1alpha1/comments:analyze"} <= set(document["paths"])
    assert "key" in json.dumps(document["paths"]["/v1alpha1/comments:analyze"]["post"]["parameters"])
