"""`POST /v1/appeals`: another look at a decision by other people; `GET /v1/appeals/ID` says what became of it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from davy.core.errors import UserError
from davy.moderation.appeals import AppealRequest, community_of_key, file_appeal
from davy.moderation.server_part import Moderation
from davy.moderation.store import appeals
from davy.moderation.store.appeals import Appeal
from davy.people.pages.visitor import check_rate, key_only
from davy.people.store.users import User
from davy.web.context import context_of

router = APIRouter(strict_content_type=False)

Caller = Annotated[User, Depends(key_only("score", "score texts"))]


class SentAppeal(BaseModel):
    """What is appealed against: the decision's id, or your own id of the post; of several the newest decision.

    `text` is needed where the server did not keep the post for review. `statement` is what the person has to say; it
    stays on the server.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    community: str = Field(max_length=200)
    decision: str = Field(min_length=1, max_length=200)
    text: str | None = Field(default=None, max_length=100_000)
    statement: str | None = Field(default=None, max_length=100_000)


class AppealAnswer(BaseModel):
    """An appeal; `outcome` is what holds now, None while it is open."""

    id: str
    community: str
    decision: str
    state: Literal["open", "upheld", "reversed"]
    before: str
    outcome: str | None = None


@router.post("/v1/appeals")
def appeal(request: Request, asked: SentAppeal, who: Caller) -> AppealAnswer:
    """Give a decision to other reviewers than the first ones; sent twice it is filed once."""
    check_rate(request, "suggestions of a key", str(request.state.key.id))
    wanted = AppealRequest(asked.decision, asked.text, asked.statement)
    return _answer(file_for_key(request, asked.community, wanted, who))


@router.get("/v1/appeals/{appeal_id}")
def show(request: Request, appeal_id: str, who: Caller) -> AppealAnswer:  # noqa: ARG001 — the key is the permission
    """Return an appeal of a community that the key may use."""
    with context_of(request).store.read() as db:
        found = appeals.get(db, appeal_id)
        community_of_key(db, found.community, request.state.key.id)
    return _answer(found)


def file_for_key(request: Request, community: str, asked: AppealRequest, who: User) -> Appeal:
    """File an appeal in the name of the key that asks; decisions of this moment are written down first."""
    context, key = context_of(request), request.state.key.id
    try:
        with context.store.write() as db:
            return file_appeal(db, community_of_key(db, community, key), asked, by=who.id, key=key)
    except UserError as error:
        if error.status != 404:
            raise
    context.part(Moderation).decider.flush()
    with context.store.write() as db:
        return file_appeal(db, community_of_key(db, community, key), asked, by=who.id, key=key)


def _answer(found: Appeal) -> AppealAnswer:
    return AppealAnswer(**{name: getattr(found, name) for name in AppealAnswer.model_fields})
