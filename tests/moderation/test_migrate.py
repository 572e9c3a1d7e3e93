"""Coming over from Perspective: old scores beside ours, and thresholds that flag the same share."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from davy.core import Abilities, Label, Question, Scores
from davy.core.errors import UserError
from davy.measure.intervals import Bootstrap
from davy.measure.score_comparison import compare_scores, same_share_threshold, spearman
from davy.moderation.migrate import compare_log, parse_thresholds
from davy.moderation.migration_report import write_migration
from davy.moderation.store import communities
from davy.moderation.threshold_file import read_thresholds
from davy.scoring.scorers import load_scorer
from davy.shell.app import run
from davy.store import open_store
from davy.text.lexicons.read import load as load_lexicon
from davy.text.mask import mask


@pytest.fixture
def scores():
    chance = np.random.default_rng(4)
    old = chance.random(400)
    return old, np.clip(old**2 + chance.normal(0, 0.05, 400), 0, 1)


def test_rank_correlation_is_scipys_with_ties_too(scores):
    old, new = scores
    for first, second in ((old, new), (old.round(1), new.round(1))):
        assert spearman(first, second).value == pytest.approx(stats.spearmanr(first, second).statistic)


def test_the_new_threshold_flags_the_same_share_and_its_interval_holds_it(scores):
    old, new = scores
    found = compare_scores(old, new, 0.8, bootstrap=Bootstrap(300))
    assert found.flagged.value == found.flagged_now.value
    assert found.threshold.low < found.threshold.value < found.threshold.high
    assert found.threshold.value == pytest.approx(0.64, abs=0.08)  # 0.8 squared
    assert found.kappa.value == pytest.approx(cohen_kappa_score(old >= 0.8, new >= found.threshold.value))
    assert found.unchanged_threshold.value < found.flagged.value


@pytest.mark.parametrize(
    ("flags", "new", "flagged"),
    [
        ([1, 0, 0, 0], [0.5, 0.5, 0.5, 0.1], 3),  # ties: some are better than none
        ([0, 0, 0, 0], [0.2, 0.9, 0.1, 0.4], 0),
        ([1, 1, 1, 1], [0.2, 0.9, 0.1, 0.4], 4),
        ([1, 1, 0, 0], [0.2, 0.9, 0.1, 0.4], 2),
    ],
)
def test_ties_and_ends_have_a_threshold(flags, new, flagged):
    cut = same_share_threshold(np.array(flags, dtype=bool), np.array(new))
    assert int((np.array(new) >= cut).sum()) == flagged


@pytest.fixture
def log(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("grumblefop\n", encoding="utf-8")
    lines = []
    for i in range(60):
        text = f"post {i} {'grumblefop' if i % 3 == 0 else 'fine'}"
        value = 0.9 if i % 3 == 0 else 0.1
        scores = {"IDENTITY_ATTACK": {"summaryScore": {"value": value}}, "INSULT": {"summaryScore": {"value": 0.5}}}
        lines.append(json.dumps({"comment": {"text": text}, "attributeScores": scores}))
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, f"keywords:{words}@hate"


def test_perspectives_own_answers_are_read_and_what_is_not_covered_is_said(log, tmp_path):
    path, model = log
    done = compare_log(str(path), model, thresholds={"": 0.7}, resamples=50)
    assert [it.attribute for it in done.attributes] == ["IDENTITY_ATTACK"]
    assert done.left_out == {"INSULT": f"{model} does not answer it"}
    figures = done.attributes[0].figures
    assert figures.flagged.value == figures.flagged_now.value == pytest.approx(1 / 3)
    assert figures.agreement.value == 1
    files = write_migration(done, tmp_path / "out", log=str(path))
    assert read_thresholds(files[0]).common == {"hate": pytest.approx(figures.threshold.value, abs=1e-6)}
    html = files[2].read_text(encoding="utf-8")
    assert "Perspective&#x27;s scores and ours" in html
    assert "<svg" in html


def test_a_csv_with_ids_takes_its_texts_from_another_file(log, tmp_path):
    _, model = log
    ids = [f"p{i}" for i in range(40)]
    pl.DataFrame({"id": ids, "identity_attack": [0.9 if i % 4 == 0 else 0.2 for i in range(40)]}).write_csv(
        tmp_path / "scores.csv"
    )
    texts = ["a grumblefop" if i % 4 == 0 else "fine" for i in range(40)]
    pl.DataFrame({"id": ids, "text": texts}).write_csv(tmp_path / "posts.csv")
    done = compare_log(str(tmp_path / "scores.csv"), model, posts=str(tmp_path / "posts.csv"), resamples=20)
    assert done.attributes[0].figures.agreement.value == 1
    with pytest.raises(UserError, match="no column with the texts"):
        compare_log(str(tmp_path / "scores.csv"), model)


def test_the_shell_writes_the_report_and_refuses_what_is_no_threshold(log, tmp_path, capsys):
    path, model = log
    out = tmp_path / "out"
    assert run(["migrate", "compare", str(path), "--model", model, "--flagged-from", "0.7", "--out", str(out)]) == 0
    assert (out / "thresholds.yaml").exists()
    assert run(["migrate", "compare", str(path), "--flagged-from", "TOXICITY=hot", "--replace", "--out", str(out)]) == 2
    assert "no threshold" in capsys.readouterr().err
    assert parse_thresholds(["0.7", "toxicity=0.8"]) == {"": 0.7, "TOXICITY": 0.8}


def test_a_threshold_for_a_name_that_the_log_lacks_is_one_line_with_the_nearest_name(log, tmp_path, capsys):
    path, model = log
    given = ["migrate", "compare", str(path), "--model", model, "--out", str(tmp_path / "out")]
    assert run([*given, "--flagged-from", "IDENTITY_ATACK=0.5", "--replace"]) == 2
    assert "Did you mean 'IDENTITY_ATTACK'?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    done = compare_log(str(path), model, thresholds=parse_thresholds(["0.6", "identity_attack=0.95"]), resamples=0)
    assert done.attributes[0].old_threshold == 0.95


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ([0.1, 0.2], [0.3, 0.4], "no old score reaches 0.7"),
        ([0.8, 0.9], [0.3, 0.4], "every old score reaches 0.7"),
        ([0.1, 0.9], [0.0, 0.0], "so many new scores are equal that every post would be flagged"),
    ],
)
def test_no_threshold_is_made_up_where_the_posts_tell_none(old, new, why):
    found = compare_scores(np.array(old * 20), np.array(new * 20), 0.7, bootstrap=Bootstrap(20))
    assert (found.threshold.value, found.threshold.note) == (None, why)
    assert found.agreement.value is None
    assert found.flagged.value is not None


def test_an_attribute_that_was_never_flagged_gets_no_threshold_and_the_shell_says_why(log, tmp_path, capsys):
    path, model = log
    out = tmp_path / "out"
    given = ["migrate", "compare", str(path), "--model", model, "--out", str(out)]
    assert run([*given, "--flagged-from", "IDENTITY_ATTACK=0.95", "--replace"]) == 0
    assert "IDENTITY_ATTACK: no threshold is written, because no old score reaches 0.95." in capsys.readouterr().err
    assert "# IDENTITY_ATTACK: no threshold, because" in (out / "thresholds.yaml").read_text(encoding="utf-8")
    assert json.loads((out / "compare.json").read_text())["attributes"]["IDENTITY_ATTACK"]["threshold"]["value"] is None
    with pytest.raises(UserError, match="has no thresholds"):
        read_thresholds(out / "thresholds.yaml")


def test_scores_in_percent_are_refused(log, tmp_path):
    _, model = log
    rows = "".join(f"post {i},{i}\n" for i in range(40))
    (tmp_path / "percent.csv").write_text("text,IDENTITY_ATTACK\n" + rows, encoding="utf-8")
    with pytest.raises(UserError, match=r"outside 0 to 1, such as 2 \(38 of 40\).* divide them by 100"):
        compare_log(str(tmp_path / "percent.csv"), model)


def test_a_requests_text_is_found_wherever_its_key_stands(log, tmp_path):
    path, model = log
    rows = [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines()]
    for row in rows[::2]:
        row["comment"] = {"type": "PLAIN_TEXT", **row["comment"]}
    other = tmp_path / "requests.jsonl"
    other.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    seen = []

    class Listening:
        def __init__(self, scorer):
            self.scorer = scorer

        def __getattr__(self, name):
            return getattr(self.scorer, name)

        def score(self, posts):
            seen.extend(posts["text"])
            return self.scorer.score(posts)

    compare_log(str(other), Listening(load_scorer(model)), resamples=0)
    assert seen == [row["comment"]["text"] for row in rows]


def test_rows_that_are_not_compared_are_counted_by_reason_everywhere(log, tmp_path, capsys):
    _, model = log
    cells = ["0,85", "n/a", *(["0.9", "0.1"] * 20), "", ""]
    rows = [f'p{i};"{cell}"' for i, cell in enumerate(cells)]
    (tmp_path / "scores.csv").write_text("id;IDENTITY_ATTACK\n" + "\n".join(rows) + "\n", encoding="utf-8")
    texts = [f"p{i},a {'grumblefop' if cell == '0.9' else 'fine post'}" for i, cell in enumerate(cells)]
    (tmp_path / "posts.csv").write_text("id,text\n" + "\n".join(texts[:-1]) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    given = [str(tmp_path / "scores.csv"), "--posts", str(tmp_path / "posts.csv"), "--model", model]
    assert run(["migrate", "compare", *given, "--out", str(out)]) == 0
    of_log = "43 of 44 rows of the log were scored. Left out: 1 without a text."
    of_attribute = (
        "IDENTITY_ATTACK: 40 of 43 posts were compared. Left out: 1 without a score, 2 with a score that is no number. "
        "'0,85' is no number: write 0.85."
    )
    said, header = capsys.readouterr().err, (out / "thresholds.yaml").read_text(encoding="utf-8")
    assert of_log in said
    assert of_attribute in said
    assert f"# {of_log}\n# {of_attribute}\n" in header
    assert "fitted on 40 posts" in header
    figures = json.loads((out / "compare.json").read_text(encoding="utf-8"))
    assert figures["dropped"] == {"without a text": 1}
    attribute = figures["attributes"]["IDENTITY_ATTACK"]
    assert (attribute["posts"], attribute["no_number"]) == (40, "0,85")
    assert attribute["dropped"] == {"without a score": 1, "with a score that is no number": 2}


def test_posts_in_languages_that_are_not_judged_are_counted(log, tmp_path):
    english = "What a lovely day it is in the garden, and how kind of you to ask me. "
    french = "C'est une belle journée aujourd'hui pour tout le monde, mes chers amis. "
    texts = [(french if i < 3 else english) + str(i) for i in range(40)]
    pl.DataFrame({"text": texts, "IDENTITY_ATTACK": [i / 40 for i in range(40)]}).write_csv(tmp_path / "some.csv")
    done = compare_log(str(tmp_path / "some.csv"), "embedded", resamples=0)
    assert done.attributes[0].dropped == {"in a language that is not judged": 3}


def test_an_answer_that_is_no_json_counts_as_none(log, tmp_path):
    path, model = log
    rows = [json.loads(row) for row in path.read_text(encoding="utf-8").splitlines()]
    cells = ["cut of", *(json.dumps(row["attributeScores"]) for row in rows[1:])]
    texts = [row["comment"]["text"] for row in rows]
    pl.DataFrame({"text": texts, "attributeScores": cells}).write_csv(tmp_path / "answers.csv")
    done = compare_log(str(tmp_path / "answers.csv"), model, resamples=0)
    assert done.attributes[0].dropped == {"without a score": 1}


def test_decimal_commas_alone_are_said_where_nothing_can_be_compared(log, tmp_path):
    _, model = log
    rows = "".join(f"post {i};0,{i}\n" for i in range(10, 40))
    (tmp_path / "commas.csv").write_text("text;IDENTITY_ATTACK\n" + rows, encoding="utf-8")
    with pytest.raises(UserError, match=r"30 with a score that is no number\. '0,10' is no number: write 0\.10"):
        compare_log(str(tmp_path / "commas.csv"), model)


def test_a_log_without_scores_or_with_few_posts_is_one_clear_line(tmp_path, log):
    _, model = log
    (tmp_path / "no.csv").write_text("text\nfine\n", encoding="utf-8")
    with pytest.raises(UserError, match="has no scores"):
        compare_log(str(tmp_path / "no.csv"), model)
    (tmp_path / "few.csv").write_text("text,IDENTITY_ATTACK\nfine,0.2\n", encoding="utf-8")
    with pytest.raises(UserError, match="only 1 posts have both"):
        compare_log(str(tmp_path / "few.csv"), model)


class Loudness:
    """Answers `hate` by the number in a text: as it is in English, halved in German; others are not judged."""

    name, version = "loudness", "1"
    questions = (Question("hate", (Label("not hateful"), Label("hateful")), positive="hateful"),)
    abilities = Abilities()

    def score(self, posts):
        langs = posts["lang"].to_list()
        share = {"en": 1.0, "de": 0.5}
        loud = [float(text.split()[-1]) * share.get(lang, 0) for text, lang in zip(posts["text"], langs, strict=True)]
        yes = np.array(loud)
        answered = np.array([lang in share for lang in langs])
        return Scores(self.questions, {"hate": np.stack([1 - yes, yes], axis=1)}, answered={"hate": answered})


@pytest.fixture
def multilingual(tmp_path):
    """200 posts in English and 100 in German with the loudness as the old score; 30 in French with chance."""
    chance = np.random.default_rng(1)
    loud = chance.random(330)
    rows = []
    for i, value in enumerate(loud):
        lang = "en" if i < 200 else "de" if i < 300 else "fr"
        scores = {name: {"summaryScore": {"value": float(value)}} for name in ("IDENTITY_ATTACK", "SEVERE_TOXICITY")}
        rows.append({"comment": {"text": f"post {i} {value}"}, "languages": [lang], "attributeScores": scores})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path, loud


def own_map(tmp_path):
    path = tmp_path / "map.yaml"
    path.write_text(
        "attributes:\n  IDENTITY_ATTACK: {question: hate}\n  SEVERE_TOXICITY: {formula: 0.5 * hate}\n", encoding="utf-8"
    )
    return str(path)


def test_each_language_of_a_log_has_its_own_threshold(multilingual, tmp_path):
    path, loud = multilingual
    attributes = own_map(tmp_path)
    done = compare_log(str(path), Loudness(), attributes=attributes, thresholds={"": 0.8}, resamples=50)
    attack, severe = done.attributes
    assert attack.dropped == {"in a language that is not judged": 30}
    assert {it.lang: len(it.old) for it in attack.languages} == {"en": 200, "de": 100}
    by_lang = {it.lang: it.figures for it in attack.languages}
    for lang, rows, share in (("en", slice(0, 200), 1.0), ("de", slice(200, 300), 0.5)):
        flagged = loud[rows] >= 0.8
        between = (loud[rows][~flagged].max() * share, loud[rows][flagged].min() * share)
        assert between[0] < by_lang[lang].threshold.value <= between[1]
        assert by_lang[lang].kept_flags.value == by_lang[lang].kappa.value == 1
    assert attack.figures.kept_flags.value < 0.8, "one threshold for both languages flags others"
    assert severe.figures.threshold.value == pytest.approx(attack.figures.threshold.value / 2), "a formula has one, too"
    files = write_migration(done, tmp_path / "out", log=str(path))
    read = read_thresholds(files[0])
    assert set(read.common) == {"hate", "SEVERE_TOXICITY"}
    assert read.languages["de"]["hate"] == pytest.approx(by_lang["de"].threshold.value, abs=1e-6)
    assert "Signed" in files[2].read_text(encoding="utf-8")


def test_thresholds_by_language_go_into_a_community_and_decide_there(multilingual, tmp_path, capsys):
    path, _ = multilingual
    done = compare_log(str(path), Loudness(), attributes=own_map(tmp_path), thresholds={"": 0.8}, resamples=0)
    file = write_migration(done, tmp_path / "out", log=str(path))[0]
    database = ["--database", f"sqlite:///{tmp_path / 'davy.sqlite'}"]
    assert run(["database", "create", *database]) == 0
    assert run(["community", "create", "forum", "--thresholds", str(file), "--uncertain", "0.4:0.9", *database]) == 0
    policy = tmp_path / "policy.yaml"
    policy.write_text("ground: House rules\nillegal: no\naction: demoted\n", encoding="utf-8")
    more = ["--policy", str(policy), "--review-unjudged"]
    assert run(["community", "set", "forum", "--threshold", "fr:hate=0.3", *more, *database]) == 0
    assert "fr 0.3" in capsys.readouterr().err
    with open_store(database[1]) as store, store.read() as db:
        forum = communities.get(db, "forum")
    assert (forum.policy.ground, forum.policy.action, forum.review_unjudged) == ("House rules", "demoted", True)
    english, german = (forum.threshold_in(lang) for lang in ("en-GB", "de"))
    assert english == pytest.approx(2 * german, abs=0.02)
    assert forum.threshold_in("fr") == 0.3
    assert forum.threshold_in("pl") == forum.threshold
    assert forum.decide(german, "de") == "review"
    assert forum.uncertain_in("de") == pytest.approx((0, forum.high + german - forum.threshold), abs=0.1)
    without_band = replace(forum, low=None, high=None)
    assert (without_band.decide(german, "de"), without_band.decide(german, "en")) == ("flag", "pass")


def test_ranks_that_hardly_agree_are_a_warning_with_the_flags_that_are_kept(tmp_path, capsys):
    chance = np.random.default_rng(2)
    old, new = chance.random(300), chance.random(300)
    pl.DataFrame({"text": [f"post {value}" for value in new], "lang": "en", "IDENTITY_ATTACK": old}).write_csv(
        tmp_path / "log.csv"
    )
    done = compare_log(str(tmp_path / "log.csv"), Loudness(), thresholds={"": 0.9}, resamples=0, seed=5)
    kept = done.attributes[0].figures.kept_flags
    cut = done.attributes[0].figures.threshold.value
    assert kept.value == ((old >= 0.9) & (new >= cut)).sum() / (old >= 0.9).sum()
    warning = next(note for note in done.notes() if "hardly agree" in note)
    assert f"{round(kept.value * kept.n)} are flagged again" in warning
    assert "the ranks hardly agree" in write_migration(done, tmp_path / "out")[0].read_text(encoding="utf-8")


def test_disagreements_are_shown_by_kind_masked_and_drawn_with_the_seed(tmp_path):
    word = next(it.term for it in load_lexicon("en").entries if it.kind == "profanity")
    old = [0.9, 0.1] * 40
    texts = [f"{word} {i} {0.05 if i % 8 == 0 else 0.9 if i % 8 == 1 else value}" for i, value in enumerate(old)]
    pl.DataFrame({"text": texts, "lang": "en", "IDENTITY_ATTACK": old}).write_csv(tmp_path / "log.csv")

    def page(seed):
        done = compare_log(str(tmp_path / "log.csv"), Loudness(), resamples=0, seed=seed)
        return write_migration(done, tmp_path / f"out{seed}")[3].read_text(encoding="utf-8")

    first = page(0)
    assert "Flagged before, not now: 10 of 80" in first
    assert "Flagged now, not before: 10 of 80" in first
    assert "This page shows hateful texts" in first
    assert f">{mask(word)}<" in first
    assert f">{word}<" not in first
    drawn = [line for line in first.splitlines() if mask(word) in line]
    assert drawn == [line for line in page(0).splitlines() if mask(word) in line]
