"""Runs from pages: score a file, compare two detectors, evaluate, check; on the server and in a project, each a job."""

from __future__ import annotations

import io
import re

import polars as pl
import pytest

import exchange_case
from davy.annotation.project.store import members
from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.jobs.kinds import job_functions
from davy.jobs.worker import JobWorker
from davy.runs.jobs.tasks import SCORE
from davy.scoring.queue.detectors import Detectors
from excel_file import excel_file
from web_site import Site, post, token_in

TEXTS = "id,body\n1,a fine day\n2,what a grumblefop\n3,a sneezewit\n"
GOLD = "text,hate.gold\n" + "".join(
    f"{'grumblefop' if i % 2 else 'lovely garden'} {i},{'hateful' if i % 2 else 'not hateful'}\n" for i in range(60)
)


@pytest.fixture
def tea(site: Site) -> Site:
    """A site with a filled project that the annotator manages."""
    exchange_case.fill(site.store)
    with site.store.write() as db:
        members.add(db, "tea-1", site.people["annotator"].id, ["manager"], by="shell")
    return site


def work(site: Site) -> None:
    """Run every long job that waits, as a worker would."""
    worker = JobWorker(site.store, job_functions(long=True), files=site.settings.files_folder, once=True)
    worker.start()
    worker.join()


def start(client, verb, base="/runs", file="", **fields):
    """Send a run's form as a browser would; return the answer."""
    page = client.get(f"{base}/new/{verb}")
    token = token_in(page.text)
    fields.setdefault("detector", re.findall(r'value="([^"]+@[^"]+)"', page.text)[:1])
    files = {"file": ("posts.csv", file.encode())} if file else {"file": ("", b"")}
    return client.post(f"{base}/{verb}/upload", data={"csrf": token, **fields}, files=files)


def run_page(site, client, answer):
    assert answer.status_code == 303, answer.text
    assert "Its state appears below" in client.get(answer.headers["location"]).text
    work(site)
    return answer.headers["location"], client.get(answer.headers["location"]).text


def second_detector(site, tmp_path, name="other") -> str:
    """Register a word list that knows only one of the words; return its name@version."""
    words = tmp_path / "other.txt"
    words.write_text("sneezewit\t0.9\n")
    from davy.detectors.load import load

    with site.store.write() as db:
        source = f"keywords:{words}"
        version = load(source).version
        return detectors.add(db, name=name, version=version, source=source, questions=["hate"], by="shell").full_name


def test_a_file_is_scored_and_its_result_can_be_fetched(site):
    client = site.as_("expert")
    address, page = run_page(site, client, start(client, "score", file=TEXTS, text_column="body", explain="yes"))
    assert "scored 3 posts" in page
    name = re.search(r'files/([^"]+)"', page)[1]
    got = pl.read_csv(io.BytesIO(client.get(f"{address}/files/{name}").content))
    assert got["hate.label"].to_list() == ["not hateful", "hateful", "hateful"]
    assert "grumblefop" in got["why:json"][1]
    assert [path.name for path in site.settings.files_folder.iterdir()] == [
        address.rpartition("/")[2]
    ]  # no upload left
    with site.store.read() as db:
        job = jobs.latest(db, kind=SCORE)[0]
    assert (job.state, job.owner, job.project) == ("done", site.people["expert"].id, None)
    assert post(client, f"{address}/remove", page=address).status_code == 303
    assert client.get(f"{address}/files/{name}").status_code == 410


def test_an_excel_file_is_scored_into_a_csv(site):
    client = site.as_("expert")
    table = excel_file([["id", "text"], ["1", "what a grumblefop"], ["2", "a fine day"]])
    token, own = token_in(client.get("/runs/new/score").text), site.app.state.context.part(Detectors).started.full_name
    sent = {"csrf": token, "detector": own}
    answer = client.post("/runs/score/upload", data=sent, files={"file": ("Posts.xlsx", table)})
    address, page = run_page(site, client, answer)
    got = pl.read_csv(io.BytesIO(client.get(f"{address}/files/Posts-scored.csv").content))
    assert got["verdict"].to_list() == ["hateful", "none"]
    assert "scored 2 posts" in page


def test_two_detectors_are_compared_on_a_file_without_labels(site, tmp_path):
    other = second_detector(site, tmp_path)
    client = site.as_("expert")
    own = site.app.state.context.part(Detectors).started.full_name
    answer = start(client, "compare", file=TEXTS, text_column="body", detector=[own, other])
    address, page = run_page(site, client, answer)
    assert "Of 3 posts, the two differ on 1." in page
    name = re.search(r'files/([^"]+)"', page)[1]
    got = pl.read_csv(io.BytesIO(client.get(f"{address}/files/{name}").content))
    assert got["differ"].to_list() == ["hate", "", ""]
    assert got["text"][0] == "what a grumblefop"  # those that differ come first
    assert start(client, "compare", file=TEXTS, detector=[own, own]).status_code == 422


def strict_detector(site) -> str:
    """Register the server's own word list under another name, with a threshold that only one of its words reaches."""
    started, source = site.app.state.context.part(Detectors).started, site.settings.model
    entry = {"name": "strict", "version": started.model["version"], "source": source, "questions": ["hate"]}
    with site.store.write() as db:
        return detectors.add(db, **entry, thresholds={"hate": 0.8}, by="shell").full_name


def test_the_thresholds_that_an_admin_gave_decide_in_a_scored_file_and_the_page_says_so(site):
    client, strict = site.as_("expert"), strict_detector(site)
    address, page = run_page(site, client, start(client, "score", file=TEXTS, text_column="body", detector=[strict]))
    got = pl.read_csv(io.BytesIO(client.get(f"{address}/files/posts-scored.csv").content))
    assert got["hate.label"].to_list() == ["not hateful", "hateful", "not hateful"]
    assert got["hate"].to_list() == pytest.approx([0.0, 0.9, 0.7], abs=0.05)
    assert "with the thresholds that an admin set: strict, hate: threshold 80.0%" in page
    own = site.app.state.context.part(Detectors).started.full_name
    _, page = run_page(site, client, start(client, "score", file=TEXTS, text_column="body", detector=[own]))
    assert "an admin set" not in page


def test_the_thresholds_that_an_admin_gave_decide_in_comparisons_evaluations_and_checks(site):
    client, strict = site.as_("expert"), strict_detector(site)
    own = site.app.state.context.part(Detectors).started.full_name
    _, page = run_page(site, client, start(client, "compare", file=TEXTS, text_column="body", detector=[own, strict]))
    assert "Of 3 posts, the two differ on 1." in page
    assert "strict, hate: threshold 80.0%" in page
    gold = GOLD.replace("grumblefop", "sneezewit")
    address, page = run_page(site, client, start(client, "evaluate", file=gold, detector=[own, strict]))
    found = client.get(f"{address}/files/results.json").json()["questions"]["hate"]["models"]
    accuracy = {name: model["figures"]["accuracy"]["value"] for name, model in found.items()}
    assert accuracy == {own.partition("@")[0]: 1.0, "strict": 0.5}
    assert {model["version"] for model in found.values()} == {own.partition("@")[2]}
    address, page = run_page(site, client, start(client, "check", suite="emoji-de", detector=[strict]))
    assert "strict, hate: threshold 80.0%" in page


def test_a_run_by_a_registered_detector_whose_folder_changed_says_so(site):
    client, strict = site.as_("expert"), strict_detector(site)
    answer = start(client, "score", file=TEXTS, text_column="body", detector=[strict])
    with site.store.write() as db:
        db.exec_driver_sql("UPDATE detectors SET version = 'another' WHERE name = 'strict'")
    work(site)
    assert "holds version" in client.get(answer.headers["location"]).text


def test_a_registered_detector_is_offered_in_the_place_of_the_one_that_the_server_was_started_with(site):
    started, source = site.app.state.context.part(Detectors).started, site.settings.model
    started.model["name"] = "lamp"  # a word list is called by its path, which is too long to be registered
    entry = {"name": "lamp", "version": started.model["version"], "source": source}
    with site.store.write() as db:
        detectors.add(db, **entry, questions=["hate"], thresholds={"hate": 0.8}, by="shell")
    client = site.as_("expert")
    assert client.get("/runs/new/score").text.count(f'value="{started.full_name}"') == 1
    answer = start(client, "score", file=TEXTS, text_column="body", detector=[started.full_name])
    assert "hate: threshold 80.0%" in run_page(site, client, answer)[1]


def test_detectors_are_evaluated_on_a_file_with_a_paired_test(site, tmp_path):
    other = second_detector(site, tmp_path)
    client = site.as_("expert")
    own = site.app.state.context.part(Detectors).started.full_name
    address, page = run_page(site, client, start(client, "evaluate", file=GOLD, detector=[own, other]))
    assert "Macro-F1" in page
    assert "1.000" in page  # the first knows the word of every hateful post
    assert "Is one better?" in page
    report = client.get(f"{address}/files/report.html")
    assert "sandbox allow-scripts" in report.headers["content-security-policy"]
    assert "grumblefop" not in report.text  # no text of a post
    assert "counts as an error" in report.text
    post(client, "/language", {"lang": "de", "next": "/"})
    german = client.get(f"{address}/files/report.html")
    assert german.headers["content-security-policy"] == report.headers["content-security-policy"]
    assert "ein Beitrag ohne Antwort zählt als Fehler" in german.text
    assert "gepaarter Bootstrap" in german.text
    assert ">1,000<" in german.text
    assert client.get(f"{address}/files/../../secret").status_code == 404


def test_a_suite_is_run_and_its_report_is_read_on_the_page(site):
    client = site.as_("expert")
    address, page = run_page(site, client, start(client, "check", suite="emoji-de"))
    assert "All cases" in page
    assert re.search(r"0\.\d{3}", page)
    assert "At a glance" in client.get(f"{address}/files/report.html").text
    post(client, "/language", {"lang": "de", "next": "/"})
    german = client.get(f"{address}/files/report.html").text
    assert "Auf einen Blick" in german
    assert "At a glance" not in german
    assert client.get(f"{address}/files/cells.csv").headers["content-disposition"].startswith("attachment")


def test_posts_are_sampled_from_a_file_by_a_plan_and_the_same_seed_gives_the_same(site):
    client = site.as_("expert")
    texts = "id,text\n" + "".join(
        f"{i},{'what a grumblefop' if i % 4 == 0 else 'a fine day'} {i}\n" for i in range(200)
    )
    plan = {"n-random": "10", "n-keyword": "5", "words": "fine", "n-deciles": "4", "question": "hate", "seed": "3"}
    address, page = run_page(site, client, start(client, "sample", file=texts, **plan))
    name = re.search(r'files/([^"]+)"', page)[1]
    got = pl.read_csv(io.BytesIO(client.get(f"{address}/files/{name}").content))
    counts = dict(got.group_by("sampler").len().iter_rows())
    assert (counts["random"], counts["keyword"]) == (10, 5)
    assert all("fine" in text for text in got.filter(pl.col("sampler") == "keyword")["text"])
    again, _ = run_page(site, client, start(client, "sample", file=texts, **plan))
    assert client.get(f"{again}/files/{name}").content == client.get(f"{address}/files/{name}").content


@pytest.mark.parametrize(
    ("verb", "fields", "words"),
    [
        ("score", {"file": ""}, "choose a file"),
        ("score", {"file": TEXTS, "detector": ["/etc/passwd"]}, "at least one detector"),
        ("score", {"file": TEXTS, "detector": ["keywords:/etc/passwd"]}, "at least one detector"),
        ("sample", {"file": TEXTS, "n-random": "0"}, "how many posts"),
        ("sample", {"file": TEXTS, "n-random": "-3"}, "numbers from 0"),
        ("sample", {"file": TEXTS, "n-keyword": "3"}, "which words"),
        ("check", {"suite": "/etc/passwd"}, "choice"),
        ("check", {"suite": "emoji-en", "detector": []}, "at least one detector"),
    ],
)
def test_what_can_not_be_run_is_said_on_the_form_and_leaves_nothing(site, verb, fields, words):
    client = site.as_("expert")
    answer = start(client, verb, **fields)
    assert answer.status_code == 422
    assert words.lower() in re.sub(r"<[^>]+>", " ", answer.text).lower()
    folder = site.settings.files_folder
    assert not folder.exists() or not list(folder.iterdir())


def test_runs_of_one_person_are_not_seen_by_another_and_annotators_start_none(site):
    client = site.as_("expert")
    address = start(client, "score", file=TEXTS, text_column="body").headers["location"]
    assert site.as_("annotator").get("/runs").status_code == 403
    assert site.as_("admin").get(address).status_code == 200
    with site.store.write() as db:
        from davy.people.store import users

        site.people["another"] = users.add(db, login="another", name="Another", role="expert", by="shell")
    assert site.as_("another").get(address).status_code == 404
    assert address not in site.as_("another").get("/runs").text
    assert address in client.get("/runs").text


def test_one_person_can_not_fill_the_queue(site):
    client = site.as_("expert")
    answers = [start(client, "score", file=TEXTS, text_column="body").status_code for _ in range(6)]
    assert answers == [303] * 5 + [429]


def test_a_project_evaluates_on_its_own_verdicts_and_outsiders_see_nothing_of_it(tea):
    client = tea.as_("annotator")
    base = "/projects/tea-1/train/runs"
    address, page = run_page(tea, client, start(client, "evaluate", base, posts="verdicts"))
    assert "Macro-F1" in page
    outsider = tea.as_("expert")
    for path in (address, f"{address}/files/report.html", base, f"{base}/new/check"):
        assert outsider.get(path).status_code in (403, 404)
    assert outsider.get(address.replace("/projects/tea-1/train", "")).status_code == 404  # nor by the server's address
