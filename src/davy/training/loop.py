"""The training loop: epochs, steps, evaluation, checkpoints, and going on after a kill.

A module, a function that gives a batch's loss, and an order for each epoch in; the
trained module and its history out. Chance comes only from the seed, the epoch and
torch's generators, and a checkpoint holds those too: a run that was killed and
resumed ends with the same weights as one that was not.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from davy.core.errors import UserError
from davy.files.atomic import sync, write_json
from davy.files.run_folder import lock_folder
from davy.training.processes import ProcessGroup
from davy.training.run_record import History, StepProgress

CHECKPOINT = "checkpoint.safetensors"
STATE = "checkpoint.json"


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast to train. `patience` stops after so many evaluations without a better score."""

    epochs: int = 3
    rate: float = 2e-5
    head_rate: float | None = None
    layer_decay: float = 1.0
    warmup: float = 0.06
    weight_decay: float = 0.01
    clip: float = 1.0
    curve: str = "linear"
    """How the rate falls after the warm-up: straight, or along a half `cosine`."""
    epsilon: float = 1e-6
    """AdamW's."""
    heads: tuple[str, ...] = ("out.", "lm_head.", "cls.")
    """How the names of parameters start that learn at `head_rate`."""
    average: float = 0.0
    """Decay of a running average of the weights (EMA) that is evaluated and returned; 0 is none."""
    patience: int | None = None
    precision: str = "fp32"
    accumulate: int = 1
    seconds: float | None = None
    """Stop in time: the rate falls to its end by then, whatever the epoch."""


@dataclass(slots=True)
class Loop:
    """One training run.

    `batches(epoch)` gives the epoch's batches, `loss(batch)` the loss of one; `evaluate()`
    gives figures whose `score` is better when higher, and None of it means that the last
    weights win. `tell` hears each record.
    """

    module: nn.Module
    schedule: Schedule
    batches: Callable[[int], list[np.ndarray]]
    loss: Callable[[np.ndarray], Tensor]
    evaluate: Callable[[], dict[str, Any]] | None = None
    seed: int = 0
    folder: Path | None = None
    save_every: int = 0
    tell: Callable[[dict[str, Any]], None] = lambda _: None
    on_step: Callable[[StepProgress], None] = lambda _: None
    """Hears before each step of the optimiser where the run is; what it raises ends the run, with a checkpoint."""
    team: ProcessGroup = field(default_factory=ProcessGroup)
    """The processes that train together. Each draws its own dropout, so that after a kill a team of several goes on
    with other chance than it would have had; one alone ends with the same weights."""
    identity: Mapping[str, Any] = field(default_factory=dict)
    """What the weights depend on (settings, data, seed). A checkpoint of other values is refused, not gone on from."""
    on_epoch: Callable[[int], None] | None = None
    """Hears the number of each epoch that is done, from 1, with the module as it is evaluated."""

    def run(self) -> History:
        """Train to the end and leave the best weights in the module; go on from a checkpoint where one is there."""
        with lock_folder(self.folder, self.folder) if self.folder and self.team.is_main else nullcontext():
            return self._run()

    def _run(self) -> History:
        torch.manual_seed(self.seed)
        plan = _Plan(self)
        history = plan.resume()
        if not self.team.is_main:
            torch.manual_seed((self.seed + 1) * 1_000_003 + self.team.rank * 1009 + plan.steps)
        while plan.epoch < self.schedule.epochs and not history.stopped:
            self._epoch(plan)
            plan.epoch, plan.done = plan.epoch + 1, 0
            self._judge(plan, history)
            if self.folder:
                plan.save(history)
        plan.restore_best()
        return history

    def _epoch(self, plan: _Plan) -> None:
        batches = self.batches(plan.epoch)
        self.module.train()
        for i in range(plan.done, len(batches)):
            share = plan.share(i, len(batches))
            if share >= 1:
                break
            if plan.between_steps:
                self._tell_step(
                    plan, StepProgress(share, plan.epoch + 1, self.schedule.epochs, i, len(batches), plan.loss)
                )
            plan.step(self.loss, self.team.share(batches[i]), share, last=i + 1 == len(batches))
            plan.done = i + 1
            due = self.save_every and plan.steps % (self.save_every * self.schedule.accumulate) == 0
            if self.folder and due:
                plan.save(plan.history)

    def _tell_step(self, plan: _Plan, progress: StepProgress) -> None:
        try:
            self.on_step(progress)
        except BaseException:
            if self.folder and plan.steps != plan.saved:
                plan.save(plan.history)
            raise

    def _judge(self, plan: _Plan, history: History) -> None:
        loss = plan.mean_loss()
        record: dict[str, Any] = {"epoch": plan.epoch, "loss": loss, "seconds": round(plan.clock(), 1)}
        if self.on_epoch and self.team.is_main:
            self.module.eval()
            with plan.averaged():
                self.on_epoch(plan.epoch)
        if self.evaluate:
            self.module.eval()
            with plan.averaged():
                record = self.team.same(record | self.evaluate())
                if record["score"] > history.best_score:
                    history.best = len(history.records)
                    plan.keep_best()
        history.records.append(record)
        if self.team.is_main:
            self.tell(record)
        waited = len(history.records) - 1 - history.best
        patience = self.schedule.patience
        history.stopped = bool(self.evaluate and patience is not None and waited >= patience)
        if self.schedule.seconds and plan.clock() >= self.schedule.seconds:
            history.stopped = True


class _Plan:
    """The moving parts of a run: optimiser, rate, average, best weights, and where we are."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.schedule = loop.schedule
        self.device = next(loop.module.parameters()).device
        groups = rate_groups(loop.module, loop.schedule)
        fused = self.device.type == "cuda"
        self.optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=loop.schedule.epsilon, fused=fused)
        self.rates = [group["lr"] for group in self.optimiser.param_groups]
        self.average = _copy(loop.module) if loop.schedule.average else None
        self.best: dict[str, Tensor] | None = None
        self.history = History()
        self.epoch = self.done = self.steps = self.saved = 0
        self.total = torch.zeros((), device=self.device)
        self.count = 0
        self.started = time.monotonic()

    def clock(self) -> float:
        return time.monotonic() - self.started

    def share(self, step: int, steps: int) -> float:
        """Return how much of the run is done, by steps or, where seconds are set, by whichever is further."""
        by_steps = (self.epoch + step / max(1, steps)) / self.schedule.epochs
        return max(by_steps, self.clock() / self.schedule.seconds) if self.schedule.seconds else by_steps

    def step(self, loss: Callable[[np.ndarray], Tensor], batch: np.ndarray, share: float, *, last: bool) -> None:
        """Take one step: forward, backward and, after `accumulate` batches, the optimiser."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.schedule.precision == "bf16"):
            value = loss(batch)
        (value / self.schedule.accumulate).backward()  # type: ignore[no-untyped-call]
        self.total += value.detach()
        self.count += 1
        self.steps += 1
        if self.steps % self.schedule.accumulate and not last:
            return
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * slope(share, self.schedule.warmup, self.schedule.curve)
        self.loop.team.average(self.loop.module.parameters())
        if self.schedule.clip:
            nn.utils.clip_grad_norm_(self.loop.module.parameters(), self.schedule.clip, foreach=True)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        if self.average is not None:
            decay = min(self.schedule.average, (1 + self.steps) / (10 + self.steps))
            live = dict(self.loop.module.named_parameters())
            with torch.no_grad():
                names = [name for name in self.average if name in live]
                torch._foreach_lerp_([self.average[n] for n in names], [live[n].detach() for n in names], 1 - decay)

    @property
    def between_steps(self) -> bool:
        """Whether no gradient waits for more batches: only then a checkpoint holds everything."""
        return self.done == 0 or self.steps % self.schedule.accumulate == 0

    def loss(self) -> float | None:
        """Return the mean loss of the epoch so far, None before its first step."""
        return float(self.total) / self.count if self.count else None

    def mean_loss(self) -> float:
        value = float(self.loop.team.mean(self.total)) / max(1, self.count)
        self.total.zero_()
        self.count = 0
        return round(value, 5)

    def averaged(self) -> _Swapped:
        return _Swapped(self.loop.module, self.average)

    def keep_best(self) -> None:
        self.best = _copy(self.loop.module)

    def restore_best(self) -> None:
        weights = self.best or self.average
        if weights is not None:
            _assign(self.loop.module, weights)

    def save(self, history: History) -> None:
        """Write a checkpoint: tensors as safetensors, the rest as JSON, which is replaced last."""
        from safetensors.torch import save_file

        self.history = history
        folder = self.loop.folder
        assert folder is not None
        if not self.loop.team.is_main:
            return
        tensors = {f"live:{k}": v for k, v in _copy(self.loop.module).items()}
        for kind, group in (("average", self.average), ("best", self.best)):
            tensors |= {f"{kind}:{k}": v.clone() for k, v in (group or {}).items()}
        for index, slots in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser:{index}:{name}": torch.as_tensor(v).clone() for name, v in slots.items()}
        tensors["total"] = self.total.reshape(1).clone()
        tensors["chance"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["chance.cuda"] = torch.cuda.get_rng_state()
        name = f"{self.steps}.{CHECKPOINT}"
        save_file({k: v.contiguous().cpu() for k, v in tensors.items()}, folder / name)
        state = {"file": name, "epoch": self.epoch, "done": self.done, "steps": self.steps, "count": self.count}
        sync(folder / name)
        write_json(folder / STATE, {**state, "identity": self.loop.identity, "history": asdict(history)}, indent=None)
        for old in folder.glob(f"*.{CHECKPOINT}"):
            if old.name != name:
                old.unlink()
        self.saved = self.steps

    def resume(self) -> History:
        """Load the checkpoint of the folder where there is one and return the history so far."""
        folder = self.loop.folder
        if folder is None or not (folder / STATE).is_file():
            return self.history
        from safetensors.torch import load_file

        state = json.loads((folder / STATE).read_text())
        _same_run(state.get("identity", {}), self.loop.identity, folder)
        tensors = load_file(folder / state["file"])
        part = {kind: {} for kind in ("live", "average", "best", "optimiser")}  # type: dict[str, dict[str, Tensor]]
        for key, tensor in tensors.items():
            kind, _, name = key.partition(":")
            if name:
                part[kind][name] = tensor
        _assign(self.loop.module, part["live"])
        if self.average is not None:
            self.average = {k: v.to(self.device) for k, v in part["average"].items()}
        self.best = {k: v.to(self.device) for k, v in part["best"].items()} or None
        self._load_optimiser(part["optimiser"])
        self.total += tensors["total"].to(self.device)[0]
        torch.set_rng_state(tensors["chance"])
        if "chance.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["chance.cuda"])
        self.epoch, self.done, self.steps, self.count = (state[k] for k in ("epoch", "done", "steps", "count"))
        self.saved = self.steps
        self.history = History(**state["history"])
        return self.history

    def _load_optimiser(self, tensors: dict[str, Tensor]) -> None:
        slots: dict[int, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            index, _, name = key.partition(":")
            slots.setdefault(int(index), {})[name] = tensor
        if slots:
            self.optimiser.load_state_dict(
                {"state": slots, "param_groups": self.optimiser.state_dict()["param_groups"]}
            )


def _same_run(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Raise where a checkpoint is of another run: going on would mix both, or pass old figures off as new."""
    now = json.loads(json.dumps(now))
    other = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    if other:
        raise UserError(
            f"{folder} holds a run with other {', '.join(other)}. "
            "Give another --out, or remove that folder to start again here."
        )


class _Swapped:
    """Within the block the module has the averaged weights; afterwards its own again."""

    def __init__(self, module: nn.Module, weights: dict[str, Tensor] | None) -> None:
        self.module, self.weights, self.own = module, weights, {}  # type: ignore[var-annotated]

    def __enter__(self) -> None:
        if self.weights is not None:
            self.own = _copy(self.module)
            _assign(self.module, self.weights)

    def __exit__(self, *_: object) -> None:
        if self.weights is not None:
            _assign(self.module, self.own)


def rate_groups(module: nn.Module, schedule: Schedule) -> list[dict[str, Any]]:
    """Return the optimiser's parameter groups: no decay for biases and norms, lower rates for lower layers."""
    layers = max((_depth(name) for name, _ in module.named_parameters()), default=0)
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        decay = 0.0 if parameter.ndim < 2 else schedule.weight_decay
        if name.startswith(schedule.heads):
            rate = schedule.head_rate or schedule.rate
        else:
            rate = schedule.rate * schedule.layer_decay ** (layers - _depth(name))
        groups.setdefault((rate, decay), []).append(parameter)
    return [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in groups.items()]


def _depth(name: str) -> int:
    parts = name.split(".")
    numbers = [int(b) for a, b in pairwise(parts) if a in ("layer", "layers") and b.isdigit()]
    return numbers[0] + 1 if numbers else 0


def slope(share: float, warmup: float, curve: str = "linear") -> float:
    """Return the rate's factor at a share of the run: up over the warm-up, then straight or by a cosine down to 0."""
    if share < warmup:
        return share / warmup
    rest = max(0.0, (1 - share) / (1 - warmup))
    return rest if curve == "linear" else (1 - math.cos(math.pi * rest)) / 2


def _copy(module: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in module.named_parameters()}


def _assign(module: nn.Module, weights: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(weights[name])
