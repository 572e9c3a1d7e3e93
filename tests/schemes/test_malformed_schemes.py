"""Every way in which a scheme file can be wrong is named with its line, and all of them at once."""

import random

import pytest

from davy import schemes
from davy.core import UserError
from davy.core.question_kind import QUESTION_KINDS

GOOD = """\
name: weather
version: 1
questions:
  - name: wet
    positive: wet
    labels:
      - name: dry
      - name: wet
  - name: kind
    under: {wet: wet}
    labels:
      - {name: rain, code: "1", aliases: [1. rain]}
      - {name: snow, code: "2"}
  - name: drops
    under: kind
    labels:
      - {name: drizzle, under: rain}
      - {name: flakes, under: [snow]}
guidelines:
  - version: 1
    text: Look out of the window.
"""

# What is changed in GOOD, into what, the line of the problem, and part of what is said about it.
BROKEN = {
    "unknown key": ("positive: wet", "positve: wet", 5, "has no field 'positve'; known: name, kind"),
    "unknown key offers the nearest": ("positive: wet", "positve: wet", 5, "Did you mean 'positive'?"),
    "unknown key of a label": ("{name: snow,", "{name: snow, alias: x,", 13, "label 'snow' has no field 'alias'"),
    "unknown key of the scheme": ("version: 1\nq", "version: 1\nlanguage: en\nq", 3, "has no field 'language'"),
    "missing name": ("name: weather\n", "", 1, "scheme lacks `name:`"),
    "missing version": ("version: 1\nq", "q", 1, "lacks `version:`"),
    "missing labels": (
        "    positive: wet\n    labels:\n      - name: dry\n      - name: wet\n",
        "",
        4,
        "lacks `labels:`",
    ),
    "missing guideline text": ("    text: Look out of the window.\n", "", 20, "guideline lacks `text:`"),
    "version not a number": ("version: 1\nq", "version: one\nq", 2, "whole number from 1, but it is 'one'"),
    "version zero": ("version: 1\nq", "version: 0\nq", 2, "whole number from 1, but it is '0'"),
    "text where a list belongs": (
        "    labels:\n      - name: dry\n      - name: wet\n",
        "    labels: two\n",
        6,
        "list of labels",
    ),
    "list where a text belongs": ("name: weather", "name: [weather]", 1, "must be a text, but it is a list"),
    "flag not true or false": ("under: kind", "under: kind\n    open: maybe", 16, "must be true or false"),
    "empty value": ("positive: wet", "positive:", 5, "must be a text, but it is empty"),
    "empty label list": (
        "    labels:\n      - name: dry\n      - name: wet\n",
        "    labels: []\n",
        6,
        "but it is empty",
    ),
    "language code": ("name: dry", "name: dry\n        title: {german: trocken}", 8, "'german' is not a language code"),
    "wording is a list": ("name: dry", "name: dry\n        title: [a]", 8, "must be a text or `{en: …, de: …}`"),
    "duplicate YAML key": (
        "positive: wet",
        "positive: wet\n    positive: dry",
        6,
        "'positive' is here twice, first on line 5",
    ),
    "duplicate question": ("name: drops", "name: wet", 14, "Two questions are called 'wet'; the first is on line 4"),
    "duplicate label": (
        "      - name: dry",
        "      - name: wet",
        8,
        "'wet' of 'wet' already stands for label 'wet' on line 7",
    ),
    "alias of another label": ('code: "2"', "aliases: [rain]", 13, "'rain' of 'kind' already stands for label 'rain'"),
    "alias in another case": ('code: "2"', "aliases: [1.  RAIN]", 13, "already stands for label 'rain' on line 12"),
    "code of another label": ('code: "2"', 'code: "1"', 13, "'1' of 'kind' already stands for label 'rain'"),
    "absent is a label": ("under: kind", "under: kind\n    absent: [drizzle]", 16, "'drizzle' can't be absent"),
    "unknown kind": (
        "name: drops",
        "name: drops\n    kind: scal",
        15,
        f"known: {', '.join(QUESTION_KINDS)}. Did you mean 'scale'?",
    ),
    "one label only": ("      - name: dry\n", "", 6, "has 1 label; kind `one` needs at least two"),
    "positive is no label": (
        "positive: wet",
        "positive: damp",
        5,
        "positive 'damp' is not a label of 'wet'; it has dry, wet",
    ),
    "positive of several": (
        "positive: wet",
        "positive: wet\n    kind: many",
        5,
        "of kind `many` can't have a positive",
    ),
    "missing parent": (
        "under: kind",
        "under: sort",
        15,
        "names a parent 'sort' that is not there; before it come: wet, kind",
    ),
    "missing parent offers the nearest": ("under: kind", "under: knid", 15, "Did you mean 'kind'?"),
    "parent of itself": ("under: kind", "under: drops", 15, "names itself as its parent"),
    "parent after child": ("under: {wet: wet}", "under: {drops: drizzle}", 10, "name each other"),
    "parent's label missing": (
        "under: {wet: wet}",
        "under: {wet: damp}",
        10,
        "is not a label of 'wet'; it has dry, wet",
    ),
    "two parents": ("under: {wet: wet}", "under: {wet: wet, drops: x}", 10, "must be a question's name or"),
    "label under a missing label": ("under: rain}", "under: rian}", 17, "Did you mean 'rain'?"),
    "label under without a parent": ("name: dry", "name: dry\n        under: rain", 8, "question 'wet' has no parent"),
    "label out of reach": (
        "      - {name: flakes, under: [snow]}\n",
        "      - {name: mist, under: rain}\n",
        16,
        "no label under 'snow'",
    ),
    "part of an intersection missing": (
        'code: "2"',
        "of: [rian]",
        13,
        "'rian', which 'kind' does not list. Did you mean",
    ),
    "derived from nowhere": ("under: kind", "derived: {mood: {a: b}}", 15, "names an origin 'mood'"),
    "derived from an unknown label": (
        "under: kind",
        "under: kind\n    derived: {kind: {hail: drizzle}}",
        16,
        "'hail' is not a label of 'kind'",
    ),
    "derived to an unknown label": (
        "under: kind",
        "under: kind\n    derived: {kind: {rain: drip}}",
        16,
        "'drip' is not a label of 'drops'",
    ),
    "derived has no table": (
        "under: kind",
        "under: kind\n    derived: kind",
        16,
        "must be `{question: {its label: label here}}`",
    ),
    "labels of spans may be open": (
        "under: kind",
        "under: kind\n    kind: spans\n    open: true",
        17,
        "can't have `open:`",
    ),
    "parent asks for words": (
        "under: {wet: wet}",
        "kind: spans\n    under: {wet: wet}",
        16,
        "'drops' can't hang on 'kind': marked words lead to no question",
    ),
    "guideline versions fall": (
        "    text: Look out of the window.\n",
        "    text: Look out of the window.\n  - version: 1\n    text: Again.\n",
        22,
        "guideline 1 comes after guideline 1; list them from oldest to newest",
    ),
    "name of a column of posts": ("name: drops", "name: text", 14, "posts have a column of that name"),
    "name of the verdict column": ("name: drops", "name: verdict", 14, "posts have a column of that name"),
    "name with a dot": ("name: drops", "name: drops.gold", 14, "write lower-case letters"),
    "scheme name with a slash": ("name: weather", "name: ../weather", 1, "write lower-case letters"),
    "label with a bar": ("name: flakes", 'name: "a|b"', 18, "can't have | ; > or line breaks"),
    "label with an arrow": ("name: flakes", "name: a > b", 18, "can't have | ; > or line breaks"),
    "include of nothing": ("version: 1\nq", "version: 1\ninclude: [edso]\nq", 3, "which Davy does not ship"),
    "include of one that includes": (
        "version: 1\nq",
        "version: 1\ninclude: [embedded-en]\nq",
        3,
        "itself includes others",
    ),
    "include twice": (
        "version: 1\nq",
        "version: 1\ninclude: [hate, hatemoji]\nq",
        3,
        "brings a second question called 'hate'",
    ),
    "anchor": ("name: dry", "name: &x dry", 7, "Anchors and aliases (&x, *x) are not read"),
    "tag": ("name: dry", "name: !!python/name:os.system dry", 7, "is not read. Remove it."),
    "second document": ("guidelines:", "---\nguidelines:", 19, "A second document starts here"),
    "tab for indentation": ("    positive: wet", "\tpositive: wet", 5, "This is not YAML"),
    "open quote": ("Look out of the window.", '"Look out of the window.\n', 21, "This is not YAML"),
    "colon in a text": ("Look out of the window.", "Look out: of the: window.", 21, "This is not YAML"),
    "escape code for a terminal": ("Look out of the window.", '"\\e[31mLook"', 21, "has an escaped control character"),
    "key is a list": ("    positive: wet", "    ? [a]\n    : b", 5, "A key must be a plain word"),
    "question is a text": (
        "  - name: kind\n",
        "  - oops\n  - name: kind\n",
        9,
        "question must be a mapping, but it is a text",
    ),
}


def problems_in(tmp_path, text):
    path = tmp_path / "scheme.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return schemes.check(path)


def test_the_file_that_the_broken_ones_are_made_from_is_fine(tmp_path):
    assert problems_in(tmp_path, GOOD) == []


@pytest.mark.parametrize(("old", "new", "line", "said"), BROKEN.values(), ids=list(BROKEN))
def test_a_problem_is_named_with_its_line(tmp_path, old, new, line, said):
    assert GOOD.count(old) == 1
    problems = problems_in(tmp_path, GOOD.replace(old, new))
    told = "\n".join(str(problem) for problem in problems)
    assert any(said in problem.message and problem.line == line for problem in problems), told
    assert all("\n" not in problem.message for problem in problems)


def test_a_child_before_its_parent_is_told_where_the_parent_is(tmp_path):
    text = "name: w\nversion: 1\nquestions:\n  - {name: b, under: a, labels: [x, y]}\n  - {name: a, labels: [x, y]}\n"
    (problem,) = problems_in(tmp_path, text)
    assert (problem.line, problem.message) == (
        4,
        "question 'b' comes before its parent 'a' (on line 5). Move 'a' above it.",
    )


def test_a_circle_of_parents_is_refused(tmp_path):
    text = "name: w\nversion: 1\nquestions:\n" + "".join(
        f"  - {{name: {name}, under: {parent}, labels: [x, y]}}\n"
        for name, parent in (("a", "c"), ("b", "a"), ("c", "b"))
    )
    assert [problem.line for problem in problems_in(tmp_path, text)] == [4]


def test_all_problems_are_reported_from_top_to_bottom(tmp_path):
    text = (
        GOOD.replace("positive: wet", "positive: damp")
        .replace("under: kind", "under: sort")
        .replace("version: 1\nq", "q")
    )
    assert [problem.line for problem in problems_in(tmp_path, text)] == [1, 4, 14]


@pytest.mark.parametrize(
    ("raw", "line", "said"),
    [
        (b"", 1, "The file is empty"),
        (b"# only a comment\n", 1, "The file is empty"),
        (b"\xef\xbb\xbf", 1, "The file is empty"),
        (b"{}", 1, "The file is empty"),
        (b"- a\n- b\n", 1, "A scheme is a mapping"),
        (b"just words", 1, "A scheme is a mapping"),
        (b"name: w\ntitle: caf\xe9\n", 2, "Byte 0xe9 is not UTF-8"),
        ("name: w\n".encode("utf-16"), 1, "is not UTF-8"),
        (b"name: w\ntitle: a\x00b\n", 2, "control character"),
        (b"name: w\n" + b"#" * 300_000, 1, "too many for a scheme"),
        (b"[" * 100_000, 1, "levels are nested"),
        (b"a: " + b"{a: " * 50, 1, "levels are nested"),
    ],
)
def test_a_file_that_is_no_scheme_at_all_gets_one_plain_line(tmp_path, raw, line, said):
    (problem,) = problems_in(tmp_path, raw)
    assert problem.line == line
    assert said in problem.message


def test_a_billion_laughs_are_not_laughed(tmp_path):
    lines = ["a: &a [ha, ha]"]
    lines += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
    problems = problems_in(tmp_path, "\n".join(lines))
    assert problems[0].line == 1
    assert all("Anchors" in problem.message for problem in problems)


def test_words_that_yaml_would_turn_into_something_else_stay_words(tmp_path):
    path = tmp_path / "scheme.yaml"
    path.write_text(
        "name: w\nversion: 1\nquestions:\n  - name: wet\n    labels: [no, yes, on, 1.10, 2024-01-01, 0x1F, ~x]\n",
        encoding="utf-8",
    )
    assert schemes.read(path).question("wet").label_names == ("no", "yes", "on", "1.10", "2024-01-01", "0x1F", "~x")
    scheme = schemes.read(path)
    assert schemes.from_dict(schemes.to_dict(scheme)) == scheme


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "scheme.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert [q.name for q in schemes.read(path).questions] == ["wet", "kind", "drops"]
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("under: kind", "under: sort").replace("\n", "\r\n").encode())
    assert schemes.check(path)[0].line == 15


def test_a_parents_name_alone_means_its_yes_or_any_of_its_labels(tmp_path):
    path = tmp_path / "scheme.yaml"
    path.write_text(GOOD.replace("under: {wet: wet}", "under: wet"), encoding="utf-8")
    scheme = schemes.read(path)
    assert scheme.question("kind").under == ("wet", ("wet",))
    assert scheme.question("drops").under == ("kind", ("rain", "snow"))


def test_a_scheme_of_ones_own_may_include_a_shipped_one_and_ask_more_under_it(tmp_path):
    path = tmp_path / "scheme.yaml"
    path.write_text(
        "name: mine\nversion: 1\ninclude: edos\nquestions:\n"
        "  - {name: known, under: {sexist: sexist}, labels: [friend, stranger]}\n",
        encoding="utf-8",
    )
    assert [q.name for q in schemes.read(path).questions] == ["sexist", "category", "vector", "known"]


def test_a_broken_scheme_is_refused_with_its_first_problem_and_the_count_of_the_others(tmp_path):
    path = tmp_path / "scheme.yaml"
    path.write_text(
        GOOD.replace("positive: wet", "positive: damp").replace("under: kind", "under: sort"), encoding="utf-8"
    )
    with pytest.raises(UserError) as caught:
        schemes.read(path)
    assert caught.value.message.startswith(f"{path}:5: positive 'damp'")
    assert caught.value.message.endswith(f"(1 more: davy scheme check {path})")


def test_an_unknown_name_lists_the_known_ones_and_the_nearest():
    with pytest.raises(UserError, match=r"no scheme 'edso'; Davy has edos, .*Did you mean 'edos'\?"):
        schemes.load("edso")


@pytest.mark.parametrize("name", ["nowhere.yaml", "some/where"])
def test_a_missing_file_is_said_to_be_missing(name):
    with pytest.raises(UserError, match="There is no file"):
        schemes.load(name)


def test_a_folder_is_no_scheme(tmp_path):
    with pytest.raises(UserError, match="is a folder"):
        schemes.load(tmp_path)


@pytest.mark.parametrize("name", ["", " ", "\0", "x" * 5000, "../edos", "edos.yaml"])
def test_odd_names_end_in_a_user_error(name):
    with pytest.raises(UserError):
        schemes.load(name)


@pytest.mark.parametrize("seed", range(120))
def test_a_file_with_random_damage_gives_problems_or_a_scheme_but_never_an_exception(tmp_path, seed):
    chance = random.Random(seed)
    lines = schemes.text_of("gmhp7k" if seed % 2 else "hateful-memes").decode().splitlines()[:60]
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        act = chance.choice(["drop", "twice", "indent", "char", "null", "cut"])
        line = lines[at]
        damaged = {
            "drop": [],
            "twice": [line, line],
            "indent": ["  " + line],
            "char": [line.replace(chance.choice(" :-[{"), chance.choice(":[]{}&*!|>'\"%@`#,?\t"), 1)],
            "null": [line.split(":")[0] + ":"],
            "cut": [line[: chance.randint(0, len(line))]],
        }[act]
        lines[at : at + 1] = damaged or [""]
    path = tmp_path / "scheme.yaml"
    path.write_text("\n".join(lines), encoding="utf-8")
    problems = schemes.check(path)
    assert all(1 <= problem.line <= len(lines) + 1 for problem in problems)
    if not problems:
        scheme = schemes.read(path)
        assert schemes.from_dict(schemes.to_dict(scheme)) == scheme
