"""The kinds of phase, as one table: what each needs, gives, shows and closes by.

Nothing else in Davy asks for a kind by its name. A new kind is a row here and its name in a `locale` folder. A page or
a closing rule of its own is named in the row (`page`, `closes_by`) and written where the other ones are.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass

NEXT_OPENS: tuple[str, ...] = ("beside", "on request", "after")
"""When the next phase opens: beside this one, beside it if a manager says so, or after this one is closed."""

CLOSES_BY: tuple[str, ...] = (
    "everyone answered",
    "shared answers",
    "people decided",
    "posts settled",
    "posts answered",
    "round closed",
)
"""What must be true before a phase closes; `project.phase_gates` has a function for each."""

TASKS: tuple[str, ...] = ("filter", "build", "confounders")
"""What people do with memes besides rating them; `memes.meme_tasks` keeps what comes of it."""


@dataclass(frozen=True, slots=True)
class PhaseKind:
    """What one kind of phase is like."""

    closes_by: str
    """One of `CLOSES_BY`."""
    needs_gold: bool = False
    """Every post comes with its right answers (columns such as `hate.gold`)."""
    gives_verdicts: bool = False
    """Answers are settled by the project's rules, and enter the corpus unless the project file says otherwise."""
    shared: bool = False
    """The team gives each post one answer together; else everyone answers alone."""
    roles: tuple[str, ...] = ("annotator", "expert")
    """Who gets its posts."""
    answers: int | None = None
    """How many people answer each post unless the project file says otherwise; None: everyone."""
    fewest_people: int | None = 0
    """How many annotators it takes before it opens; None: as many as answer each post."""
    next_opens: str = "on request"
    """One of `NEXT_OPENS`."""
    gate: bool = False
    """Agreement is measured against a gate that holds the later phases back; it may be repeated with a further set."""
    screens: bool = False
    """Only those who pass it work in the phases after it."""
    feedback: bool = False
    """People see after each answer which answers are right."""
    spare_posts: bool = False
    """While it waits, a further set of a phase with a gate may take posts from it."""
    page: str = "phase"
    """The page that serves it: a template of this name, and a row in `project.pages.phase.PAGES` if it shows more."""
    progress_by: str = "posts"
    """Whether its page counts `posts` or `people` first."""
    grows: bool = False
    """Posts come one by one while it is open, so it may open empty."""
    from_round: bool = False
    """Only a round adds it, and its posts are the round's entries."""
    task: str | None = None
    """Where its work is done on a page of its own instead of by answers to the scheme: one of `TASKS`."""
    rates_memes: bool = False
    """Its posts are the memes that the tasks of the phases before it made, and their verdicts are the memes' labels."""
    of_memes: bool = False
    """Whether it is for projects with pictures."""
    flags: tuple[str, ...] = ("unsure", "other target", "unrealistic")
    """What people may flag about a post."""

    def __post_init__(self) -> None:
        for value, known in ((self.closes_by, CLOSES_BY), (self.next_opens, NEXT_OPENS), (self.task, TASKS)):
            if value is not None and value not in known:
                raise ValueError(f"{value!r} is not known; known: {', '.join(known)}")

    @property
    def by_experts(self) -> bool:
        """Whether its answers are experts' alone."""
        return self.roles == ("expert",)


MAIN_KIND = "production"
"""What a new phase is where nobody says otherwise."""

PHASE_KINDS: MutableMapping[str, PhaseKind] = {
    "training": PhaseKind(
        closes_by="everyone answered",
        needs_gold=True,
        feedback=True,
        fewest_people=1,
        next_opens="beside",
        progress_by="people",
    ),
    "discussion": PhaseKind(closes_by="shared answers", shared=True, answers=1, next_opens="after"),
    "calibration": PhaseKind(
        closes_by="everyone answered", gate=True, fewest_people=2, next_opens="after", page="phase_calibration"
    ),
    "screening": PhaseKind(
        closes_by="people decided", needs_gold=True, screens=True, fewest_people=1, page="phase_screening"
    ),
    "production": PhaseKind(
        closes_by="posts settled", gives_verdicts=True, answers=3, fewest_people=None, spare_posts=True
    ),
    "expert": PhaseKind(closes_by="posts settled", gives_verdicts=True, roles=("expert",), answers=1),
    # The author's answers are the first of the three.
    "round": PhaseKind(
        closes_by="round closed",
        gives_verdicts=True,
        answers=3,
        fewest_people=None,
        grows=True,
        from_round=True,
        flags=("unrealistic", "ambiguous", "unsure"),
    ),
    "filter": PhaseKind(
        closes_by="posts answered", answers=1, fewest_people=1, next_opens="beside", task="filter", of_memes=True
    ),
    "build": PhaseKind(
        closes_by="posts answered",
        answers=1,
        fewest_people=1,
        next_opens="beside",
        grows=True,
        task="build",
        of_memes=True,
    ),
    # A meme's builder is its author, and nobody rates what they built.
    "rating": PhaseKind(
        closes_by="posts settled",
        gives_verdicts=True,
        answers=5,
        fewest_people=None,
        next_opens="beside",
        grows=True,
        rates_memes=True,
        of_memes=True,
    ),
    "confounders": PhaseKind(
        closes_by="posts answered",
        answers=1,
        fewest_people=1,
        next_opens="beside",
        grows=True,
        task="confounders",
        of_memes=True,
    ),
    # Settled memes labelled anew by people who never saw them: how well people do.
    "relabelling": PhaseKind(
        closes_by="posts answered", answers=1, fewest_people=1, next_opens="beside", of_memes=True
    ),
}
TASK_KINDS: tuple[str, ...] = tuple(name for name, kind in PHASE_KINDS.items() if kind.task)
"""Kinds whose posts are never handed out for labelling."""
MEME_KINDS: tuple[str, ...] = tuple(name for name, kind in PHASE_KINDS.items() if kind.of_memes)
