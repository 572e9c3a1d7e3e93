"""An expert's last decisions as their page lists them, and what features tell an expert about a post."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pkgutil import resolve_name

from davy.annotation.labelling.pages.questions import question_views
from davy.annotation.labelling.pages.sheets import answer_titles
from davy.annotation.project.project import Member, Project
from davy.annotation.project.store import posts
from davy.annotation.settling.expert_cases import why_not_undone
from davy.annotation.settling.store import cases
from davy.core import Scheme
from davy.core.feature import features
from davy.store import Connection
from davy.web.context import Context
from davy.web.i18n import Translator


@dataclass(frozen=True, slots=True)
class DecidedRow:
    """One decision: the post, what was decided, what can be told about the post now, and why it stays (or empty)."""

    case_id: str
    text: str
    masked: str
    lang: str
    answers: tuple[tuple[str, str], ...]
    dropped: bool
    at: datetime | None
    facts: str
    stays: str


def decided_rows(
    db: Connection, context: Context, words: Translator, project: Project, member: Member, scheme: Scheme
) -> list[DecidedRow]:
    """Return what an expert decided last, the newest first."""
    views = {view.name: view for view in question_views(scheme, scheme.guideline, words.lang)}
    rows = []
    for case in cases.decided_by(db, project.id, member.user):
        post = posts.get(db, case.post)
        mine = [it for it in case.outcome["decisions"] if it["by"] == member.user]
        masked = context.mask(post.text)
        answers = [
            (views[name].title, answer_titles(views[name], labels, masked))
            for name, labels in (mine[-1]["answers"] if mine else {}).items()
            if name in views
        ]
        rows.append(
            DecidedRow(
                case.id,
                post.text,
                masked,
                post.lang or "",
                tuple(answers),
                case.state == "dropped",
                case.settled_at,
                post_facts(db, project, post.id, words)[1],
                why_not_undone(db, project, case, member, cases.of_item(db, case.item)),
            )
        )
    return rows


def post_facts(db: Connection, project: Project, post_id: str, words: Translator) -> tuple[str, str]:
    """Return what features tell an expert about a post, before and after the decision."""
    hooks = [resolve_name(each.post_facts) for each in features() if each.post_facts is not None]
    told = [hook(db, project, post_id, words) for hook in hooks]
    before, after = (" ".join(filter(None, each)) for each in zip(*told, strict=True)) if told else ("", "")
    return before, after
