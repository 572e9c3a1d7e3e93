"""Fine-tuning, resuming, sampling, distilling and exporting, on an encoder made here."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch
from sklearn.metrics import f1_score
from sklearn.utils.class_weight import compute_class_weight

from davy import schemes
from davy.core.errors import UserError
from davy.detectors import folder as folders
from davy.detectors.load import load
from davy.detectors.network import Head
from davy.training import data
from davy.training.config import Config, config_names, load_config, trials, with_changes
from davy.training.data import Targets
from davy.training.fit import masked_loss
from davy.training.trainer import macro_f1s, train


@pytest.fixture
def config(tiny):
    return Config(encoder=str(tiny), scheme="hatemoji", batch=8, epochs=3, rate=5e-3, max_length=32, save_every=3)


def test_a_network_learns_which_made_up_words_are_hateful(tiny, posts, questions, config, tmp_path):
    done = train(posts, posts, questions, replace(config, epochs=6), tmp_path, seed=1)
    scorer = load(str(done.folder))
    scores = scorer.score(pl.DataFrame({"text": ["grumblefop", "lovely garden", None]}))
    yes = scores.positive("hate")
    assert yes[0] > 0.7
    assert yes[1] < 0.3
    assert done.history.best_score > 0.8


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_run_that_is_stopped_keeps_every_step_and_says_where_it_is(posts, questions, config, tmp_path, accumulate):
    config = replace(config, epochs=2, save_every=1000, accumulate=accumulate)
    whole = train(posts, posts, questions, config, tmp_path / "whole", seed=3)
    heard = []

    def stop_at_the_sixth(progress):
        heard.append(progress)
        if len(heard) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(posts, posts, questions, config, tmp_path / "stopped", seed=3, on_step=stop_at_the_sixth)
    first = heard[0]
    assert (first.epoch, first.epochs, first.step, first.steps) == (1, 2, 0, 8)
    assert re.fullmatch(r"epoch \d of 2, step \d of 8(, loss \d+\.\d{4})?", str(heard[-1]))
    went_on = []
    resumed = train(posts, posts, questions, config, tmp_path / "stopped", seed=3, on_step=went_on.append)
    assert (went_on[0].epoch, went_on[0].step) == (heard[-1].epoch, heard[-1].step)
    for one, other in zip(
        whole.scorer.network.state_dict().values(), resumed.scorer.network.state_dict().values(), strict=True
    ):
        assert torch.equal(one, other)


def test_a_killed_run_ends_with_the_weights_of_one_that_was_not(posts, questions, config, tmp_path, monkeypatch):
    whole = train(posts, posts, questions, config, tmp_path / "whole", seed=3)

    class Killed(Exception):
        pass

    from davy.training import loop

    step, count = loop._Plan.step, {"n": 0}

    def dying(self, *args, **kwargs):
        count["n"] += 1
        if count["n"] == 13:
            raise Killed
        step(self, *args, **kwargs)

    monkeypatch.setattr(loop._Plan, "step", dying)
    with pytest.raises(Killed):
        train(posts, posts, questions, config, tmp_path / "killed", seed=3)
    monkeypatch.setattr(loop._Plan, "step", step)
    resumed = train(posts, posts, questions, config, tmp_path / "killed", seed=3)
    for (name, one), other in zip(
        whole.scorer.network.state_dict().items(), resumed.scorer.network.state_dict().values(), strict=True
    ):
        assert torch.equal(one, other), name
    kept = [{k: v for k, v in record.items() if k != "seconds"} for record in whole.history.records]
    assert kept == [{k: v for k, v in record.items() if k != "seconds"} for record in resumed.history.records]


def test_another_seed_gives_other_weights(posts, questions, config, tmp_path):
    one = train(posts, None, questions, replace(config, epochs=1), tmp_path / "a", seed=1)
    other = train(posts, None, questions, replace(config, epochs=1), tmp_path / "b", seed=2)
    assert one.scorer.version != other.scorer.version


def test_a_head_without_answers_is_left_out_of_the_loss():
    heads = (Head("a", "one", 2), Head("b", "many", 3))
    wanted = Targets.empty(heads, 2)
    wanted.answer("a", torch.tensor([0]), torch.tensor([1]))
    logits = torch.randn(2, 5, requires_grad=True)
    masked_loss(logits, wanted.values, wanted.weights, heads).backward()
    assert logits.grad[0, :2].abs().sum() > 0
    assert logits.grad[0, 2:].abs().sum() == 0
    assert logits.grad[1].abs().sum() == 0
    # From outside: torch's own cross-entropy over the one answer, over two posts.
    expected = torch.nn.functional.cross_entropy(logits[:1, :2], torch.tensor([1])) / 2
    assert float(masked_loss(logits.detach(), wanted.values, wanted.weights, heads)) == pytest.approx(
        float(expected.detach())
    )


def test_a_child_question_learns_only_where_its_parent_leads_to_it(posts, questions, config):
    odd = posts.with_columns(pl.lit("derogation").alias("type.gold"))
    made = data.make_targets(questions, odd, config)
    assert (made.weights[:, 1] > 0).tolist() == [label == "hateful" for label in odd["hate.gold"]]
    free = data.make_targets(questions, odd, replace(config, consistent=False))
    assert bool((free.weights[:, 1] > 0).all())


def test_class_weights_are_those_of_the_posts_that_a_question_learns_from(config):
    asked = schemes.load("gmhp7k").questions
    answers = [("no", "no")] * 900 + [("yes", "no")] * 60 + [("yes", "yes")] * 40
    names = {q.name: dict(zip(("no", "yes"), q.label_names, strict=True)) for q in asked}
    frame = pl.DataFrame(
        {"text": [str(i) for i in range(1000)]}
        | {f"{q.name}.gold": [names[q.name][row[place]] for row in answers] for place, q in enumerate(asked)}
    )
    made = data.make_targets(asked, frame, replace(config, class_weights="balanced"))
    right = compute_class_weight("balanced", classes=np.array([0, 1]), y=np.array([0] * 60 + [1] * 40))
    assert made.weights[:900, 1].abs().sum() == 0
    assert made.weights[[900, 999], 1].tolist() == pytest.approx(right.tolist())


def test_noes_are_cut_to_so_many_a_yes_and_sources_stand_several_times(posts, questions, config):
    few = posts.with_columns(
        pl.when(pl.int_range(pl.len()) < 10).then(pl.lit("hateful")).otherwise(pl.lit("not hateful")).alias("hate.gold")
    )
    rows = data.epoch_order(questions, few, replace(config, under={"hate": 2}))(np.random.default_rng(0))
    assert len(rows) == 30
    rows = data.epoch_order(questions, few, replace(config, over={"b": 5}))(np.random.default_rng(0))
    assert len(rows) == 30 + 5 * 30
    with pytest.raises(UserError, match="no yes/no question"):
        data.epoch_order(questions, few, replace(config, under={"type": 2}))


def test_macro_f1_agrees_with_scikit_learn():
    rng = np.random.default_rng(4)
    gold, logits = rng.integers(0, 3, 200), torch.from_numpy(rng.normal(size=(200, 3)))
    wanted = Targets.empty((Head("a", "one", 3),), 200)
    wanted.answer("a", torch.arange(200), torch.from_numpy(gold))
    ours = macro_f1s(logits, wanted)["a"]
    assert ours == pytest.approx(f1_score(gold, logits.argmax(1), average="macro"), abs=1e-4)


def test_macro_f1_counts_labels_that_are_only_predicted_as_scikit_learn_does():
    gold, said = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 2, 1, 1, 3])
    wanted = Targets.empty((Head("a", "one", 4),), 6)
    wanted.answer("a", torch.arange(6), torch.from_numpy(gold))
    ours = macro_f1s(torch.eye(4)[torch.from_numpy(said)], wanted)["a"]
    assert ours == pytest.approx(f1_score(gold, said, average="macro"), abs=1e-4)


def test_emoji_become_tokens_that_start_as_their_names(tiny):
    from davy.detectors.encoder import load_encoder, load_tokenizer
    from davy.training.trainer import add_tokens

    tokenizer, _ = load_tokenizer(str(tiny))
    encoder = load_encoder(str(tiny))
    assert add_tokens(tokenizer, encoder, ["nice🦞nice", "plain"]) == 1
    ids = tokenizer.encode("nice🦞nice", add_special_tokens=False)
    assert ids.tokens == ["nice", "🦞", "nice"]
    table = encoder.get_input_embeddings().weight
    lobster = tokenizer.token_to_id("lobster")
    assert torch.allclose(table[ids.ids[1]], table[lobster])


@pytest.mark.parametrize("name", config_names())
def test_every_config_that_ships_is_sound_and_its_scheme_is_there(name):
    from davy import schemes

    config = load_config(name)
    scheme = schemes.load(config.scheme)
    assert set(config.questions) <= {question.name for question in scheme.questions}
    assert config.encoder


@pytest.mark.parametrize(
    ("change", "says"),
    [({"epoch": "3"}, "epochs"), ({"rate": "2"}, "between 0 and 1"), ({"emoji": "none"}, "tokens, names, leave"),
     ({"batch": "many"}, "batch"), ({"consistent": "3"}, "consistent")],
)  # fmt: skip
def test_a_wrong_setting_is_one_clear_line(change, says):
    with pytest.raises(UserError, match=says):
        with_changes(Config(), change)


def test_a_grid_is_every_combination(tmp_path):
    found = list(trials(replace(Config(), grid={"rate": (1e-5, 2e-5), "epochs": (2, 3)}), tmp_path))
    assert [(it.config.rate, it.config.epochs) for it in found] == [(1e-5, 2), (1e-5, 3), (2e-5, 2), (2e-5, 3)]
    assert len({it.folder for it in found}) == 4


def test_a_pickle_is_no_encoder_until_it_is_converted(tiny, posts, questions, tmp_path):
    folder = tmp_path / "pickled"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_bytes((tiny / name).read_bytes())
    from safetensors.torch import load_file

    from davy.shell.app import run

    torch.save(load_file(tiny / "model.safetensors"), folder / "pytorch_model.bin")
    config = Config(encoder=str(folder), scheme="hatemoji", epochs=1)
    with pytest.raises(UserError, match="davy model convert"):
        train(posts, None, questions, config, tmp_path / "run", seed=1)
    assert run(["model", "convert", str(folder / "pytorch_model.bin")]) == 0
    train(posts, None, questions, config, tmp_path / "run", seed=1)


def test_a_saved_folder_that_was_tampered_with_is_refused(posts, questions, config, tmp_path):
    done = train(posts, None, questions, replace(config, epochs=1), tmp_path, seed=1)
    (done.folder / "config.json").write_text("{}")
    with pytest.raises(UserError, match="hash differs"):
        load(str(done.folder))
    assert folders.read(done.folder, check=False).engine == "transformer"


def test_a_grid_reads_numbers_as_its_fields_do():
    """YAML takes 1e-5 for text, which no comparison of rates survives."""
    found = with_changes(Config(), {"grid": "{rate: [1e-5, 2e-5], emoji: [tokens, names], patience: 2}"}).grid
    assert found == {"rate": (1e-5, 2e-5), "emoji": ("tokens", "names"), "patience": (2,)}
    with pytest.raises(UserError, match="Did you mean 'rate'"):
        with_changes(Config(), {"grid": "{rates: [1e-5]}"})
    with pytest.raises(UserError, match="outside the grid"):
        list(trials(replace(Config(), grid={"seeds": ((1,),)}), "out"))


def test_a_grid_search_names_the_best_and_keeps_every_trial(tiny, posts, tmp_path, monkeypatch, capsys):
    import json

    from davy.shell.app import run

    monkeypatch.chdir(tmp_path)
    posts.write_csv("posts.csv")
    command = ["train", "posts.csv", "--encoder", str(tiny), "--scheme", "hatemoji", "--out", "run",
               "--set", "epochs=2", "--set", "batch=8", "--set", "grid={rate: [1e-9, 5e-3]}"]  # fmt: skip
    assert run(command) == 2
    assert "--dev" in capsys.readouterr().err
    assert run([*command, "--dev", "posts.csv"]) == 0
    assert "The best on dev is rate=0.005" in capsys.readouterr().err
    found = json.loads((tmp_path / "run" / "search.json").read_text())
    assert [it["trial"] for it in found["trials"]] == ["rate=0.005", "rate=1e-09"]
    assert (tmp_path / "run" / "rate=0.005" / "seed-1" / "model" / "manifest.json").is_file()


@pytest.mark.parametrize("change", [{"rate": 1e-3}, {"epochs": 4}, {"questions": ("hate",)}])
def test_a_checkpoint_of_another_run_is_refused(posts, questions, config, tmp_path, change):
    train(posts, posts, questions, config, tmp_path, seed=1)
    with pytest.raises(UserError, match=f"other {next(iter(change))}"):
        train(posts, posts, questions, replace(config, **change), tmp_path, seed=1)
    with pytest.raises(UserError, match="other posts"):
        train(posts.head(40), posts, questions, config, tmp_path, seed=1)


def test_posts_to_choose_by_are_never_learnt_unasked(posts, tmp_path, monkeypatch, capsys):
    from davy.shell.app import run

    monkeypatch.chdir(tmp_path)
    posts.with_columns(split=pl.Series(["train", "dev"] * 30)).write_csv("posts.csv")
    command = ["train", "posts.csv", "--encoder", "x", "--scheme", "hatemoji", "--out", "run"]
    assert run([*command, "--dev-split", "dev"]) == 2
    assert "--split" in capsys.readouterr().err
    assert run(command) == 2
    assert "all splits together" in capsys.readouterr().err


def test_a_trained_folder_can_be_trained_further(posts, questions, config, tmp_path):
    """Its weights have other names than a bare encoder's, and must not be left to chance."""
    done = train(posts, None, questions, replace(config, epochs=1), tmp_path / "first", seed=1)
    again = replace(config, encoder=str(done.folder), epochs=1, rate=1e-12)
    further = train(posts, None, questions, again, tmp_path / "second", seed=2)
    one, other = done.scorer.network.encoder.state_dict(), further.scorer.network.encoder.state_dict()
    assert all(torch.allclose(one[name], other[name], atol=1e-6) for name in one)


def test_an_encoder_whose_weights_are_missing_is_refused(tiny, tmp_path):
    import shutil

    from safetensors.torch import load_file, save_file

    from davy.detectors.encoder import load_encoder

    folder = tmp_path / "gaps"
    shutil.copytree(tiny, folder)
    kept = {name: it for name, it in load_file(folder / "model.safetensors").items() if "layer.1" not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks .* of its encoder's weights"):
        load_encoder(str(folder))


def test_a_long_text_is_read_at_both_ends_as_after_export(tiny):
    from davy.detectors.encoder import TextTokenizer, load_tokenizer
    from davy.detectors.token_batches import cut

    tokenizer, pad = load_tokenizer(str(tiny))
    text = "lovely garden " * 100 + "grumblefop"
    ids = TextTokenizer(tokenizer, 16, pad).ids([text])[0]
    assert tokenizer.id_to_token(ids[-2]) == "grumblefop"
    assert ids == cut(tokenizer.encode(cut(text, 16 * 16, glue=" ")).ids, 16)


@pytest.mark.parametrize(
    ("change", "says"),
    [({"pooling": "max"}, "mean, first"), ({"dropout": "7"}, "between 0 and 1"), ({"under": "{hate: lots}"}, "under"),
     ({"over": "{a: x}"}, "over"), ({"seeds": "a"}, "seeds"), ({"warmup": "1"}, "between 0 and 1")],
)  # fmt: skip
def test_a_setting_that_would_fail_later_fails_at_once(change, says):
    with pytest.raises(UserError, match=says):
        with_changes(Config(), change)


def test_a_hub_name_without_a_network_is_one_line_at_once(monkeypatch):
    from davy.detectors import encoder

    monkeypatch.setattr(encoder, "is_reachable", lambda: False)
    with pytest.raises(UserError, match="the hub can't be reached"):
        load("hf:nobody/has-this")


@pytest.fixture
def german():
    """A GMHP7k in small: 2 misogynistic posts, 5 otherwise hateful, 40 neutral, 3 of another corpus without answers."""
    hate = ["hateful"] * 7 + ["not hateful"] * 40 + [None] * 3
    misogynistic = ["misogynistic"] * 2 + ["not misogynistic"] * 5 + [None] * 43
    return pl.DataFrame({"text": ["x"] * 50, "hate.gold": hate, "misogynistic.gold": misogynistic})


def test_gmhp7ks_cut_takes_neutral_posts_only_as_the_reproduction_does(german):
    from davy import schemes
    from davy.evaluation.reproduce.gmhp7k import undersample

    config, both = load_config("gmhp7k"), schemes.load("gmhp7k").questions
    drawn = german[np.sort(data.epoch_order(both, german, config)(np.random.default_rng(1)))]
    counts = drawn["hate.gold"].value_counts().sort("hate.gold").rows()
    assert counts == [(None, 3), ("hateful", 7), ("not hateful", 10)]
    assert counts == undersample(german, seed=1)["hate.gold"].value_counts().sort("hate.gold").rows()
    alone = data.epoch_order((both[1],), german, config)(np.random.default_rng(1))
    assert len(alone) == len(drawn)


def test_neutral_posts_are_not_misogynistic_where_the_config_says_so(german):
    from davy import schemes

    both = schemes.load("gmhp7k").questions
    made = data.make_targets(both, german, load_config("gmhp7k"))
    assert int((made.weights[:, 1] > 0).sum()) == 47
    assert made.values[:, 2:].argmax(1).tolist()[:10] == [1, 1] + [0] * 8
    led_to = data.make_targets(both, german, replace(load_config("gmhp7k"), consistent=True))
    assert int((led_to.weights[:, 1] > 0).sum()) == 7


def test_every_round_stands_as_often_as_its_winner_was_trained_with_it(questions):
    meta = ['{"round.base": 7}', '{"round.base": 6}', None, '{"set": "original"}', '{"round.base": 5}']
    rounds = pl.DataFrame({"text": ["x"] * 5, "hate.gold": ["hateful"] * 5, "meta": meta})
    rows = data.epoch_order(questions[:1], rounds, load_config("hatemoji"))(np.random.default_rng(0))
    assert np.bincount(rows).tolist() == [5, 1, 1, 1, 100]
    with pytest.raises(UserError, match="no post has it"):
        data.epoch_order(questions[:1], rounds, replace(load_config("hatemoji"), over={"meta.round.base=9": 5}))


# From the papers, by hand: GMHP7k's Experiments; Hatemoji's appendices F and G; EDOS's Table 3 and appendix D.
PUBLISHED = {
    "gmhp7k": {"encoder": "deepset/gbert-base", "rate": 1e-5, "batch": 16, "epochs": 8, "under": {"misogynistic": 5}},
    "hatemoji": {"encoder": "microsoft/deberta-base", "rate": 2e-5, "epochs": 3, "choose_by": "loss"},
    "b-d": {"encoder": "google-bert/bert-base-uncased", "scheme": "hate"},
    "b-f": {"encoder": "google-bert/bert-base-uncased", "scheme": "hate"},
    "edos-b3": {"encoder": "distilbert/distilbert-base-uncased", "scheme": "edos"},
    "edos-b5": {"encoder": "microsoft/deberta-v3-base", "scheme": "edos"},
    "edos-judge": {"encoder": "google-bert/bert-base-uncased", "epochs": 3, "questions": ("sexist",)},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_config_has_the_papers_settings(name):
    config = load_config(name)
    assert {field: getattr(config, field) for field in PUBLISHED[name]} == PUBLISHED[name]


def _family(name):
    import transformers as t

    common = {"vocab_size": 18, "max_position_embeddings": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
              "hidden_size": 32, "intermediate_size": 32, "pad_token_id": 0}  # fmt: skip
    relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0}
    if name == "distilbert":
        config = t.DistilBertConfig(vocab_size=18, dim=32, n_layers=2, n_heads=2, hidden_dim=32)
        return t.DistilBertForMaskedLM(config)
    if name == "deberta":
        return t.DebertaForMaskedLM(t.DebertaConfig(**common, **relative))
    if name == "deberta-v3":
        buckets = {"position_buckets": 16, "norm_rel_ebd": "layer_norm", "share_att_key": True}
        return t.DebertaV2ForMaskedLM(t.DebertaV2Config(**common, **relative, **buckets))
    return t.ElectraForMaskedLM(t.ElectraConfig(**common, embedding_size=16))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # transformers' DeBERTa
@pytest.mark.parametrize("name", ["distilbert", "deberta", "deberta-v3", "electra"])
def test_encoders_of_other_families_train_and_keep_their_scores_when_exported(name, tiny, posts, questions, tmp_path):
    """BERT, RoBERTa and MPNet are in test_fused; these go through torch's tracer, which must not fix a length."""
    from davy.training.export import export_onnx

    torch.manual_seed(0)
    folder = tmp_path / "encoder"
    _family(name).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    config = Config(encoder=str(folder), scheme="hatemoji", batch=8, epochs=2, rate=5e-3, max_length=48)
    done = train(posts, posts, questions, config, tmp_path / "run", seed=1)
    export_onnx(done.folder, tmp_path / "exact", int8=False)
    small = export_onnx(done.folder, tmp_path / "int8", dev=posts)
    assert all(gap["mean"] < 0.05 for gap in small["gaps"].values())
    longer = pl.DataFrame({"text": ["lovely garden " * 15 + "grumblefop", "nice " * 40, "bad"]})
    before, after = done.scorer.score(longer), load(str(tmp_path / "exact")).score(longer)
    for question in questions:
        np.testing.assert_allclose(before.probabilities[question.name], after.probabilities[question.name], atol=1e-4)


def test_curves_are_the_mean_of_all_seeds_and_a_card_names_its_figures():
    from davy.training import run_record
    from davy.training.run_record import History

    def run(*losses):
        return History([{"epoch": i, "loss": it, "hate": 1 - it, "type": 0.5 - it, "score": -it, "dev loss": it}
                        for i, it in enumerate(losses, 1)], best=0)  # fmt: skip

    drawn = run_record.curves_svg({1: run(0.4, 0.2, 0.1), 2: run(0.2, 0.2)})
    assert "Training, 2 seeds" in drawn
    assert ">macro-F1 on dev<" in drawn, "the legend has gone"
    assert ">1.5<" not in drawn, "there is no epoch one and a half"
    assert run_record._drawn(run_record.MEAN, {"epoch": 1, "hate": 0.6, "type": 0.4, "score": -1.0}) == pytest.approx(
        0.5
    )
    text = run_record.model_card(
        Config(encoder="x"),
        {"posts": 3},
        run_record.summary([run(0.4), run(0.2)]),
        {"hate": ["a", "b"]},
        "fine-tuned `x`",
    )
    assert "| hate, macro-F1 | 0.7 | 0.1414 | 2 |" in text
    assert "- rate: 2e-05" in text
