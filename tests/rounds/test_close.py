"""Closing a round: what a kill, a failure and a second call do to it, with n-grams as candidates."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import polars as pl
import pytest
from entry_frames import NO, QUESTION, SCHEME, YES, make_frame

from davy.core.errors import UserError
from davy.core.reporter import Stopped
from davy.rounds.candidate_training import repeat_posts, train_candidate
from davy.rounds.candidates import Candidate, CandidateResult, make_grid
from davy.rounds.close import POSTS, ClosePlan, close_round, read_outcome
from davy.rounds.frame import split_entries

HATED = "wuzzle grumblefop blorp"
LIKED = "lovely garden lobster"


def round_posts(number: int, n: int = 60) -> pl.DataFrame:
    """Return a round that n-grams can learn, split, with its part."""
    rows = []
    for i in range(n):
        words, gold = (HATED, YES) if i % 2 else (LIKED, NO)
        rows.append({"id": f"r{number}-{i}", "round": number, "text": f"{words} {i} 🦞", "hate.gold": gold})
    split = split_entries(make_frame(rows), QUESTION, seed=0)
    return split.with_columns(part=pl.lit(f"R{number}")).select(
        "id", "text", "lang", "pair", "part", "split", "hate.gold"
    )


def plan(**changes) -> ClosePlan:
    given = {"this": "R2", "candidates": make_grid(["tfidf"], times=(1, 5)), "multipliers": {"R1": 10}}
    return ClosePlan(scheme=SCHEME, question=QUESTION, **{**given, **changes})


def gather() -> pl.DataFrame:
    return pl.concat([round_posts(1), round_posts(2)])


def test_a_round_closes_and_its_winner_is_a_model_folder(tmp_path):
    outcome = close_round(tmp_path / "r2", plan(), gather, train_candidate)
    assert outcome.winner.measured["dev"]["R2"].accuracy.value == 1.0
    assert (Path(outcome.winner.model) / "manifest.json").is_file()
    assert outcome.multipliers == {"R1": 10, "R2": outcome.winner.candidate.times}
    assert outcome.by_test is not None
    posts = pl.read_parquet(tmp_path / "r2" / POSTS)
    assert len(posts) == 120
    assert posts["id"].is_unique().all()
    assert [path.name for path in (tmp_path / "r2" / "candidates").iterdir()] == [outcome.winner.candidate.slug]


def test_a_complete_close_is_read_and_not_done_again(tmp_path):
    first = close_round(tmp_path / "r2", plan(), gather, train_candidate)
    again = close_round(tmp_path / "r2", plan(), lambda: 1 / 0, lambda _: 1 / 0)
    assert again == first == read_outcome(tmp_path / "r2")
    with pytest.raises(UserError, match="a close with other seed"):
        close_round(tmp_path / "r2", plan(seed=4), gather, train_candidate)


def test_a_close_that_was_stopped_goes_on_with_the_same_entries_and_splits(tmp_path):
    trained: list[Candidate] = []

    def train(task):
        trained.append(task.candidate)
        return train_candidate(task)

    def stop_after_one():
        if trained:
            raise Stopped

    with pytest.raises(Stopped):
        close_round(tmp_path / "r2", plan(), gather, train, check=stop_after_one)
    frozen = pl.read_ipc(next((tmp_path / "r2" / "run.parts").glob("*.arrow")))

    def gather_other():
        return pl.concat([round_posts(1), round_posts(2, 90)])

    close_round(tmp_path / "r2", plan(), gather_other, train)
    assert [it.times for it in trained] == [1, 5], "no candidate twice"
    assert pl.read_parquet(tmp_path / "r2" / POSTS).equals(frozen), "no entry twice, no split changed"


def test_a_process_that_is_killed_in_the_middle_goes_on_where_it_was(tmp_path):
    script = textwrap.dedent(
        f"""
        import sys, time
        sys.path[:0] = {sys.path!r}
        from pathlib import Path
        from test_close import *
        out = Path({str(tmp_path / "r2")!r})
        def train(task):
            if task.candidate.times == 5:
                (out / "reached").touch()
                time.sleep(600)
            return train_candidate(task)
        close_round(out, plan(), gather, train)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parent)
    try:
        for _ in range(1200):
            if (tmp_path / "r2" / "reached").exists():
                break
            assert child.poll() is None, "the close ended by itself"
            time.sleep(0.1)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    frozen = pl.read_ipc(next((tmp_path / "r2" / "run.parts").glob("*.arrow")))
    trained = []

    def train(task):
        trained.append(task.candidate.times)
        return train_candidate(task)

    outcome = close_round(tmp_path / "r2", plan(), lambda: 1 / 0, train)
    assert trained == [5]
    assert len(outcome.results) == 2
    assert not any(result.error for result in outcome.results)
    assert pl.read_parquet(outcome.posts).equals(frozen)


def test_a_candidate_that_fails_is_reported_and_the_others_go_on(tmp_path):
    def train(task):
        if task.candidate.times == 1:
            raise RuntimeError("CUDA out of memory\nmore lines")
        return train_candidate(task)

    notes: list[str] = []
    outcome = close_round(tmp_path / "r2", plan(), gather, train, note=notes.append)
    assert outcome.results[0].error == "RuntimeError: CUDA out of memory"
    assert outcome.winner.candidate.times == 5
    assert any("failed" in note for note in notes)


def test_where_every_candidate_fails_the_reason_is_said_and_a_second_call_tries_again(tmp_path):
    def fail(task):
        raise UserError("There is no such encoder.")

    with pytest.raises(UserError, match="No candidate could be trained: There is no such encoder"):
        close_round(tmp_path / "r2", plan(), gather, fail)
    assert close_round(tmp_path / "r2", plan(), gather, train_candidate).winner.model


def test_an_encoder_that_is_not_there_is_a_failed_candidate(tmp_path):
    grid = (*make_grid(["tfidf"], times=(1,)), Candidate(str(tmp_path / "nowhere"), "leave", 1))
    outcome = close_round(tmp_path / "r2", plan(candidates=grid), gather, train_candidate)
    assert outcome.results[1].error
    assert not outcome.results[0].error


@pytest.mark.parametrize(
    ("posts", "message"),
    [
        (lambda: pl.concat([round_posts(1), round_posts(2), round_posts(2)]), "is there twice in R2"),
        (lambda: round_posts(1), "R2 has 0 settled entries, too few"),
        (lambda: gather().filter(pl.col("split") != "dev"), "No post is in the part 'dev'"),
    ],
)
def test_data_that_can_not_be_closed_with_is_refused_and_leaves_nothing_behind(tmp_path, posts, message):
    with pytest.raises(UserError, match=message):
        close_round(tmp_path / "r2", plan(), posts, train_candidate)
    assert not (tmp_path / "r2" / "run.parts").exists()


def test_candidates_train_side_by_side_in_processes_of_their_own(tmp_path):
    outcome = close_round(tmp_path / "r2", plan(workers=2), gather, train_candidate)
    assert [result.candidate.times for result in outcome.results] == [1, 5]
    assert all(isinstance(result, CandidateResult) and not result.error for result in outcome.results)


def test_an_encoder_is_trained_with_its_emoji_and_every_rounds_multiplier(tmp_path):
    pytest.importorskip("torch")
    from tiny_encoder import make_tiny_encoder

    encoder = make_tiny_encoder(tmp_path / "tiny")
    settings = {"epochs": "1", "batch": "32", "max_length": "16"}
    grid = make_grid([str(encoder)], ["tokens"], [5])
    outcome = close_round(tmp_path / "r2", plan(candidates=grid, settings=settings), gather, train_candidate)
    run = (tmp_path / "r2" / "candidates" / grid[0].slug / "run.json").read_text()
    assert '"emoji": "tokens"' in run
    assert '"R1": 10' in run
    assert '"R2": 5' in run
    assert outcome.winner.measured["dev"]["R1"].n == 6


def test_rows_are_repeated_for_models_that_know_no_epochs():
    posts = repeat_posts(gather(), {"R1": 3, "R2": 1})
    assert posts["part"].value_counts().sort("part").rows() == [("R1", 180), ("R2", 60)]
