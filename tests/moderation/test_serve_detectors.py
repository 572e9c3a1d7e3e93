"""Several detectors on one server: by name and version, swapped and retired while it runs, in every process."""

from __future__ import annotations

import asyncio
import re
import threading
import time

import numpy as np
import pytest
from starlette.testclient import TestClient

from davy import schemes
from davy.core import Abilities, Scores, UserError
from davy.detectors import store as detectors
from davy.detectors.baselines import Majority
from davy.detectors.embedded import weights_folder
from davy.detectors.registered import register_detector
from davy.people.store import keys
from davy.scoring.explain import explain
from davy.scoring.queue.detector import Detector, PostToScore
from davy.scoring.queue.detectors import Detectors
from davy.server.app import create_app
from web_site import post


def save_model(folder, answer="not hateful", name="comments"):
    question = schemes.load("hate").question("hate")
    Majority((question,), {"hate": answer}, name).save(folder)
    return folder


@pytest.fixture
def secret(site):
    with site.store.write() as db:
        return keys.create(db, name="bot", owner=site.people["expert"].id, scopes=["score"], by="shell")[1]


def ask(site, secret, **body):
    headers = {"authorization": f"Bearer {secret}"}
    return site.visitor(**headers).post("/v1/score", json={"text": "a grumblefop", **body})


def add_by_page(site, folder, **more):
    form = {"source": str(folder), "name": "", "state": "active", **more}
    return post(site.as_("admin"), "/detectors", form, page="/detectors")


def test_an_admin_adds_a_detector_and_programs_ask_for_it_by_name(site, secret, tmp_path):
    assert add_by_page(site, save_model(tmp_path / "m1")).status_code == 303
    body = ask(site, secret, model="comments").json()
    assert body["model"]["name"] == "comments"
    assert body["results"][0]["verdict"] == "none"
    assert ask(site, secret, model=f"comments@{body['model']['version']}").json() == body
    assert ask(site, secret).json()["results"][0]["verdict"] == "hateful"


def test_a_default_answers_who_names_no_detector_until_it_is_retired(site, secret, tmp_path):
    add_by_page(site, save_model(tmp_path / "m1"), state="default")
    assert ask(site, secret).json()["model"]["name"] == "comments"
    assert site.visitor().get("/healthz").json()["model"]["name"] == "comments"
    with site.store.read() as db:
        entry = detectors.find(db, "comments")
    answer = post(site.as_("admin"), f"/detectors/{entry.id}/retire", page="/detectors")
    assert answer.status_code == 303
    assert ask(site, secret).json()["model"] == site.app.state.context.part(Detectors).started.model
    answer = ask(site, secret, model="comments")
    assert (answer.status_code, "is retired" in answer.json()["error"]) == (410, True)


def test_a_new_version_takes_over_and_the_old_one_can_come_back(site, secret, tmp_path):
    add_by_page(site, save_model(tmp_path / "m1"))
    first = ask(site, secret, model="comments").json()
    add_by_page(site, save_model(tmp_path / "m2", answer="hateful"))
    second = ask(site, secret, model="comments").json()
    assert first["model"] != second["model"]
    assert [it["results"][0]["verdict"] for it in (first, second)] == ["none", "hateful"]
    with site.store.read() as db:
        old = detectors.find(db, f"comments@{first['model']['version']}")
    post(site.as_("admin"), f"/detectors/{old.id}/activate", page="/detectors")
    assert ask(site, secret, model="comments").json() == first


def test_a_shadow_answers_only_who_names_its_version(site, secret, tmp_path):
    add_by_page(site, save_model(tmp_path / "m1"))
    add_by_page(site, save_model(tmp_path / "m2", answer="hateful"), state="shadow")
    with site.store.read() as db:
        shadow = next(it for it in detectors.list_detectors(db) if it.state == "shadow")
    assert ask(site, secret, model="comments").json()["results"][0]["verdict"] == "none"
    assert ask(site, secret, model=shadow.full_name).json()["results"][0]["verdict"] == "hateful"


def test_an_unknown_detector_is_404_and_the_answer_names_those_there_are(site, secret):
    answer = ask(site, secret, model="nobody")
    assert answer.status_code == 404
    assert site.app.state.context.part(Detectors).started.model["name"] in answer.json()["error"]


def test_thresholds_of_a_detector_decide_its_labels(site, secret, tmp_path):
    register_detector(
        site.store, str(save_model(tmp_path / "m1", answer="hateful")), by="shell", thresholds={"hate": 0.99}
    )
    site.running.portal.call(site.app.state.context.part(Detectors).refresh)
    answer = ask(site, secret, model="comments").json()["results"][0]["questions"]["hate"]
    assert answer["threshold"] == 0.99


def test_another_process_notices_a_swap_within_seconds(site, secret, tmp_path):
    other = create_app(site.settings)
    headers = {"authorization": f"Bearer {secret}"}
    with TestClient(other, base_url=site.settings.base_url, headers=headers) as client:
        add_by_page(site, save_model(tmp_path / "m1"), state="default")
        until = time.monotonic() + 60
        while time.monotonic() < until:
            name = client.post("/v1/score", json={"text": "x"}).json()["model"]["name"]
            if name == "comments":
                break
            time.sleep(0.1)
        assert name == "comments"


def test_the_score_page_offers_the_detectors_and_names_the_one_that_answered(site, tmp_path):
    client = site.as_("annotator")
    assert 'name="model"' not in client.get("/score").text
    add_by_page(site, save_model(tmp_path / "m1"))
    assert '<option value="comments"' in client.get("/score").text
    html = post(client, "/score", {"text": "a grumblefop", "model": "comments"}, page="/score").text
    assert "nothing found" in html
    assert "<code>comments</code>" in html


@pytest.mark.parametrize("role", ["expert", "annotator"])
def test_everybody_sees_detectors_and_their_cards_and_only_admins_change_them(site, role, tmp_path):
    client = site.as_(role)
    page = client.get("/detectors")
    assert page.status_code == 200
    assert 'action="/detectors' not in page.text
    assert client.get("/detectors/started").status_code == 200
    form = {"source": str(save_model(tmp_path / "m1")), "state": "active"}
    assert post(client, "/detectors", form).status_code == 403
    with site.store.read() as db:
        assert detectors.list_detectors(db) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [("/no/such/folder", "no model folder"), ("hf:org/name", "full path"), ("keywords:/etc/passwd", "full path")],
)
def test_the_page_takes_folders_and_embedded_detectors_only(site, source, words):
    answer = add_by_page(site, source)
    assert answer.status_code in (400, 404)
    assert words in answer.text


def test_a_folder_that_changed_is_not_served_as_the_old_version(site, secret, tmp_path):
    folder = save_model(tmp_path / "m1")
    register_detector(site.store, str(folder), by="shell")
    save_model(folder, answer="hateful")
    site.running.portal.call(site.app.state.context.part(Detectors).refresh)
    answer = ask(site, secret, model="comments")
    assert answer.status_code == 503
    assert "holds version" in answer.json()["error"]


def test_few_detectors_are_in_memory_and_the_one_asked_least_lately_goes(store, tmp_path):
    for number in range(3):
        register_detector(store, str(save_model(tmp_path / str(number), name=f"d{number}")), by="shell")
    question = schemes.load("hate").question("hate")

    async def use():
        registry = Detectors(store, Detector(Majority((question,))), most_loaded=2)
        await registry.start()
        for name in ("d0", "d1", "d0", "d2"):
            await registry.score([PostToScore("x")], model=name)
        names = [model["name"] for model in registry.loaded]
        await registry.stop()
        return names

    assert asyncio.run(use()) == ["majority", "d0", "d2"]


def test_many_who_ask_at_once_wait_for_one_loading(store, tmp_path):
    from davy.detectors.registered import load_registered

    register_detector(store, str(save_model(tmp_path / "m")), by="shell")
    question = schemes.load("hate").question("hate")
    loads = []

    def load(entry):
        loads.append(entry.full_name)
        return load_registered(entry)

    async def use():
        registry = Detectors(store, Detector(Majority((question,))), load=load)
        await registry.start()
        answers = await asyncio.gather(*(registry.score([PostToScore("x")], model="comments") for _ in range(20)))
        await registry.stop()
        return {detector.model["name"] for detector, _ in answers}

    assert asyncio.run(use()) == {"comments"}
    assert len(loads) == 1


def test_a_shadow_can_not_be_the_default(store, tmp_path):
    with pytest.raises(UserError, match="can't be the default"):
        register_detector(store, str(save_model(tmp_path / "m")), by="shell", shadow=True, default=True)


def test_a_card_shows_languages_figures_with_intervals_and_known_misses(site):
    with site.store.write() as db:
        entry = detectors.add(db, name="en", version="1", source="embedded-en", questions=["hate"], by="shell")
    page = site.as_("annotator").get(f"/detectors/{entry.id}").text
    card = (weights_folder("embedded-en") / "card.md").read_text(encoding="utf-8")
    interval = re.search(r"^\| hate, dynahate, macro-F1 \| [0-9.]+ \| (\[[0-9., ]+\]) \|", card, re.MULTILINE)[1]
    for words in ("English", "What it misses", interval, "Who should not use it"):
        assert words in page
    assert "60.0%" in page  # the threshold of offensive


def test_a_key_that_may_read_lists_the_detectors(site):
    with site.store.write() as db:
        owner = site.people["expert"].id
        _, read = keys.create(db, name="r", owner=owner, scopes=["read"], by="shell")
        _, score = keys.create(db, name="s", owner=owner, scopes=["score"], by="shell")
        detectors.add(db, name="en", version="1", source="embedded-en", questions=["hate"], by="shell")
    ask = lambda secret: site.visitor(authorization=f"Bearer {secret}").get("/v1/detectors")  # noqa: E731
    found = {it["name"]: it for it in ask(read).json()}
    assert found["en"]["languages"] == ["en"]
    assert [it["name"] for it in found.values() if it["default"]] == [
        site.app.state.context.part(Detectors).default_model["name"]
    ]
    assert ask(score).status_code == 403


class Slow:
    """Answers by the length of a text; notes each call, and waits for the test before it answers an explanation."""

    name, version, abilities = "slow", "1", Abilities()
    questions = (schemes.load("hate").question("hate"),)

    def __init__(self):
        self.calls, self.go_on = [], threading.Semaphore(0)

    def score(self, posts):
        texts = posts["text"].to_list()
        self.calls.append(texts)
        if "long" in texts[0]:
            assert self.go_on.acquire(timeout=60)
        yes = np.array([len(text) / 1_000_000 for text in texts])
        labels = self.questions[0].label_names
        columns = [yes if label == self.questions[0].positive else 1 - yes for label in labels]
        return Scores(self.questions, {"hate": np.stack(columns, axis=1)})


async def until(condition):
    """Wait until something holds; the test ends by its own limit where it never does."""
    for _ in range(6_000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it never came to hold")


LONG = "long " * 1_900


def test_posts_are_scored_between_the_pieces_of_an_explanation():
    async def scene():
        scorer = Slow()
        detector = Detector(scorer)
        await detector.start()
        reasons = [asyncio.create_task(detector.explain(PostToScore(LONG))) for _ in range(3)]
        await until(lambda: detector.counters["requests"] == 3 and scorer.calls)
        for n in range(3):  # a post comes while a piece is scored, and is next
            asked = detector.counters["requests"]
            post = asyncio.create_task(detector.score([PostToScore(f"post {n}")], sender="somebody else"))
            await until(lambda: detector.counters["requests"] == asked + 1)  # noqa: B023 — awaited in this turn
            scorer.go_on.release()
            await post
        assert ["long" in call[0] for call in scorer.calls[:6]] == [True, False] * 3
        for _ in range(300):
            scorer.go_on.release()
        found = await asyncio.gather(*reasons)
        counted = detector.counters["posts"]
        await detector.stop()
        return scorer, counted, found

    scorer, counted, found = asyncio.run(scene())
    pieces = [call for call in scorer.calls if "long" in call[0]]
    assert max(sum(map(len, piece)) for piece in pieces) <= 10_000
    assert counted == 3 + sum(map(len, pieces))
    assert {reason.weights for reason in found} == {explain(LONG, Open()).weights}


class Open(Slow):
    """Answers at once."""

    def __init__(self):
        super().__init__()
        self.go_on = threading.Semaphore(1_000)


def test_an_explanation_ends_with_its_caller():
    async def scene():
        scorer = Slow()
        detector = Detector(scorer)
        await detector.start()
        reason = asyncio.create_task(detector.explain(PostToScore(LONG)))
        await until(lambda: scorer.calls)
        reason.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reason
        scorer.go_on.release()
        await detector.score([PostToScore("a post")])
        await detector.stop()
        return scorer.calls

    assert [len(call) for call in asyncio.run(scene())] == [1, 1]


def test_posts_that_are_explained_have_together_what_one_text_may_have(site, secret):
    most = site.settings.max_text
    half = "grumblefop " * (most // 22)
    body = {"text": None, "texts": [half, half], "explain": True}
    found = ask(site, secret, **body).json()["results"]
    assert [it["explanation"]["label"] for it in found] == ["hateful", "hateful"]
    before = site.app.state.context.part(Detectors).started.counters["posts"]
    answer = ask(site, secret, **{**body, "texts": [half, half, "one word too many"]})
    assert answer.status_code == 413
    assert answer.json()["error"] == (
        f"Posts of {2 * len(half) + 17} characters can't be explained at once; together they may have 10000. "
        "Send them in parts."
    )
    assert site.app.state.context.part(Detectors).started.counters["posts"] == before  # nor was any of it scored
    assert ask(site, secret, text=None, texts=["a"] * 11, explain=True).status_code == 413
