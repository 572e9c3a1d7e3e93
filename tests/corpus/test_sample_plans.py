"""Samplers and plans: quotas, sources, no post twice, shortfalls, judges that misbehave, the same seed twice."""

import random
from collections import Counter

import numpy as np
import polars as pl
import pytest

from davy.core.errors import UserError
from davy.corpus.sample import plan as plans
from davy.corpus.sample.run import load_word_list, sample

FILLER = [f"word{i}" for i in range(300)]


@pytest.fixture
def lists(tmp_path):
    (tmp_path / "hurtful.txt").write_text("grumblefop\nmopwick\n", encoding="utf-8")
    (tmp_path / "topical.txt").write_text("lamp\n", encoding="utf-8")
    return tmp_path


def archive(n=4000, seed=1):
    """Posts from two platforms; a tenth holds a made-up insult, a tenth the topic, judges' scores are columns."""
    chance = random.Random(seed)
    rows = []
    for i in range(n):
        text = chance.choices(FILLER, k=12)
        if chance.random() < 0.1:
            text.append(chance.choice(["GRUMBLEFOP!", "moppwick", "mopwick"]))
        if chance.random() < 0.1:
            text.append("Lamp")
        rows.append(
            {
                "id": f"p{i}",
                "text": " ".join(text),
                "platform": chance.choice(["Gab", "reddit"]),
                "community": chance.choice(["a", "b", "c", "rare"] if i % 50 == 0 else ["a", "b", "c"]),
                "one": round(chance.random(), 6),
                "two": round(chance.random(), 6),
            }
        )
    return pl.DataFrame(rows)


def by_column(name):
    return lambda posts: posts[name]


JUDGES = {"one": by_column("one"), "two": by_column("two")}


def run(text, posts, folder=None, judges=JUDGES, seed=0):
    return sample(posts, plans.parse(text.encode(), "mine", folder), judges, seed=seed)


def taken(posts, done, name):
    return posts.filter(done.samplers == name)


def test_every_sampler_fills_its_quota_in_every_source_and_no_post_is_taken_twice(lists):
    text = """
by: platform
samplers:
  - keyword: {name: insult and topic, words: hurtful.txt, and: topical.txt, n: 5}
  - keyword: {name: insult, words: hurtful.txt, n: 30}
  - deciles: {name: tenths, judge: one, n: 50}
  - disagreement: {name: apart, judges: [one, two], by: 0.8, n: 20}
  - topic: {name: topic, words: topical.txt, judges: [one, two], at-least: 0.7, n: 40}
  - uncertainty: {judge: two, n: 10}
  - diversity: {n: 10, among: 200}
  - random: {n: 100}
"""
    posts = archive()
    done = run(text, posts, lists)
    quotas = {
        "insult and topic": 5,
        "insult": 30,
        "tenths": 50,
        "apart": 20,
        "topic": 40,
        "uncertainty": 10,
        "diversity": 10,
        "random": 100,
    }
    for platform in ("Gab", "reddit"):
        got = Counter(done.samplers.filter(posts["platform"] == platform).drop_nulls())
        assert got == quotas
    assert done.to_dict()["taken"] == 2 * sum(quotas.values())
    assert all(row.taken == row.asked for row in done.rows)


def test_keyword_samplers_take_only_posts_that_hold_the_words_as_people_write_them(lists):
    posts = archive()
    done = run("samplers: [keyword: {words: hurtful.txt, and: topical.txt, n: 20}]", posts, lists)
    for text in taken(posts, done, "keyword")["text"]:
        assert "Lamp" in text
        assert "GRUMBLEFOP" in text or "mopwick" in text


def test_each_tenth_of_the_range_gives_its_share():
    posts = archive()
    done = run("samplers: [deciles: {judge: one, n: 100}]", posts)
    scores = taken(posts, done, "deciles")["one"]
    assert Counter((scores * 10).floor().to_list()) == dict.fromkeys(range(10), 10)


def test_a_sample_keeps_why_a_post_was_taken():
    posts = archive()
    done = run("samplers: [deciles: {judge: one, n: 100}, uncertainty: {judge: two, n: 5}]", posts)
    rows = posts.hstack(done.traces).with_columns(done.samplers)
    tenths = rows.filter(sampler="deciles")
    assert (tenths["judge.one"] == tenths["one"]).all()
    assert tenths["sampler.tenth"].to_list() == [int(score * 10) + 1 for score in tenths["one"]]
    assert rows.filter(pl.col("sampler") != "deciles")["sampler.tenth"].null_count() == 5
    assert (rows.filter(sampler="uncertainty")["judge.two"] == rows.filter(sampler="uncertainty")["two"]).all()
    ranks = run("samplers: [deciles: {judge: one, n: 100, of: rank}]", posts)
    assert Counter(ranks.traces["sampler.tenth"].drop_nulls()) == dict.fromkeys(range(1, 11), 10)


def test_sources_that_the_plan_does_not_name_are_counted():
    posts = archive().with_columns(
        platform=pl.when(pl.col("one") < 0.1)
        .then(pl.lit("x"))
        .when(pl.col("one") > 0.9)
        .then(None)
        .otherwise("platform")
    )
    done = run("by: platform\npools: {gab: {n: 10}}\nsamplers: [random: {n: 5}]", posts)
    sizes = Counter(posts["platform"])
    assert done.left_out == {"reddit": sizes["reddit"], "x": sizes["x"], "no platform": sizes[None]}


def test_a_tenth_without_posts_is_reported_and_not_made_up_from_another():
    posts = archive(1000).filter(pl.col("one") < 0.9)
    done = run("samplers: [deciles: {judge: one, n: 100}]", posts)
    (row,) = done.rows
    assert (row.taken, row.notes) == (90, ("tenth 10: 0 of 10",))


def test_tenths_of_the_ranking_are_filled_whatever_the_range():
    posts = archive(1000).with_columns(one=pl.col("one") / 100)
    done = run("samplers: [deciles: {judge: one, n: 100, of: rank}]", posts)
    assert done.rows[0].taken == 100


def test_judges_disagree_by_the_difference_asked_for_and_no_less():
    posts = pl.DataFrame(
        {"id": list("abcd"), "text": ["x"] * 4, "one": [0.9, 0.9, 0.1, 0.5], "two": [0.1, 0.2, 0.9, 0.5]}
    )
    done = run("samplers: [disagreement: {judges: [one, two], by: 0.8, n: 9}]", posts)
    assert taken(posts, done, "disagreement")["id"].to_list() == ["a", "c"]


def test_uncertain_posts_are_those_nearest_to_the_line():
    posts = archive(500)
    done = run("samplers: [uncertainty: {judge: one, n: 25}]", posts)
    distance = (posts["one"] - 0.5).abs()
    assert (
        taken(posts, done, "uncertainty")["id"].to_list()
        == posts.filter(distance <= distance.sort()[24])["id"].to_list()
    )


def test_diverse_posts_have_less_in_common_than_random_ones():
    chance = random.Random(2)
    kinds = [" ".join(chance.choices(FILLER, k=20)) for _ in range(10)]
    texts = [f"{chance.choices(kinds, [50] + [1] * 9)[0]} {i}" for i in range(600)]
    posts = pl.DataFrame({"id": [str(i) for i in range(600)], "text": texts})
    done = run("samplers: [diversity: {n: 10}]", posts)
    assert len({text.rsplit(" ", 1)[0] for text in taken(posts, done, "diversity")["text"]}) == 10


def test_what_a_topics_judge_lacks_the_others_make_up(lists):
    posts = archive().with_columns(one=pl.lit(0.0))
    done = run("samplers: [topic: {words: topical.txt, judges: [one, two], at-least: 0.5, n: 60}]", posts, lists)
    (row,) = done.rows
    assert (row.taken, row.notes) == (60, ("one: 0 of 30",))


def test_a_quota_that_cannot_be_filled_is_reported(lists):
    done = run("samplers: [keyword: {words: hurtful.txt, n: 100000}]", archive(), lists)
    (row,) = done.rows
    assert 0 < row.taken == row.candidates < row.asked
    assert done.to_dict()["samplers"][0]["short"] == row.asked - row.taken


def test_the_same_seed_takes_the_same_posts_and_another_seed_does_not():
    posts, text = (
        archive(),
        "by: platform\nsamplers: [random: {n: 50}, deciles: {judge: one, n: 50}, diversity: {n: 5}]",
    )
    one, two, three = (run(text, posts, seed=seed).samplers.to_list() for seed in (1, 1, 2))
    assert one == two
    assert one != three


def test_pools_take_equal_parts_of_categories_from_boards_that_are_large_enough():
    posts = archive()
    text = """
by: platform
pools:
  gab: {n: 300}
  reddit: {at-least: 100, each: 200, categories: {x: [A, nosuch], y: [r/b], z: [rare]}}
samplers: [random: {n: 1000}]
"""
    done = run(text, posts)
    n, pool, notes = done.pools["reddit"]
    assert (n, pool) == (len(posts.filter(platform="reddit")), 400)
    sizes = Counter(posts.filter(platform="reddit")["community"])
    assert notes == (
        f"{sizes['c']:,} posts of 1 boards that the plan does not name were left out (c {sizes['c']:,})",
        f"{sizes['rare']:,} posts of 1 boards that are too small were left out (rare {sizes['rare']:,})",
        "z: 0 posts of 200 (0 of 1 boards have 100 posts)",
    )
    assert done.pools["gab"][1] == 300
    assert Counter(taken(posts, done, "random").filter(platform="reddit")["community"]) == {"a": 200, "b": 200}


def test_a_judge_is_asked_only_about_posts_that_its_samplers_look_at(lists):
    asked = []

    def judge(posts):
        asked.extend(posts["id"])
        return pl.Series([0.9] * len(posts))

    posts = archive()
    topic = "words: topical.txt, judges: [one], n: 5"
    run(f"samplers: [topic: {{{topic}}}, topic: {{name: again, {topic}}}]", posts, lists, {"one": judge})
    assert len(asked) == len(set(asked)) == posts["text"].str.contains("Lamp").sum()


def test_a_judge_may_have_no_answer_but_never_a_wrong_number():
    posts = archive(200)
    some = pl.Series([None if i % 2 else 0.5 for i in range(200)])
    done = run("samplers: [uncertainty: {judge: one, n: 500}]", posts, judges={"one": lambda p: some[: len(p)]})
    assert done.rows[0].taken == 100
    for wrong in (float("nan"), float("inf"), -0.1, 1.5):
        scores = pl.Series([0.5, 0.5, 0.5, wrong] + [0.5] * 196)
        with pytest.raises(UserError, match=r"Judge 'one' gave .* to post 'p3'"):
            run("samplers: [uncertainty: {judge: one, n: 5}]", posts, judges={"one": lambda p, s=scores: s})
    with pytest.raises(UserError, match="gave 1 scores for 200 posts"):
        run("samplers: [uncertainty: {judge: one, n: 5}]", posts, judges={"one": lambda p: pl.Series([0.5])})


def test_the_edos_plan_is_the_papers_and_its_word_lists_can_be_read():
    plan = plans.load("edos")
    assert sorted(sampler.n for sampler in plan.samplers) == [1000] * 5 + [5000]
    assert plan.pools["gab"].n == 1_000_000
    assert (plan.pools["reddit"].each, plan.pools["reddit"].at_least, len(plan.pools["reddit"].categories)) == (
        250_000,
        100_000,
        4,
    )
    assert sum(map(len, plan.pools["reddit"].categories.values())) == 24
    first, second = (plan.judges[judge] for judge in ("other toxicity", "sexism"))
    assert first.partition("#")[0] != second.partition("#")[0]
    assert all(len(load_word_list(name)) > 30 for name in plan.lists)


def test_the_edos_plan_fills_its_quotas_from_an_archive_that_has_the_posts():
    chance = random.Random(8)
    hurtful = [pattern.strip() for pattern in load_word_list("sexist-en").patterns[:20]]
    boards = [members[0] for members in plans.load("edos").pools["reddit"].categories.values()]
    rows = []
    for i in range(3000):
        text = [
            *chance.choices(FILLER, k=6),
            chance.choice(["she", "girl"]) if i % 2 else "x",
            chance.choice(hurtful) if i % 3 == 0 else "y",
        ]
        rows.append(
            {
                "id": str(i),
                "text": " ".join(text),
                "platform": "gab" if i % 2 else "reddit",
                "community": chance.choice(boards),
            }
        )
    posts = pl.DataFrame(rows).with_columns(pl.Series("one", np.random.default_rng(1).random(3000)))
    plan = plans.parse(_small(), "small")
    done = sample(
        posts, plan, {name: by_column("one") if name != "sexism" else lambda p: 1 - p["one"] for name in plan.judged_by}
    )
    assert {row.sampler: row.taken for row in done.rows if row.source == "gab"} == {
        "sexist and topical word": 10, "sexist word": 10, "toxicity deciles": 10, "sexism deciles": 10,
        "judges disagree": 10, "topical word and attribute": 50,
    }  # fmt: skip


def _small():
    """The edos plan with quotas of a hundredth and boards of any size."""
    from davy.files.yaml_objects import read_shipped_or_file

    text = read_shipped_or_file("edos", plans.PACKAGE, "plan").decode()
    return (
        text.replace("n: 1000}", "n: 10}")
        .replace("n: 5000}", "n: 50}")
        .replace("at-least: 100000", "at-least: 1")
        .encode()
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("samplers: [radnom: {n: 5}]", "There is no sampler 'radnom'. Did you mean 'random'?"),
        ("samplers: [random]", "sampler 'random' needs the parameter 'n'"),
        ("samplers: [random: {n: -5}]", "n is -5, below zero"),
        ("samplers: [random: {n: many}]", "'n' should be a whole number, not 'many'"),
        ("samplers: [disagreement: {n: 5, judges: [one]}]", "disagreement needs two judges, not 1"),
        ("samplers: [deciles: {n: 5, judge: one, of: row}]", "it should be range or rank"),
        ("samplers: [random: {n: 5}, random: {n: 6}]", "two samplers are called 'random'"),
        ("samplers: []", "A plan needs `samplers:`"),
        ("samplers: [random: {n: 5}]\npools: {a: {each: 5}}", "each needs categories"),
        ("samplers: [random: {n: 5}]\npools: {gab: {n: 5}}", "no line `by:` says which column tells them apart"),
        ("samplers: [random: {n: 5}]\npool: {}", "'pool' is not known here"),
        ("samplers: [deciles: {n: 5, judge: three}]", "The plan asks the judge 'three'. Say who that is"),
        ("samplers: [keyword: {n: 5, words: sexist-eng}]", "There is no word list 'sexist-eng'"),
        ("by: platfrom\nsamplers: [random: {n: 5}]", "There is no column 'platfrom'"),
        (
            "by: platform\npools: {mars: {n: 5}}\nsamplers: [random: {n: 5}]",
            "No post has 'mars' in column 'platform'; it holds gab, reddit",
        ),
    ],
)
def test_a_wrong_plan_is_answered_with_what_to_write(text, said):
    with pytest.raises(UserError) as caught:
        run(text, archive(50))
    assert said in caught.value.message
