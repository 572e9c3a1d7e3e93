"""Posts from a table: what its columns seem to be, what people say they are, repeats, empty rows and pictures."""

import polars as pl
import pytest

from davy import schemes
from davy.annotation.project import import_posts
from davy.annotation.project.import_posts import PostChoices
from davy.core.errors import KeyedError


def look(**columns):
    return import_posts.look_at(pl.DataFrame(columns), schemes.load("hate"))


@pytest.mark.parametrize(
    ("columns", "guess", "sure"),
    [
        ({"Text": ["a"], "ID": [1]}, ("Text", "ID", None, None), True),
        ({"Kommentar": ["a"], "Sprache": ["de"]}, ("Kommentar", None, None, "Sprache"), True),
        ({"nr": ["1"], "what they said": ["a longer one"]}, ("what they said", None, None, None), False),
        ({"bild": ["a.png"], "id": ["1"]}, (None, "id", "bild", None), True),
        ({"a": [1], "b": [2]}, (None, None, None, None), False),
    ],
)
def test_what_columns_seem_to_be(columns, guess, sure):
    seen = look(**columns)
    assert (seen.guess.text, seen.guess.id, seen.guess.image, seen.guess.lang) == guess
    assert seen.sure is sure


def test_right_answers_are_found_by_the_names_of_questions():
    assert look(text=["a"], hate=["yes"]).guess.gold == {"hate": "hate"}
    assert look(text=["a"], hate=["yes"], **{"hate.gold": ["no"]}).guess.gold == {"hate": "hate.gold"}


def test_right_answers_are_found_by_their_labels_where_a_column_has_nothing_else():
    both = ["hateful", "Not  hateful"]
    assert look(text=["a", "b"], art=both).guess.gold == {"hate": "art"}
    assert look(text=["a", "b", "c"], art=[*both, "dunno"]).guess.gold == {}
    assert look(text=["a", "b"], art=["hateful", None]).guess.gold == {}  # one value may mean anything
    assert look(text=both).guess.gold == {}


def test_posts_are_made_as_a_person_says():
    rows = pl.DataFrame({"nr": [7.0, 8.0], "said": ["a", "b"], "text": ["x", "y"], "h": ["yes", "no"], "more": [1, 2]})
    chosen = PostChoices(text="said", id="nr", all_lang="de", gold={"hate": "h"}, prefix="may-")
    made = import_posts.posts_from(rows, chosen, stem="file").frame
    assert made.columns == ["id", "text", "lang", "hate.gold", "h", "more"]
    assert made.rows()[0] == ("may-7", "a", "de", "yes", "yes", 1)


def test_rows_without_an_id_are_numbered_and_empty_ones_left_out():
    rows = pl.DataFrame({"id": ["a", None, ""], "text": ["one", "two", "  "]})
    brought = import_posts.posts_from(rows, PostChoices(text="text", id="id"), stem="file")
    assert brought.frame["id"].to_list() == ["a", "file-2"]
    assert brought.blank == 1


def test_repeats_go_only_where_that_is_wanted_and_other_pictures_are_no_repeats():
    rows = pl.DataFrame({"text": ["One  two", "one two", "one two"], "image": ["a", "a", "b"]})
    chosen = PostChoices(text="text", image="image")
    assert import_posts.posts_from(rows, chosen, stem="f").frame.height == 3
    brought = import_posts.posts_from(rows, PostChoices(text="text", image="image", distinct=True), stem="f")
    assert brought.frame["image"].to_list() == ["a", "b"]
    assert brought.repeated == 1


def test_a_table_of_pictures_needs_no_text():
    rows = pl.DataFrame({"img": ["a.png", "b.png"], "id": [1, 2]})
    made = import_posts.posts_from(rows, PostChoices(image="img", id="id"), stem="f").frame
    assert made.select("id", "text", "image").rows() == [("1", "", "a.png"), ("2", "", "b.png")]


@pytest.mark.parametrize(
    ("chosen", "key", "values"),
    [
        (PostChoices(), "choose_text", {}),
        (PostChoices(text="gone"), "column_gone", {"column": "gone"}),
        (PostChoices(text="text", id="twice"), "id_twice", {"id": "1", "first": 1, "second": 2, "column": "twice"}),
        (PostChoices(text="empty"), "no_rows", {}),
    ],
)
def test_what_is_wrong_has_a_key_and_the_values_of_its_field(chosen, key, values):
    rows = pl.DataFrame({"text": ["a", "b"], "twice": [1, 1], "empty": ["", None]})
    with pytest.raises(KeyedError) as caught:
        import_posts.posts_from(rows, chosen, stem="f")
    assert (caught.value.key, caught.value.values) == (key, values)


def test_a_file_that_is_no_utf8_is_taken_for_what_windows_writes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text\nGrüße €5\n".encode("cp1252"))
    assert import_posts.encoding_of(path) == "cp1252"
    assert import_posts.read_table(path, "cp1252")["text"].to_list() == ["Grüße €5"]
    path.write_text("text\nGrüße\n")
    assert import_posts.encoding_of(path) == "utf-8"
    path.write_bytes("text\tid\nGrüße\t1\n".encode("utf-16"))
    assert import_posts.encoding_of(path) == "utf-16"


def test_texts_beside_pictures_that_only_some_rows_have_are_asked_for():
    rows = pl.DataFrame(
        {"nr": ["1", "2"], "what they wrote": ["a long sentence", "another one"], "picture": ["", "a.png"]}
    )
    look = import_posts.look_at(rows, None)
    assert (look.sure, look.guess.text, look.guess.image) == (False, "what they wrote", "picture")
    assert import_posts.look_at(rows.filter(pl.col("picture") != ""), None).sure
    made = import_posts.posts_from(rows, PostChoices(text="what they wrote", image="picture"), stem="p")
    assert made.frame["image"].to_list() == [None, "a.png"]
