"""OpenAI's shape: strings, lists, parts; categories by the file; errors as its clients expect them."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from web_site import make_key


def moderate(site, given, *, secret=None, **more):
    secret = secret if secret is not None else make_key(site)[1]
    headers = {"authorization": f"Bearer {secret}"} if secret else {}
    return site.visitor(**headers).post("/v1/moderations", json={"input": given, **more})


def picture() -> str:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "white").save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def test_a_string_gets_one_result_and_a_list_one_for_each(site):
    body = moderate(site, "what a grumblefop").json()
    assert body["id"].startswith("modr-")
    (result,) = body["results"]
    assert result["flagged"] is True
    assert result["categories"]["hate"] is True
    assert result["category_scores"]["hate"] == 0.9
    assert result["category_applied_input_types"]["hate"] == ["text"]
    flags = [it["flagged"] for it in moderate(site, ["a fine day", "grumblefop"]).json()["results"]]
    assert flags == [False, True]


def test_a_category_that_nothing_stands_behind_is_named(site):
    (result,) = moderate(site, "what a grumblefop").json()["results"]
    assert result["categories"]["violence"] is False
    assert "violence" in result["unscored"]
    assert "hate" not in result["unscored"]


def test_parts_are_one_input(site):
    parts = [{"type": "text", "text": "what a"}, {"type": "text", "text": "grumblefop"}]
    assert [it["flagged"] for it in moderate(site, parts).json()["results"]] == [True]


@pytest.mark.parametrize("url", [picture(), "https://example.org/x.png", "data:image/png;base64,%%%", "x"])
def test_a_picture_is_refused_by_a_detector_that_reads_texts_only(site, url):
    answer = moderate(site, [{"type": "image_url", "image_url": {"url": url}}])
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("model", ["omni-moderation-latest", "text-moderation-stable", None])
def test_their_model_names_mean_the_default_here(site, model):
    assert moderate(site, "x", model=model).json()["model"].startswith("keywords")


def test_errors_have_openais_shape(site):
    for answer, status, code in (
        (moderate(site, "x", secret="davy_no_key"), 401, "invalid_api_key"),
        (moderate(site, "x", secret=""), 401, "invalid_api_key"),
        (moderate(site, "x", model="gpt-9"), 404, "model_not_found"),
        (moderate(site, []), 400, None),
        (moderate(site, 5), 400, None),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_the_detectors_are_listed_as_openais_clients_ask_for_them(site):
    from openai import NotFoundError, OpenAI

    _, secret = make_key(site)
    client = OpenAI(base_url="http://127.0.0.1:8460/v1", api_key=secret, http_client=site.visitor(), max_retries=0)
    (model,) = client.models.list().data
    assert (model.object, model.owned_by) == ("model", "davy")
    assert client.models.retrieve(model.id) == model
    with pytest.raises(NotFoundError, match="GET /v1/models lists them"):
        client.models.retrieve("gpt-lantern")
    refused = site.visitor(authorization="Bearer davy_wrong").get("/v1/models")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
