"""Each public corpus, in small files that we wrote in its real format."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from davy import schemes
from davy.core import POST_COLUMNS, UserError, Verdict
from davy.corpus.collect import corpora
from davy.files import tables

SAMPLES = Path(__file__).parent / "samples"

EXPECTED = {
    "edos": (
        "edos",
        ["sexist.gold", "category.gold", "vector.gold", "split"],
        [
            ("s-1", "not sexist", None, None, "train"),
            ("s-2", "sexist", "prejudiced discussions", "supporting mistreatment of individual women", "dev"),
            ("s-3", "sexist", "derogation", "dehumanising attacks and overt sexual objectification", "test"),
        ],
    ),
    "hatemojibuild": (
        "hatemoji",
        ["parent", "hate.gold", "type.gold", "target.gold", "split"],
        [
            ("0", None, "hateful", "threatening language", "south asian people|arabs|muslims", "train"),
            ("1", "0", "not hateful", None, None, "train"),
            ("5", "4", "hateful", "dehumanising language", "women", "dev"),
        ],
    ),
    "hatemojicheck": (
        "hatemoji",
        ["parent", "hate.gold", "target.gold"],
        [
            ("10", None, "hateful", "women"),
            ("11", "10", "hateful", "trans people"),
            ("12", "10", "not hateful", None),
            ("13", "10", "hateful", "women"),
            ("20", None, "not hateful", None),
        ],
    ),
    "hatecheck": (
        "hate",
        ["parent", "lang", "hate.gold"],
        [
            ("german-1", None, "de", "hateful"),
            ("german-2", "german-1", "de", "not hateful"),
            ("1", None, "en", "hateful"),
            ("2", "1", "en", "not hateful"),
        ],
    ),
    "dynahate": (
        "hatemoji",
        ["parent", "hate.gold", "type.gold", "target.gold", "split"],
        [
            ("acl1", None, "hateful", "derogation", "women|black people", "train"),
            ("acl2", "acl1", "not hateful", None, None, "dev"),
            ("acl3", None, "hateful", None, None, "test"),
        ],
    ),
    "gmhp7k": (
        "gmhp7k",
        ["hate.gold", "misogynistic.gold", "split", "split_hs", "split_m_hs"],
        [
            ("1482699277923196930", "not hateful", None, "train", "train", "val"),
        ],
    ),
    "germeval2018": (
        "offensive",
        ["offensive.gold", "split"],
        [
            ("germeval2018.test-1", "not offensive", "test"),
            ("germeval2018.training-1", "offensive", "train"),
            ("germeval2018.training-2", "not offensive", "train"),
        ],
    ),
    "davidson2017": (
        "hate-offensive",
        ["abuse.gold", "hate.gold", "offensive.gold"],
        [
            ("0", "neither", "not hateful", "not offensive"),
            ("1", "offensive", "not hateful", "offensive"),
            ("7", "hateful", "hateful", "offensive"),
        ],
    ),
    "founta2018": (
        "hate",
        ["hate.gold", "split"],
        [("train_2-1", "hateful", "train"), ("dev_1-1", "not hateful", "dev")],
    ),
    "kennedy2020": ("hate", ["hate.gold", "split"], [("train_2-1", "hateful", "train")]),
    "gahd": (
        "hate",
        ["parent", "lang", "hate.gold", "split"],
        [("g1", None, "de", "hateful", "train"), ("g2", "g1", "de", "not hateful", "train")],
    ),
    "guest2021": (
        "misogyny",
        ["misogynistic.gold", "split"],
        [("e1", "misogynistic", "train"), ("e2", "not misogynistic", "test"), ("e3", "not misogynistic", "train")],
    ),
    "hateful-memes": (
        "hateful-memes",
        ["image", "hate.gold", "split"],
        [("42953", "img/42953.png", "not hateful", "train"), ("8291", "img/08291.png", "hateful", "dev")],
    ),
    "harmeme": (
        "harmeme",
        ["image", "harm.gold", "harmed.gold", "split"],
        [
            ("covid_memes_1", "covid_memes_1.jpg", "not harmful", None, "train"),
            ("covid_memes_2", "covid_memes_2.png", "very harmful", "organisation", "dev"),
        ],
    ),
}


def loaded(name):
    return corpora.load(name, SAMPLES / name)


def test_every_corpus_has_a_sample():
    assert sorted(EXPECTED) == corpora.names()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_corpus_gives_posts_with_a_source_and_labels_of_its_scheme(name):
    scheme, columns, rows = EXPECTED[name]
    corpus = loaded(name)
    posts = corpus.posts.collect()
    assert corpus.scheme == scheme
    assert posts.columns[: len(POST_COLUMNS)] == list(POST_COLUMNS)
    assert posts.select("id", *columns).rows() == rows
    assert posts["source"].unique().to_list() == [name]
    assert posts["licence"].null_count() == 0
    assert posts["found"][0].endswith(":1")
    for meta in posts["meta"].drop_nulls():
        assert isinstance(json.loads(meta), dict)


@pytest.mark.parametrize("name", EXPECTED)
def test_published_verdicts_have_no_faults_under_the_scheme(name):
    corpus = loaded(name)
    answers: dict[str, dict[str, tuple[str, ...]]] = {}
    for verdict in corpora.verdicts(corpus):
        assert verdict.basis == "published"
        answers.setdefault(verdict.post, {})[verdict.question] = verdict.labels
    assert answers
    scheme = schemes.load(corpus.scheme)
    for given in answers.values():
        assert scheme.faults(given) == []


def test_a_verdict_carries_every_label_of_the_question():
    target = next(v for v in corpora.verdicts(loaded("hatemojibuild")) if v.question == "target")
    assert target == Verdict("0", "target", ("south asian people", "arabs", "muslims"), "published")


def test_texts_are_what_people_wrote():
    assert loaded("davidson2017").posts.collect()["text"].to_list()[0] == 'tea & biscuits > "coffee" 🙂'
    german = loaded("germeval2018").posts.collect()["text"].to_list()
    assert german[1] == 'erste Zeile\nzweite "Zeile'
    assert loaded("dynahate").posts.collect()["text"].to_list()[2] == "a bare\rCR inside"
    assert loaded("guest2021").posts.collect()["text"].to_list() == ["a mild remark", "another remark", None]


def test_what_has_no_column_of_its_own_is_kept_in_meta():
    assert json.loads(loaded("gmhp7k").posts.collect()["meta"][0])["m_hs"] == 0
    meta = json.loads(loaded("hatemojicheck").posts.collect()["meta"][1])
    assert (meta["functionality"], meta["set"], meta["templ_id"]) == ("F1", "identity_perturb", 3)
    meta = json.loads(loaded("guest2021").posts.collect()["meta"][0])
    assert meta["level_2"] == ["Derogation", "None_of_the_categories"]


def test_answers_of_people_are_read_with_item_annotator_and_phase():
    answers = corpora.load("gmhp7k", SAMPLES / "gmhp7k", answers=True).posts.collect()
    columns = ["item", "annotator", "phase", "hate", "misogynistic"]
    assert answers.select(columns).rows()[1:3] == [
        ("hasoc_de_1", "a", "2a", "not hateful", None),
        ("hasoc_de_1", "b", "2a", "hateful", "not misogynistic"),
    ]
    assert answers["phase"].to_list() == ["1", "2a", "2a", "3"]
    assert not [name for name in answers.columns if name.endswith(".gold")]


def test_answers_that_nobody_settled_are_no_corpus(tmp_path):
    with pytest.raises(UserError, match="answers of phase 2a alone; the posts of gmhp7k are those of phase 3"):
        corpora.load("gmhp7k", SAMPLES / "gmhp7k" / "misogynistic_hatespeech_phase2.csv")
    rows = ["s1,mild words,a,sexist,none,none", "s1,mild words,b,not sexist,none,none"]
    single = tmp_path / "edos_labelled_individual_annotations.csv"
    single.write_text("rewire_id,text,annotator,label_sexist,label_category,label_vector\n" + "\n".join(rows) + "\n")
    with pytest.raises(UserError, match="people's answers: 2 rows about 1 posts"):
        corpora.load("edos", single)
    assert corpora.load("edos", single, answers=True).posts.collect()["sexist"].to_list() == ["sexist", "not sexist"]
    with pytest.raises(UserError, match="does not say who answered"):
        corpora.load("edos", SAMPLES / "edos", answers=True)


def test_no_text_in_our_data_files_is_cut_off_by_a_comment():
    """In YAML ` #` starts a comment, so that a plain text with it stops mid-sentence."""
    source = Path(corpora.__file__).parents[2]
    cut = re.compile(r"^\s*[\w-]+: [^\"'>|{\[#\s][^#\"'\n]* #\d", re.M)
    assert [str(file) for file in source.rglob("*.yaml") if cut.search(file.read_text("utf-8"))] == []


def test_one_file_of_a_corpus_can_be_named():
    corpus = corpora.load("hatemojibuild", SAMPLES / "hatemojibuild" / "validation.csv")
    assert corpus.posts.collect()["id"].to_list() == ["5"]


def test_the_short_form_of_the_dynamic_set_is_read(tmp_path):
    (tmp_path / "dynahate.csv").write_text("text,label,split\nmild words,1,train\nmore words,0,dev\n")
    posts = corpora.load("dynahate", tmp_path).posts.collect()
    assert posts.select("id", "hate.gold", "split").rows() == [
        ("dynahate-1", "hateful", "train"),
        ("dynahate-2", "not hateful", "dev"),
    ]


def test_a_label_outside_the_scheme_names_file_row_column_and_value_but_no_text(tmp_path):
    sample = (SAMPLES / "edos" / "edos_labelled_aggregated.csv").read_text()
    path = tmp_path / "edos_labelled_aggregated.csv"
    path.write_text(sample.replace("2. derogation", "2. derogatory"))
    with pytest.raises(UserError) as caught:
        corpora.load("edos", tmp_path)
    assert f"{path}: row 3, column 'label_category' has '2. derogatory', which is no label of" in caught.value.message
    assert "sample words" not in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("name", "path", "says"),
    [
        ("edos", "nowhere", "does not exist. Give the file or the folder of edos"),
        ("edos", ".", "holds no file of edos; looked for edos_labelled_aggregated.csv"),
        ("edos", "posts.csv", "has no column 'text'; it has id, body"),
        ("edoz", ".", "There is no corpus 'edoz'; Davy reads davidson2017"),
    ],
)
def test_a_corpus_that_is_not_there_is_an_error(tmp_path, monkeypatch, name, path, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "posts.csv").write_text("id,body\n1,x\n")
    with pytest.raises(UserError, match=says.replace(".", r"\.")):
        corpora.load(name, path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_corpus_survives_a_file(tmp_path, ending):
    before = loaded("hatemojibuild")
    tables.copy(before.table, tmp_path / f"a.{ending}")
    after = tables.scan(tmp_path / f"a.{ending}").collect()
    assert after.cast(pl.String).rows() == before.posts.collect().rows()


def test_seen_and_unseen_parts_of_hateful_memes_stay_apart(tmp_path):
    for number, name in enumerate(("train", "dev_seen", "dev_unseen", "test_seen", "test_unseen")):
        row = {"id": number, "img": f"img/{number}.png", "label": number % 2, "text": "tea", "kind": "benign text"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    posts = corpora.load("hateful-memes", tmp_path).posts.collect()
    assert set(posts["split"]) == {"train", "dev_seen", "dev_unseen", "test_seen", "test_unseen"}
    assert posts["kind"].unique().to_list() == ["benign text"]
