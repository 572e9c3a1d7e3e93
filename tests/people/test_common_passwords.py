"""Passwords that are guessed first are refused."""

import pytest

from davy.core.errors import UserError
from davy.people.passwords import check_password, hash_password

GUESSED = ("1234567890", "password12", "qwertyuiop", "letmein123", "P4ssword!!!", "Christopher1", "iloveyou2024")


@pytest.mark.parametrize("password", GUESSED)
def test_a_password_from_the_list_or_one_with_digits_around_it_is_refused(password):
    with pytest.raises(UserError, match="guessed first"):
        hash_password(password)


@pytest.mark.parametrize(
    ("login", "password"), [("lin.berger@example.org", "lin.berger1"), ("annotator7", "ANNOTATOR7!")]
)
def test_the_login_with_little_else_is_refused(login, password):
    with pytest.raises(UserError, match="guessed first"):
        hash_password(password, login=login)


@pytest.mark.parametrize("password", ["three warm lamps", "lantern-rope-49", "zwölf Löffel Tee", "kP7#vq2Lx9"])
def test_words_that_do_not_belong_together_are_taken(password):
    assert check_password(password, hash_password(password, login="lin@example.org"))
