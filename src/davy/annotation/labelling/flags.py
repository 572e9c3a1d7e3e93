"""What people flagged about a post, settled by majority.

The outcome is kept as a case of kind `flag`: at once settled where it is only
noted, open where the project wants an expert to look. A project says with
`flags: {unrealistic: {rule: majority, otherwise: drop}}` when a flag holds and
what follows where it does: `open` notes it, `expert` asks one, `drop` drops the post.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from davy.annotation.project.project import Item, Project
from davy.annotation.project.settings import AdjudicationRule
from davy.annotation.settling.rules import flag_holds, flag_votes
from davy.annotation.settling.store import cases
from davy.annotation.settling.store.cases import AdjudicationCase
from davy.core import Annotation
from davy.store import events

if TYPE_CHECKING:
    from davy.store import Connection

NOTED = AdjudicationRule("majority", otherwise="open")
NOT_NEEDED = "no longer needed"
"""Why a case was closed that no expert has to look at any more; a changed answer may ask for one again."""


def settle_flags(
    db: Connection, project: Project, item: Item, given: Sequence[Annotation], known: Sequence[AdjudicationCase]
) -> str:
    """Note what people flagged and return what follows: `open`, `expert` or `drop`. What an expert saw stands."""
    rules = {name: AdjudicationRule(**it) for name, it in (project.settings.get("flags") or {}).items()}
    votes = flag_votes(given)
    holding = [flag for flag, n in votes.items() if flag_holds(rules.get(flag, NOTED), n)]
    follows = {rules.get(flag, NOTED).otherwise for flag in holding}
    what = next((it for it in ("drop", "expert") if it in follows), "open")
    flagged = [it for it in known if it.kind == "flag"]
    if any(it.outcome.get("decisions") for it in flagged):
        return "open"
    record = {flag: {"for": n, "of": of, "holds": flag in holding} for flag, (n, of) in votes.items()}
    last = flagged[-1].outcome if flagged else {}
    if record == last.get("flags", {}) and not (what == "expert" and last.get("why") == NOT_NEEDED):
        return what
    for case in flagged:
        if case.state == "open":
            cases.settle(db, case.id, by=events.SYSTEM, outcome={**case.outcome, "why": "flags changed"}, reason=None)
    cases.add(
        db,
        project=project.id,
        item=item.id,
        post=item.post,
        kind="flag",
        why=holding,
        by=events.SYSTEM,
        state="open" if what == "expert" else "settled",
        outcome={"flags": record},
    )
    return what
