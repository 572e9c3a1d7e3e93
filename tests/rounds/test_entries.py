"""Entering: what is kept, what is refused and why, and that others confirm before an entry counts."""

import pytest

from davy.annotation.labelling.store import items
from davy.annotation.project.store import member_data, phases, posts, projects, withdrawals
from davy.annotation.settling import expert_cases
from davy.core import UserError
from davy.people.store import personal_data
from davy.rounds.entries import EntryRefused
from davy.rounds.round import EntryRules, TargetPrediction
from davy.rounds.store import entries as stored
from davy.rounds.store import rounds
from davy.store.columns import new_id
from round_project import HARMLESS, HATEFUL, TARGET, make_round


@pytest.fixture
def bench(store):
    return make_round(store)


def refused(bench, text, **more):
    with pytest.raises(EntryRefused) as error:
        bench.enter("ada", text, **more)
    with bench.store.read() as db:
        assert stored.of_round(db, bench.round.id) == []
    return error.value


def test_an_entry_fools_the_target_only_when_people_confirm_its_label(bench):
    entry = bench.enter("ada", "what a lovely lot they are 🐍")
    assert entry.fooled
    assert entry.confirmed is None
    bench.label("bo")
    assert bench.now(entry).confirmed is None
    bench.label("cy")
    assert bench.now(entry).confirmed is True
    assert bench.now(entry).settled == "hateful"


def test_a_target_that_agrees_with_the_author_was_not_fooled(bench):
    assert not bench.enter("ada", "what a lovely lot they are 🐍", said="hateful").fooled


def test_the_author_is_the_first_of_three_and_never_gets_their_own_entry(bench):
    entry = bench.enter("ada", "what a lovely lot they are 🐍")
    assert bench.label("ada") is None
    with bench.store.read() as db:
        item = items.of_post(db, phases.get(db, bench.round.phase), entry.id)
    assert (item.given, item.room, item.state) == (1, 2, "open")
    for name in ("bo", "cy"):
        assert bench.label(name) is not None
    assert bench.label("di") is None


def test_disagreement_goes_to_the_expert_who_has_the_last_word(bench):
    entry = bench.enter("ada", "what a lovely lot they are 🐍")
    bench.label("bo")
    bench.label("cy", HARMLESS)
    assert bench.now(entry).settled is None
    bench.decide("eve", HARMLESS)
    assert bench.now(entry).settled == "not hateful"
    assert bench.now(entry).confirmed is False


@pytest.mark.parametrize("flag", ["unrealistic", "ambiguous"])
def test_one_flag_is_enough_for_the_expert_who_may_drop_with_a_reason(bench, flag):
    entry = bench.enter("ada", "what a lovely lot they are 🐍")
    bench.label("bo", flags=(flag,))
    bench.label("cy")
    assert bench.now(entry).settled is None
    bench.drop("eve", "nobody would write it")
    assert bench.now(entry).dropped == "nobody would write it"


def test_an_expert_can_not_settle_an_entry_of_their_own(bench):
    with bench.store.write() as db:
        from davy.annotation.project.store import members

        both = members.set_roles(db, bench.project.id, bench.people["ada"].user, ["annotator", "expert"], by="shell")
    bench.enter("ada", "what a lovely lot they are 🐍")
    bench.label("bo")
    bench.label("cy", HARMLESS)
    with bench.store.write() as db:
        assert expert_cases.take_case(db, bench.project, both) is None
        case = expert_cases.take_case(db, bench.project, bench.people["eve"])
        with pytest.raises(UserError, match="labelled or wrote"):
            expert_cases.open_case(db, bench.project, both, case.id, bench.scheme)


def test_a_text_without_emoji_is_refused(bench):
    assert refused(bench, "what a lovely lot they are").why == "emoji"


def test_a_round_may_do_without_emoji(store):
    bench = make_round(store, rules=EntryRules(needs_emoji=False))
    assert bench.enter("ada", "what a lovely lot they are")


def test_lengths_are_kept_to(bench):
    assert refused(bench, "a🐍").values == {"got": 2, "least": 3}
    assert refused(bench, "🐍" + "a" * 280).values == {"got": 281, "most": 280}
    assert refused(bench, "  ").why == "empty"


def test_a_text_in_another_language_is_refused_unless_its_author_insists(store):
    bench = make_round(store, rules=EntryRules(languages=("en",)))
    text = "Die Nachbarin hat schon wieder den ganzen Tag gesungen und gelacht 🐍"
    error = refused(bench, text)
    assert (error.why, error.values) == ("language", {"got": "de", "wanted": "en"})
    bench.enter("ada", text, lang="en")


def test_what_was_entered_before_is_caught_before_it_counts(bench):
    first = "my neighbour sings all day and I think that is what they all do 🐍"
    bench.enter("ada", first)
    for text, why in (
        (first, "equal"),
        (f"  {first.upper()} ", "equal"),
        (first.replace("🐍", "🐷"), "near"),
        (first.replace("all day", "all day,"), "near"),
    ):
        with pytest.raises(EntryRefused) as error:
            bench.enter("bo", text)
        assert error.value.why == why
    bench.enter("bo", "their songs are the worst of the whole town, day and night 🐍")
    with bench.store.read() as db:
        assert len(stored.of_round(db, bench.round.id)) == 2


def test_a_form_that_is_sent_twice_is_one_entry(bench):
    form = new_id()
    first = bench.enter("ada", "what a lovely lot they are 🐍", entry_id=form)
    assert bench.enter("ada", "what a lovely lot they are 🐍", entry_id=form) == first
    with pytest.raises(UserError, match="another entry"):
        bench.enter("bo", "another text altogether 🐍", entry_id=form)


def test_answers_that_do_not_fit_the_scheme_are_refused(bench):
    with pytest.raises(UserError, match="don't fit"):
        bench.enter("ada", "what a lovely lot they are 🐍", {"hate": ("hateful",)})


def test_a_closed_round_takes_nothing_more(bench):
    with bench.store.write() as db:
        rounds.set_state(db, bench.round.id, "closing", by="shell")
    assert refused(bench, "what a lovely lot they are 🐍").why == "closed"


def test_an_entry_on_its_way_while_the_round_closes_is_not_taken(bench):
    from davy.rounds import entries

    stale = bench.round
    with bench.store.write() as db:
        rounds.set_state(db, bench.round.id, "closing", by="shell")
    with pytest.raises(UserError, match="closed a moment ago"), bench.store.write() as db:
        entries.enter(
            db,
            stale,
            bench.scheme,
            entry_id=new_id(),
            author=bench.people["ada"].user,
            text="what a lovely lot they are 🐍",
            answers=HARMLESS,
            predictions=[TargetPrediction(TARGET, "hateful", 0.9)],
        )
    with bench.store.read() as db:
        assert stored.of_round(db, bench.round.id) == []


def test_a_target_that_gave_no_answer_leaves_nothing_behind(bench):
    assert refused(bench, "what a lovely lot they are 🐍", predictions=[]).why == "target"


def test_what_each_person_did_is_counted_without_an_order_of_success(bench):
    bench.enter("bo", "what a lovely lot they are 🐍", seconds=20.0)
    bench.enter("bo", "nobody sings as well as these people do 🐍", said="hateful", seconds=40.0)
    bench.enter("ada", "a word about the neighbours and their dog 🐍", strategy="irony or mockery")
    with bench.store.read() as db:
        counts = {it.author: it for it in stored.count_authors(db, bench.round.id)}
        tried = stored.strategies_of(db, bench.round.id, bench.people["ada"].user)
    bo = counts[bench.people["bo"].user]
    assert (bo.entries, bo.originals, bo.fooled, bo.seconds) == (2, 2, 1, 30.0)
    assert list(counts) == sorted(counts)
    assert tried == {"irony or mockery"}


def test_an_entry_leaves_with_its_post_and_is_in_its_authors_data(bench):
    entry = bench.enter("ada", "what a lovely lot they are 🐍")
    with bench.store.write() as db:
        data = personal_data.export(db, bench.people["ada"].user)
        assert [row["id"] for row in data["entries"]] == [entry.id]
        withdrawals.withdraw(db, [entry.id], by="shell", project=bench.project.id)
    with bench.store.read() as db:
        assert stored.find(db, bench.project.id, entry.id) is None


def test_an_entry_whose_authors_answers_were_deleted_is_validated_again(bench):
    entry = bench.settled("ada", "an entry of somebody who leaves 🐍")
    dropped = bench.enter("ada", "one that an expert drops before 🐍")
    bench.label("bo", HARMLESS)
    bench.label("cy", HATEFUL)
    bench.drop("eve")
    with bench.store.write() as db:
        projects.change_settings(db, "duel", {**bench.project.settings, "deletion": {"answers": "delete"}}, by="shell")
        member_data.delete_in_project(db, "duel", bench.people["ada"].user, by="shell")
    assert (bench.now(entry).settled, bench.now(entry).dropped) == (None, None)
    with bench.store.read() as db:
        items_now = [items.get(db, stored.get_text(db, "duel", it.id).item) for it in (entry, dropped)]
    assert [(it.given, it.room, it.state) for it in items_now] == [(2, 1, "open"), (2, 0, "dropped")]
    assert bench.label("di").post.id == entry.id
    assert bench.now(entry).settled == "hateful"
    assert bench.label("di") is None


def test_a_round_that_is_not_closed_keeps_the_next_one_back(bench):
    from davy.rounds.open_round import open_round

    with bench.store.write() as db, pytest.raises(UserError, match="Close it first"):
        open_round(db, bench.project, targets=[TARGET], by="shell")


def test_a_round_opens_only_with_enough_people_unless_a_reason_is_given(store):
    from davy.annotation.project import phase_gates, project_creation, project_file
    from davy.rounds.open_round import open_round

    plan = project_file.parse_plan(b"name: few\npreset: rounds\n", "rounds.yaml")
    with store.write() as db:
        project = project_creation.create_project(db, plan, by="shell").project
    with pytest.raises(phase_gates.PhaseNotReady, match="needed: 3"), store.write() as db:
        open_round(db, project, targets=[TARGET], by="shell")
    with store.write() as db:
        assert rounds.of_project(db, "few") == []
        assert open_round(db, project, targets=[TARGET], by="shell", anyway="they come tomorrow").number == 1


def test_the_phase_of_a_round_closes_with_it(bench):
    from davy.annotation.project import phase_gates

    with bench.store.write() as db, pytest.raises(phase_gates.PhaseNotReady, match="closes with round 1"):
        phase_gates.close_phase(db, bench.project, phases.get(db, bench.round.phase), by="shell")


def test_posts_can_not_be_added_to_a_rounds_phase_by_hand(bench):
    import polars as pl

    from davy.annotation.project import project_creation, project_file

    frame = pl.DataFrame({"id": ["x"], "text": ["x"]})
    with bench.store.write() as db, pytest.raises(UserError, match="entries of its round"):
        project_creation.add_posts(
            db, bench.project, phases.get(db, bench.round.phase), frame, bench.scheme, by="shell"
        )
    with pytest.raises(ValueError, match="comes with its round"):
        project_file.PhasePlan("mine", "round")


def test_the_entries_post_names_its_author_and_where_it_came_from(bench):
    entry = bench.enter("ada", "what a lovely lot they are 🐍", derived_from="seed-7")
    with bench.store.read() as db:
        post = posts.get(db, posts.find_key(db, bench.project.id, entry.id))
    assert (post.parent, post.source.name, post.meta["author"]) == ("seed-7", "round 1", bench.people["ada"].user)


def test_entries_of_the_last_seven_days_are_counted_for_the_weekly_goal(store):
    from datetime import timedelta

    from sqlalchemy import update

    from davy.rounds.store.entries import entries as table
    from davy.store.columns import now

    bench = make_round(store)
    old = bench.enter("ada", "a lamp that was lit long ago 🏮")
    bench.enter("ada", "the river is quiet tonight 🌊")
    with store.write() as db:
        db.execute(update(table).where(table.c.id == old.id).values(created_at=now() - timedelta(days=8)))
        (mine,) = stored.count_authors(db, bench.round.id)
    assert (mine.originals, mine.week) == (2, 1)


def test_a_round_knows_under_which_guidelines_its_answers_were_given(store):
    bench = make_round(store)
    bench.enter("ada", "a lamp for the pier 🏮", guideline_version=1)
    bench.enter("bo", "a boat without a rudder 🛶", guideline_version=2)
    with store.read() as db:
        assert rounds.guideline_versions(db, bench.round) == [1, 2]


@pytest.mark.parametrize(
    "text", ["My new manager is a woman 🤮", "My new boss is a woman 🤢", "My very new manager is a woman 🤢"]
)
def test_a_short_text_that_differs_in_one_word_or_emoji_is_a_near_duplicate(bench, text):
    bench.enter("ada", "My new manager is a woman 🤢")
    with pytest.raises(EntryRefused, match=r"in one word or emoji|too like an earlier entry"):
        bench.enter("bo", text)
    bench.enter("bo", "My old neighbour is a nurse 🤢")
