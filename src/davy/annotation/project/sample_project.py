"""A project to try things in: made-up posts about people who do not exist, open for the one who makes it.

It is a project as any other. Its maker is manager, expert and annotator of it, and can delete it again.
"""

from __future__ import annotations

from davy.annotation.project import phase_gates, project_creation
from davy.annotation.project.phase_kind import MAIN_KIND
from davy.annotation.project.project import Project
from davy.annotation.project.project_file import REST, PhasePlan, ProjectPlan
from davy.annotation.project.settings import ProjectSettings
from davy.annotation.project.store import members, projects
from davy.annotation.project.store.removal import SAMPLE
from davy.store import Connection

NAME = "sample"
SAMPLE_POSTS: tuple[str, ...] = (
    "The lamplighters did a fine job in our street tonight.",
    "Lamplighters are lazy, all of them. Throw them out of the valley.",
    "I lost my hat at the well. Has anybody seen it?",
    "Nobody wants river people in this market. Go back to your river.",
    "River people sell the best bread, and I will not hear otherwise.",
    "The bridge is closed until noon, take the upper path.",
    "You can't trust a lamplighter. They are born to cheat.",
    "My neighbour is a lamplighter and he taught me to mend a lamp.",
    "What a silly song. I can't stop singing it.",
    "River people should not be allowed to vote about our valley.",
    "The mayor was wrong about the mill, and I told her so.",
    "They called her names because she is from the river. That is wrong.",
)


def create_sample(db: Connection, *, title: str, by: str) -> Project:
    """Add the project with its posts, open for labelling, and return it."""
    import polars as pl

    taken = projects.taken_names(db)
    name = NAME if NAME not in taken else project_creation.next_name(NAME, taken)
    phase = PhasePlan("main", MAIN_KIND, REST, "1")
    plan = ProjectPlan(name, title, "hate", ProjectSettings(), (phase,))
    ids = [f"sample-{number}" for number in range(1, len(SAMPLE_POSTS) + 1)]
    frame = pl.DataFrame({"id": ids, "text": SAMPLE_POSTS, "lang": ["en"] * len(ids), "source": ["made up"] * len(ids)})
    made = project_creation.create_project(db, plan, by=by, posts_in=[frame])
    members.set_roles(db, name, by, ["manager", "expert", "annotator"], by=by)
    projects.change_settings(db, name, {**made.project.settings, SAMPLE: True}, by=by)
    phase_gates.open_phase(db, made.project, made.phases[0], by=by)
    return made.project
