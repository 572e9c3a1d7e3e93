"""What people can write in a project: its lines of the checklist, and a person's next entry or contrast."""

from __future__ import annotations

from collections.abc import Mapping

from davy.annotation.project.next_steps import BUSY, NOW, May, Step, WrittenPosts
from davy.rounds.round import Round
from davy.rounds.store import entries, rounds
from davy.store import Connection


def written_posts(db: Connection, project_id: str, may: May) -> WrittenPosts:
    """Return how far a project's rounds are, and what a person with these permissions can write now."""
    every = rounds.of_project(db, project_id)
    current = next((each for each in every if each.state != "closed"), None)
    if current is None:
        return WrittenPosts(bool(every), Step("posts", NOW, "open_round", "/rounds"))
    posts = Step("posts", BUSY, "enter_wait", "/rounds")
    here = f"/rounds/{current.number}"
    if current.state == "closing":
        return WrittenPosts(True, posts, settle=_close(current, "round_closing", BUSY))
    waiting = len(entries.to_contrast(db, current.id))
    counts = entries.count_states(db, current.id)
    enough = _has_enough(current, counts)
    pending = any(state in ("open", "full") for _, state in counts)
    settle = _close(current, "close_round", NOW) if enough and not waiting and not pending else None
    mine = []
    if may("enter texts"):
        mine.append(Step("label", NOW, "enter", f"{here}/enter", "enter texts"))
        if waiting:
            contrasts = Step("label", NOW, "contrasts", f"{here}/contrast", "enter texts", {"n": waiting})
            mine.insert(0 if enough else 1, contrasts)
    return WrittenPosts(True, posts, tuple(mine), settle)


def _close(round_: Round, act: str, state: str) -> Step:
    return Step("settle", state, act, f"/rounds/{round_.number}/close", values={"round": round_.number})


def _has_enough(round_: Round, counts: Mapping[tuple[str, str], int]) -> bool:
    """Return whether a round has the entries that it was opened for."""
    originals = sum(n for (which, _), n in counts.items() if which == "original")
    return round_.goal_all is not None and originals >= round_.goal_all
