"""What is in a corpus: counts that add up, NPMI by hand, clouds without overlaps, papers with open questions."""

import json
from math import log2

import numpy as np
import polars as pl
import pytest
import yaml
from sklearn.metrics import mutual_info_score

from davy import schemes
from davy.core.errors import UserError
from davy.corpus.describe import counts, documents, word_counts
from davy.corpus.describe.cloud import cloud
from davy.corpus.describe.describe import describe
from davy.corpus.describe.page import clouds, label_table, page
from davy.corpus.describe.word_counts import binomial_tail, npmi, pmi, topic_words

# Eight posts, worked out by hand: "butter" is in 4, "brot" in 3, both in 2; four are in class A.
TEXTS = [
    "Butter und Brot",
    "Butter auf Brot!",
    "butter BUTTER",
    "Butter",
    "Brot",
    "Kanzler Scholz",
    "kanzler scholz",
    "nichts",
]
LABELS = ["A", "A", "B", "A", "B", "B", "A", "B"]


def posts(texts=TEXTS, labels=LABELS, **columns):
    return pl.DataFrame({"id": [str(i) for i in range(len(texts))], "text": texts, "kind.gold": labels, **columns})


def test_pmi_and_npmi_equal_a_hand_computed_example():
    # P(both) = 2/8, P(butter) = 4/8, P(brot) = 3/8 (GMHP7k, equations 6 and 8).
    by_hand = log2((2 / 8) / ((4 / 8) * (3 / 8)))
    assert abs(float(pmi(2, 4, 3, 8)) - by_hand) < 1e-9
    assert abs(float(npmi(2, 4, 3, 8)) - by_hand / -log2(2 / 8)) < 1e-9
    assert abs(float(npmi(2, 4, 3, 8)) - 0.20751874963942196) < 1e-9
    found = word_counts.word_pairs(word_counts.words_by_post(pl.Series(TEXTS)), 8, least=2).filter(
        pl.col("word") == "brot"
    )
    assert abs(found["npmi"][0] - by_hand / 2) < 1e-9
    assert found["posts"][0] == 2


def test_npmi_has_the_ends_that_the_paper_gives():
    assert float(npmi(2, 2, 2, 8)) == pytest.approx(1.0, abs=1e-12)  # only together
    assert float(npmi(2, 4, 4, 8)) == pytest.approx(0.0, abs=1e-12)  # as chance has it
    assert float(npmi(0, 4, 4, 8)) == -1.0  # never together
    assert float(npmi(8, 8, 8, 8)) == 1.0
    assert np.isnan(npmi(0, 0, 4, 8))
    with pytest.raises(ValueError, match="more posts"):
        pmi(5, 4, 4, 8)


def test_the_mean_of_pmi_is_scikit_learns_mutual_information():
    rng = np.random.default_rng(0)
    word, label = rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    label = np.where(rng.random(500) < 0.5, word, label)
    total = 0.0
    for a in (0, 1):
        for b in (0, 1):
            both = int(((word == a) & (label == b)).sum())
            total += both / 500 * float(pmi(both, int((word == a).sum()), int((label == b).sum()), 500))
    assert total == pytest.approx(mutual_info_score(word, label) / np.log(2), abs=1e-12)


def test_words_are_counted_once_a_post_and_held_against_classes():
    held = word_counts.words_by_post(pl.Series(TEXTS))
    members = counts.members(posts(), "kind")
    found = word_counts.words_by_class(held, members, 8, least=1)
    butter = found.filter((pl.col("word") == "butter") & (pl.col("class") == "A")).row(0, named=True)
    assert (butter["posts"], butter["posts_with_word"], butter["share"]) == (3, 4, 0.75)
    assert butter["npmi"] == pytest.approx(log2((3 / 8) / (0.5 * 0.5)) / -log2(3 / 8), abs=1e-12)
    assert "und" not in found["word"].to_list()


def test_words_leave_out_links_names_and_placeholders_but_keep_umlauts_and_apostrophes():
    found = word_counts.tokens(pl.Series(["@ada [URL] https://x.org/abc Köchin's don’t #Tag", None]))
    assert found.to_list() == [["köchin's", "don't", "tag"], []]


def test_counts_add_up():
    split = ["train"] * 5 + ["dev"] * 3
    found = describe(posts(split=split, source=["x"] * 8), name="t", least=1)
    (level,) = found.levels
    assert level.labels == {"A": 4, "B": 4}
    assert level.answered == sum(level.labels.values()) == found.posts == 8
    assert sum(n for _, n in found.origins["split"]) == 8
    assert sum(n for _, _, n in found.across["kind by split"]) == 8
    assert found.lengths["all posts"]["words"].median == 2.0
    assert found.lengths["kind: A"]["words"].n == 4


def test_several_labels_and_missing_ones_are_counted_each():
    found = counts.levels(posts(["a", "b", "c"], ["A|B", "B", None]))[0]
    assert (found.labels, found.answered) == ({"B": 2, "A": 1}, 2)


def test_emoji_are_counted_whole_and_without_their_tone():
    found = counts.emojis(posts(["👍🏽👍 ok", "👩‍🚀", "none"], ["A", "B", "A"]))
    assert (found.total, found.posts_with, found.unique) == (3, 2, 2)
    assert found.per_post.mean == 1.0


def test_a_topic_word_that_gives_a_class_away_is_listed_and_a_spread_one_is_not():
    texts = ["fasching umzug"] * 12 + ["wetter umzug"] * 12 + ["wetter regen"] * 24
    labels = ["bad"] * 12 + ["good"] * 36
    held = word_counts.words_by_post(pl.Series(texts))
    members = counts.members(posts(texts, labels), "kind")
    listed = topic_words(word_counts.words_by_class(held, members, 48, least=5), "kind", {"bad": 0.25})
    assert next(t.word for t in listed if t.label == "bad") == "fasching"
    assert "wetter" not in [t.word for t in listed]
    assert listed[0].low > listed[0].base


def test_the_chance_of_a_tail_is_scipys():
    from scipy.stats import binom

    for both, held, share in ((1, 1, 0.5), (10, 29, 0.1035), (37, 95, 0.065), (453, 1019, 0.2427), (5, 5, 0.01)):
        assert binomial_tail(both, held, share) == pytest.approx(float(binom.sf(both - 1, held, share)), rel=1e-9)
    assert (binomial_tail(0, 5, 0.1), binomial_tail(3, 5, 0.0), binomial_tail(3, 5, 1.0)) == (1.0, 0.0, 1.0)


def test_labels_given_out_at_random_raise_no_warning():
    rng = np.random.default_rng(1)
    texts = [
        " ".join(f"wort{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in rng.integers(0, 600, 8)) for _ in range(2000)
    ]
    labels = ["bad" if bad else "good" for bad in rng.random(2000) < 0.1]
    found = describe(posts(texts, labels), name="chance")
    assert len(found.words["kind"]) > 1000
    assert found.topics == []


def test_a_cloud_masks_words_sizes_them_by_weight_and_lets_none_touch():
    from davy.text import lexicons

    hurtful = next(e.term for e in lexicons.load("en") if e.kind == "slur" and e.term.isalpha())
    made = cloud([(hurtful, 0.9), *((f"word{chr(97 + i // 26)}{chr(97 + i % 26)}", 0.8 - i / 200) for i in range(80))])
    assert made.words[0].word != hurtful
    assert hurtful not in made.svg()
    assert [w.size for w in made.words] == sorted((w.size for w in made.words), reverse=True)
    assert len(made.words) > 50
    for i, one in enumerate(made.words):
        assert one.x - one.width / 2 >= 0
        assert one.x + one.width / 2 <= 640
        for other in made.words[:i]:
            apart_x = abs(one.x - other.x) >= (one.width + other.width) / 2
            apart_y = abs(one.y - other.y) >= (one.height + other.height) / 2
            assert apart_x or apart_y


def test_an_empty_cloud_says_so_and_a_picture_is_drawn():
    assert "Nothing to show" in cloud([("a", -0.5)]).svg()
    assert cloud([("tea", 0.5), ("coffee", 0.2)]).png()[:4] == b"\x89PNG"


def test_papers_fill_in_what_is_known_and_mark_what_is_open():
    found = describe(posts(source=["x"] * 8, lang=["de"] * 8, licence=["CC-BY-4.0"] * 8), name="Tea", least=1)
    made = documents.write_documents(found, ["id", "text"], {"purpose": "To test."})
    assert "de (8)" in made.statement
    assert "To test." in made.datasheet
    assert f"{documents.OPEN}: only you can answer this (`funding`)" in made.datasheet
    assert {"funding", "speakers", "ethics"} <= set(made.open)
    assert "purpose" not in made.open
    front = yaml.safe_load(made.card.split("---")[1])
    assert (front["language"], front["license"], front["size_categories"]) == (["de"], "cc-by-4.0", ["n<1K"])
    assert "misuse" in made.harm


def test_every_question_can_be_answered_and_an_unknown_one_is_refused(tmp_path):
    found = describe(posts(), name="Tea", least=1)
    made = documents.write_documents(found, ["id"], dict.fromkeys(documents.questions(), "Said."))
    assert made.open == ()
    assert documents.OPEN not in made.statement + made.datasheet + made.harm
    (tmp_path / "about.yaml").write_text("purpse: x")
    with pytest.raises(UserError, match="purpose"):
        documents.read_about(tmp_path / "about.yaml")


def test_the_page_is_self_contained_and_its_json_holds_no_nan():
    found = describe(posts(), name="Tea", least=1)
    made = page(found, documents.write_documents(found, ["id"])).html()
    assert "http://" not in made.replace("http://www.w3.org", "")
    assert "Topic words that give a class away" in made
    assert len(clouds(found)) == 2
    json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_posts_without_answers_or_texts_are_described_too():
    bare = pl.DataFrame({"id": ["1", "2"], "text": [None, ""]}, schema={"id": pl.String, "text": pl.String})
    found = describe(bare, name="bare")
    assert (found.posts, found.texts, found.empty, found.levels) == (2, 1, 2, [])
    assert "Nothing" in page(found, documents.write_documents(found, ["id"])).html()


def test_shares_of_all_posts_count_the_noes_that_follow_and_add_up_to_a_hundred():
    posts = pl.DataFrame(
        {
            "id": [str(n) for n in range(7)],
            "text": ["mild words"] * 7,
            "hate.gold": ["not hateful"] * 4 + ["hateful"] * 3,
            "misogynistic.gold": [None] * 4 + ["misogynistic", "not misogynistic", "not misogynistic"],
            "split_hs": ["train"] * 6 + ["val"],
            "split_m_hs": ["train"] * 5 + ["val"] * 2,
            "origin": ["one", "two"] * 3 + ["one"],
        }
    )
    own = {"hate": "split_hs", "misogynistic": "split_m_hs"}
    found = describe(posts, name="mild", scheme=schemes.load("gmhp7k"), least=1, split_of=own)
    rows = label_table(found, found.levels[1]).rows
    assert [row[:2] for row in rows] == [("not misogynistic", 2), ("misogynistic", 1)]
    assert [row[3] for row in rows] == [0.8571, 0.1429]  # 6 and 1 of 7
    assert found.across["misogynistic by split_m_hs"][-1] == ("val", "not misogynistic", 2)
    assert "hate by split_hs" in found.across
    assert found.origins["origin"] == [("one", 4), ("two", 3)]
    assert counts.rounded_shares([12_116, 3_884], 16_000) == [0.7573, 0.2427]
    assert sum(counts.rounded_shares([1, 1, 1], 3)) == pytest.approx(1)


def test_words_of_a_cloud_are_sized_by_npmi_or_by_how_many_posts_hold_them():
    texts = ["tea tea rain"] * 6 + ["rain wind"] * 6 + ["wind"] * 6
    labels = ["hateful"] * 6 + ["not hateful"] * 12
    posts = pl.DataFrame({"id": [str(n) for n in range(18)], "text": texts, "hate.gold": labels})
    found = describe(posts, name="mild", least=1)
    largest = {size: clouds(found, size)["hate", "not hateful"].words[0].word for size in ("npmi", "frequency")}
    assert largest["frequency"] == "wind"
    assert {word.word: word.weight for word in clouds(found, "frequency")["hate", "hateful"].words} == {
        "tea": 6,
        "rain": 6,
    }
