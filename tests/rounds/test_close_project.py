"""A round of scripted people, closed from the store: its next target, its story, and what a second try does."""

from __future__ import annotations

import polars as pl
import pytest

from davy.annotation.project.store import phases
from davy.annotation.settling.store import cases
from davy.core.errors import UserError
from davy.detectors import store as detectors
from davy.rounds.close_round import CloseSettings, close_folder, close_project_round, round_story
from davy.rounds.open_round import open_round
from davy.rounds.store import entries, rounds
from round_project import HARMLESS, HATEFUL, make_round

QUICK = CloseSettings(times=(1, 5))
WORDS = ("zebra", "melon", "river", "candle", "marble", "thunder", "velvet", "pepper", "lantern", "harbor", "meadow",
         "copper", "ginger", "saddle", "pillow", "walnut")  # fmt: skip


@pytest.fixture
def bench(store):
    return make_round(store)


def play(bench, n: int = 40, offset: int = 0) -> None:
    """Let people enter texts that n-grams can learn, and two others confirm each."""
    for i in range(n):
        yes = i % 2 == 0
        first, second = WORDS[i % 16], WORDS[(i * 7 + offset + i // 16) % 16]
        text = (
            f"{first} {second} {'wuzzle grumblefop' if yes else 'lovely garden'} {i + offset} {'🐍' if yes else '🌻'}"
        )
        answers = HATEFUL if yes else HARMLESS
        bench.enter("ada", text, answers, said="not hateful" if yes else "hateful", seconds=20.0 + i)
        for name in ("bo", "cy"):
            assert bench.label(name, answers) is not None


def test_a_round_closes_and_its_winner_is_registered_as_the_next_target(bench, tmp_path):
    play(bench)
    closed = close_project_round(bench.store, bench.project.id, tmp_path, QUICK, by="shell")
    with bench.store.read() as db:
        round_ = rounds.get(db, bench.round.id)
        assert round_.state == "closed"
        assert phases.get(db, round_.phase).state == "closed"
        entry = detectors.find(db, closed.target)
        story = round_story(db, bench.project.id)
    assert (entry.state, entry.questions) == ("shadow", ("hate",))
    assert closed.outcome.winner.measured["dev"]["R1"].accuracy.value == 1.0
    assert round_.outcome["target"] == closed.target
    assert "emoji-en" in closed.suites
    assert story.rates[0].confirmed.value == 1.0
    assert story.rates[0].confirmed.n == 40
    assert {"error", "targets.dev", "composition", "quality", "emoji", "time", "suites"} <= set(story.tables)
    composition = {row[1]: row[2] for row in story.tables["composition"].rows}
    assert composition["train"] == "32 (80.0)"
    assert story.tables["quality"].rows[0][2] == 40


def test_entries_that_nobody_validated_stop_the_close_unless_they_are_dropped(bench, tmp_path):
    play(bench)
    late = bench.enter("ada", "an entry that nobody labels in time 🐍")
    with pytest.raises(UserError, match="1 entries of round 1 are not validated"):
        close_project_round(bench.store, bench.project.id, tmp_path, QUICK, by="shell")
    with bench.store.read() as db:
        assert rounds.get(db, bench.round.id).state == "open", "nothing is lost"
    settings = CloseSettings(times=(1,), pending="drop")
    close_project_round(bench.store, bench.project.id, tmp_path, settings, by="shell")
    with bench.store.read() as db:
        assert entries.find(db, bench.project.id, late.id).dropped == "not validated when the round was closed"


def test_a_round_closes_though_an_expert_has_cases_left(bench, tmp_path, monkeypatch):
    from davy.rounds import close_round as action

    play(bench, 30)
    disputed = bench.enter("ada", "a disputed entry that no expert came to 🐍")
    bench.label("bo", HARMLESS)
    bench.label("cy", HATEFUL)
    with bench.store.write() as db:
        audited = entries.of_round(db, bench.round.id)[0]
        about = {"project": bench.project.id, "item": audited.item, "post": audited.key}
        cases.add(db, **about, kind="audit", questions=["hate"], why=["annotators"], by="shell", doubt=0.9)
    monkeypatch.setattr(action, "_run_suites", lambda *_, **__: {})
    settings = CloseSettings(times=(1,), pending="drop")
    close_project_round(bench.store, bench.project.id, tmp_path, settings, by="shell")
    with bench.store.read() as db:
        round_ = rounds.get(db, bench.round.id)
        assert (round_.state, phases.get(db, round_.phase).state) == ("closed", "closed")
        dropped = entries.get_text(db, bench.project.id, disputed.id)
        assert [it.state for it in cases.of_item(db, dropped.item)] == ["dropped"], "no expert is offered it"
        assert [it.state for it in cases.of_item(db, audited.item)] == ["open"]


def test_a_round_that_was_trained_with_other_choices_stays_closing(bench, tmp_path, monkeypatch):
    from davy.rounds import close_round as action

    play(bench, 30)

    def stop(*_, **__):
        raise SystemExit("cancelled")

    with monkeypatch.context() as patched:
        patched.setattr(action, "_run_suites", stop)
        with pytest.raises(SystemExit):
            close_project_round(bench.store, bench.project.id, tmp_path, CloseSettings(times=(1,)), by="shell")
    with pytest.raises(UserError, match="Take the same, or name another folder"):
        close_project_round(bench.store, bench.project.id, tmp_path, CloseSettings(times=(5,)), by="shell")
    with bench.store.read() as db:
        assert rounds.get(db, bench.round.id).state == "closing", "its data is frozen: no entry may come"


def test_a_round_with_too_little_is_open_again(bench, tmp_path):
    with pytest.raises(UserError, match="too few to train on"):
        close_project_round(bench.store, bench.project.id, tmp_path, QUICK, by="shell")
    with bench.store.read() as db:
        assert rounds.get(db, bench.round.id).state == "open"


def test_a_close_that_died_after_training_goes_on_and_registers_once(bench, tmp_path, monkeypatch):
    play(bench)
    from davy.rounds import close_round as action

    def die(*_, **__):
        raise SystemExit("killed")

    with monkeypatch.context() as patched:
        patched.setattr(action, "_run_suites", die)
        with pytest.raises(SystemExit):
            close_project_round(bench.store, bench.project.id, tmp_path, QUICK, by="shell")
    with bench.store.read() as db:
        assert rounds.get(db, bench.round.id).state == "closing"
    frozen = (close_folder(tmp_path, bench.round) / "posts.parquet").read_bytes()
    closed = close_project_round(bench.store, bench.project.id, tmp_path, QUICK, by="shell")
    assert (close_folder(tmp_path, bench.round) / "posts.parquet").read_bytes() == frozen
    with bench.store.read() as db:
        assert [it.full_name for it in detectors.list_detectors(db)].count(closed.target) == 1


def test_a_project_without_an_open_round_has_nothing_to_close(bench, tmp_path):
    play(bench)
    close_project_round(bench.store, bench.project.id, tmp_path, QUICK, by="shell")
    with pytest.raises(UserError, match="has no open round"):
        close_project_round(bench.store, bench.project.id, tmp_path, QUICK, by="shell")


def test_what_is_refused_at_a_close_drops_no_entry(bench, tmp_path):
    late = bench.enter("ada", "an entry that nobody labels in time 🐍")
    with pytest.raises(UserError, match="too few to train on"):
        close_project_round(bench.store, bench.project.id, tmp_path, CloseSettings(pending="drop"), by="shell")
    with bench.store.read() as db:
        assert entries.find(db, bench.project.id, late.id).dropped is None
        assert rounds.get(db, bench.round.id).state == "open"


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("plain.csv", "id,text,hate.gold\n1,wuzzle one,hateful\n2,lovely two,not hateful\n"),
        ("zeros.csv", "id,text,label\n1,wuzzle one,1\n2,lovely two,0\n"),
    ],
)
def test_base_posts_of_any_file_are_learnt_from_in_later_rounds_too(bench, tmp_path, file, content, monkeypatch):
    from davy.rounds import close_round as action

    monkeypatch.setattr(action, "_run_suites", lambda *_, **__: {})
    play(bench)
    (tmp_path / file).write_text(content)
    settings = CloseSettings(times=(1,), base=str(tmp_path / file))
    closed = close_project_round(bench.store, bench.project.id, tmp_path, settings, by="shell")
    frozen = pl.read_parquet(closed.outcome.posts)
    assert sorted(frozen.filter(pl.col("part") == "base")["hate.gold"]) == ["hateful", "not hateful"]
    with bench.store.write() as db:
        again = open_round(db, bench.project, targets=[closed.target], by="shell", accept_worse=True)
        bench.round = again
    (tmp_path / "more.csv").write_text(
        content + "3,grumblefop three,1\n".replace(",1", ",hateful" if "gold" in content else ",1")
    )
    play(bench, 30, offset=3)
    settings = CloseSettings(times=(1,), base=str(tmp_path / "more.csv"))
    closed = close_project_round(bench.store, bench.project.id, tmp_path, settings, by="shell")
    frozen = pl.read_parquet(closed.outcome.posts)
    assert sorted(frozen.filter(pl.col("part") == "base")["text"]) == ["grumblefop three", "lovely two", "wuzzle one"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id,text\n1,tea\n", "no column of settled answers|does not answer"),
        ("id,text,hate.gold\n1,tea,perhaps\n", "perhaps"),
    ],
)
def test_base_posts_that_do_not_fit_are_refused_before_anything_changes(bench, tmp_path, content, said):
    play(bench, 30)
    (tmp_path / "base.csv").write_text(content)
    with pytest.raises(UserError, match=said):
        close_project_round(
            bench.store, bench.project.id, tmp_path, CloseSettings(base=str(tmp_path / "base.csv")), by="shell"
        )
    with bench.store.read() as db:
        assert rounds.get(db, bench.round.id).state == "open"


def test_a_target_worse_than_the_one_before_is_announced_and_needs_a_tick(bench, tmp_path, monkeypatch):
    from davy.rounds import close_round as action

    accuracy = iter((0.9, 0.5, 0.9))
    monkeypatch.setattr(
        action, "_run_suites", lambda *_, **__: {"emoji-en": {"accuracy": next(accuracy), "n": 40, "low": 0, "high": 1}}
    )
    play(bench)
    first = close_project_round(bench.store, bench.project.id, tmp_path, CloseSettings(times=(1,)), by="shell")
    assert not first.worse, "the round's own target is not on this machine any more"
    with bench.store.write() as db:
        bench.round = open_round(db, bench.project, targets=[first.target], by="shell")
    play(bench, 30, offset=3)
    closed = close_project_round(bench.store, bench.project.id, tmp_path, CloseSettings(times=(5,)), by="shell")
    assert {"on": "emoji-en", "now": 0.5, "then": 0.9} in closed.worse
    assert closed.incumbent is not None
    with (
        bench.store.write() as db,
        pytest.raises(UserError, match=r"worse than the target before it.*0\.500 on emoji-en"),
    ):
        open_round(db, bench.project, targets=[closed.target], by="shell")
    with bench.store.write() as db:
        assert open_round(db, bench.project, targets=[closed.target], by="shell", accept_worse=True).number == 3
