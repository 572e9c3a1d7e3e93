"""A community's desk: its decisions as a table with a filter, the webhook's test and new secret, and its removal."""
# ruff: noqa: ARG001 — a route's signature says what it needs, such as a permission or a checked form

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from davy.moderation.communities import remove_community
from davy.moderation.decision_records import STATES, records_of
from davy.moderation.pages.communities import Manages, address_of, show_community
from davy.moderation.server_part import Moderation
from davy.moderation.store import communities, decisions
from davy.moderation.store.decisions import OUTCOMES, DecisionFilter
from davy.moderation.webhook_deliveries import send_test
from davy.people.pages.visitor import Form, field
from davy.web import render
from davy.web.context import context_of
from davy.web.errors import LocalizedError
from davy.web.refused_by import refused_by

router = APIRouter(include_in_schema=False)

SHOWN = 50


@router.get("/communities/{community}/decisions")
def show_decisions(
    request: Request,
    community: str,
    who: Manages,
    decision: str = "",
    state: str = "",
    find: str = "",
    before: str = "",
) -> Response:
    """Return a community's decisions, newest first; a filter that nobody knows counts as none."""
    wanted = DecisionFilter(
        decision if decision in OUTCOMES else "", state if state in STATES else "", find.strip()[:200], before[:80]
    )
    with context_of(request).store.read() as db:
        shown = communities.get(db, community)
        found = decisions.page_of(db, community, wanted, project=shown.project, limit=SHOWN + 1)
        records = records_of(db, shown, found[:SHOWN])
    kept = {"decision": wanted.decision, "state": wanted.state, "find": wanted.find}
    older = (
        {**{name: it for name, it in kept.items() if it}, "before": found[SHOWN - 1].id} if len(found) > SHOWN else {}
    )
    return render.page(
        request,
        "community_decisions.html",
        community=shown,
        records=records,
        outcomes=OUTCOMES,
        states=STATES,
        wanted=wanted,
        older=f"?{urlencode(older)}" if older else "",
    )


@router.post("/communities/{community}/webhook-test")
@refused_by(show_community)
def send_webhook_test(request: Request, community: str, who: Manages, form: Form) -> Response:
    """Send a test to the webhook, and say what its receiver answered."""
    status = send_test(context_of(request).store, community)
    return render.redirect(request, address_of(community), "webhook_tested", status=str(status))


@router.post("/communities/{community}/secret")
@refused_by(show_community)
def renew_secret(request: Request, community: str, who: Manages, form: Form) -> Response:
    """Give the webhook a new secret, and show it once."""
    with context_of(request).store.write() as db:
        secret = communities.renew_secret(db, community, by=who.id)
    context_of(request).part(Moderation).decider.refresh()
    return show_community(request, community, secret=secret)


@router.post("/communities/{community}/delete")
@refused_by(show_community)
def delete(request: Request, community: str, who: Manages, form: Form) -> Response:
    """Remove a community with its decisions, for whoever types its name."""
    if field(form, "confirm", most=80) != community:
        raise LocalizedError("community_confirm", status=422)
    context_of(request).part(Moderation).decider.flush()
    with context_of(request).store.write() as db:
        remove_community(db, community, by=who.id)
    context_of(request).part(Moderation).decider.refresh()
    return render.redirect(request, "/communities", "community_deleted", name=community)
