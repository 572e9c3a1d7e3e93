"""The readable tour: one post from a file to a served verdict. Later rooms add their step where it belongs."""

from datetime import UTC, datetime

import polars as pl
from starlette.testclient import TestClient

from davy import schemes
from davy.core import Annotation, Verdict
from davy.files import tables
from davy.measure.agreement import coefficient
from davy.measure.ratings import Ratings
from davy.models.load import load
from davy.score.batch import score_frames
from davy.serve.app import create_app
from davy.serve.settings import ServerSettings
from davy.store import annotations, keys, posts, users, verdicts
from davy.store import schemes as stored_schemes

POST = "Those grumblefops should stay at home 🙄"


def test_follow_one_post(tmp_path, store):
    # Somebody collected posts in a spreadsheet of their own making.
    sheet = tmp_path / "collected.csv"
    sheet.write_text(f"nr;comment\n1;{POST}\n2;What a lovely day ☀️\n", encoding="utf-8-sig")

    # collect: whatever the file is, it becomes posts with our columns.
    archive = tmp_path / "posts.parquet"
    assert tables.convert(sheet, archive, text="comment", id="nr").rows == 2
    frame = next(tables.batches(archive))
    assert frame["text"].to_list()[0] == POST

    # store: posts and the scheme that people will answer. Every change is recorded with who and when.
    scheme = schemes.load("gmhp7k")
    with store.write() as db:
        admin = users.add(db, login="ada@example.org", name="Ada", role="admin", password_hash="x", by="setup")
        people = [
            users.add(db, login=f"{name}@example.org", name=name, role="annotator", password_hash="x", by=admin.id)
            for name in ("Bea", "Cem", "Dia")
        ]
        assert posts.add_frames(db, [frame], by=admin.id) == 2
        stored_schemes.save(db, scheme, schemes.to_yaml(scheme), by=admin.id)

    # annotate: three people answer, each alone. The second question is asked only where the first got a "hateful".
    answers = [{"hate": ("hateful",), "misogynistic": (m,)} for m in ("misogynistic", "not misogynistic")]
    answers.append({"hate": ("not hateful",)})
    assert [q.name for q in scheme.asked({"hate": ("hateful",)})] == ["hate", "misogynistic"]
    assert [q.name for q in scheme.asked(answers[2])] == ["hate"]
    given = [
        Annotation(f"a{i}", "1", person.id, "gmhp7k", scheme.version, 1, answer, datetime.now(UTC), seconds=4.0)
        for i, (person, answer) in enumerate(zip(people, answers, strict=True))
    ]
    for annotation in given:
        with store.write() as db:
            assert annotations.add(db, annotation, scheme)

    # measure: how far do they agree? Two of three, so one pair of three.
    with store.read() as db:
        rows = list(annotations.answer_rows(db, scheme="gmhp7k", version=scheme.version, question="hate"))
    ratings = Ratings.from_rows(*zip(*rows, strict=True))
    assert abs(coefficient("percent", ratings.counts()) - 1 / 3) < 1e-9

    # adjudicate: the verdict names its basis and the answers that it rests on.
    settled = Verdict("1", "hate", ("hateful",), "majority", tuple(a.id for a in given))
    with store.write() as db:
        verdicts.add(db, settled, scheme, by="adjudication")
        assert verdicts.of_post(db, "1", scheme="gmhp7k", version=scheme.version)["hate"] == settled

    # score: a detector reads the same post; here a word list is enough.
    words = tmp_path / "words.txt"
    words.write_text("grumblefop\ngrumblefops\n", encoding="utf-8")
    scored = pl.concat(score_frames(tables.batches(archive), load(f"keywords:{words}")))
    assert scored["verdict"].to_list() == ["hateful", "none"]
    assert scored.columns[: len(frame.columns)] == frame.columns

    # serve: the same verdict over HTTP, with the model's name and version.
    with store.write() as db:
        service = users.add(db, login="bot@example.org", name="Bot", role="admin", by="setup")
        _, secret = keys.create(db, owner=service.id, name="forum", scopes=("score",), by=service.id)
    url = store.url.render_as_string(hide_password=False)
    settings = ServerSettings(database=url, secret_key="s" * 32, model=f"keywords:{words}")
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as forum:
        answer = forum.post("/v1/score", json={"text": POST}, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["results"][0]["verdict"] == "hateful"
    assert answer.json()["model"]["version"]
