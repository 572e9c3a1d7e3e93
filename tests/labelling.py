"""What the tests of labelling share: a small scheme with every kind of question, and a project to answer it in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from davy.annotation.labelling.store import items
from davy.annotation.project.project import Member, Phase, Project
from davy.annotation.project.store import members, phases, posts, projects
from davy.core import Post
from davy.core.annotation import Answers
from davy.schemes import from_dict
from davy.schemes.store import schemes
from davy.store import Connection
from web_site import Site, token_in

SCHEME = """
name: lamps
version: 1
title: {en: Lamps, de: Lampen}
warning: {en: Some posts are gloomy., de: Manche Beiträge sind düster.}
questions:
  - name: rude
    title: {en: "Is the post rude?", de: "Ist der Beitrag grob?"}
    definition: {en: Rude to somebody., de: Grob zu jemandem.}
    positive: rude
    labels:
      - {name: not rude, title: {en: Not rude, de: Nicht grob}, definition: {en: Nobody is hurt., de: Niemand leidet.}}
      - {name: rude, title: {en: Rude, de: Grob}, definition: {en: Somebody is., de: Jemand leidet.}}
  - name: how
    title: {en: "How is it rude?", de: "Auf welche Weise?"}
    under: {rude: [rude]}
    labels:
      - {name: loud, title: {en: Loudly, de: Laut}, definition: {en: It shouts., de: Es schreit.}}
      - {name: sly, title: {en: Slyly, de: Leise}, definition: {en: It smiles., de: Es lächelt.}, severe: true}
  - name: words
    title: {en: "In which words?", de: "Mit welchen Wörtern?"}
    under: {how: [loud, sly]}
    labels:
      - {name: capitals, title: {en: Capitals, de: Versalien}, under: [loud]}
      - {name: bangs, title: {en: Exclamation marks, de: Ausrufezeichen}, under: [loud]}
      - {name: irony, title: {en: Irony, de: Ironie}, under: [sly]}
      - {name: praise, title: {en: False praise, de: Falsches Lob}, under: [sly]}
  - name: whom
    kind: many
    open: true
    required: true
    title: {en: "To whom?", de: "Zu wem?"}
    under: {rude: [rude]}
    labels:
      - {name: bakers, title: {en: Bakers, de: Leute vom Bäcker}, group: crafts}
      - {name: millers, title: {en: Millers, de: Leute aus der Mühle}, group: crafts}
      - {name: cats, title: {en: Cats, de: Katzen}, group: animals}
guidelines:
  - version: 1
    text:
      en: "## How to decide\\n\\nRead it **twice**. <script>alert('guideline')</script>"
      de: "## So entscheiden Sie\\n\\nLesen Sie es **zweimal**."
    notes:
      irony: {en: Take irony at its word., de: Ironie beim Wort nehmen.}
      "how: shouting": {en: Capitals shout., de: Versalien schreien.}
      other target: {en: Rude to a thing and not a person., de: Grob zu einer Sache.}
"""

MARKS = """
name: lamps
version: 1
questions:
  - name: rude
    title: {en: "Is the post rude?", de: "Ist der Beitrag grob?"}
    positive: rude
    labels: [not rude, rude]
  - name: why
    kind: spans
    title: {en: "Which words are rude?", de: "Welche Wörter sind grob?"}
    under: {rude: rude}
    required: true
  - name: tone
    kind: spans
    title: {en: "What is said how?", de: "Was wird wie gesagt?"}
    under: {rude: rude}
    labels:
      - {name: loud, title: {en: Loudly, de: Laut}}
      - {name: sly, title: {en: Slyly, de: Leise}}
"""
"""A scheme with two questions about words: one kind of span, and two kinds that may be left out."""

RUDE = {"rude": ("rude",), "how": ("loud",), "words": ("capitals",), "whom": ("bakers",)}


@dataclass
class Lamps:
    """A project in a site under test."""

    site: Site
    project: Project
    phase: Phase
    members: dict[str, Member]

    @property
    def path(self) -> str:
        """Where it is labelled."""
        return f"/projects/{self.project.id}/label"

    def user(self, role: str) -> str:
        """Return a person's id."""
        return self.site.people[role].id


def make_lamps(
    site: Site,
    texts: Sequence[str],
    *,
    kind: str = "production",
    answers: int | None = 2,
    gold: Answers | None = None,
    settings: dict[str, Any] | None = None,
    consent: bool = True,
    scheme: str = SCHEME,
) -> Lamps:
    """Return an open project with these posts in their order, an annotator, an expert and an admin who manages."""
    import yaml

    admin = site.people["admin"].id
    with site.store.write() as db:
        schemes.save(db, from_dict(yaml.safe_load(scheme)), scheme, by=admin)
        project = projects.create(
            db, id="lamps", title="Lamps & lights", scheme="lamps", scheme_version=1, settings=settings or {}, by=admin
        )
        found = {}
        for role in ("annotator", "expert", "admin"):
            user = site.people[role].id
            found[role] = members.add(db, "lamps", user, ["manager"] if role == "admin" else [role], by=admin)
            if consent:
                found[role] = members.consent(db, "lamps", user)
        phase = add_phase(db, "one", texts, admin, kind=kind, answers=answers, gold=gold)
    return Lamps(site, project, phase, found)


def add_phase(
    db: Connection,
    name: str,
    texts: Sequence[str],
    by: str,
    *,
    kind: str = "production",
    answers: int | None = 2,
    gold: Answers | None = None,
) -> Phase:
    """Add an open phase with these posts."""
    phase = phases.add(
        db, "lamps", name=name, kind=kind, answers=answers, in_corpus=kind == "production", settings={}, by=by
    )
    for number, text in enumerate(texts, 1):
        posts.add(db, Post(f"{name}-{number}", text, "en"), project="lamps", by=by)
    items.add(db, phase, [(f"{name}-{n}", gold, None) for n in range(1, len(texts) + 1)], by=by, shuffled=False)
    return phases.open_phase(db, phase.id, by=by)


def form_of(html: str) -> dict[str, Any]:
    """Return the hidden fields of the answer's form, and where it is sent."""
    action = re.search(r'<form id="answer" method="post" action="([^"]+)"', html)
    assert action, "there is no post to answer"
    fields = dict(re.findall(r'<input type="hidden" name="(annotation_id|guideline|seconds)" value="([^"]*)"', html))
    return {"action": action.group(1), "csrf": token_in(html), **fields}


def send(client: Any, html: str, answers: Answers | None = None, *, htmx: bool = True, **more: Any) -> Any:
    """Answer the post on a page as a browser would."""
    form = form_of(html)
    action = form.pop("action")
    given = {f"answer.{name}": list(labels) for name, labels in (answers or {}).items()}
    asked = re.findall(r'<input type="hidden" name="asked" value="([^"]*)"', html)
    headers = {"hx-request": "true"} if htmx else {}
    return client.post(action, data={"do": "save", "asked": asked, **form, **given, **more}, headers=headers)
