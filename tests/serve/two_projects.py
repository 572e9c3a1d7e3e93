"""A site with two projects and everybody who could ask: what tests of who may see what start from."""

from __future__ import annotations

from typing import Any

import polars as pl
from web_site import Site, hashed_password

from davy.annotate import project_creation, project_file
from davy.core import Verdict
from davy.schemes import load
from davy.store import codes, events, jobs, members, phases, posts, users, verdicts

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
            frame = pl.DataFrame({"id": ["1", "2"], "text": [SECRET[project], f"another of {project}"]})
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
