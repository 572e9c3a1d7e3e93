"""Actions are called as a page, a job or a notebook would call them: no shell, no printing, results as objects."""

from __future__ import annotations

import json

import polars as pl
import pytest

from davy.core.errors import UserError
from davy.core.reporter import Reporter, Stopped
from davy.corpus.post_source import PostSource, load_posts
from davy.detectors.load import load
from davy.evaluation.evaluate_detectors import evaluate, write_evaluation
from davy.scoring.score_file import score_file, score_text
from davy.training.train import train


class Notes(Reporter):
    """Keeps what an action says."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[tuple[str, int | None]] = []
        self.steps = 0
        self.lines: list[str] = []

    def begin(self, task: str, total: int | None = None) -> None:
        self.tasks.append((task, total))

    def advance(self, steps: int = 1) -> None:
        self.steps += steps

    def note(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def posts() -> pl.DataFrame:
    rude, kind = ["bad grumblefop", "they are all grumblefop"], ["a lovely garden", "they are all nice"]
    texts = [(rude if i % 2 else kind)[i // 2 % 2] for i in range(40)]
    gold = ["hateful" if i % 2 else "not hateful" for i in range(40)]
    return pl.DataFrame({"id": [f"p{i}" for i in range(40)], "text": texts, "hate.gold": gold})


def test_a_file_is_scored_and_its_verdicts_are_counted(tmp_path, posts, capsys):
    posts.rename({"text": "body"}).write_csv(tmp_path / "posts.csv")
    (tmp_path / "words.txt").write_text("grumblefop\n")
    notes = Notes()
    source = PostSource(str(tmp_path / "posts.csv"), text="body")
    scored = score_file(source, tmp_path / "out.csv", f"keywords:{tmp_path / 'words.txt'}", reporter=notes)
    assert (scored.posts, scored.without_score, scored.verdicts) == (40, 0, {"none": 20, "hateful": 20})
    assert scored.to_dict()["out"] == str(tmp_path / "out.csv")
    assert (notes.tasks, notes.steps) == ([("Scoring posts.csv", 40)], 40)
    assert capsys.readouterr() == ("", "")


def test_an_action_that_must_stop_ends_between_two_steps_and_goes_on_later(tmp_path, posts):
    pl.concat([posts] * 300).with_columns(id=pl.int_range(pl.len())).write_csv(tmp_path / "posts.csv")
    answers = iter([False, False, True])
    with pytest.raises(Stopped):
        score_file(
            tmp_path / "posts.csv", tmp_path / "out.csv", "uniform", reporter=Reporter(lambda: next(answers, True))
        )
    assert not (tmp_path / "out.csv").exists()
    notes = Notes()
    assert score_file(tmp_path / "posts.csv", tmp_path / "out.csv", "uniform", reporter=notes).posts == 12_000
    assert notes.lines == ["Going on after 1,024 posts that were scored before."]


def test_a_baseline_is_trained_from_a_frame_and_measured_on_dev(tmp_path, posts):
    notes = Notes()
    run = train(posts, tmp_path / "run", kind="tfidf", name="plain", dev=posts, seeds=[7], reporter=notes)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["summary"]["hate"] == {"mean": 1.0, "n": 1}
    assert run.models == {7: tmp_path / "run" / "seed-7" / "model"}
    assert "tfidf baseline for hate" in (run.model / "card.md").read_text()
    scorer = load(str(run.model))
    assert scorer.name == "plain"
    assert score_text("such a grumblefop", scorer).record["verdict"] == "hateful"
    assert notes.lines[-1] == "plain, seed 7: 40 posts, hate"


def test_scorers_are_compared_under_the_callers_names(tmp_path, posts):
    run = train(posts, tmp_path / "run", kind="tfidf")
    result = evaluate(posts, {"mine": load(str(run.model)), "chance": "uniform"})
    assert list(result.models) == ["mine", "chance"]
    figures = {model.name: model.report.metrics[0].value for model in result.results[0].models}
    assert figures["mine"] == 1.0 > figures["chance"]
    write_evaluation(result, tmp_path / "report", command="by hand")
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == [
        "errors.csv",
        "figures.csv",
        "report.html",
        "results.json",
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda posts, out: train(posts, out, kind="tfdif"), "no kind of model 'tfdif'"),
        (lambda posts, _: evaluate(posts), "Say what to measure"),
        (lambda posts, _: evaluate(posts.drop("text"), ["uniform"]), "no column 'text'"),
    ],
)
def test_what_a_caller_can_fix_is_one_sentence(tmp_path, posts, call, words):
    with pytest.raises(UserError, match=words):
        call(posts, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_hugging_face_export_is_read_with_its_settled_answers(tmp_path):
    frame = pl.DataFrame(
        {
            "id": ["1", "2"],
            "text": ["tea", "rain"],
            "hate": ["hateful", None],
            "hate_basis": ["majority", None],
            "target": [["women", "trains"], None],
            "target_basis": ["expert", None],
        }
    )
    frame.write_parquet(tmp_path / "train-00000-of-00001.parquet")
    posts = load_posts(str(tmp_path / "train-00000-of-00001.parquet")).posts
    assert posts["hate.gold"].to_list() == ["hateful", None]
    assert posts["target.gold"].to_list() == ["women|trains", None]
    assert "hate" not in posts.columns
