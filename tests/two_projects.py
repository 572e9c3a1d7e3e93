"""A site with two projects and everybody who could ask: what tests of who may see what start from."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import update

import challenge_case
from davy.annotation.care.store import check_ins
from davy.annotation.exchange.jobs import EXPORT
from davy.annotation.labelling import labelling
from davy.annotation.labelling.store import assignments, items
from davy.annotation.project import images as pictures
from davy.annotation.project import project_creation, project_file
from davy.annotation.project.phase_kind import TASKS
from davy.annotation.project.store import members, messages, phases, posts, projects
from davy.annotation.settling.store import cases, codes, verdicts
from davy.challenges.run_challenge import take_submission
from davy.challenges.store import teams
from davy.core import Post, Verdict
from davy.detectors import store as detectors
from davy.jobs import store as jobs
from davy.memes.meme_layout import stack
from davy.moderation.store import communities
from davy.people.store import invitations, keys, users
from davy.report import Page
from davy.rounds.round import Entry
from davy.rounds.store import entries, rounds
from davy.runs import store as project_suites
from davy.runs.jobs.tasks import CHECK
from davy.runs.jobs.training import TRAIN
from davy.runs.pages.suites import SuiteForm
from davy.scheme_editor import store as scheme_drafts
from davy.scheme_editor.draft import draft_of
from davy.schemes import load
from davy.scoring.queue.detectors import Detectors
from davy.store import events
from davy.store.columns import now
from drawn_memes import draw
from web_site import Site, hashed_password

PEOPLE: dict[str, tuple[str, str]] = {
    "outsider": ("annotator", ""),
    "annotator": ("annotator", "annotator"),
    "expert": ("annotator", "expert"),
    "manager": ("annotator", "manager"),
    "wellbeing": ("annotator", "wellbeing"),
    "left": ("annotator", "annotator"),
    "server expert": ("expert", ""),
    "admin": ("admin", ""),
    "manager of q": ("expert", ""),
}
"""Who there is: (role on the server, role in project `p`). `left` was in `p` and left it."""

SECRET = {"p": "the lamp of p is green", "q": "the lamp of q is blue", None: "the lamp of all is white"}


def fill(site: Site) -> dict[str, Any]:
    """Make projects `p` and `q`, each with a post `1` that is settled and a post `2`; return ids by name."""
    with site.store.write() as db:
        for name, (role, _) in PEOPLE.items():
            if name not in site.people or site.people[name].role != role:
                login = name.replace(" ", "-") + "@example.org"
                site.people[name] = users.add(
                    db, login=login, name=f"Real Name of {name}", role=role, by="shell", password_hash=hashed_password()
                )
        ids: dict[str, Any] = {}
        for project in ("p", "q"):
            plan = project_file.parse_plan(f"name: {project}\npreset: hatemoji-check\n".encode(), "p.yaml")
            texts = [SECRET[project], f"another of {project}"]
            frame = pl.DataFrame({"id": ["1", "2"], "text": texts, "image": [None, "a.png"]})
            project_creation.create_project(db, plan, by=events.SHELL, posts_in=[frame])
            key = posts.find_key(db, project, "1")
            settled = Verdict(key, "hate", ("hateful",), "expert")
            verdicts.add(db, settled, load("hate"), by="shell", project=project)
            phase = phases.of_project(db, project)[-1]
            phases.open_phase(db, phase.id, by="shell")
            ids[f"phase of {project}"] = phase.name
            ids[f"code of {project}"] = codes.create(db, project, "Soup", by="shell").id
            ids[f"job of {project}"] = jobs.enqueue(db, "none", {}, owner=events.SYSTEM, project=project).id
        posts.ensure(db, pl.DataFrame({"id": ["1"], "text": [SECRET[None]]}), project=None, by="shell")
        for name, (_, role) in PEOPLE.items():
            if role:
                members.add(db, "p", site.people[name].id, [role], by="shell")
                members.consent(db, "p", site.people[name].id)
        members.leave(db, "p", site.people["left"].id, by="shell")
        members.add(db, "q", site.people["manager of q"].id, ["manager"], by="shell")
    return ids


def fill_rooms(site: Site) -> dict[str, str]:
    """Make the two projects, with one of everything in `p`; return what stands for each part of an address."""
    ids = fill(site)
    for number, project in enumerate(("p", None)):
        files = pictures.PictureFiles("folder", {"a.png": partial(draw, number)})
        with pictures.storing_pictures(site.store, files, {"a.png"}) as stored, site.store.write() as db:
            pictures.add_pictures(db, project, stored, by="shell")
            ids[f"picture of {project}"] = stored["a.png"].key
    with site.store.write() as db:
        annotator = site.people["annotator"].id
        layout = stack([(ids["picture of p"], 320, 240)]).to_dict()
        built = Post("built", "a caption", image=ids["picture of p"], meta={"layout": layout})
        posts.add(db, built, project="p", by="shell")
        rating = phases.add(db, "p", name="rate", kind="rating", answers=5, in_corpus=True, settings={}, by="shell")
        items.add(db, rating, [("built", None, None)], by="shell")
        ids |= {f"{task} of p": meme_assignment(db, task, annotator) for task in TASKS}
        spare = users.add(db, login="spare", name="Spare", role="annotator", by="shell")
        project, member = projects.get(db, "p"), members.get(db, "p", annotator)
        members.add(db, "p", spare.id, ["annotator"], by="shell")
        sheet = labelling.next_sheet(db, project, member)
        for name, kind in (("talk", "discussion"), ("set", "calibration")):
            made = phases.add(db, "p", name=name, kind=kind, answers=1, in_corpus=False, settings={}, by="shell")
            items.add(db, made, [("2", None, None)], by="shell")
            phases.open_phase(db, made.id, by="shell")
        phases.close_phase(db, made.id, by="shell")
        talk = phases.by_name(db, "p", "talk")
        item = items.of_post(db, talk, "2")
        case = cases.add(db, project="p", item=item.id, post=item.post, kind="audit", by="shell", questions=["hate"])
        told = {"project": "p", "format": "long", "phases": [sheet.phase.name], "file": "p.csv"}
        export = jobs.enqueue(db, EXPORT, told, owner=events.SYSTEM, project="p", after=now() + timedelta(days=1))
        result = {"file": "p.csv", "size": 1, "posts": 1, "answers": 1, "settled": 1}  # its file is gone by now
        db.execute(update(jobs.jobs).where(jobs.jobs.c.id == export.id).values(state="done", result=result))
        told = {"project": "p", "name": "d", "kind": "tfidf"}
        training = jobs.enqueue(db, TRAIN, told, owner=events.SYSTEM, project="p", after=now() + timedelta(days=1))
        own_suite = SuiteForm("Lamps", "en", "hate", "hate").to_yaml("lamps")
        suite = project_suites.create(db, "p", "Lamps", own_suite, by="shell")
        runs = {}
        for project, owner in (("p", events.SYSTEM), (None, site.people["admin"].id)):
            told = {"models": ["embedded"], "names": ["embedded"], "suite": "emoji-en"}
            run = jobs.enqueue(db, CHECK, told, owner=owner, project=project, after=now() + timedelta(days=1))
            db.execute(update(jobs.jobs).where(jobs.jobs.c.id == run.id).values(state="done", result={}))
            runs[project] = run.id
        _, token = invitations.create(db, role="annotator", by="shell", project="p", project_roles=["annotator"])
        key, _ = keys.create(db, name="k", owner=site.people["admin"].id, scopes=["score"], by="shell")
        bound = {"owner": site.people["manager"].id, "scopes": ["read"], "project": "p"}
        own_key, _ = keys.create(db, name="p's", **bound, by="shell")
        forum = communities.create(db, communities.Community("forum", "hate", keys=(key.id,), project="p"), by="shell")
        detector = detectors.add(db, name="d", version="1", source="keywords:none", questions=["hate"], by="shell")
        check_in = check_ins.add(db, "p", annotator, words="tired")
        message = messages.ask(db, "p", "Why?", by=annotator)
        duel = phases.add(db, "p", name="duel", kind="round", answers=3, in_corpus=True, settings={}, by="shell")
        phases.open_phase(db, duel.id, by="shell")
        own = site.app.state.context.part(Detectors).started.model
        targets = [f"{own['name']}@{own['version']}"]
        round_ = rounds.add(db, "p", name="Duel", phase=duel.id, question="hate", targets=targets, by="shell")
        entry = Entry("entry1", round_.id, "entry1", annotator, "hateful", fooled=True)
        words = {"text": "the lamp of p is written 🔦", "lang": "en", "key": "k", "bands": ["b"]}
        entries.add(db, round_, entry, load("hate"), {"hate": ("hateful",)}, **words)
        own_scheme = draft_of(load("hate"), name="lamps")
        scheme_draft = scheme_drafts.create(db, site.people["manager of q"].id, own_scheme)
    for own in (*(f"reports/{run}" for run in runs.values()), f"models/{training.id}/description"):
        folder = site.settings.files_folder / own
        folder.mkdir(parents=True, exist_ok=True)
        Page("A report").write(folder / "report.html")
    shown = "/projects/{project_id}/train/runs/{job_id}", "/runs/{job_id}"
    return {
        **fill_challenge(site),
        **{f"{shown[0]}{end} job_id": runs["p"] for end in ("", "/{act}", "/files/{name}")},
        **{f"{shown[1]}{end} job_id": runs[None] for end in ("", "/{act}", "/files/{name}")},
        **{f"{path}/files/{{name}} name": "report.html" for path in shown},
        **{f"{path}/{{act}} act": "cancel" for path in shown},
        "verb": "check",
        "suite_id": suite.id,
        "/projects/{project_id}/train/{job_id} job_id": training.id,
        "/projects/{project_id}/train/{job_id}/{report}.html job_id": training.id,
        "report": "description",
        "/projects/{project_id}/keys/{key_id}/revoke key_id": own_key.id,
        "project_id": "p",
        "job_id": ids["job of p"],
        "/projects/{project_id}/exports/{job_id}/{act} job_id": export.id,
        "/projects/{project_id}/exports/{job_id}/{name} job_id": export.id,
        "/projects/{project_id}/exports/{job_id}/{act} act": "again",
        "/projects/{project_id}/train/{job_id}/{act} job_id": training.id,
        "/projects/{project_id}/train/{job_id}/{act} act": "again",
        "/projects/{project_id}/exports/{job_id}/{name} name": "p.csv",
        "name": ids["phase of p"],
        "/projects/{project_id}/phases/{name}/notes name": "set",
        "/projects/{project_id}/phases/{name}/review name": "set",
        "/static/{name:path} name": "davy.css",
        "act": "retire",
        "draft_id": scheme_draft.id,
        "question_number": "1",
        "edit": "1",
        "/schemes/{draft_id}/{act} act": "restore",
        "assignment_id": sheet.assignment.id,
        "item_id": item.id,
        "post": item.post,
        "case_id": case,
        "token": token,
        "key_id": key.id,
        "round_number": str(round_.number),
        "entry_id": entry.id,
        "check_in_id": check_in.id,
        "message_id": message.id,
        "code_id": ids["code of p"],
        "user_id": spare.id,
        "detector_id": detector.id,
        "community": forum.name,
        "key": ids["picture of p"],
        "/images/{key} key": ids["picture of None"],
        "/projects/{project_id}/library/{key}/small.jpg key": ids["picture of None"],
        "/projects/{project_id}/memes/{post}/meme.svg post": "built",
        "/projects/{project_id}/memes/undo/{path} path": "filter",
        "/projects/{project_id}/memes/filter/{assignment_id} assignment_id": ids["filter of p"],
        "/projects/{project_id}/memes/build/{assignment_id} assignment_id": ids["build of p"],
        "/projects/{project_id}/memes/confound/{assignment_id} assignment_id": ids["confounders of p"],
    }


def meme_assignment(db: Any, task: str, annotator: str) -> str:
    """Add a phase of memes to `p` with one meme, before the annotator, and return the assignment."""
    phase = phases.add(db, "p", name=task, kind=task, answers=1, in_corpus=False, settings={}, by="shell")
    phases.open_phase(db, phase.id, by="shell")
    items.add(db, phase, [("built", None, None)], by="shell")
    held = assignments.take(db, phases.get(db, phase.id), annotator, lease=timedelta(hours=1), at=now())
    assert held is not None
    return held.assignment.id


def fill_challenge(site: Site) -> dict[str, str]:
    """Make a challenge that the manager organises, with a submission of the annotator's team."""
    with tempfile.TemporaryDirectory() as folder:
        challenge_case.make(site.store, Path(folder), site.people["manager"].id)
        path = challenge_case.write_csv(Path(folder) / "p.csv", challenge_case.answers("test", "A", wrong=7))
        captain = site.people["annotator"].id
        with site.store.write() as db:
            for who in ("annotator", "left"):
                teams.accept_rules(db, "mill-valley", site.people[who].id)
            team = teams.create(db, "mill-valley", "Lamplighters", "lamplighters", by=captain, captain=captain)
        sent = take_submission(site.store, path, challenge_case.request(team, captain))
    return {
        "challenge_id": "mill-valley",
        "submission_id": sent.id,
        "/challenges/{challenge_id}/data/{name} name": "train",
        "/challenges/{challenge_id}/organise/{act} act": "settings",
        "/challenges/{challenge_id}/team/{act} act": "create",
        "/challenges/{challenge_id}/submissions/{submission_id}/{act} act": "survey",
    }
