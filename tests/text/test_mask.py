"""Masking, on made-up words: what counts as the word, and what must be left alone."""

import logging
import random
import time

import pytest

from davy.text.lexicons import Lexicon, LexiconEntry, load
from davy.text.mask import MaskFilter, mask, mask_frame, mask_segments

WORDS = Lexicon.of(
    LexiconEntry("grumblefop", lang="en", inflect="s"),
    LexiconEntry("snark", lang="en", inflect="verb"),
    LexiconEntry("gloop", lang="en", inflect="s"),
    LexiconEntry("zib", lang="en", inflect="s"),
    LexiconEntry("brzk", lang="en"),
    LexiconEntry("zorkel", lang="de", mode="start"),
    LexiconEntry("pimpf", lang="de", mode="inside"),
    LexiconEntry("pimpfernelle", "harmless", "de", mode="start"),
    LexiconEntry("wämse", lang="de", inflect="noun"),
    LexiconEntry("schnuß", lang="de", inflect="noun"),
    LexiconEntry("rotter", lang="en", only="en"),
    LexiconEntry("two words", lang="en"),
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a Grumblefop!", "a Gr*mblefop!"),
        ("GRUMBLEFOPS", "GR*MBLEFOPS"),
        ("grumblefop's", "gr*mblefop's"),
        ("snarking snarked snarkers", "sn*rking sn*rked sn*rkers"),
        ("grumbl3f0p gl00p", "gr*mbl3f0p gl*0p"),
        ("gr1mble $nark sn@rk", "gr1mble $n*rk sn*rk"),
        ("sn4rk!", "sn*rk!"),
        ("@sn4rk @snark", "@sn*rk @sn*rk"),
        ("snaaaark", "sn****rk"),
        ("snarrrk", "sn*rrrk"),
        ("s.n.a.r.k s n a r k s-n-a-r-k", "s.n.*.r.k s n * r k s-n-*-r-k"),
        ("sna-rk sna_rk", "sn*-rk sn*_rk"),
        ("sn\u200bark s\u00adnark", "sn\u200b*rk s\u00adn*rk"),
        ("snárk sna\u0301rk s̶n̶a̶r̶k̶", "sn*rk sn*\u0301rk s̶n̶*̶r̶k̶"),
        ("ѕnаrk ｓｎａｒｋ 𝓼𝓷𝓪𝓻𝓴", "ѕn*rk ｓｎ*ｒｋ 𝓼𝓷*𝓻𝓴"),
        ("#snark #AllSnarksUnite", "#sn*rk #AllSn*rksUnite"),
        ("zorkelbude Zorkelei", "z*rkelbude Z*rkelei"),
        ("Oberpimpfkopf", "Oberp*mpfkopf"),
        ("wämse Waemse wa\u0308mse Wämsen", "w*mse W*emse w*\u0308mse W*msen"),
        ("Schnuß schnuss SCHNUSS", "Schn*ß schn*ss SCHN*SS"),
        ("brzk", "b*zk"),
        ("two words, two  words", "tw* words, tw*  words"),
        ("gloop glooop", "gl*op gl***p"),
        ("👩🏽‍🚀snark❤️‍🔥", "👩🏽‍🚀sn*rk❤️‍🔥"),
        ("*snark* **snark**", "*sn*rk* **sn*rk**"),
    ],
)
def test_a_word_is_masked_however_it_is_written(text: str, shown: str) -> None:
    assert mask(text, WORDS) == shown
    assert mask(shown, WORDS) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "snarkle desnark",
        "glop",  # a doubled letter of the word is missing
        "zibb zibbs",  # a short word with one letter doubled is likely another word
        "bezorkel",  # may only start a compound
        "Pimpfernelle im Garten",
        "Wamse",  # without its dots it may be another word
        "5n4rk17",
        "zib7 2 1 8 4 5",
        "ѕпагк",  # wholly in another script: not ours to read
        "sn*rk",
        "sna rk",  # never joined over a space
        "was nark",
        "two\u200b-\u200bthree",
        "👨‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿1️⃣",
    ],
)
def test_other_words_are_left_alone(text: str) -> None:
    assert mask(text, WORDS).replace("z*b7", "zib7") == text


def test_a_word_that_is_harmless_in_the_other_language_waits_for_its_own() -> None:
    assert mask("you are the rotter", WORDS) == "you are the r*tter"
    assert mask("das ist ein rotter", WORDS) == "das ist ein rotter"


def test_masking_twice_is_masking_once_and_keeps_length_on_random_text() -> None:
    rng = random.Random(4)
    pieces = [*"snarkgloopzibSNARK*.-_ 013@$!\u200b\u0301ä❤️", "snark", "gloop", "*", " ", "pimpf", "zorkel", "brzk"]
    for _ in range(3000):
        text = "".join(rng.choices(pieces, k=rng.randint(1, 25)))
        shown = mask(text, WORDS)
        assert len(shown) == len(text)
        assert mask(shown, WORDS) == shown
        assert all(a == b or b == "*" for a, b in zip(text, shown, strict=True))


@pytest.mark.parametrize(
    "unit",
    [
        "snark ",
        "s.n.a.r.k.",
        "s n a r k ",
        "sn",
        "a",
        "snaaa",
        "*",
        "s*n",
        "1!|",
        "aA",
        "\u0301",
        "a-",
        "snark-",
        "@$",
        "a-a1",
        "s n a r k1",
        "a.1",
    ],
)
def test_adversarial_text_takes_time_in_proportion(unit: str) -> None:
    def seconds(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        start = time.process_time()
        mask(text, WORDS)
        return time.process_time() - start

    seconds(1000)
    small, large = (min(seconds(size) for _ in range(3)) for size in (15_000, 240_000))
    # Sixteen times the text; quadratic time would be 256 times as long.
    assert large < max(64 * small, 2.0)
    assert large < 30


def test_a_veil_takes_a_text_apart_without_losing_any_of_it() -> None:
    pieces = mask_segments("you sn4rk, <b>go</b>", WORDS)
    assert [tuple(piece) for piece in pieces] == [("you ", False), ("sn4rk", True), (", <b>go</b>", False)]
    assert mask(pieces[1].text, WORDS) == "sn*rk"
    assert mask_segments("", WORDS) == []


def test_tables_are_masked_and_keep_their_nulls() -> None:
    import polars as pl

    frame = pl.DataFrame({"text": ["a snark", None, ""], "n": [1, 2, 3]})
    assert mask_frame(frame, lexicon=WORDS).to_dict(as_series=False) == {"text": ["a sn*rk", None, ""], "n": [1, 2, 3]}


def test_logs_are_masked_with_their_arguments_and_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("davy.test.mask")
    caplog.handler.addFilter(MaskFilter(WORDS))
    logger.error("said %s of %d", "snark", 3)
    try:
        raise ValueError("snark")
    except ValueError:
        logger.exception("it broke")
    assert "snark" not in caplog.text
    assert "said sn*rk of 3" in caplog.text
    assert "ValueError: sn*rk" in caplog.text


INNOCENT = """
Scunthorpe Penistone Clitheroe Lightwater Essex Sussex Middlesex cocktail cockpit peacock cockatoo Hancock Hitchcock
Dickens Dickinson Dickson therapist analysis analogue canal banal class classic assess assassin assume pass grass
bass mass embarrass harass compass cassette Massachusetts title titan constitution competition cumulative
circumstance document cucumber accumulate scum raccoon tycoon cocoon Nigeria Niger Nigerien snigger niggling
retardant custard mustard leotard Goddard Arsenal arsenic arsenal parse sparse hoarse shiitake mishit Matsushita
Pakistan Japan japanese spice spicy suspicious hospice auspices homogeneous homophobia homosexual homeowner shoe
phoebe whoever who're she'll he/she manuscript Cummings Fuchs Fuchsia buckfast Bangkok swatch kitchen bitcoin witch
glitch Moses Moose mussel mongoose brochure Schwarzenegger unutterable wristwatch skyscraper prickly dyker slogan
gay lesbian queer Jew Jewish Muslim black white trans woman women girl breast chicken Uranus Sussex-born Saturday
evaluate Marsch Barsch harsch marschieren dicke Dicker Sauer sauer genau Mister Puffer Wichtel wichtig Nutzen
nutzlos Hurrikan hurra scheitern Scheitel Scheit Spaten Spaß Minute Schwanzfeder Assistent Asien Analyse Kanal Ficus
Mongolei Musik Müsli Muslimin Jude Jüdin schwul Lesbe Türke Neugier Abendrot Huhn Fuchs Schiffer Schuss Vögel Abos
schüren Weihnachtshits
"""


def test_innocent_words_that_hold_a_listed_string_are_left_alone() -> None:
    innocent = INNOCENT.split()
    shown = [mask(word) for word in innocent]
    assert [word for word, after in zip(innocent, shown, strict=True) if word != after] == []
    assert mask("Das Buch ist dick und der Mann ist nicht dick") == "Das Buch ist dick und der Mann ist nicht dick"


def test_every_shipped_entry_is_masked_and_stays_masked() -> None:
    lexicon = load("masking")
    harmful = [entry for entry in lexicon if entry.kind != "harmless"]
    missed = [number for number, entry in enumerate(harmful) if mask(entry.term) == entry.term]
    unstable = [number for number, entry in enumerate(harmful) if mask(mask(entry.term)) != mask(entry.term)]
    assert len(harmful) > 500
    assert (missed, unstable) == ([], [])


def test_importing_mask_loads_neither_polars_nor_the_automaton() -> None:
    import subprocess
    import sys

    code = "import davy.text.mask, sys; print([m for m in ('polars', 'ahocorasick_rs', 'numpy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_phrase_is_covered_at_the_hurtful_word_in_it() -> None:
    words = Lexicon.of(
        LexiconEntry("holy snark"),
        LexiconEntry("snark"),
        LexiconEntry("big zib snark"),
        LexiconEntry("zib"),
        LexiconEntry("over there"),
    )
    assert mask("holy snark, big zib snark, over there", words) == "holy sn*rk, big z*b sn*rk, *ver there"
    assert mask_segments("holy snark", words) == [("holy snark", True)]
