"""The filter rule: X's syntax, words as people write them, faults with a caret."""

import polars as pl
import pytest

from davy.core.errors import UserError
from davy.corpus.collect.rule import FilterRule
from davy.corpus.collect.rule_parse import AllNode, AnyNode, NotNode, OperatorNode, WordsNode, parse

# The rule that GMHP7k prints, with made-up words in place of its own.
PRINTED = """(grumblefop OR flimmel OR Schnurz
OR Dömmchen OR Wuppe OR Blafasel
OR Zorp OR quib OR hoo OR pluddy
OR slib OR whibble) lang:de

-filter:links -is:retweet -has:media"""


def records(*texts, **columns):
    rows = len(texts)
    blank = {"lang": ["de"] * rows, "author": ["ada"] * rows}
    return pl.DataFrame({"text": list(texts), **blank, **columns})


def matches(rule, *texts, **columns):
    return FilterRule.of(rule).matches(records(*texts, **columns)).to_list()


def test_the_rule_that_gmhp7k_prints_parses_as_printed():
    tree = parse(PRINTED)
    assert isinstance(tree, AllNode)
    assert isinstance(tree.parts[0], AnyNode)
    assert len(tree.parts[0].parts) == 12
    assert tree.parts[1:] == (
        OperatorNode("lang", "de"),
        NotNode(OperatorNode("filter", "links")),
        NotNode(OperatorNode("is", "retweet")),
        NotNode(OperatorNode("has", "media")),
    )


def test_a_listing_is_read_without_its_line_numbers():
    lines = [line for line in PRINTED.splitlines() if line]
    listing = "\n".join(f"  - {n} {line}" for n, line in enumerate(lines, 1))
    assert parse(listing) == parse(PRINTED)
    assert parse("1 apple") == AllNode((WordsNode("1"), WordsNode("apple")))


def test_the_printed_rule_keeps_what_it_says_and_nothing_else():
    kept = matches(
        PRINTED,
        "So ein Grumblefop!",
        "Nichts dabei",
        "grumblefop https://example.org/x",
        "grumblefop weitergesagt",
        "grumblefop mit Bild",
        "grumblefop in English",
        lang=["de", "de", "de", "de", "de", "en"],
        retweet=[False, False, False, True, False, False],
        media=[None, None, None, None, True, None],
    )
    assert kept == [True, False, False, False, False, False]


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("wuppe", "Du WUPPE, du", True),
        ("wuppe", "Wuppertal", False),
        ("wuppe", "Wuuuuppe!!", True),
        ("Dömmchen", "so ein doemmchen", True),
        ("Doemmchen", "so ein DÖMMCHEN", True),
        ("Dömmchen", "Dommchen", False),
        ("straße", "in der STRASSE", True),
        ('"zwei worte"', "Zwei, Worte.", True),
        ('"zwei worte"', "zwei andere worte", False),
        ("coca-cola", "I like coca cola", True),
        ("zorp", "#Zorp", True),
        ("#zorp", "ein zorp", False),
        ("#zorp", "ein #ZORP!", True),
        ("#zorp", "ein #zorpen", False),
        ("@ada", "hallo @Ada, na?", True),
        ("@ada", "ada@example.org", False),
        ("from:Ada", "egal", True),
        ("from:bob", "egal", False),
        ("a OR b c", "a", True),
        ("a OR b c", "b", False),
        ("a OR b c", "c b", True),
        ("-(a OR b) c", "c", True),
        ("-(a OR b) c", "c b", False),
        ("has:links", "siehe www.example.org", True),
        ("has:mentions", "@ada", True),
        ("has:hashtags", "a#b", False),
        ("has:emoji", "na 🙂", True),
        ("🐀", "du 🐀du", True),
        ("has:cashtags", "buy $TEA now", True),
        ("retweets_of:bob", "RT @Bob: hm", True),
        ("or", "this or that", True),
        ("lang:de", "Das ist ein ganz normaler Satz.", True),
        ("url:example.org", "siehe https://www.Example.org/a", True),
    ],
)
def test_a_rule_matches_words_as_people_write_them(rule, text, expected):
    assert matches(rule, text) == [expected]


def test_a_missing_language_is_detected_only_where_all_else_matches():
    texts = ["Das ist ein ganz normaler deutscher Satz mit Zorp.", "This is a plain English sentence with zorp.", "x"]
    assert matches("zorp lang:de", *texts, lang=[None, None, None]) == [True, False, False]


def test_times_and_communities_filter_too():
    times = ["2022-03-15T23:59:59Z", "2022-03-16T00:00:00Z", "2022-03-18T10:00:00Z", None]
    kept = matches("since:2022-03-16 until:2022-03-18", "a", "b", "c", "d", time=times)
    assert kept == [False, True, False, False]
    assert matches("subreddit:r/Tea", "a", "b", community=["tea", "coffee"]) == [True, False]


@pytest.mark.parametrize(
    ("rule", "column", "words"),
    [
        ("(a OR b lang:de", 1, "never closed"),
        ("a OR b) c", 7, "closes nothing"),
        ('a "b c', 3, "never closed"),
        ("a OR", 3, "Nothing follows"),
        ("OR a", 1, "before this OR"),
        ("a ()", 4, "brackets"),
        ("a long:de", 3, "lang"),
        ("a lang: b", 8, "Nothing follows"),
        ("a is:retwet", 6, "retweet"),
        ("a AND b", 3, "space means and"),
        ("a -", 3, "minus"),
        ("a # b", 3, "stands alone"),
        ("since:soon", 7, "day such as"),
    ],
)
def test_a_bad_rule_is_pointed_at_with_a_caret(rule, column, words):
    with pytest.raises(UserError) as caught:
        FilterRule.of(rule)
    said, shown, caret = caught.value.message.split("\n")
    assert words in said
    assert f"column {column}" in said
    assert shown == f"  {rule}"
    assert caret.index("^") == column + 1


def test_the_caret_of_a_long_or_many_lined_rule_stands_under_the_fault():
    rule = " OR ".join(["word"] * 100) + " OR (x"
    with pytest.raises(UserError) as caught:
        FilterRule.of(rule)
    _, shown, caret = caught.value.message.split("\n")
    assert shown[caret.index("^")] == "("
    assert len(shown) < 100
    with pytest.raises(UserError, match="line 2, column 3"):
        FilterRule.of("a\nb (c")


def test_an_empty_rule_and_a_very_deep_one_are_refused():
    with pytest.raises(UserError, match="empty"):
        FilterRule.of("  \n ")
    with pytest.raises(UserError, match="100 brackets"):
        FilterRule.of("(" * 500 + "a" + ")" * 500)


def test_thousands_of_words_are_looked_for_at_once_and_found_exactly():
    words = [f"wort{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(3000)]
    texts = [f"hier steht {word} drin" for word in words[:50]] + ["hier steht nichts"] * 50
    assert matches(" OR ".join(words), *texts) == [True] * 50 + [False] * 50


@pytest.mark.parametrize("rule", ["tea is:verified", "tea -has:geo", "sample:10", "(a OR place:berlin)"])
def test_what_only_x_can_tell_parses_for_its_stream_and_is_refused_over_archives(rule):
    assert FilterRule.of(rule, archive=False).tree
    with pytest.raises(UserError, match="Only X itself"):
        FilterRule.of(rule)
