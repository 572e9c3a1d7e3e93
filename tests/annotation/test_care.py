"""When people rest, and how their hours are counted: on both databases, with clocks that misbehave."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from davy.annotation.care import care
from davy.annotation.care.store import work_sessions as sittings
from davy.annotation.project import project_file, settings
from davy.annotation.project.project import Member, Project
from davy.annotation.project.store import member_data, members, projects
from davy.core import Annotation, Label, Post, Question, Scheme, UserError
from davy.people.store import users
from davy.schemes.store import schemes
from davy.store import Store

SCHEME = Scheme(
    "grumble",
    1,
    (
        Question("grumpy", (Label("yes"), Label("no")), positive="yes"),
        Question("kind", (Label("mild"), Label("dire", severe=True))),
    ),
)
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Desk:
    """A person at work: answers come in at stated times."""

    def __init__(self, store: Store, name: str = "pilot", **rules: object) -> None:
        self.store, self.at = store, START
        with store.write() as db:
            try:
                schemes.get(db, "grumble")
            except UserError:
                schemes.save(db, SCHEME, "name: grumble", by="shell")
                users.add(db, login="ada", name="Ada", role="annotator", by="shell")
            projects.create(
                db, id=name, title=name, scheme="grumble", scheme_version=1, settings={"care": rules}, by="shell"
            )
            self.user = users.find(db, "ada").id
            members.add(db, name, self.user, ["annotator"], by="shell")
            self.project: Project = projects.get(db, name)

    @property
    def member(self) -> Member:
        with self.store.read() as db:
            found = members.get(db, self.project.id, self.user)
        assert found is not None
        return found

    def answer(self, *, after: float = 60, seconds: float | None = 50, hard: bool = False) -> care.RestPeriod | None:
        """Save an answer `after` seconds, and return the rest that follows."""
        self.at += timedelta(seconds=after)
        member = self.member
        with self.store.write() as db:
            care.after_save(db, self.project, member, None, seconds, hard=hard, at=self.at)
            return care.before_next(db, self.project, member, at=self.at)

    def work(self, minutes: int) -> care.RestPeriod | None:
        """Answer once a minute for some minutes; return the first rest."""
        for _ in range(minutes):
            if rest := self.answer():
                return rest
        return None

    def look(self, *, after: float = 0) -> care.RestPeriod | None:
        """Ask for the next post `after` seconds."""
        self.at += timedelta(seconds=after)
        with self.store.write() as db:
            return care.before_next(db, self.project, self.member, at=self.at)

    def sittings(self) -> list[sittings.Sitting]:
        """The person's sittings, oldest first."""
        with self.store.read() as db:
            return sittings.of_person(db, self.project.id, self.user)[::-1]

    def seconds(self) -> float:
        """All seconds that were counted."""
        with self.store.read() as db:
            return sittings.hours(db, self.project.id)[self.user].seconds


def test_a_break_comes_after_the_minutes_worked_and_ends_by_itself(store):
    desk = Desk(store, break_after_minutes=5, break_minutes=10)
    rest = desk.work(30)
    assert rest is not None
    assert (rest.reason, rest.words) == ("break", "rest.break")
    # The first answer counts its own 50 seconds, the others the minute that went by: 50 + 5 × 60 ≥ 300.
    assert desk.at == START + timedelta(minutes=6)
    assert rest.until == desk.at + timedelta(minutes=10)
    until = rest.until
    assert desk.look(after=300).until == until
    assert desk.look(after=301) is None
    assert desk.answer() is None
    first, second = desk.sittings()
    assert (first.items, first.seconds, first.ended_at) == (6, 350.0, START + timedelta(minutes=6))
    assert (second.items, second.seconds, second.unrested_seconds) == (1, 50.0, 50.0)


def test_a_number_of_hard_items_asks_for_a_break_however_quick_they_were(store):
    desk = Desk(store, break_after_hard=3, break_minutes=10)
    assert [desk.answer(after=5, seconds=4, hard=hard) for hard in (True, False, True)] == [None] * 3
    rest = desk.answer(after=5, seconds=4, hard=True)
    assert rest is not None
    assert rest.reason == "hard items"
    assert desk.look(after=601) is None
    assert desk.answer(hard=True) is None


def test_someone_who_was_away_as_long_as_a_break_has_rested(store):
    desk = Desk(store, break_after_minutes=5, break_minutes=10)
    assert desk.work(5) is None
    assert desk.answer(after=660) is None
    assert desk.work(4) is None
    assert [it.items for it in desk.sittings()] == [5, 5]


def test_a_sitting_ends_after_twenty_idle_minutes_which_are_not_counted(store):
    desk = Desk(store, break_after_minutes=None, break_minutes=90)
    desk.answer()
    desk.answer(after=19 * 60)
    assert [it.items for it in desk.sittings()] == [2]
    assert desk.seconds() == 50 + 50 + care.PAUSE_PAID
    desk.answer(after=22 * 60)
    assert [it.items for it in desk.sittings()] == [2, 1]
    assert desk.seconds() == 50 + 50 + care.PAUSE_PAID + 50


@pytest.mark.parametrize(
    ("rules", "answers"), [({"daily_minutes": 3}, 4), ({"daily_items": 2}, 2)], ids=["minutes", "items"]
)
def test_a_day_has_a_cap_that_lasts_until_midnight_where_the_project_is(store, rules, answers):
    desk = Desk(store, timezone="Europe/Berlin", **rules)
    rests = [desk.answer() for _ in range(answers)]
    assert rests[:-1] == [None] * (answers - 1)
    last = rests[-1]
    assert last is not None
    assert (last.reason, last.until) == ("daily cap", datetime(2026, 3, 2, 23, 0, tzinfo=UTC))
    assert not last.may_postpone
    desk.at = last.until
    assert desk.look() is None
    assert desk.answer() is None


def test_the_night_when_clocks_change_ends_at_midnight_all_the_same(store):
    desk = Desk(store, timezone="Europe/Berlin", daily_items=1)
    desk.at = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert desk.answer().until == datetime(2026, 3, 29, 22, 0, tzinfo=UTC)  # 23 hours after the midnight before


def test_a_sitting_over_midnight_counts_on_each_day_but_the_break_still_comes(store):
    desk = Desk(store, break_after_minutes=10, break_minutes=10, daily_minutes=7)
    desk.at = datetime(2026, 3, 2, 23, 54, tzinfo=UTC)
    rest = desk.work(30)
    assert rest is not None
    assert rest.reason == "break"
    before, after = desk.sittings()
    assert (before.items, after.items) == (5, 6)
    assert after.unrested_seconds == before.seconds + after.seconds


def test_a_clock_that_jumps_back_takes_no_hours_and_makes_no_rest_longer(store):
    desk = Desk(store, break_after_minutes=4, break_minutes=10)
    desk.work(3)
    counted = desk.seconds()
    desk.at -= timedelta(hours=3)
    assert desk.answer(after=0, seconds=20) is None
    assert desk.seconds() == counted + 20
    rest = desk.work(3)
    assert rest is not None
    desk.at -= timedelta(hours=5)
    later = desk.look()
    assert later is not None
    assert later.until == desk.at + timedelta(minutes=10)
    assert desk.look(after=601) is None
    desk.at -= timedelta(days=2)
    desk.answer()
    assert all(it.seconds >= 0 for it in desk.sittings())
    assert desk.seconds() > counted + 20


def test_a_clock_that_jumps_ahead_gives_no_hours_for_nothing(store):
    desk = Desk(store)
    desk.answer()
    desk.answer(after=100_000, seconds=1e12)
    assert desk.seconds() == 50 + care.LONGEST_ITEM


@pytest.mark.parametrize("seconds", [None, -5, 0, float("1e300")])
def test_what_the_browser_measured_can_not_exceed_the_time_that_went_by(store, seconds):
    desk = Desk(store, break_after_minutes=None)
    desk.answer()
    desk.answer(after=30, seconds=seconds)
    assert desk.seconds() == 80


def test_a_break_can_be_put_off_once(store):
    desk = Desk(store, break_after_minutes=5, break_minutes=10, postpone_minutes=3)
    rest = desk.work(30)
    assert rest is not None
    assert rest.may_postpone
    with store.write() as db:
        care.postpone(db, desk.project, desk.member, at=desk.at)
    assert desk.look() is None
    again = desk.work(30)
    assert again is not None
    assert desk.at == START + timedelta(minutes=9)
    assert not again.may_postpone
    with store.write() as db, pytest.raises(UserError, match="can't be put off"):
        care.postpone(db, desk.project, desk.member, at=desk.at)
    assert desk.look(after=600) is None
    assert desk.work(30).may_postpone


def test_a_project_may_say_that_breaks_are_not_put_off(store):
    desk = Desk(store, break_after_minutes=1, may_postpone=False)
    rest = desk.work(5)
    assert rest is not None
    assert not rest.may_postpone
    with store.write() as db, pytest.raises(UserError, match="can't be put off"):
        care.postpone(db, desk.project, desk.member, at=desk.at)


def test_people_may_stop_whenever_they_like_and_go_on_when_they_like(store):
    desk = Desk(store, break_after_minutes=5)
    desk.work(2)
    with store.write() as db:
        care.stop(db, desk.member, at=desk.at)
    assert desk.sittings()[0].ended_at == desk.at
    assert desk.look(after=5) is None
    assert desk.answer() is None
    assert [it.items for it in desk.sittings()] == [2, 1]
    assert desk.work(30) is not None  # what was done before a short stop still counts
    assert desk.at == START + timedelta(seconds=5, minutes=6)


def test_someone_may_set_themselves_a_lower_limit_but_not_a_higher(store):
    desk = Desk(store, break_after_minutes=5, daily_minutes=60)
    with store.write() as db:
        members.choose(db, "pilot", desk.user, break_after_minutes=2, daily_minutes=900, daily_items="x")
    rules = care.rules_of(desk.project, desk.member)
    assert (rules.break_after_minutes, rules.daily_minutes, rules.daily_items) == (2, 60, None)
    desk.work(30)
    assert desk.at == START + timedelta(minutes=3)


def test_another_project_is_no_way_around_a_break(store):
    desk = Desk(store, break_after_minutes=5, break_minutes=10)
    other = Desk(store, name="second", break_after_minutes=5, break_minutes=10)
    desk.work(3)
    other.at = desk.at
    rest = other.work(30)
    assert rest is not None
    assert other.at == START + timedelta(minutes=6)
    assert desk.look(after=200).until == rest.until
    assert (desk.seconds(), other.seconds()) == (170.0, 150 + 20.0)


def test_an_answer_saved_during_a_rest_is_counted_and_the_rest_goes_on(store):
    desk = Desk(store, break_after_minutes=1, break_minutes=10)
    rest = desk.work(5)
    assert rest is not None
    counted = desk.seconds()
    assert desk.answer(after=30, seconds=20).until == rest.until
    assert desk.seconds() == counted + 20


def test_tabs_that_save_at_once_lose_no_work(store):
    desk = Desk(store, break_after_minutes=None)
    desk.answer()
    member, failed = desk.member, []

    def tab(first: int) -> None:
        for number in range(10):
            at = desk.at + timedelta(seconds=first + 2 * number)
            try:
                with store.write() as db:
                    care.after_save(db, desk.project, member, None, 1, hard=False, at=at)
                    care.before_next(db, desk.project, member, at=at)
            except UserError as error:
                failed.append(error)

    tabs = [threading.Thread(target=tab, args=(first,)) for first in range(3)]
    for one in tabs:
        one.start()
    for one in tabs:
        one.join()
    assert failed == []
    assert sum(it.items for it in desk.sittings()) == 1 + 30


def test_a_second_thought_adds_its_time_but_no_item(store):
    desk = Desk(store)
    desk.answer(hard=True)
    later = Annotation("b", "p", desk.user, "grumble", 1, 0, {"grumpy": ("no",)}, desk.at, replaces="a")
    with store.write() as db:
        at = desk.at + timedelta(seconds=30)
        care.after_save(db, desk.project, desk.member, later, 20, hard=True, at=at)
    (only,) = desk.sittings()
    assert (only.items, only.hard, only.seconds) == (1, 1, 80)


def test_hard_are_refused_posts_severe_labels_and_what_the_project_names(store):
    plain = Desk(store).project
    assert not care.is_hard(plain, SCHEME, {"grumpy": ("yes",), "kind": ("mild",)})
    assert care.is_hard(plain, SCHEME, {"kind": ("dire",)})
    assert care.is_hard(plain, SCHEME, {}, refused=True)
    named = Desk(store, name="named", hard={"grumpy": ["yes"], "kind": ["mild"]}, severity=3).project
    assert care.is_hard(named, SCHEME, {"grumpy": ("yes",)})
    assert care.is_hard(named, SCHEME, {"kind": ("dire",)})
    assert not care.is_hard(named, SCHEME, {"grumpy": ("no",)})
    assert care.is_hard(named, SCHEME, {}, post=Post("p", "x", meta={"severity": 3}))
    assert not care.is_hard(named, SCHEME, {}, post=Post("p", "x", meta={"severity": "3"}))


def test_a_time_zone_that_nobody_knows_is_named(store):
    for name in ("Moon/Tycho", "../etc/passwd", "\0"):
        with pytest.raises(UserError, match=r"care\.timezone"):
            care.zone_of(name)
        with pytest.raises(ValueError, match=r"timezone is .* Europe/Berlin"):
            settings.Care(timezone=name)


def test_a_project_file_says_whether_answers_go_with_a_persons_data(tmp_path):
    path = tmp_path / "pilot.yaml"
    path.write_text("name: pilot\ntitle: Pilot\npreset: edos\ndeletion: {answers: delete}\n")
    kept = settings.to_dict(project_file.read_plan(path).settings)
    assert member_data.answers_go(kept)
    assert settings.to_dict(settings.from_dict(kept)) == kept
    path.write_text(path.read_text().replace("delete", "burn"))
    with pytest.raises(UserError, match=r"pilot\.yaml:4: .*keep, delete"):
        project_file.read_plan(path)
