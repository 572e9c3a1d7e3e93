"""Each cleaning step on texts that show what it does and what it leaves alone."""

import unicodedata

import polars as pl
import pytest

from davy.corpus.clean import changes, drops
from davy.corpus.clean.recipe import STEPS, from_list
from davy.corpus.clean.worker import run_step
from davy.text import post_entities
from davy.text.normalise import tidy

EMOJI = ["👩‍👧‍👦", "❤️", "🏳️‍🌈", "👍🏽", "🇩🇪", "1️⃣", "⚧️", "👳🏾‍♀️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]


def texts(*values):
    return pl.Series("text", values, dtype=pl.String)


def changed(step, *values):
    given = texts(*values)
    after = step.changed(given)
    assert given.to_list() == list(values), "a step must not change what it was given"
    return after.to_list()


def dropped(step, *values):
    return step.dropped(pl.DataFrame({"text": texts(*values)})).to_list()


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("urls", "see https://a.example/b?c=d#e, ok", "see X, ok"),
        ("urls", "(www.example.org/x) and t.co/abc", "(X) and X"),
        ("urls", "3.5/10 and/or e.g. this.that", "3.5/10 and/or e.g. this.that"),
        ("urls", "https://a.example/b😀❤️", "X😀❤️"),
        ("mentions", "@one,@two hi .@three", "X,X hi .@three"),
        ("mentions", "@me@server.example and @me.bsky.social!", "X and X!"),
        ("mentions", "u/someone and /u/another but menu/list", "X and X but menu/list"),
        ("mentions", "mail a@b.example, price 3 @ 5", "mail a@b.example, price 3 @ 5"),
        ("emails", "mail a.b+c@d.example.org now, @e@f.example", "mail X now, @e@f.example"),
        ("phones", "call +49 170 1234567 or (555) 123-4567", "call X or X"),
        ("phones", "in 2020-2021 I paid 1000000", "in 2020-2021 I paid 1000000"),
        ("hashtags", "so #this_one and #Zwei2, not #1 or a#b or #️⃣", "so X and X, not #1 or a#b or #️⃣"),
    ],
)
def test_a_thing_is_replaced_where_it_is_one_and_only_there(kind, before, after):
    assert post_entities.replace_kind(texts(before), kind, "X").to_list() == [after]


def test_a_mask_with_a_dollar_sign_stands_as_it_was_written():
    assert changed(changes.MaskUrls("$1[$URL]"), "a https://b.example/ c") == ["a $1[$URL] c"]


CHANGES = [name for name, kind in STEPS.items() if issubclass(kind, changes.ChangeStep)]


@pytest.mark.parametrize("name", [name for name in CHANGES if name != "mask-emoji"])
def test_emoji_joiners_and_selectors_survive_every_change(name):
    line = " ".join(EMOJI)
    (after,) = changed(STEPS[name](), f"  {line}\u200b\x07 @a #b https://c.example/{EMOJI[0]} &amp; ")
    assert all(emoji in after for emoji in EMOJI)
    assert after.count(EMOJI[0]) == 2


def test_unifying_space_does_what_tidy_does_to_any_text():
    odd = [" a", "a ", "a  b", "a\tb", "a\r\nb", "a\n\n\n\nb", "a \n b", "e\u0301", "a\u200bb", "x\x00y", "plain", ""]
    odd += [f"a{chr(code)}b" for code in range(0x20, 0x3000, 7) if unicodedata.category(chr(code)) != "Cs"]
    assert changed(changes.UnifySpace(), *odd) == [tidy(text) for text in odd]
    assert changed(changes.UnifySpace(one_line=True), *odd) == [tidy(text, one_line=True) for text in odd]


def test_control_characters_go_and_words_stay_apart():
    assert changed(changes.RemoveControls(), "a\tb\nc\x07d", None) == ["a b cd", None]


def test_html_entities_become_what_they_stand_for():
    assert changed(changes.DecodeEntities(), "a &amp; b &#128512; R&D;x", None) == ["a & b 😀 R&D;x", None]


def test_empty_posts_are_those_where_nothing_can_be_seen():
    assert dropped(drops.DropEmpty(), None, "", " \n\u200b", "\ufe0f", ".", "😀") == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_post_of_links_and_emoji_alone_goes_whether_masked_or_not():
    step = drops.DropOnly(("urls", "emoji"))
    gone = [*EMOJI, "https://a.example/b 😀", "[URL] [URL]", " ".join(EMOJI)]
    stays = ["word 😀", "!!!", "42", "[USER]", "", None, "ok [URL]", "日本"]
    assert dropped(step, *gone, *stays) == [True] * len(gone) + [False] * len(stays)


def test_chains_of_mentions_and_hashtags_with_signs_go():
    step = drops.DropOnly(("signs", "hashtags", "mentions"))
    assert dropped(step, "@a @b #c !!", "...", "@a hi", "@TwitterUser @TwitterUser") == [True, True, False, True]


def test_one_word_is_one_word_whatever_stands_around_it():
    step = drops.DropOneWord()
    assert dropped(step, "Hello!", "don't", "well-known", "😀 so 😀", "two words", "", None) == [True] * 4 + [False] * 3


def test_length_counts_characters_or_words():
    assert dropped(drops.DropLength(2, 4), "a", "ab", "abcd", "abcde", None) == [True, False, False, True, True]
    assert dropped(drops.DropLength(min=3, in_="words"), "a b", "a b c") == [True, False]


def test_words_are_found_as_people_write_them_and_not_inside_others():
    step = drops.DropWords(("grumblefüß", "xxx", "two words"))
    hits = ["GRUMBLEFÜSS", "a grumblefuess!", "grumbleeeeefüß", "xxxx", "two-WORDS", "#xxx"]
    misses = ["grumble", "xx", "two other words", None, ""]
    assert dropped(step, *hits, *misses) == [True] * len(hits) + [False] * len(misses)
    assert dropped(drops.DropWords(("grumble",), mode="start"), "grumblefop", "agrumble") == [True, False]


def test_a_word_list_of_ones_own_drops_the_posts_that_hold_its_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("grumblefop\n# a comment\nmopwick\n", encoding="utf-8")
    assert dropped(drops.DropLexicon(str(path)), "you Mopwick", "you") == [True, False]


def test_a_post_goes_only_when_it_is_surely_in_another_language():
    step = drops.KeepLanguages(("en",))
    english = "I really do not know what you are talking about, my friend"
    german = "Ich weiß wirklich nicht, wovon du da eigentlich redest, mein Freund"
    assert dropped(step, english, german, "😀", "", None, f"[USER] {german} [URL]") == [
        False,
        True,
        False,
        False,
        False,
        True,
    ]
    assert dropped(drops.KeepLanguages(("de", "en"), unsure="drop"), english, german, "😀") == [False, False, True]


@pytest.mark.parametrize("lang", ["en", "de"])
def test_small_words_settle_a_language_only_where_the_model_agrees(lang):
    from davy.text.language import detect_many, is_surely

    made = {
        "en": ["I know that you would like to get one of them", "this is what they want", "the lamp and the mill"],
        "de": [
            "ich weiß, dass du auch noch einen von denen haben willst",
            "das ist nicht der Weg",
            "und wir sind auch da",
        ],
        "other": [
            "je ne sais pas ce que nous allons faire",
            "no sé qué vamos a hacer hoy",
            "lamp",
            "",
            "so was in die man",
        ],
    }
    for language, sentences in made.items():
        said = is_surely(texts(*sentences), lang).to_list()
        assert said == [language == lang] * len(sentences)
        if language == lang:
            assert {found for found, _ in detect_many(sentences)} == {lang}
    assert is_surely(texts("je ne sais pas"), "fr").to_list() == [False]


def test_steps_travel_to_other_processes_as_plain_values():
    made = from_list(
        [["mask-urls", {"with": "X"}], ["drop-length", {"in": "words", "min": 2}], ["drop-only", {"of": ["urls"]}]]
    )
    assert made == (changes.MaskUrls("X"), drops.DropLength(2, in_="words"), drops.DropOnly(("urls",)))


def test_a_step_counts_what_it_changed_and_dropped():
    posts = pl.DataFrame({"text": texts("a https://b.example/", "c", None)})
    after, count = run_step(posts, changes.MaskUrls())
    assert (count.came, count.dropped, count.changed) == (3, 0, 1)
    _, count = run_step(after, drops.DropEmpty())
    assert (count.came, count.dropped, count.changed) == (3, 1, 0)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("I met Peter Miller and Anna yesterday", "I met [NAME] and [NAME] yesterday"),
        ("Frau von der Leyen sagt, Herr Dr. Meier-Schulz irrt", "Frau [NAME] sagt, Herr Dr. [NAME] irrt"),
        ("Mr. Smith's dog and Sarah's cat", "Mr. [NAME]'s dog and [NAME]'s cat"),
        ("PETER is late. Herr der Ringe ist ein Buch", "[NAME] is late. Herr der Ringe ist ein Buch"),
        ("Dr Ludwig van Beethoven, composer", "Dr [NAME], composer"),
        ("roses are red, mark my words, anna", "roses are red, mark my words, anna"),
        ("Then Zorblax came", "Then [NAME] came"),
    ],
)
def test_names_of_people_are_masked_after_titles_and_by_given_names(text, masked):
    from davy.corpus.clean.changes import MaskNames

    assert MaskNames(names=("Zorblax",)).changed(pl.Series([text, None])).to_list() == [masked, None]


def test_given_names_are_listed_once_and_no_other_words():
    from davy.text.person_names import given_names

    assert len(given_names()) > 400
    assert not {"Rose", "Mark", "Will", "Ernst", "Grace", "May", "Jan", "Bill"} & given_names()
