"""Recipes as data, and whole runs of them: the funnel adds up, and several processes do what one does."""

import random

import polars as pl
import pytest

from davy.core.errors import UserError
from davy.corpus.clean import recipe as recipes
from davy.corpus.clean.run import Funnel, FunnelRow, clean
from davy.files.yaml_objects import shipped_names

MIXED = """
steps:
  - unify-space
  - drop-duplicates: {fold: true}
  - mask-urls: {with: "<link>"}
  - drop-near-duplicates: {threshold: 0.8}
  - drop-one-word
"""


def run(posts, recipe, folder, *, workers=1, size=100, rows=None):
    folder.mkdir(exist_ok=True)
    frames = (posts[start : start + size] for start in range(0, len(posts), size))
    done = clean(frames, recipe, folder, rows=rows, workers=workers)
    return pl.concat(list(done.frames())), done.funnel


def some_posts(n=1000, seed=1):
    chance = random.Random(seed)
    words = [f"word{i}" for i in range(300)]
    texts = []
    for i in range(n):
        kind = i % 10
        if kind == 7:
            texts.append(chance.choice(texts))
        elif kind == 8:
            texts.append(f"{chance.choice(texts)}  !")
        elif kind == 9:
            texts.append(chance.choice(["", "https://a.example/b", "one", "😀 😀"]))
        else:
            texts.append(" ".join(chance.choices(words, k=chance.randint(5, 25))))
    return pl.DataFrame({"id": [f"p{i}" for i in range(n)], "text": texts, "n": range(n)})


def test_the_shipped_recipes_are_read_and_name_their_papers():
    names = shipped_names(recipes.PACKAGE)
    assert names == ["edos", "edos-judge", "gmhp7k"]
    for name in names:
        recipe = recipes.load(name)
        assert recipe.name == name
        assert "20" in recipe.source


def test_the_edos_recipe_takes_the_papers_steps_in_the_papers_order(tmp_path):
    german = "Ich weiß wirklich nicht, wovon du da eigentlich redest, mein Freund"
    texts = [
        "see https://a.example/b now, @someone",
        "",
        "https://a.example/c 😀",
        german,
        "hello there, you",
        "hello there, you",
    ]
    left, funnel = run(pl.DataFrame({"id": list("abcdef"), "text": texts}), recipes.load("edos"), tmp_path)
    assert left["text"].to_list() == ["see [URL] now, [USER]", "hello there, you"]
    did = {row.step: (row.dropped, row.changed) for row in funnel.rows}
    assert did == {
        "unify-space": (0, 0),
        "mask-urls": (0, 2),
        "mask-mentions": (0, 1),
        "drop-empty": (1, 0),
        "drop-only": (1, 0),
        "keep-languages": (1, 0),
        "drop-duplicates": (1, 0),
    }


def test_the_gmhp7k_recipe_drops_what_the_published_corpus_does_not_have(tmp_path):
    texts = {
        "@eine Lass dich von diesen #Grumblefops nicht beeinflussen. https://a.example/b": (
            "@TwitterUser Lass dich von diesen nicht beeinflussen."
        ),
        "@anna Guten Morgen zusammen": "@TwitterUser Guten Morgen zusammen",
        "@otto Guten Morgen zusammen": None,
        "@a @b #c !!": None,
        "@TwitterUser": None,
        "Danke!": None,
        "@anna @otto Danke": None,
        "@anna Danke #schön": None,
        "Alles FREE hier für euch": None,
        "Das ist ein nasses Tuch": None,
        "Berlin-Marzahn": "Berlin-Marzahn",
        "@anna Meinung @otto ?": "@TwitterUser Meinung @TwitterUser ?",
        "Das ist die Freiheit, die wir meinen": "Das ist die Freiheit, die wir meinen",
        "mit\x07 Zeichen\tdarin": "mit Zeichen darin",
    }
    posts = pl.DataFrame({"id": [str(n) for n in range(len(texts))], "text": list(texts)})
    left, funnel = run(posts, recipes.load("gmhp7k"), tmp_path)
    assert left["text"].to_list() == [kept for kept in texts.values() if kept is not None]
    dropped = {row.step: row.dropped for row in funnel.rows if row.dropped}
    assert dropped == {"drop-only": 2, "drop-one-word": 3, "drop-words": 2, "drop-duplicates": 1}


def test_the_recipe_of_edos_judge_masks_links_names_and_emoji_and_drops_duplicates(tmp_path):
    texts = ["see  https://a.example/b 👩🏽‍🚀 @ada", "see https://a.example/c 🚀 @bob", "plain", "plain"]
    left, _ = run(pl.DataFrame({"id": list("abcd"), "text": texts}), recipes.load("edos-judge"), tmp_path)
    assert left["text"].to_list() == ["see [URL] [EMOJI] [USER]", "plain"]


def test_rows_of_a_funnel_add_up_and_other_columns_come_along(tmp_path):
    posts = some_posts()
    left, funnel = run(posts, recipes.parse(MIXED.encode(), "mine"), tmp_path)
    assert funnel.came == len(posts)
    assert funnel.left == len(left)
    assert sum(row.dropped for row in funnel.rows) == len(posts) - len(left)
    assert left["id"].to_list() == [f"p{n}" for n in left["n"]]
    assert left["n"].is_sorted()
    assert not left["text"].is_duplicated().any()


def test_a_funnel_whose_rows_do_not_add_up_is_refused():
    with pytest.raises(ValueError, match="left 8 posts, b got 9"):
        Funnel("x", "1", "", (FunnelRow("a", {}, 10, 2, 0), FunnelRow("b", {}, 9, 0, 0)))


def test_two_processes_and_other_batches_leave_the_same_posts(tmp_path):
    posts, recipe = some_posts(2000), recipes.parse(MIXED.encode(), "mine")
    one, first = run(posts, recipe, tmp_path / "one", size=2000)
    two, second = run(posts, recipe, tmp_path / "two", workers=2, size=150)
    assert one.equals(two)
    assert first.rows == second.rows


def test_near_duplicates_that_were_planted_are_dropped(tmp_path):
    chance = random.Random(4)
    words = [f"word{i}" for i in range(500)]
    texts = [" ".join(chance.choices(words, k=30)) for _ in range(300)]
    twins = [f"{text} again" for text in texts[:100]]
    posts = pl.DataFrame({"id": [str(i) for i in range(400)], "text": texts + twins})
    left, _ = run(posts, recipes.parse(b"steps: [drop-near-duplicates]", "mine"), tmp_path)
    assert left["id"].to_list() == [str(i) for i in range(300)]


def test_posts_without_a_text_are_no_duplicates_of_each_other(tmp_path):
    posts = pl.DataFrame({"id": ["a", "b"], "text": [None, None]}, schema={"id": pl.String, "text": pl.String})
    left, _ = run(posts, recipes.parse(b"steps: [drop-duplicates, drop-near-duplicates]", "mine"), tmp_path)
    assert len(left) == 2


def test_repeated_ids_can_be_dropped(tmp_path):
    posts = pl.DataFrame({"id": ["a", "b", "a"], "text": ["x", "y", "z"]})
    left, _ = run(posts, recipes.parse(b"steps: [drop-duplicates: {by: id}]", "mine"), tmp_path)
    assert left["text"].to_list() == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps: [drop-empti]", "mine:1: There is no step 'drop-empti'. Did you mean 'drop-empty'?"),
        (
            "steps:\n  - drop-empty\n  - mask-urls: {wiht: x}",
            "mine:3: step 'mask-urls' has no parameter 'wiht'; it takes with. Did you mean 'with'?",
        ),
        (
            "steps:\n  - drop-near-duplicates: {threshold: high}",
            "mine:2: step 'drop-near-duplicates': 'threshold' should be a number, not 'high'.",
        ),
        ("steps:\n  - drop-near-duplicates: {threshold: 0}", "threshold is 0.0; it should be 0.3 to 1"),
        ("steps:\n  - drop-near-duplicates: {threshold: nan}", "should be a finite number"),
        ("steps:\n  - drop-only", "step 'drop-only' needs the parameter 'of'"),
        ("steps:\n  - drop-only: {of: [url]}", "there is no kind of thing 'url'; known:"),
        ("steps:\n  - keep-languages: {languages: english}", "'english' is not a language code"),
        ("steps:\n  - drop-length: {min: 9, max: 2}", "leave no length that fits"),
        ("steps:\n  - drop-lexicon: {lexicon: nosuch}", "No lexicon 'nosuch'"),
        ("steps:\n  - drop-words: {words: ['']}", "an empty word would drop every post"),
        ("steps:\n  - unify-space: {one-line: maybe}", "should be true or false, not 'maybe'"),
        ("steps:\n  - [drop-empty]", "A step is a name, or one name with its parameters"),
        ("steps: []", "A recipe needs `steps:`, a list with at least one step."),
        (
            "stepps: [drop-empty]",
            "'stepps' is not known here; known: name, version, title, source, steps. Did you mean 'steps'?",
        ),
        ("", "The file is empty"),
        ("steps: [&a drop-empty]", "Anchors and aliases"),
        ("steps: [drop-empty", "This is not YAML"),
    ],
)
def test_a_wrong_recipe_is_answered_with_its_line_and_what_to_write(text, said):
    with pytest.raises(UserError) as caught:
        recipes.parse(text.encode(), "mine")
    assert said in caught.value.message
    assert caught.value.message.startswith("mine:")


def test_an_unknown_recipe_is_answered_with_the_nearest():
    with pytest.raises(UserError, match=r"There is no recipe 'edoss'; Davy has .* Did you mean 'edos'"):
        recipes.load("edoss")
