"""An interrupted run goes on where it stopped, and only where nothing changed."""

import polars as pl
import pytest

from davy.core import UserError
from davy.files.data_hash import file_hash
from davy.files.run_folder import open_run_folder, skip_rows

RUN = {"input": "abc", "model": "fake", "version": "1"}


def frame(start, stop):
    return pl.DataFrame({"id": list(range(start, stop)), "text": [None if i % 3 else "" for i in range(start, stop)]})


def test_a_run_goes_on_after_the_rows_that_were_kept(tmp_path):
    out = tmp_path / "out.parquet"
    with open_run_folder(out, RUN) as parts:
        parts.add(frame(0, 10))
        parts.add(frame(10, 14))
        parts.save()
    assert not out.exists()
    with open_run_folder(out, RUN, resume=True) as parts:
        assert parts.rows == 14
        for rest in skip_rows([frame(0, 12), frame(12, 20)], parts.rows):
            parts.add(rest)
            parts.save()
        parts.finish(lambda frames: pl.concat(frames).write_parquet(out))
    assert pl.read_parquet(out).equals(frame(0, 20))
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_another_model_or_input_starts_afresh_or_says_what_changed(tmp_path):
    out = tmp_path / "out.csv"
    with open_run_folder(out, RUN) as parts:
        parts.add(frame(0, 10))
        parts.save()
    with (
        pytest.raises(UserError, match=r"input, version changed"),
        open_run_folder(out, {**RUN, "version": "2", "input": "x"}, resume=True),
    ):
        pass
    with open_run_folder(out, RUN) as parts:
        assert parts.rows == 10, "the refused resume must not have emptied it"
    with open_run_folder(out, {**RUN, "version": "2"}) as parts:
        assert parts.rows == 0


def test_starting_afresh_can_be_asked_for(tmp_path):
    with open_run_folder(tmp_path / "o", RUN) as parts:
        parts.add(frame(0, 10))
        parts.save()
    with open_run_folder(tmp_path / "o", RUN, resume=False) as parts:
        assert parts.rows == 0


def test_resuming_nothing_is_an_error_that_leaves_nothing_behind(tmp_path):
    with pytest.raises(UserError, match="nothing to resume"), open_run_folder(tmp_path / "o.csv", RUN, resume=True):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_before_its_first_part_leaves_nothing(tmp_path):
    def fail():
        with open_run_folder(tmp_path / "o.csv", RUN):
            raise UserError("the model is gone")

    with pytest.raises(UserError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_two_runs_do_not_write_one_output(tmp_path):
    with (
        open_run_folder(tmp_path / "o", RUN),
        pytest.raises(UserError, match="Another davy"),
        open_run_folder(tmp_path / "o", RUN),
    ):
        pass


def test_a_part_that_a_killed_run_did_not_save_does_not_count(tmp_path):
    with open_run_folder(tmp_path / "o", RUN) as parts:
        parts.add(frame(0, 10))
        parts.save()
        parts.add(frame(10, 20))  # killed before `save`: the state does not count it
    with open_run_folder(tmp_path / "o", RUN) as parts:
        assert parts.rows == 10
        parts.add(frame(10, 12))
        parts.save()
        assert pl.concat(parts.frames()).equals(frame(0, 12))


def test_a_file_hash_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert file_hash(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_what_a_run_noted_comes_back_with_its_parts(tmp_path):
    with open_run_folder(tmp_path / "o", RUN) as parts:
        assert parts.progress == {}
        parts.add(frame(0, 10))
        parts.save(place=7)
    with open_run_folder(tmp_path / "o", RUN) as parts:
        assert (parts.resumed, parts.rows, parts.progress) == (True, 10, {"place": 7})


def test_a_state_that_is_damaged_or_of_an_older_davy_starts_afresh(tmp_path):
    for state in ("{", '{"input": "abc", "model": "fake", "version": "1"}'):
        (tmp_path / "o.parts").mkdir(exist_ok=True)
        (tmp_path / "o.parts" / "state.json").write_text(state)
        with open_run_folder(tmp_path / "o", RUN) as parts:
            assert (parts.resumed, parts.rows) == (False, 0)
        assert not (tmp_path / "o.parts").exists()
