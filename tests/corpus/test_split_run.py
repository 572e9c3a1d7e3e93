"""Splitting: groups never cross, every level is balanced, sizes are met, compositions hold, leaks are found."""

import random
from collections import Counter

import numpy as np
import polars as pl
import pytest

from davy.core.errors import UserError
from davy.corpus.split import plan as plans
from davy.corpus.split.groups import Links, find_leaks, find_links, group_rows, leaking_posts
from davy.corpus.split.plan import ASIDE, Composition, SplitPlan
from davy.corpus.split.run import split
from davy.files.yaml_objects import shipped_names

WORDS = [f"word{i}" for i in range(2000)]


def labelled(n=2000, seed=1):
    """Posts of three levels and two sources, some of them rare."""
    chance = random.Random(seed)
    rows = []
    for i in range(n):
        sexist = chance.random() < 0.25
        category = chance.choices(["threats", "derogation", "animosity"], [1, 5, 4])[0] if sexist else None
        rows.append(
            {
                "id": f"p{i}",
                "text": " ".join(chance.choices(WORDS, k=15)),
                "source": chance.choice(["gab", "reddit"]),
                "parent": None,
                "sexist.gold": "sexist" if sexist else "not sexist",
                "category.gold": category,
                "vector.gold": f"{category} {chance.randint(1, 3)}" if category else None,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def paired(n=500, seed=2):
    """Originals with a contrast of the other label each, and single posts."""
    posts = labelled(n, seed)
    twins = posts.head(n // 2).with_columns(
        id=pl.col("id") + "b",
        parent=pl.col("id"),
        text=pl.lit("contrast ") + pl.col("id") + pl.lit(" ") + pl.col("text").str.slice(40),
        **{
            "sexist.gold": pl.when(pl.col("sexist.gold") == "sexist")
            .then(pl.lit("not sexist"))
            .otherwise(pl.lit("sexist"))
        },
    )
    return pl.concat([posts.with_columns(parent=pl.lit(None, dtype=pl.String)), twins])


def test_every_level_and_every_source_has_the_same_shares_in_every_part():
    posts = labelled()
    done = split(posts, plans.load("70/10/20"))
    assert done.sizes() == {"train": 1400, "dev": 200, "test": 400}
    framed = posts.with_columns(part=done.parts)
    for level in (["sexist.gold"], ["category.gold"], ["vector.gold"], ["source"], ["source", "vector.gold"]):
        for _, stratum in framed.group_by(level):
            got = Counter(stratum["part"])
            for part, share in (("train", 0.7), ("dev", 0.1), ("test", 0.2)):
                assert abs(got[part] - share * len(stratum)) <= 2 * len(level), (level, part)


def test_balance_is_as_good_as_scikit_learns_on_posts_without_groups():
    from sklearn.model_selection import train_test_split

    posts = labelled(3000, seed=5)
    ours = split(posts, plans.load("80/20")).parts
    keys = posts["vector.gold"].fill_null("")
    _, theirs = train_test_split(range(3000), test_size=0.2, stratify=keys.to_list(), random_state=0)
    mine, peer = Counter(keys.filter(ours == "test")), Counter(keys.gather(theirs))
    assert all(abs(mine[key] - peer[key]) <= 1 for key in peer)


def test_an_original_and_its_contrast_are_never_in_different_parts():
    posts = paired()
    done = split(posts, plans.load("hatemoji"))
    part = dict(zip(posts["id"], done.parts, strict=True))
    pairs = [(parent, child) for parent, child in zip(posts["parent"], posts["id"], strict=True) if parent]
    assert len(pairs) == 250
    assert all(part[parent] == part[child] for parent, child in pairs)
    assert done.sizes() == {"train": 600, "dev": 75, "test": 75}
    assert all(leak.straddling == 0 for leak in done.leaks)


def test_near_duplicates_threads_and_fields_of_meta_stay_together():
    posts = labelled(300).with_columns(
        thread=pl.int_range(300) // 4, meta=pl.format('{{"conversation": "c{}"}}', pl.int_range(300) // 5)
    )
    twins = posts.head(60).with_columns(
        id=pl.col("id") + "x", text=pl.col("text") + " again", thread=pl.lit(None), meta=pl.lit("{}")
    )
    posts = pl.concat([posts, twins], how="vertical_relaxed")
    for columns, near in ((("thread",), 0.8), (("meta.conversation",), 0.8), ((), 0.8)):
        done = split(posts, SplitPlan({"train": 0.8, "test": 0.2}, groups=columns, near_duplicates=near))
        tied = group_rows(len(posts), find_links(posts, columns, near))
        assert all(len(set(done.parts.gather(rows))) == 1 for rows in _rows_by(tied))
        part = dict(zip(posts["id"], done.parts, strict=True))
        assert all(part[f"p{i}"] == part[f"p{i}x"] for i in range(60))


def _rows_by(tied):
    found = {}
    for row, group in enumerate(tied.tolist()):
        found.setdefault(group, []).append(row)
    return found.values()


def test_two_contrasts_of_a_post_that_is_not_in_the_file_stay_together():
    posts = labelled(40).with_columns(parent=pl.when(pl.int_range(40) < 2).then(pl.lit("elsewhere")))
    (link,) = find_links(posts, None, 0)
    assert (link.first.tolist(), link.second.tolist(), link.outside) == ([0], [1], 2)


def test_fixed_sizes_are_met_and_what_is_over_is_the_rest():
    done = split(labelled(1000), plans.load("train=600,dev=50,test=150"))
    assert done.sizes() == {"train": 600, "dev": 50, "test": 150, "rest": 200}
    assert split(labelled(1000), plans.load("train=rest,test=150")).sizes() == {"train": 850, "test": 150}


def test_the_same_seed_gives_the_same_split_and_another_one_does_not():
    posts = paired()
    one, two, three = (split(posts, SplitPlan({"train": 0.8, "test": 0.2}, seed=seed)).parts for seed in (1, 1, 2))
    assert one.to_list() == two.to_list()
    assert one.to_list() != three.to_list()


def memes():
    """Multimodal hate with an image and a text confounder each, and single memes of the other kinds."""
    rows = []
    for i in range(200):
        rows.append((f"m{i}", "multimodal hate", None))
        rows.append((f"m{i}i", "benign image", f"m{i}"))
        if i % 2:
            rows.append((f"m{i}t", "benign text", f"m{i}"))
    rows += [(f"u{i}", "unimodal hate", None) for i in range(80)]
    rows += [(f"r{i}", "random non-hateful", None) for i in range(400)]
    ids, kinds, parents = zip(*rows, strict=True)
    return pl.DataFrame({"id": ids, "text": [f"text of {i}" for i in ids], "kind": kinds, "parent": parents})


SHARES = {"multimodal hate": 40, "unimodal hate": 10, "benign text": 20, "benign image": 20, "random non-hateful": 10}


def test_a_composed_part_has_its_shares_and_what_a_group_has_too_much_is_set_aside():
    posts = memes()
    rule = Composition("kind", ("dev", "test"), SHARES)
    done = split(posts, SplitPlan({"train": None, "dev": 50, "test": 100}, near_duplicates=0, composition=rule))
    assert not done.shortfalls
    for part, size in (("dev", 50), ("test", 100)):
        counts = Counter(posts["kind"].filter(done.parts == part))
        assert counts == {kind: size * share // 100 for kind, share in SHARES.items()}
    tied = group_rows(len(posts), find_links(posts, None, 0))
    for rows in _rows_by(tied):
        assert len({part for part in done.parts.gather(rows) if part != ASIDE}) <= 1
    assert done.sizes()[ASIDE] > 0


def test_a_composition_that_cannot_be_filled_is_reported():
    posts = memes().filter(pl.col("kind") != "unimodal hate")
    done = split(
        posts,
        SplitPlan({"train": None, "test": 100}, near_duplicates=0, composition=Composition("kind", ("test",), SHARES)),
    )
    assert [(s.part, s.kind, s.asked, s.got) for s in done.shortfalls] == [("test", "unimodal hate", 10, 0)]


def test_leaks_of_a_split_from_elsewhere_are_found_and_counted():
    posts = paired(100).with_columns(
        split=pl.when(pl.col("id").str.ends_with("b")).then(pl.lit("test")).otherwise(pl.lit("train"))
    )
    found = find_links(posts, None, 0.8)
    by_parent, alike = find_leaks(posts["split"], found)
    assert (by_parent.pairs, by_parent.straddling, by_parent.between) == (50, 50, {"test – train": 50})
    assert alike.straddling == 0
    pairs = leaking_posts(posts, posts["split"], found)
    assert pairs["one"].to_list() == [f"p{i}" for i in range(50)]
    assert "text" not in pairs.columns


def test_posts_without_a_part_or_set_aside_do_not_straddle():
    posts = paired(4)
    parts = pl.Series(["train", "train", None, "x", "aside", None])
    assert find_leaks(parts, find_links(posts, None, 0))[0].straddling == 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("70/20/20", "add up to 110; they should add up to 100"),
        ("70/10/10/10", "has 4 parts"),
        ("train=80%,test=30%", "more than there is"),
        ("train=rest,test=rest", "only one part can take the rest"),
        ("train=lots", "'lots' is not a size"),
        ("train=1,train=2", "write each part once"),
        ("edoss", "There is no plan 'edoss'; Davy has edos, hatemoji, memes. Did you mean 'edos'?"),
    ],
)
def test_a_wrong_plan_is_answered_with_what_to_write(asked, said):
    with pytest.raises(UserError) as caught:
        plans.load(asked)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parts: {}", "A plan needs `parts:`"),
        ("parts: {train: 80%}\ngroup: [x]", "'group' is not known here"),
        (
            "parts: {train: 80%}\ncomposition: {column: kind, of: [dev], shares: {a: 1}}",
            "composition names the part 'dev'",
        ),
        (
            "parts: {train: 80%}\ncomposition: {column: kind, of: [train], shares: {a: x}}",
            "'shares' should be a number",
        ),
        ("parts: {train: 80%}\nnear-duplicates: often", "'near-duplicates' should be a number"),
    ],
)
def test_a_wrong_plan_file_is_answered_with_its_line(text, said):
    with pytest.raises(UserError) as caught:
        plans.parse(text.encode(), "mine")
    assert said in caught.value.message


def test_more_posts_than_there_are_and_columns_that_are_not_there_are_named():
    with pytest.raises(UserError, match="ask for 900 posts, and there are 100"):
        split(labelled(100), plans.load("train=800,test=100"))
    with pytest.raises(UserError, match=r"no column 'sexits' to split by.*Did you mean 'sexist'"):
        split(labelled(100), SplitPlan({"train": 1.0}, stratify=("sexits",)))


def test_the_shipped_plans_are_read():
    assert shipped_names(plans.PACKAGE) == ["edos", "hatemoji", "memes"]
    assert plans.load("memes").composition.shares == SHARES
    assert plans.load("edos").sizes(20000) == {"train": 14000, "dev": 2000, "test": 4000}


@pytest.mark.parametrize(("posts", "pairs"), [(1, 0), (50, 20), (3000, 900), (3000, 6000)])
def test_groups_are_the_connected_parts_that_scipy_finds(posts, pairs):
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    chance = np.random.default_rng(pairs)
    first, second = chance.integers(0, posts, (2, pairs))
    found = group_rows(
        posts, [Links("some reason", first[::2], second[::2]), Links("another", first[1::2], second[1::2])]
    )
    graph = coo_array((np.ones(pairs), (first, second)), shape=(posts, posts))
    assert found.tolist() == connected_components(graph, directed=False)[1].tolist()


def test_a_chain_of_posts_is_one_group():
    n = 10_000
    assert set(group_rows(n, [Links("chain", np.arange(n - 1), np.arange(1, n))]).tolist()) == {0}
