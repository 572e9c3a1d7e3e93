import pytest

from davy.text.language import detect, detect_many
from davy.text.normalise import fold, tidy


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        (" a \t b\u00a0c\u3000d ", "a b c d"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("a\n\n\n\n b", "a\n\nb"),
        ("x\x00y\x07z\u200b\u202e!\ud800", "xyz!"),
        ("👩‍🚀 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣", "👩‍🚀 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣"),
        ("u\u0308ber", "über"),
    ],
)
def test_tidying_unifies_what_nobody_sees_and_keeps_emoji(text: str, tidied: str) -> None:
    assert tidy(text) == tidied
    assert tidy(tidied) == tidied


def test_one_line_has_no_breaks() -> None:
    assert tidy("a\n\n b\rc", one_line=True) == "a b c"


@pytest.mark.parametrize(
    ("text", "plain"), [("ÄÖÜß", "aouss"), ("𝓗𝓮𝓵𝓵𝓸", "hello"), ("ﬁt", "fit"), ("Ѕса", "sca"), ("n\u200bo\u0301", "no")]
)
def test_folding_makes_spellings_of_a_word_equal(text: str, plain: str) -> None:
    assert fold(text) == plain


def test_english_and_german_are_told_apart_offline() -> None:
    assert detect("I really don't know what you are talking about today")[0] == "en"
    assert detect("Ich weiß wirklich nicht, wovon du heute redest")[0] == "de"
    assert detect("WARUM SCHREIST DU DENN SO LAUT HIER")[0] == "de"
    assert detect("🤷‍♀️ 123 !!") == ("und", 0.0)


def test_many_texts_keep_their_order_and_nulls() -> None:
    texts = ["Das ist ein Satz auf Deutsch.", None, "", "This is a sentence in English.\nWith a second line."]
    assert [lang for lang, _ in detect_many(texts)] == ["de", "und", "und", "en"]
    assert detect("x" * 1_000_000)[1] <= 1
