"""What people can write in a project: its line of the checklist, and a person's next entry or contrast."""

from __future__ import annotations

from davy.annotation.project.next_steps import BUSY, NOW, May, Step, WrittenPosts
from davy.rounds.store import entries, rounds
from davy.store import Connection


def written_posts(db: Connection, project_id: str, may: May) -> WrittenPosts:
    """Return how far a project's rounds are, and what a person with these permissions can write now."""
    every = rounds.of_project(db, project_id)
    current = next((each for each in every if each.state != "closed"), None)
    if current is None:
        return WrittenPosts(bool(every), Step("posts", NOW, "open_round", "/rounds"))
    posts = Step("posts", BUSY, "enter_wait", "/rounds")
    if current.state != "open" or not may("enter texts"):
        return WrittenPosts(True, posts)
    here = f"/rounds/{current.number}"
    mine = [Step("label", NOW, "enter", f"{here}/enter", "enter texts")]
    waiting = len(entries.to_contrast(db, current.id))
    if waiting:
        mine.append(Step("label", NOW, "contrasts", f"{here}/contrast", "enter texts", {"n": waiting}))
    return WrittenPosts(True, posts, tuple(mine))
