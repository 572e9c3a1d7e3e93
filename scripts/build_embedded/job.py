"""Step 2, on a machine with a GPU: teachers, their opinion of every post, and the students.

    python job.py tokens               tokenise everything once
    python job.py pretrain             continue mpnet's masked language modelling on unlabelled posts
    python job.py variants             rewrite labelled posts by filling in masked words
    python job.py teacher --seed 1     fine-tune one teacher on every corpus at once
    python job.py opinions             the teachers' mean probabilities for every post
    python job.py mix                  with the language model's (`language_model.py`), by the share that dev likes
    python job.py student --of mpnet   distil (also --of minilm)
    python job.py mean --of minilm     the mean of students that began alike, or the best of them
    python job.py pieces --of minilm   cut a student's weights into parts that travel

Needs torch, transformers, tokenizers, numpy and safetensors, and `src` on the path. Every
step reads and writes the folder `--keep`; logs are JSON lines, one an epoch.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import weights
from corpora import CATEGORIES, HEADS, TARGETS
from rounded_training import simulate_int8, stop_simulating
from safetensors.torch import load_file, save_file
from word_filling import fill_masked

from davy.detectors.network import Head, Network, columns_of, probabilities
from davy.training.data import Targets, Tokens, batches_by_length, batches_longest_first
from davy.training.fit import FitSettings, fit, predict
from davy.training.loop import Loop, Schedule
from davy.training.pretrain import Masker, masked_words_loss
from davy.training.run_record import StepProgress

HEAD_LIST = tuple(Head(name, kind, labels) for name, (kind, labels) in HEADS.items())
SHARE = {"offensive": 0.5, "type": 0.5, "target": 0.25, "aux.davidson": 0.3, "aux.founta": 0.3, "aux.kennedy": 0.3}
SHARE |= {"aux.guest": 0.3}
PARENT = {"type": "hate", "target": "hate", "category": "sexist", "vector": "sexist"}
MAX_LENGTH = 128
TRAIN, DEV, COPY, POOL = range(4)
OURS = ("dynahate", "hatemojibuild", "plain")
"""Whose idea of hate is the detectors'."""
MIXED = (0.0, 0.2, 0.35, 0.5, 0.65)
"""Shares of the language model's opinion that dev chooses from."""
CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if CUDA else "cpu")
PRECISION = "bf16" if CUDA else "fp32"


class Bench:
    """What every step shares: the folder, the posts' arrays, and the log."""

    def __init__(self, keep: Path, name: str) -> None:
        self.keep = keep
        self.posts = dict(np.load(keep / "posts.npz"))
        self.corpus = self.posts["corpora"][self.posts["corpus"]]
        self.part = self.posts["part"]
        # A third of the general Reddit sample is left out: the teachers' time is better spent.
        self.spare = (self.corpus == "top") & (np.arange(len(self.part)) % 3 == 0)
        self.log = keep / f"{name}.jsonl"
        self.started = time.monotonic()

    def tell(self, record: dict[str, Any]) -> None:
        line = json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()})
        with self.log.open("a") as file:
            file.write(line + "\n")
        print(self.log.stem, f"{time.monotonic() - self.started:.0f}s", line, flush=True)

    def tokens(self, *names: str) -> Tokens:
        """Return the tokens of the prepared posts, then those of variants, on the device."""
        flats, lengths = [], []
        for name in names or ("tokens",):
            data = np.load(self.keep / f"{name}.npz")
            flats.append(data["flat"])
            lengths.append(data["lengths"])
        flat, length = np.concatenate(flats).astype(np.int32), np.concatenate(lengths).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(length)[:-1]])
        return Tokens(*(torch.from_numpy(a).to(DEVICE) for a in (flat, starts, length)), 1)


def tokens(args: argparse.Namespace) -> None:
    """Tokenise every text, long ones cut to their head and tail."""
    bench = Bench(args.keep, "tokens")
    texts = lzma.decompress((args.keep / "texts.xz").read_bytes()).decode("utf-8").split("\n")
    assert len(texts) == len(bench.part), (len(texts), len(bench.part))
    rows = [np.array(ids, dtype=np.uint16) for ids in encoded(args.keep / "tokenizer.json", texts)]
    flat, lengths = rows, [len(row) for row in rows]
    np.savez(args.keep / "tokens.npz", flat=np.concatenate(flat), lengths=np.array(lengths, dtype=np.uint8))
    bench.tell({"texts": len(texts), "tokens": int(sum(lengths))})


def encoded(tokenizer: Path, texts: list[str]) -> Iterator[list[int]]:
    """Yield the token ids of each text, long ones cut to their head and tail."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(tokenizer))
    made.no_padding()
    tail = MAX_LENGTH // 4
    for start in range(0, len(texts), 50_000):
        for encoding in made.encode_batch_fast(texts[start : start + 50_000]):
            ids = encoding.ids
            yield ids if len(ids) <= MAX_LENGTH else ids[: MAX_LENGTH - tail] + ids[-tail:]


def base(keep: Path, name: str) -> tuple[dict[str, torch.Tensor], Any]:
    """Return a base encoder's tensors and config."""
    from transformers import AutoConfig

    path = keep / f"{name}.npz"
    data = path.read_bytes() if path.is_file() else b"".join((keep / f"{name}.npz.{i}").read_bytes() for i in (0, 1))
    tensors, config = weights.unpack(data)
    found = {key: torch.from_numpy(np.ascontiguousarray(value)) for key, value in tensors.items()}
    kind = config.pop("model_type")
    return found, AutoConfig.for_model(kind, **config)


def encoder_of(tensors: dict[str, torch.Tensor], config: Any) -> torch.nn.Module:
    """Return an encoder with these weights, without a pooler."""
    from transformers import AutoModel

    model = AutoModel.from_config(config, add_pooling_layer=False)
    missing, extra = model.load_state_dict(tensors, strict=False)
    assert not [name for name in missing if "position_ids" not in name], missing
    assert not extra, extra
    return model


def masker(keep: Path) -> Masker:
    """Return the masker of our vocabulary."""
    vocab = json.loads((keep / "tokenizer.json").read_text("utf-8"))
    size = max(max(vocab["model"]["vocab"].values()), max(it["id"] for it in vocab["added_tokens"])) + 1
    continues, fixed = torch.zeros(size, dtype=torch.bool), torch.zeros(size, dtype=torch.bool)
    for piece, i in vocab["model"]["vocab"].items():
        continues[i] = piece.startswith("##")
    fixed[:5] = True
    return Masker(4, continues.to(DEVICE), fixed.to(DEVICE))


def pretrain(args: argparse.Namespace) -> None:
    """Continue masked language modelling on everything but dev, and save encoder and head."""
    from transformers import AutoModelForMaskedLM

    bench = Bench(args.keep, "pretrain")
    tensors, config = base(args.keep, "mpnet")
    torch.manual_seed(args.seed)
    model = AutoModelForMaskedLM.from_config(config).to(DEVICE)
    model.base_model.load_state_dict(tensors, strict=False)
    model.tie_weights()
    store, words = bench.tokens(), masker(args.keep)
    lengths = store.lengths.cpu().numpy()
    rows = np.flatnonzero((bench.part != DEV) & (lengths > 5))
    recent: list[torch.Tensor] = []

    def batches(epoch: int) -> list[np.ndarray]:
        rng = np.random.default_rng((args.seed, epoch))
        return batches_by_length(rng.permutation(rows), lengths, args.batch, rng)

    def loss(batch: np.ndarray) -> torch.Tensor:
        ids, mask = store.batch(torch.from_numpy(batch).to(DEVICE), int(lengths[batch].max()))
        value = masked_words_loss(model, ids, mask, words, 0.2)
        recent.append(value.detach())
        if len(recent) % 1000 == 0:
            bench.tell({"step": len(recent), "loss": float(torch.stack(recent[-200:]).mean())})
        return value

    schedule = Schedule(
        epochs=args.epochs, rate=args.rate, weight_decay=0.01, precision=PRECISION, seconds=args.seconds
    )
    Loop(model, schedule, batches, loss, seed=args.seed, tell=bench.tell).run()
    save_file(
        {k: v.cpu().contiguous().clone() for k, v in model.state_dict().items()}, args.keep / "pretrained.safetensors"
    )


def pretrained(keep: Path) -> tuple[dict[str, torch.Tensor], Any]:
    """Return mpnet's tensors after `pretrain`, or the base ones where it was skipped."""
    tensors, config = base(keep, "mpnet")
    path = keep / "pretrained.safetensors"
    if path.is_file():
        learnt = load_file(path)
        tensors = {key: learnt[f"mpnet.{key}"] for key in tensors}
    return tensors, config


def variants(args: argparse.Namespace) -> None:
    """Write copies of labelled posts in which the pre-trained encoder replaced some words."""
    from transformers import AutoModelForMaskedLM

    bench = Bench(args.keep, "variants")
    _, config = base(args.keep, "mpnet")
    model = AutoModelForMaskedLM.from_config(config).to(DEVICE).eval()
    model.load_state_dict(load_file(args.keep / "pretrained.safetensors"), strict=False)
    model.tie_weights()
    store, words = bench.tokens(), masker(args.keep)
    torch.manual_seed(args.seed)
    repeat = {"dynahate": 3, "hatemojibuild": 4, "edos": 3}
    rows = np.concatenate(
        [np.tile(np.flatnonzero((bench.corpus == name) & (bench.part == TRAIN)), n) for name, n in repeat.items()]
    )
    lengths = store.lengths.cpu().numpy()
    flat, sizes = [], []
    for batch in batches_longest_first(lengths[rows], args.batch):
        ids, mask = store.batch(torch.from_numpy(rows[batch]).to(DEVICE))
        with torch.autocast(DEVICE.type, torch.bfloat16, enabled=CUDA):
            new = fill_masked(model, ids, mask, words, 0.2)
        for line, length in zip(new.cpu().numpy(), lengths[rows[batch]], strict=True):
            flat.append(line[:length].astype(np.uint16))
            sizes.append(length)
    np.savez(args.keep / "variants.npz", flat=np.concatenate(flat), lengths=np.array(sizes, dtype=np.uint8))
    bench.tell({"variants": len(sizes)})


def hard_targets(bench: Bench, *, natural: float) -> Targets:
    """Return the corpora's own answers; `natural` weighs the sets whose idea of hate differs from dynahate's."""
    targets = Targets.empty(HEAD_LIST, len(bench.part))
    for name, (kind, labels) in HEADS.items():
        share = SHARE.get(name, 1.0)
        if kind == "many":
            rows = np.flatnonzero(bench.posts["target_asked"])
            bits = np.unpackbits(bench.posts["target"][rows], axis=1)[:, : len(TARGETS)]
            targets.answer(name, torch.from_numpy(rows), torch.from_numpy(bits.astype(np.float32)), share)
            continue
        column = bench.posts[f"label.{name}"]
        rows = np.flatnonzero(column >= 0)
        weight = np.full(len(rows), share, dtype=np.float32)
        if name == "hate":
            weight[~np.isin(bench.corpus[rows], OURS)] *= natural
        elif labels > 4 or name in ("category", "offensive", "aux.davidson", "aux.guest"):
            counts = np.bincount(column[rows], minlength=labels).clip(1)
            weight *= ((counts.mean() / counts) ** 0.5)[column[rows]]
        weight[bench.corpus[rows] == "plain"] *= 0.5  # they are alike
        targets.answer(name, torch.from_numpy(rows), torch.from_numpy(column[rows]), torch.from_numpy(weight))
    return targets


def teacher_order(bench: Bench, rng: np.random.Generator, emoji_copies: float) -> np.ndarray:
    """Return one epoch for a teacher: hatemojibuild up to five times, sexist posts three times, others about once."""
    originals = np.flatnonzero(bench.part == TRAIN)
    copies = np.flatnonzero(bench.part == COPY)
    origin = bench.posts["origin"]
    corpus = bench.corpus
    sexist = bench.posts["label.sexist"][copies] == 1
    kind = corpus[copies]
    chance = np.select(
        [kind == "hatemojibuild", sexist, kind == "dynahate", kind == "edos"], [emoji_copies, 1.0, 0.25, 0.15], 0.5
    )
    copies = copies[rng.random(len(copies)) < chance]
    once = ~np.isin(corpus[originals], ("hatemojibuild", "dynahate", "edos"))
    # A post of the noisier sets stands once an epoch: as itself or as its copy.
    replaced = once & np.isin(originals, origin[copies])
    return rng.permutation(np.concatenate([originals[~replaced], copies]))


def judge(bench: Bench, logits: torch.Tensor, rows: np.ndarray) -> dict[str, float]:
    """Return dev figures: accuracy for hate, macro-F1 for the rest, and their weighted mean as `score`."""
    columns = columns_of(HEAD_LIST)
    picks = {name: logits[:, s].argmax(1).cpu().numpy() for name, s in columns.items() if HEADS[name][0] == "one"}
    figures: dict[str, float] = {}
    for corpus in ("dynahate", "hatemojibuild", "kennedy2020", "plain"):
        gold = bench.posts["label.hate"][rows]
        mine = (bench.corpus[rows] == corpus) & (gold >= 0)
        clean = mine & ~bench.posts["leaky"][rows]
        figures[corpus] = float((picks["hate"][mine] == gold[mine]).mean()) if mine.any() else 0.0
        if corpus == "hatemojibuild":
            figures["hatemoji.clean"] = float((picks["hate"][clean] == gold[clean]).mean()) if clean.any() else 0.0
    for name in ("sexist", "category", "vector", "offensive", "type"):
        gold = np.where(bench.corpus[rows] == "plain", -1, bench.posts[f"label.{name}"][rows])
        figures[name] = macro_f1(gold[gold >= 0], picks[name][gold >= 0])
    mix = {"dynahate": 0.25, "hatemojibuild": 0.25, "sexist": 0.2, "category": 0.15, "vector": 0.15}
    figures["score"] = sum(share * figures[name] for name, share in mix.items())
    return figures


def macro_f1(gold: np.ndarray, pick: np.ndarray) -> float:
    """Return the mean F1 over the labels that occur."""
    scores = []
    for label in np.unique(gold):
        hit = ((gold == label) & (pick == label)).sum()
        scores.append(2 * hit / max(1, (gold == label).sum() + (pick == label).sum()))
    return float(np.mean(scores)) if scores else 0.0


def dev_judge(bench: Bench, network: Network, store: Tokens) -> Any:
    """Return a function that scores the dev posts and judges the answers."""
    rows = np.flatnonzero(bench.part == DEV)
    index = torch.from_numpy(rows).to(DEVICE)
    part = Tokens(store.flat, store.starts[index], store.lengths[index], store.pad)
    return lambda: judge(bench, predict(network, part, batch=512, precision=PRECISION), rows)


def teacher(args: argparse.Namespace) -> None:
    """Fine-tune mpnet on every corpus at once and save its weights and its dev logits."""
    bench = Bench(args.keep, f"teacher-{args.seed}")
    torch.manual_seed(args.seed)
    network = Network(encoder_of(*pretrained(args.keep)), HEAD_LIST).to(DEVICE)
    store = bench.tokens()
    targets = hard_targets(bench, natural=args.natural).to(DEVICE)
    schedule = Schedule(
        epochs=args.epochs, rate=args.rate, head_rate=5e-4, layer_decay=0.92, average=0.998, weight_decay=0.02,
        precision=PRECISION, seconds=args.seconds,
    )  # fmt: skip
    recipe = FitSettings(schedule, args.batch, args.agreement, args.seed)
    told = ("natural", "agreement", "emoji_copies", "rate", "epochs")
    bench.tell({name: getattr(args, name) for name in told})
    fit(
        network, store, targets, recipe, order=lambda rng: teacher_order(bench, rng, args.emoji_copies),
        evaluate=dev_judge(bench, network, store), tell=bench.tell,
    )  # fmt: skip
    save(network, args.keep / f"teacher-{args.seed}.safetensors")


def save(network: Network, path: Path) -> None:
    """Write a network's weights in half precision."""
    save_file({k: v.detach().half().cpu().contiguous().clone() for k, v in network.state_dict().items()}, path)


def opinions(args: argparse.Namespace) -> None:
    """Write the mean of the chosen teachers' probabilities for every post and variant."""
    bench = Bench(args.keep, "opinions")
    store = bench.tokens(*sources(args.keep))
    wanted = np.ones(len(store), dtype=bool)
    wanted[: len(bench.part)] = ~bench.spare
    index = torch.from_numpy(np.flatnonzero(wanted)).to(DEVICE)
    part = Tokens(store.flat, store.starts[index], store.lengths[index], store.pad)
    paths = sorted(args.keep.glob("teacher-*.safetensors"))
    if args.only:
        paths = [path for path in paths if path.stem.removeprefix("teacher-") in args.only.split(",")]
    total: torch.Tensor | None = None
    for path in paths:
        network = fine_tuned(args.keep, path.stem).to(DEVICE)
        chances = probabilities(predict(network, part, batch=args.batch, precision=PRECISION), HEAD_LIST)
        total = chances if total is None else total + chances
        bench.tell({"teacher": path.stem})
    assert total is not None, "no teachers"
    mean = torch.zeros(len(store), total.shape[1], device=DEVICE)
    mean[index] = total / len(paths)
    rows = np.flatnonzero(bench.part == DEV)
    bench.tell({"ensemble": len(paths), **judge(bench, mean[torch.from_numpy(rows).to(DEVICE)].log(), rows)})
    np.save(args.keep / "opinions.npy", mean.half().cpu().numpy())


def mix(args: argparse.Namespace) -> None:
    """Put the language model's opinion into the teachers' mean, with the share that is best on dev."""
    bench = Bench(args.keep, "mix")
    mean = np.load(args.keep / "opinions.npy").astype(np.float32)
    told = np.load(args.keep / "language-opinions.npz")
    rows, chances, posts = told["rows"], told["chances"].astype(np.float32), int(told["posts"])
    between = len(np.load(args.keep / "variants.npz")["lengths"])  # written posts come after variants
    rows = np.where(rows < posts, rows, rows + between)
    on_dev = np.flatnonzero(np.isin(rows, np.flatnonzero(bench.part == DEV)))
    found = {}
    for share in MIXED:
        mixed = (1 - share) * mean[rows[on_dev]] + share * chances[on_dev]
        figures = judge(bench, torch.from_numpy(mixed).clamp(min=1e-7).log(), rows[on_dev])
        bench.tell({"share": share, **figures})
        found[share] = figures["score"]
    best = max(found, key=lambda it: found[it])
    mean[rows] = (1 - best) * mean[rows] + best * chances
    bench.tell({"chosen": best, "posts": len(rows)})
    np.save(args.keep / "opinions.npy", mean.astype(np.float16))


def sources(keep: Path) -> tuple[str, ...]:
    """Return the token files that there are."""
    return ("tokens", *(it for it in ("variants", "written") if (keep / f"{it}.npz").is_file()))


def soft_targets(bench: Bench, hard_share: float) -> Targets:
    """Return the teachers' answers for every post, mixed with the corpora's own where there are any."""
    soft = torch.from_numpy(np.load(bench.keep / "opinions.npy")).float()
    hard = hard_targets(bench, natural=0.0)
    columns = columns_of(HEAD_LIST)
    weights_ = torch.ones(len(soft), len(HEAD_LIST)) * torch.tensor([SHARE.get(h.name, 1.0) for h in HEAD_LIST])
    for place, head in enumerate(HEAD_LIST):
        if head.name in PARENT:  # what a child head says matters little where its parent says no
            weights_[:, place] *= soft[:, columns[PARENT[head.name]]][:, 1] + 0.1
        rows = torch.nonzero(hard.weights[:, place] > 0)[:, 0]
        block = columns[head.name]
        soft[rows, block] = (1 - hard_share) * soft[rows, block] + hard_share * hard.values[rows, block]
        weights_[rows, place] = torch.maximum(weights_[rows, place], hard.weights[rows, place])
    return Targets(HEAD_LIST, soft.half(), weights_.half())


def student_order(bench: Bench, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return one epoch for a student: all labelled posts, copies and variants, and a fresh part of Reddit's."""
    known = np.arange(len(bench.part))
    chance = np.select([bench.part == DEV, bench.corpus == "top", bench.corpus == "gender"], [0.0, 0.4, 0.7], 1.0)
    chance = np.where(np.isin(bench.corpus, ("davidson", "founta2018", "kennedy2020", "rewritten")), 0.5, chance)
    chance[(bench.part == DEV) | bench.spare] = 0.0
    rows = known[rng.random(len(known)) < chance]
    rest = np.arange(len(bench.part), n)
    return rng.permutation(np.concatenate([rows, rest]))


def student(args: argparse.Namespace) -> None:
    """Distil the teachers into MiniLM or into mpnet, the last part of the run with the export's rounding."""
    bench = Bench(args.keep, f"student-{args.of}{args.tag}")
    torch.manual_seed(args.seed)
    if args.of == "minilm":
        network = Network(encoder_of(*deepened(*base(args.keep, "minilm"), args.deep)), HEAD_LIST)
    else:
        network = fine_tuned(args.keep, args.start)
    network.to(DEVICE)
    store = bench.tokens(*sources(args.keep))
    targets = soft_targets(bench, args.hard).to(DEVICE)
    schedule = Schedule(
        epochs=args.epochs, rate=args.rate, head_rate=max(args.rate, 5e-4), average=0.999, weight_decay=0.02,
        warmup=0.04, precision=PRECISION, seconds=args.seconds,
    )  # fmt: skip
    rounding = {"on": False}

    def on_step(progress: StepProgress) -> None:
        share = progress.share
        if share >= 1 - args.rounded and not rounding["on"]:
            simulate_int8(network.encoder, bits=args.bits)
            rounding["on"] = True
            bench.tell({"rounding from": round(share, 3), "bits": args.bits})

    recipe = FitSettings(schedule, args.batch, seed=args.seed)
    bench.tell({"rate": args.rate, "epochs": args.epochs, "hard": args.hard, "batch": args.batch, "posts": len(store)})
    evaluate = dev_judge(bench, network, store)

    def late() -> dict[str, float]:
        figures = evaluate()
        if args.rounded and not rounding["on"]:
            figures["exact"], figures["score"] = figures["score"], figures["score"] - 1  # only rounded weights may win
        return figures

    fit(network, store, targets, recipe, order=lambda rng: student_order(bench, len(store), rng), evaluate=late,
        tell=bench.tell, on_step=on_step)  # fmt: skip
    stop_simulating(network.encoder)
    save(network, args.keep / f"student-{args.of}{args.tag}.safetensors")


def deepened(tensors: dict[str, torch.Tensor], config: Any, times: int) -> tuple[dict[str, torch.Tensor], Any]:
    """Return an encoder in which each layer stands so many times in a row."""
    if times == 1:
        return tensors, config
    found = {}
    for key, value in tensors.items():
        if key.startswith("encoder.layer."):
            _, _, at, rest = key.split(".", 3)
            found |= {f"encoder.layer.{int(at) * times + i}.{rest}": value.clone() for i in range(times)}
        else:
            found[key] = value
    config.num_hidden_layers *= times
    return found, config


def mean_of(paths: list[Path]) -> dict[str, torch.Tensor]:
    """Return the mean of networks' weights.

    Networks that began from the same weights lie in one valley: their mean is better than each of them.
    """
    states = [load_file(path) for path in paths]
    return {key: sum(it[key].float() for it in states) / len(states) for key in states[0]}


def mean(args: argparse.Namespace) -> None:
    """Write the mean of students of one kind, or the one of them that dev likes better."""
    bench = Bench(args.keep, f"mean-{args.of}{args.tag}")
    paths = sorted(args.keep.glob(f"student-{args.of}{args.tag}-?.safetensors"))
    out = args.keep / f"student-{args.of}{args.tag}.safetensors"
    store, found, scores, best = bench.tokens(), {}, dict[str, float](), "mean"
    for name, some in [("mean", paths), *((path.stem, [path]) for path in paths)]:
        found[name] = {key: value.half().contiguous() for key, value in mean_of(some).items()}
        save_file(found[name], out)
        figures = dev_judge(bench, load_student(args.keep, [args.keep], args.of, args.tag).to(DEVICE), store)()
        bench.tell({"students": name, **figures})
        if figures["score"] >= max(scores.values(), default=0.0):
            best = name
        scores[name] = figures["score"]
    save_file(found[best], out)
    bench.tell({"chosen": best})


def fine_tuned(keep: Path, name: str) -> Network:
    """Return a teacher's network; `teachers` is the mean of all of them."""
    _, config = base(keep, "mpnet")
    state = mean_of(
        sorted(keep.glob("teacher-?.safetensors")) if name == "teachers" else [keep / f"{name}.safetensors"]
    )
    network = Network(encoder_of(_part(state, "encoder."), config), HEAD_LIST)
    network.load_state_dict(state)
    return network


def load_student(keep: Path, students: list[Path], which: str, tag: str = "") -> Network:
    """Return a student's network, ready to answer, with the mean of the weights that lie in some folders."""
    _, config = base(keep, which)
    state = mean_of([folder / f"student-{which}{tag}.safetensors" for folder in students])
    encoder = _part(state, "encoder.")
    config.num_hidden_layers = len({key.split(".")[2] for key in encoder if key.startswith("encoder.layer.")})
    network = Network(encoder_of(encoder, config), HEAD_LIST)
    network.load_state_dict(state)
    return network.eval()


def _part(state: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}


def pieces(args: argparse.Namespace) -> None:
    """Cut a file into parts of 15 MiB under `--to`, from part `--first` on, four at most."""
    data = (args.keep / f"{args.of}.safetensors").read_bytes()
    size = 15 * 2**20
    for i in range(args.first, args.first + 4):
        if part := data[i * size : (i + 1) * size]:
            (args.to / f"{args.of}.{i:02d}").write_bytes(part)
    print(args.of, len(data), "bytes", -(-len(data) // size), "parts")


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = {it.__name__: it for it in (tokens, pretrain, variants, teacher, opinions, mix, student, mean, pieces)}
    parser.add_argument("step", choices=steps)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--natural", type=float, default=0.3)
    parser.add_argument("--agreement", type=float, default=0.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--of", default="minilm")
    parser.add_argument("--tag", default="")
    parser.add_argument("--start", default="teacher-1")
    parser.add_argument("--hard", type=float, default=0.35)
    parser.add_argument("--rounded", type=float, default=0.25, help="the last share of the run that feels rounding")
    parser.add_argument("--deep", type=int, default=1, help="each layer of a small student so many times in a row")
    parser.add_argument("--bits", type=int, default=8, choices=(4, 8))
    parser.add_argument("--emoji-copies", type=float, default=1.0)
    parser.add_argument("--to", type=Path, default=Path())
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    assert len(CATEGORIES) == HEADS["category"][1]
    steps[args.step](args)


if __name__ == "__main__":
    main()
