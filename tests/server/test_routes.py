"""Who may ask for what: every route of the app, by who asks. A route without a line here fails, and each is requested.

One mark for each person, in this order; the project in an address is `p`, and what else it names is p's own:

    1 anonymous    nobody is signed in
    2 outsider     has an account, and is in no project
    3 annotator    of p
    4 expert       of p
    5 manager      of p
    6 wellbeing    contact of p
    7 left         was an annotator of p
    8 manager of q another project's manager, and an expert of the server
    9 admin        of the server, in no project

    +  may: what comes back is the page, or says what the empty form lacks
    -  may not: 403 or 404, whether it exists or not
    >  has to sign in first
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from davy.people.store import invitations, sessions
from davy.runs import store as project_suites
from davy.web.settings import ServerSettings
from two_projects import fill_rooms
from web_site import PASSWORD, Site, make_site, token_in

WHO = ("", "outsider", "annotator", "expert", "manager", "wellbeing", "left", "manager of q", "admin")

# Who: 1 anonymous, 2 outsider, 3 annotator, 4 expert, 5 manager, 6 wellbeing, 7 left, 8 manager of q, 9 admin.
ROUTES = """
# open to all
GET  /                                                                      +++++++++
GET  /api                                                                   +++++++++
GET  /api/openapi.json                                                      +++++++++
GET  /favicon.ico                                                           +++++++++
GET  /$discovery/rest                                                       +++++++++
GET  /healthz                                                               +++++++++
GET  /readyz                                                                +++++++++
GET  /invitation/{token}                                                    +++++++++
POST /invitation/{token}                                                    +++++++++
POST /language                                                              +++++++++
GET  /new-password/{token}                                                  +++++++++
POST /new-password/{token}                                                  +++++++++
GET  /sign-in                                                               +++++++++
POST /sign-in                                                               >>>>>>>>>
GET  /static/{name:path}                                                    +++++++++

# for everybody with an account
GET  /account                                                               >++++++++
POST /account                                                               >++++++++
GET  /account/my-data.json                                                  >++++++++
POST /account/labelling                                                     >++++++++
POST /account/password                                                      >++++++++
POST /account/sessions/{session_id}/end                                     >++++++++
GET  /confirm                                                               >++++++++
POST /confirm                                                               >--------
POST /projects/restore                                                      >--------
GET  /api/jobs                                                              >++++++++
GET  /jobs                                                                  >++++++++
GET  /posts                                                                 >++++++++
GET  /projects                                                              >++++++++
GET  /detectors                                                             >++++++++
GET  /detectors/{detector_id}                                               >++++++++
GET  /score                                                                 >++++++++
POST /score                                                                 >++++++++
POST /score/upload                                                          >++++++++
GET  /v1/detectors                                                          >++++++++
POST /v1/score                                                              >++++++++

# for programs with a key; a session never counts (Google says 403 where no key is sent)
POST /v1/moderations                                                        >>>>>>>>>
GET  /v1/appeals/{appeal_id}                                                >>>>>>>>>
POST /v1/appeals                                                            >>>>>>>>>
GET  /v1/models                                                             >>>>>>>>>
GET  /v1/models/{model:path}                                                >>>>>>>>>
POST /v1alpha1/comments:analyze                                             ---------
POST /v1alpha1/comments:suggestscore                                        ---------

# for roles on the server
GET  /api/events                                                            >-------+
GET  /audit                                                                 >-------+
GET  /communities                                                           >-------+
POST /communities                                                           >-------+
GET  /communities/{community}                                               >-------+
POST /communities/{community}                                               >-------+
POST /communities/{community}/corrections                                   >-------+
GET  /communities/{community}/decisions                                     >-------+
POST /communities/{community}/delete                                        >-------+
POST /communities/{community}/secret                                        >-------+
POST /communities/{community}/webhook-test                                  >-------+
GET  /communities/{community}/decisions.csv                                 >-------+
GET  /communities/{community}/reasons.json                                  >-------+
POST /communities/{community}/fit                                           >-------+
POST /detectors                                                             >-------+
GET  /detectors/shadow                                                      >-------+
POST /detectors/{detector_id}/default                                       >-------+
POST /detectors/{detector_id}/{act}                                         >-------+
GET  /images/{key}                                                          >------++
GET  /keys                                                                  >------++
POST /keys                                                                  >------++
POST /keys/{key_id}/revoke                                                  >-------+
GET  /metrics                                                               >------++
GET  /people                                                                >-------+
POST /people/invitations/{invitation_id}/revoke                             >-------+
POST /people/invite                                                         >-------+
POST /people/{user_id}/enable                                               >-------+
POST /people/{user_id}/end-sessions                                         >-------+
POST /people/{user_id}/new-password                                         >-------+
GET  /retention                                                             >-------+
POST /retention                                                             >-------+
POST /people/{user_id}/role                                                 >-------+
GET  /projects/new                                                          >------++
POST /projects/new/upload                                                   >------++
POST /projects/sample                                                       >------++
GET  /runs                                                                  >------++
GET  /runs/new/{verb}                                                       >------++
GET  /runs/{job_id}                                                         >-------+
GET  /runs/{job_id}/files/{name}                                            >-------+
POST /runs/{job_id}/{act}                                                   >-------+
POST /runs/{verb}/upload                                                    >------++

# schemes of one's own: the one in these addresses is the manager of q's
GET  /schemes                                                               >------++
POST /schemes                                                               >------++
GET  /schemes/{draft_id}                                                    >------+-
POST /schemes/{draft_id}                                                    >------+-
GET  /schemes/{draft_id}/preview                                            >------+-
GET  /schemes/{draft_id}/scheme.yaml                                        >------+-
POST /schemes/{draft_id}/questions                                          >------+-
GET  /schemes/{draft_id}/questions/{question_number}                        >------+-
POST /schemes/{draft_id}/questions/{question_number}                        >------+-
POST /schemes/{draft_id}/questions/{question_number}/{act}                  >------+-
POST /schemes/{draft_id}/bring-back/{edit}                                  >------+-
POST /schemes/{draft_id}/{act}                                              >------+-

# challenges: the annotator leads a team, the manager organises, who left has accepted the rules
GET  /api/challenges                                                        >++++++++
GET  /api/challenges/{challenge_id}                                         >++++++++
GET  /api/challenges/{challenge_id}/board                                   >++++++++
GET  /api/challenges/{challenge_id}/submissions                             >-+------
POST /api/challenges/{challenge_id}/submissions/upload                      >-+------
GET  /challenges                                                            +++++++++
GET  /challenges/new                                                        >------++
POST /challenges/new/labelled/upload                                        >------++
POST /challenges/new/upload                                                 >------++
GET  /challenges/{challenge_id}                                             >++++++++
GET  /challenges/{challenge_id}/analysis                                    >---+---+
POST /challenges/{challenge_id}/baselines/upload                            >---+---+
GET  /challenges/{challenge_id}/board                                       >++++++++
GET  /challenges/{challenge_id}/data/{name}                                 >-+-+-+-+
GET  /challenges/{challenge_id}/kit.zip                                     >-+-+-+-+
GET  /challenges/{challenge_id}/organise                                    >---+---+
POST /challenges/{challenge_id}/organise/invite                             >---+---+
POST /challenges/{challenge_id}/organise/{act}                              >---+---+
GET  /challenges/{challenge_id}/submissions/{submission_id}                 >-+------
POST /challenges/{challenge_id}/submissions/{submission_id}/{act}           >-+------
GET  /challenges/{challenge_id}/submit                                      >-+------
POST /challenges/{challenge_id}/submit/upload                               >-+------
GET  /challenges/{challenge_id}/team                                        >-+---+--
POST /challenges/{challenge_id}/team/{act}                                  >-+---+--

# a project: overview
GET  /projects/{project_id}                                                 >-++++--+

# a project: its jobs
GET  /jobs/{job_id}                                                         >---+---+
POST /jobs/{job_id}/cancel                                                  >---+---+

# a project: labelling
GET  /projects/{project_id}/consent                                         >-++-----
POST /projects/{project_id}/consent                                         >-++-----
GET  /projects/{project_id}/discussion                                      >-++-----
GET  /projects/{project_id}/discussion/{item_id}                            >-++-----
POST /projects/{project_id}/discussion/{item_id}                            >-++-----
GET  /projects/{project_id}/label                                           >-++-----
POST /projects/{project_id}/label/undo                                      >-++-----
GET  /projects/{project_id}/label/{assignment_id}                           >-+------
POST /projects/{project_id}/label/{assignment_id}                           >-+------
GET  /projects/{project_id}/mine                                            >-++-----
GET  /projects/{project_id}/mine/answers                                    >-++-----
GET  /projects/{project_id}/rest                                            >-++-----
POST /projects/{project_id}/rest                                            >-++-----

# a project: rounds
GET  /projects/{project_id}/rounds                                          >-++++--+
POST /projects/{project_id}/rounds                                          >---+---+
GET  /projects/{project_id}/rounds/{round_number}                           >-++++--+
GET  /projects/{project_id}/rounds/story                                    >-++++--+
GET  /projects/{project_id}/rounds/{round_number}/close                     >---+---+
POST /projects/{project_id}/rounds/{round_number}/close                     >---+---+
GET  /projects/{project_id}/rounds/{round_number}/contrast                  >-++-----
GET  /projects/{project_id}/rounds/{round_number}/contrast/{entry_id}       >-++-----
POST /projects/{project_id}/rounds/{round_number}/contrast/{entry_id}       >-++-----
GET  /projects/{project_id}/rounds/{round_number}/enter                     >-++-----
POST /projects/{project_id}/rounds/{round_number}/enter                     >-++-----
POST /projects/{project_id}/rounds/{round_number}/entries/{entry_id}/take-back >-+------
GET  /projects/{project_id}/rounds/{round_number}/entries/{entry_id}/why    >-+------
POST /projects/{project_id}/rounds/{round_number}/seeds/upload              >---+---+

# a project: pictures
GET  /projects/{project_id}/images                                          >---+---+
GET  /projects/{project_id}/images.zip                                      >---+---+
POST /projects/{project_id}/images/upload                                   >---+---+
GET  /projects/{project_id}/images/{key}                                    >-++++--+
GET  /projects/{project_id}/library                                         >-++++--+
GET  /projects/{project_id}/library/{key}/small.jpg                         >-++++--+
POST /projects/{project_id}/library/upload                                  >---+---+
GET  /projects/{project_id}/memes                                           >-++++--+
POST /projects/{project_id}/memes/undo/{path}                               >-++-----
GET  /projects/{project_id}/memes/filter                                    >-++-----
POST /projects/{project_id}/memes/filter/{assignment_id}                    >-+------
GET  /projects/{project_id}/memes/build                                     >-++-----
POST /projects/{project_id}/memes/build/{assignment_id}                     >-+------
GET  /projects/{project_id}/memes/confound                                  >-++-----
POST /projects/{project_id}/memes/confound/{assignment_id}                  >-+------
GET  /projects/{project_id}/memes/families                                  >--++---+
GET  /projects/{project_id}/memes/figures                                   >--++---+
POST /projects/{project_id}/memes/rule                                      >---+---+
POST /projects/{project_id}/memes/batches                                   >---+---+
GET  /projects/{project_id}/report-picture/{assignment_id}                  >-+------
POST /projects/{project_id}/report-picture/{assignment_id}                  >-+------
GET  /projects/{project_id}/locked-pictures                                 >---+---+
POST /projects/{project_id}/locked-pictures/{key}                           >---+---+
POST /projects/{project_id}/memes/draw                                      >-++-----
GET  /projects/{project_id}/memes/{post}/meme.svg                           >---+---+

# a project: phases and guideline
GET  /projects/{project_id}/guideline                                       >-++++--+
GET  /projects/{project_id}/guideline/new                                   >---+---+
POST /projects/{project_id}/guideline/new                                   >---+---+
POST /projects/{project_id}/phases/upload                                   >---+---+
GET  /projects/{project_id}/phases/{name}                                   >-++++--+
POST /projects/{project_id}/phases/{name}/decide                            >---+---+
POST /projects/{project_id}/phases/{name}/go-on                             >---+---+
POST /projects/{project_id}/phases/{name}/notes                             >-+++---+
GET  /projects/{project_id}/phases/{name}/review                            >-+++---+
GET  /projects/{project_id}/phases/{name}/settings                          >---+---+
POST /projects/{project_id}/phases/{name}/settings                          >---+---+
GET  /projects/{project_id}/phases/{name}/posts                             >---+---+
POST /projects/{project_id}/phases/{name}/upload                            >---+---+

# a project: cases and verdicts
GET  /projects/{project_id}/expert                                          >--+-----
POST /projects/{project_id}/expert                                          >--+-----
GET  /projects/{project_id}/expert/many                                     >--+-----
POST /projects/{project_id}/expert/many                                     >--+-----
GET  /projects/{project_id}/expert/{case_id}                                >--+-----
POST /projects/{project_id}/expert/{case_id}                                >--+-----
POST /projects/{project_id}/expert/{case_id}/look                           >--+-----
POST /projects/{project_id}/expert/{case_id}/undo                           >--+-----
GET  /projects/{project_id}/verdicts                                        >--++---+
GET  /projects/{project_id}/verdicts/audit                                  >--++---+
POST /projects/{project_id}/verdicts/audit                                  >--++---+
GET  /projects/{project_id}/verdicts/pools                                  >--++---+

# a project: watching
GET  /projects/{project_id}/watch                                           >--++---+
POST /projects/{project_id}/watch/measure                                   >--++---+

# a project: open coding
GET  /projects/{project_id}/coding                                          >-+++----
POST /projects/{project_id}/coding/begin                                    >-+++----
POST /projects/{project_id}/coding/codes                                    >-+++----
POST /projects/{project_id}/coding/codes/{code_id}                          >-+++----
POST /projects/{project_id}/coding/draft                                    >--------
GET  /projects/{project_id}/coding/draft.yaml                               >-+++----
POST /projects/{project_id}/coding/posts                                    >-+++----

# a project: channel
GET  /projects/{project_id}/channel                                         >-++++--+
POST /projects/{project_id}/channel/announce                                >---+---+
POST /projects/{project_id}/channel/ask                                     >-++++---
POST /projects/{project_id}/channel/{message_id}/answer                     >-++++---

# a project: care
GET  /projects/{project_id}/care                                            >-++++---
POST /projects/{project_id}/care                                            >-++++---
POST /projects/{project_id}/care/limits                                     >-++++---
POST /projects/{project_id}/care/{check_in_id}/seen                         >----+---
GET  /projects/{project_id}/debrief                                         >---+---+
GET  /projects/{project_id}/hours                                           >-+++++-+
GET  /projects/{project_id}/hours.csv                                       >---+---+
GET  /projects/{project_id}/my-data                                         >-+++++--
GET  /projects/{project_id}/my-data.json                                    >-+++++--
POST /projects/{project_id}/my-data/about-me                                >-+++++--
GET  /projects/{project_id}/survey                                          >-+++++-+
POST /projects/{project_id}/survey                                          >-+++++--
POST /projects/{project_id}/survey/questions                                >---+---+

# a project: running it
GET  /projects/{project_id}/begin                                           >-++++--+
GET  /projects/{project_id}/audit                                           >---+---+
GET  /projects/{project_id}/exports                                         >---+---+
POST /projects/{project_id}/exports                                         >---+---+
POST /projects/{project_id}/exports/{job_id}/{act}                          >---+---+
GET  /projects/{project_id}/exports/{job_id}/{name}                         >---+---+
GET  /projects/{project_id}/attack                                          >--------
POST /projects/{project_id}/attack                                          >--------
POST /projects/{project_id}/attack/{job_id}/{act}                           >--------
GET  /projects/{project_id}/attack/{job_id}/{name}                          >--------
GET  /projects/{project_id}/train                                           >---+---+
GET  /projects/{project_id}/train/runs                                      >---+---+
GET  /projects/{project_id}/train/runs/new/{verb}                           >---+---+
GET  /projects/{project_id}/train/runs/{job_id}                             >---+---+
GET  /projects/{project_id}/train/runs/{job_id}/files/{name}                >---+---+
POST /projects/{project_id}/train/runs/{job_id}/{act}                       >---+---+
POST /projects/{project_id}/train/runs/{verb}/upload                        >---+---+
GET  /projects/{project_id}/train/suites                                    >---+---+
POST /projects/{project_id}/train/suites                                    >---+---+
GET  /projects/{project_id}/train/suites/{suite_id}                         >---+---+
POST /projects/{project_id}/train/suites/{suite_id}                         >---+---+
POST /projects/{project_id}/train/suites/{suite_id}/count                   >---+---+
POST /projects/{project_id}/train/suites/{suite_id}/remove                  >---+---+
POST /projects/{project_id}/train/upload                                    >---+---+
GET  /projects/{project_id}/train/{job_id}                                  >---+---+
GET  /projects/{project_id}/train/{job_id}/{report}.html                    >---+---+
POST /projects/{project_id}/train/{job_id}/{act}                            >---+---+
POST /projects/{project_id}/imports/upload                                  >---+---+
GET  /projects/{project_id}/roster                                          >---+---+
POST /projects/{project_id}/roster/invitations/{invitation_id}/renew        >---+---+
POST /projects/{project_id}/roster/invitations/{invitation_id}/revoke       >---+---+
POST /projects/{project_id}/roster/invite                                   >---+---+
POST /projects/{project_id}/roster/{user_id}                                >---+---+
GET  /projects/{project_id}/settings                                        >---+---+
POST /projects/{project_id}/settings                                        >---+---+
POST /projects/{project_id}/state                                           >---+---+
POST /projects/{project_id}/delete                                          >---+---+
GET  /projects/{project_id}/retention                                       >---+---+
POST /projects/{project_id}/retention                                       >---+---+
GET  /projects/{project_id}/keys                                            >---+---+
POST /projects/{project_id}/keys                                            >---+---+
POST /projects/{project_id}/keys/{key_id}/revoke                            >---+---+

# a project: its API, by a key or a session
GET  /api/projects/{project_id}                                             >-++++--+
GET  /api/projects/{project_id}/posts                                       >--++---+
POST /api/projects/{project_id}/posts                                       >---+---+
GET  /api/projects/{project_id}/results                                     >--++---+
POST /api/projects/{project_id}/label                                       >-++-----
POST /api/projects/{project_id}/label/{assignment_id}                       >-++-----
"""

_NUMBERS = itertools.count(1)

LAST = """
POST /challenges/{challenge_id}/accept                                      >+++-+++-
POST /account/delete                                                        >++++++++
POST /people/{user_id}/disable                                              >-------+
POST /projects/{project_id}/my-data/delete                                  >-+++++--
POST /projects/{project_id}/my-data/leave                                   >-+++++--
POST /sign-out                                                              +++++++++
POST /invitation/{token}/join                                               >++++++++
"""
"""Those that change who is who: they are sent after all others."""


def lines() -> list[tuple[str, str, str]]:
    """The table as (method, address, marks), in the order in which they are sent."""
    found = [line.split() for line in (ROUTES + LAST).splitlines() if line.strip() and not line.startswith("#")]
    return [(method, path, marks) for method, path, marks in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Iterator[Site]:
    """One site for all routes: what a route changes, others may see."""
    folder = tmp_path_factory.mktemp("routes")
    (folder / "words.txt").write_text("grumblefop\t0.9\n")
    settings = ServerSettings(
        database=f"sqlite:///{folder / 'test.sqlite'}",
        model=f"keywords:{folder / 'words.txt'}",
        secret_key="k" * 40,
        base_url="http://127.0.0.1:8460",
    )
    with make_site(settings, empty_database).started() as made:
        yield made


@pytest.fixture(scope="module")
def values(site: Site) -> dict[str, str]:
    """What stands for each part of an address that varies."""
    return fill_rooms(site)


def routes_of(routes: Any) -> Iterator[tuple[str, str]]:
    """Every (method, address) that an app answers, those of its included routers too."""
    for route in routes:
        if getattr(route, "methods", None):
            yield from ((method, route.path) for method in route.methods if method != "HEAD")
        else:
            yield from routes_of(getattr(route, "original_router", route).routes)


def test_every_route_has_a_line_and_every_line_is_a_route(site: Site):
    assert sorted((method, path) for method, path, _ in lines()) == sorted(set(routes_of(site.app.routes)))


FORMS: dict[str, dict[str, str]] = {
    "/account/password": {"current": PASSWORD},
    "/projects/{project_id}/state": {"do": "close", "phase": "talk"},
    "/projects/{project_id}/phases/{name}/notes": {"text": "irony", "post": "{post}"},
    "/sign-in": {"login": "nobody{number}", "password": "none"},
}
"""Forms that are not sent empty: without this, a person who may is told 403 or 404 as well."""


def made_for(site: Site, who: str, path: str) -> dict[str, str]:
    """Make what can be asked for only once: a session of one's own to end, an invitation to revoke."""
    with site.store.write() as db:
        if "{session_id}" in path and who:
            return {"session_id": sessions.start(db, site.people[who].id)[0].id}
        if "{suite_id}/remove" in path:
            return {"suite_id": project_suites.create(db, "p", "Spare", "name: spare", by="shell").id}
        if "{invitation_id}" in path:
            about = {"project": "p", "project_roles": ["annotator"], "by": "shell"}
            return {"invitation_id": invitations.create(db, role="annotator", **about)[0].id}
    return {}


def answer_to(site: Site, who: str, method: str, path: str, values: dict[str, str]) -> str:
    """Ask as somebody and return the mark of what comes back."""
    # Each from an address of their own, since some routes count how often one address asks.
    number = next(_NUMBERS)
    client = site.as_(who, address=f"203.0.113.{number % 250}") if who else site.visitor()
    values = {**values, **made_for(site, who, path), "number": str(number)}
    wanted = re.sub(r"\{(\w+)(:path)?\}", lambda it: values.get(f"{path} {it[1]}") or values.get(it[1], "none"), path)
    if method == "GET":
        answer = client.get(wanted)
    else:
        token = token_in(client.get("/account" if who else "/sign-in").text)
        form = {name: value.format(**values) for name, value in FORMS.get(path, {}).items()}
        sent = {"json": {"text": "hi"}} if path.startswith("/v1/") else {"data": {"csrf": token, **form}}
        answer = client.post(wanted, **sent, headers={"X-CSRF-Token": token})
    if answer.status_code == 401 or answer.headers.get("location", "").startswith("/sign-in"):
        return ">"
    assert answer.status_code < 500, (who, answer.status_code)
    assert answer.status_code != 429, (who, answer.status_code)
    return "-" if answer.status_code in (403, 404) else "+"


@pytest.mark.parametrize(("method", "path", "marks"), lines(), ids=lambda it: it)
def test_a_route_answers_whom_its_line_says(site: Site, values: dict[str, str], method: str, path: str, marks: str):
    assert len(marks) == len(WHO)
    asked = sorted(range(len(WHO)), key=lambda place: marks[place] == "+")  # who may is last: they may change things
    got = {place: answer_to(site, WHO[place], method, path, values) for place in asked}
    assert "".join(got[place] for place in range(len(WHO))) == marks
