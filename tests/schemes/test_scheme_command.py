"""`davy scheme` as its user meets it: output, exit codes, files."""

import json

import pytest

from davy import schemes
from davy.shell import console
from davy.shell.app import run
from davy.text.lexicons.read import load as load_lexicon
from davy.text.mask import mask

ORPHAN = """\
name: mine
version: 1
questions:
  - name: hate
    positive: hateful
    labels: [not hateful, hateful]
  - name: sort
    under: {hte: hateful}
    labels: [mild, strong]
"""


@pytest.fixture
def davy(capsys):
    """Runs a command line; gives back its exit code, stdout and stderr."""

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    yield call
    console.settings.plain = False


def test_list_names_every_scheme_with_its_questions(davy):
    code, out, _ = davy("scheme", "list")
    assert code == 0
    assert all(name in out for name in schemes.names())
    code, out, _ = davy("scheme", "list", "--json")
    listed = {scheme["name"]: scheme for scheme in json.loads(out)}
    assert list(listed) == schemes.names()
    assert listed["edos"]["questions"] == {"sexist": 2, "category": 4, "vector": 11}
    assert listed["gmhp7k"]["languages"] == ["en", "de"]


def test_show_edos_prints_the_whole_taxonomy_as_a_tree(davy):
    code, out, _ = davy("scheme", "show", "edos")
    assert code == 0
    flat = " ".join(out.replace("│", " ").split())
    for question in schemes.load("edos").questions:
        for label in question.labels:
            assert label.name in flat
            assert label.definition["en"] in flat, "definitions are wrapped, never cut"
            assert f"{label.code or ''} {label.name}".strip() in flat
            for example in label.examples:
                assert console.masked_text(example["en"]) in flat
    assert flat.index("2 derogation") < flat.index("2.1 descriptive attacks") < flat.index("3 animosity")
    assert "Warning:" in flat
    assert "SemEval-2023" in flat


@pytest.mark.parametrize("name", schemes.names())
def test_show_prints_every_label_of_every_scheme_once_or_more(davy, name):
    code, out, _ = davy("scheme", "show", name)
    flat = " ".join(out.replace("│", " ").split())
    assert code == 0
    for question in schemes.load(name).questions:
        assert question.title["en"] in flat or question.name in flat
        assert all(label.name in flat for label in question.labels)


def test_show_speaks_german_where_the_scheme_does(davy, tmp_path):
    _, out, err = davy("scheme", "show", "gmhp7k", "--lang", "de")
    assert "Ist der Hass frauenfeindlich?" in out
    assert "not misogynistic (Nicht frauenfeindlich)" in out
    assert err == ""
    own = tmp_path / "wet.yaml"
    own.write_text("name: wet\nversion: 1\nquestions:\n  - {name: wet, title: Is it wet?, labels: [dry, wet]}\n")
    code, out, err = davy("scheme", "show", own, "--lang", "de")
    assert code == 0
    assert "Is it wet?" in out
    assert "wet is not all worded in 'de', only in en." in err


def test_show_prints_the_guideline_on_request(davy):
    _, out, _ = davy("scheme", "show", "gmhp7k", "--lang", "de", "--guideline")
    assert "gmhp7k, guideline 1" in out
    assert "Zitate und Liedtexte" in out
    code, _, err = davy("scheme", "show", "harmeme", "--guideline")
    assert code == 2
    assert "has no guideline" in err


def test_show_json_can_be_read_back_as_a_scheme(davy):
    _, out, _ = davy("scheme", "show", "hateful-memes", "--json")
    values = json.loads(out)
    scheme = schemes.load("hateful-memes")
    assert values.pop("digest") == schemes.digest(scheme)
    assert schemes.from_dict(values) == scheme


def test_show_of_an_unknown_scheme_is_one_line_and_exit_code_2(davy):
    code, out, err = davy("scheme", "show", "edso")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "Did you mean 'edos'?" in err


def test_check_refuses_a_child_of_a_missing_parent_and_names_the_line(davy, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(ORPHAN, encoding="utf-8")
    code, out, err = davy("scheme", "check", path)
    assert code == 2
    assert out.startswith(f"{path}:8: question 'sort' names a parent 'hte' that is not there")
    assert "Did you mean 'hate'?" in out
    assert err == "davy: 1 problem in 1 of 1 file. Mend and check again.\n"


def test_check_says_when_files_are_fine(davy, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(ORPHAN.replace("hte", "hate"), encoding="utf-8")
    code, out, _ = davy("scheme", "check", path, path)
    assert code == 0
    assert out == f"{path}: fine. Scheme 'mine', version 1, asks hate, sort.\n" * 2


def test_check_counts_problems_over_all_files(davy, tmp_path):
    good, bad, empty = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "empty.yaml"
    good.write_text(ORPHAN.replace("hte", "hate"), encoding="utf-8")
    bad.write_text(ORPHAN.replace("positive: hateful", "positive: hatefull"), encoding="utf-8")
    empty.touch()
    code, out, err = davy("scheme", "check", good, bad, empty, tmp_path / "none.yaml")
    assert code == 2
    assert [line.split(": ")[0] for line in out.splitlines()] == [
        f"{bad}:5",
        f"{bad}:8",
        f"{empty}:1",
        str(tmp_path / "none.yaml"),
    ]
    assert "4 problems in 3 of 4 files" in err
    code, out, _ = davy("scheme", "check", bad, "--json")
    assert code == 2
    assert [problem["line"] for problem in json.loads(out)] == [5, 8]


def test_copy_makes_a_file_that_passes_the_check(davy, tmp_path):
    path = tmp_path / "mine.yaml"
    code, out, err = davy("scheme", "copy", "edos", "--out", path, "--as", "mine")
    assert (code, out) == (0, "")
    assert f"davy scheme check {path}" in err
    assert schemes.read(path).name == "mine"
    assert path.read_text(encoding="utf-8").startswith("# The three-level taxonomy")
    assert davy("scheme", "check", path)[0] == 0
    assert [file.name for file in tmp_path.iterdir()] == ["mine.yaml"]


def test_copy_does_not_write_over_a_file_unless_told(davy, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("precious", encoding="utf-8")
    code, _, err = davy("scheme", "copy", "edos", "--out", path)
    assert code == 2
    assert "Write over it with --replace" in err
    assert path.read_text(encoding="utf-8") == "precious"
    assert davy("scheme", "copy", "edos", "--out", path, "--replace")[0] == 0
    assert path.read_bytes() == schemes.text_of("edos")


def test_copy_writes_to_the_screen(davy):
    assert davy("scheme", "copy", "hate", "--out", "-")[1].encode() == schemes.text_of("hate")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing", "--out", "x.yaml"], "There is no scheme 'nothing'"),
        (["edos", "--out", "nowhere/x.yaml"], "does not exist"),
        (["edos", "--out", "."], "is a folder"),
        (["edos", "--out", ".", "--replace"], "is a folder"),
        (["edos", "--out", "x.yaml", "--as", "My Scheme"], "can't be a scheme's name"),
        (["edos", "--out", "x.yaml", "--as", "hate"], "is a scheme that Davy ships"),
        (["edos"], "Missing option"),
    ],
)
def test_a_copy_that_can_not_be_made_leaves_nothing_behind(davy, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, _, err = davy("scheme", "copy", *arguments)
    assert code == 2
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_show_masks_hurtful_words_unless_asked_for_them_plain(davy, tmp_path):
    word = next(
        entry.term for entry in load_lexicon("en") if entry.kind != "harmless" and mask(entry.term) != entry.term
    )
    path = tmp_path / "mine.yaml"
    labels = f"[{{name: no}}, {{name: yes, definition: Somebody wrote {word} there.}}]"
    path.write_text(f"name: mine\nversion: 1\nquestions:\n  - {{name: hate, labels: {labels}}}\n", encoding="utf-8")
    assert word not in davy("scheme", "show", path)[1]
    assert word in davy("--plain", "scheme", "show", path)[1]
