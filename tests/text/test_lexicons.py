import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from davy.core import UserError
from davy.text.lexicons import load
from davy.text.lexicons.read import decode_line, encode_lexicon, encode_line


def test_a_plain_file_has_terms_weights_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes("\ufeff# a comment\ngrumblefop\r\nsnark\t0.5\n\nwämse\t2,5\tinsult\n".encode())
    lexicon = load(path)
    assert lexicon.name == "words"
    assert [(e.term, e.weight, e.label) for e in lexicon] == [
        ("grumblefop", 1.0, ""),
        ("snark", 0.5, ""),
        ("wämse", 2.5, "insult"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no terms"),
        (b"# only\n", "has no terms"),
        (b"snark\tmany\n", "line 1: the second column is the weight"),
        (b"snark\tnan\n", "finite"),
        (b"a\t1\tb\tc\n", "line 1: expected a term"),
        (b"sn\xffrk\n", "not UTF-8"),
        (b"sn\0rk\n", "NUL"),
        (b"x" * 300, "300 characters"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_and_a_missing_file_say_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="en, de, masking"):
        load("maskin")
    with pytest.raises(UserError, match="Can't read"):
        load(tmp_path / "none.txt")
    with pytest.raises(UserError, match="Can't read"):
        load(tmp_path)


def test_encoding_hides_a_word_and_comes_back() -> None:
    assert decode_line(encode_line("wämse\tinsult")) == "wämse\tinsult"
    assert "snark" not in encode_lexicon("snark\tinsult\n", "en")


@pytest.mark.parametrize("lang", ["en", "de"])
def test_shipped_lexicons_are_encoded_sorted_and_round_trip(lang: str) -> None:
    stored = resources.files("davy.text.lexicons").joinpath(f"{lang}.lexicon").read_text("ascii")
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "davy.text.lexicons", "decode", lang], capture_output=True, check=True
    )
    assert encode_lexicon(run.stdout.decode(), lang) == stored
    # In clear, a German word with an umlaut or an English one with a space would show.
    assert all(line.startswith("#") or " " not in line for line in stored.splitlines())
    assert {entry.lang for entry in load(lang)} == {lang}


def test_the_maintainers_command_refuses_what_it_does_not_know() -> None:
    run = subprocess.run([sys.executable, "-m", "davy.text.lexicons", "decode", "fr"], capture_output=True, text=True)
    assert run.returncode == 2
    assert "usage" in run.stderr
