"""A trained detector in ONNX, run without torch.

A model folder and posts in, scores out. `docs/detectors/models.md` describes the folder.
Texts are sorted by length and dealt out in parts, one to a core at a time; a core
tokenises its part, runs it in batches that are bounded in tokens, so that little of a
batch is padding and all of it stays in the core's cache, and takes the next. A folder
may hold a screen too; `cascade()` is the same detector with it in front, which reads only
what the screen does not clear, and to the end only what an exit within the network
does not clear either. A text that is longer than the network reads is read in windows. A text
of names of people alone is answered no where the folder lists them.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Abilities, Scores
from davy.detectors import early_exit as exits
from davy.detectors import folder as folders
from davy.detectors.baselines import content_hash
from davy.detectors.cached_tokenizer import CachedTokenizer
from davy.detectors.cascade_screen import Screen
from davy.detectors.early_exit import EarlyExit
from davy.detectors.joint_answers import BareNames, JointAnswers
from davy.detectors.prevalence import Prevalence, shifts_to
from davy.detectors.token_batches import (
    CHARACTERS_PER_TOKEN,
    MOST_CHARACTERS,
    PREPARATION_STEPS,
    TokenRows,
    cut,
    cut_windows,
    join_windows,
    map_threads,
    prepare_text,
)
from davy.detectors.training_text_index import CALIBRATED, read_learnt
from davy.files.cores import compute_threads
from davy.files.data_hash import file_hash

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Array = np.ndarray[Any, np.dtype[Any]]

PART = 256
"""How many posts a core takes at a time."""
TOKENS_OF_STRANGERS = 128
"""How many tokens a batch has at most where posts of one server share it: they differ in length more than a file's."""
PROBES = (
    "Good morning", "See you at the lake tomorrow, and bring the red kettle with you!", "😀 yes",
    "They said the bus was late again, so we walked along the canal, past the mill and the two bridges, and were home "
    "before the rain came; nobody minded, and the dog was pleased.", "I hate Mondays and so do you", "OK",
)  # fmt: skip
"""Posts of several lengths, which show whether company moves a score."""
SMALL = 32_000_000
"""The bytes of a network from which on it reads tens of posts a second, not hundreds."""


class OnnxScorer:
    """Scores texts with the network in a folder.

    `threads` is how many batches are run at once (None: one a core), `tokens` how many tokens a batch has at most.
    """

    def __init__(
        self, folder: Path, manifest: folders.Manifest | None = None, *, threads: int | None = None, tokens: int = 256
    ) -> None:
        manifest = manifest or folders.read(folder)
        self.folder = folder
        self.manifest = manifest
        self.name = manifest.name
        self.version = manifest.version
        self.questions: tuple[Question, ...] = manifest.questions
        self._tokens = tokens
        self._length = _max_length(folder, manifest)
        self._steps = _steps(folder, manifest)
        self._windows = manifest.settings.get("truncate") == "windows"
        self._tail = manifest.settings.get("truncate", "head+tail") != "head"
        tokenizer, self._padding = open_tokenizer(folder)
        self._pieces = CachedTokenizer(tokenizer)
        self._ends = self._pieces.ids([""])[0]
        self._joint = JointAnswers.of(folder, manifest)
        self._names = BareNames.of(folder, manifest)
        self._doubt = _doubt(folder, manifest)
        self._learnt, self._calibrated = read_learnt(folder), read_learnt(folder, CALIBRATED)
        self._workers = threads or compute_threads()
        self._session: Any = open_session(folder / "model.onnx")
        # Some seconds' work.
        self._batch_size = 8192 if (folder / "model.onnx").stat().st_size < SMALL else 1024
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._screen = Screen.open(folder, manifest.settings, open_session)
        self._exit: EarlyExit | None = None
        self._cascaded = False
        self._part_size: int | None = None
        self._check_graph()

    @classmethod
    def open(cls, folder: Path, manifest: folders.Manifest) -> OnnxScorer:
        """Return the scorer of a folder whose files were checked."""
        return cls(folder, manifest)

    def __getstate__(self) -> dict[str, Any]:
        """A pickle finds its folder from any working directory."""
        return {**self.__dict__, "folder": self.folder.absolute()}

    @property
    def abilities(self) -> Abilities:
        """What the folder holds beside the network: a screen before it, and the hash of its data."""
        return Abilities(
            self._batch_size,
            cascaded=self._cascaded,
            cascade=self.cascade if self._screen is not None else None,
            folder=self.folder,
            abstains=bool(self._doubt),
            data_hash=self.manifest.settings.get(folders.DATA),
            learnt=self._learnt,
            calibrated=self._calibrated,
            languages=tuple(self.manifest.languages) or None,
            one_by_one=self.one_by_one,
            parallel=True,
            heads_apart=None if self._joint is None else self.heads_apart,
            recalibrated=self.recalibrated,
            at_prevalence=self.at_prevalence if self.manifest.prevalence else None,
        )

    def heads_apart(self) -> OnnxScorer:
        """Return this detector without the rules by which answers fit together."""
        twin = copy.copy(self)
        twin._joint = None
        return twin

    def at_prevalence(self, prevalence: Prevalence) -> OnnxScorer:
        """Return this detector with probabilities for posts of which so many are a yes; its thresholds stay."""
        twin = self.recalibrated({}, {}, shifts_to(prevalence, self.manifest.prevalence))
        twin.version = content_hash((), {"scorer": self.version, "shifts": dict(twin.manifest.shifts)})
        return twin

    def recalibrated(
        self,
        temperatures: Mapping[str, float],
        thresholds: Mapping[str, float],
        shifts: Mapping[str, float] = MappingProxyType({}),
    ) -> OnnxScorer:
        """Return this detector with its logits divided by these temperatures and then moved, and these thresholds."""
        twin = copy.copy(self)
        twin.manifest = self.manifest.recalibrated(temperatures, thresholds, shifts)
        twin._joint = None if self._joint is None else JointAnswers.of(self.folder, twin.manifest)
        return twin

    def one_by_one(self, threads: int | None = None) -> OnnxScorer:
        """Return this detector as strangers' posts need it, on `threads` cores: no post moves another's score.

        A network that scales the numbers of a batch together, as screens do, reads each post by itself. One that gives
        the same numbers in any company, bit by bit, reads batches.
        """
        twin = copy.copy(self)
        twin._workers = threads or self._workers
        if self._screen is not None:
            twin._screen = replace(self._screen, tokens=1)
        if twin._is_moved_by_company():
            twin._tokens, twin._part_size = 1, 1
        else:
            twin._tokens, twin._part_size = TOKENS_OF_STRANGERS, PART if twin._workers == 1 else None
        return twin

    def _is_moved_by_company(self) -> bool:
        """Return whether a post's scores change in any bit with the posts that are read beside it."""
        import numpy as np

        together, _ = self._part(list(PROBES))
        alone = [self._part([text])[0] for text in PROBES]
        return any(
            not np.array_equal(block, np.concatenate([blocks[name] for blocks in alone]))
            for name, block in together.items()
        )

    def cascade(self) -> OnnxScorer:
        """Return this detector with its screen in front, or itself where its folder has none."""
        if self._screen is None or self._cascaded:
            return self
        twin = copy.copy(self)
        twin._cascaded, twin.version = True, f"{self.version}+screen"
        # Opened here, so that one text, which is never screened, does not wait for it.
        twin._exit = EarlyExit.open(self.folder, self.manifest, open_session)
        twin._check_asked(twin._exit)
        # The exit's two parts are the whole network once more; its own file need not stay in memory.
        twin._session = self._session if twin._exit is None else None
        return twin

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the probabilities for each post's text; a null text is read as an empty one."""
        return self.score_texts([text or "" for text in posts["text"].to_list()])

    def score_texts(self, texts: Sequence[str], langs: Sequence[str | None] = ()) -> Scores:  # noqa: ARG002 — one language
        """Return the probabilities for each text."""
        import numpy as np

        blocks = {q.name: np.zeros((len(texts), len(q.labels)), dtype=np.float32) for q in self.questions}
        read = np.ones(len(texts), dtype=bool)
        # Longest first, since what comes last is what one core does while others have nothing left.
        order = np.argsort([-len(text) for text in texts], kind="stable")
        # Parts must not depend on the number of cores: what is in a batch moves int8 scores a little.
        size = self._part_size or min(PART, max(8, len(texts) // 16))
        parts = [order[i : i + size] for i in range(0, len(texts), size)]
        done = map_threads(lambda part: self._part([texts[i] for i in part]), parts, self._workers)
        for places, (some, seen) in zip(parts, done, strict=True):
            read[places] = seen
            for name, block in some.items():
                blocks[name][places] = block
        unsure = self._unsure(blocks, read)
        return Scores(self.questions, blocks, self._thresholds(), read if self._cascaded else None, unsure=unsure)

    def _part(self, texts: list[str]) -> tuple[dict[str, Array], Array]:
        """Return the probabilities of some texts, a block for each question, and which of them were read."""
        import numpy as np

        encoded = self._encoded(texts)
        windows, owners = cut_windows(encoded, self._length, self._ends) if self._windows else (encoded, None)
        rows = TokenRows.of(windows)
        blocks = {q.name: np.zeros((len(rows), len(q.labels)), dtype=np.float32) for q in self.questions}
        read = np.ones(len(rows), dtype=bool)
        if self._screen is not None and self._cascaded:
            read, logits = self._screen.read(rows)
            self._clear(np.arange(len(rows)), self._screen.questions, logits, blocks)
        if self._exit is not None:
            read = self._left(self._exit, rows, np.flatnonzero(read), blocks)
        else:
            for batch in rows.batches(np.flatnonzero(read), tokens=self._tokens):
                self._put(blocks, batch, self._run(*rows.padded(batch, self._padding)))
        for question in self.questions:
            blocks[question.name][read] = self._probabilities(question, blocks[question.name][read])
        if owners is not None:
            blocks, read = join_windows(self.questions, blocks, read, owners)
        if self._joint is not None:
            blocks = self._joint.decode(texts, blocks, read)
        if self._names is not None:
            self._names.answer_no(self.questions, texts, blocks)
        return blocks, read

    def _left(self, way_out: EarlyExit, rows: TokenRows, places: Array, blocks: dict[str, Array]) -> Array:
        """Put the logits of posts that are read to the end into `blocks`; return which of all posts these are."""
        import numpy as np

        read = np.zeros(len(rows), dtype=bool)
        for some in rows.batches(places, tokens=exits.TOKENS):
            order, logits, states = way_out.enter(rows, some, padding=self._padding, tokens=self._tokens)
            self._clear(some, way_out.questions, logits, blocks)
            for batch, outputs in way_out.read_on(states, [q.name for q in self.questions], tokens=self._tokens):
                self._put(blocks, order[batch], outputs)
            read[order] = True
        return read

    def _put(self, blocks: dict[str, Array], places: Array, outputs: Sequence[Array]) -> None:
        for question, logits in zip(self.questions, outputs, strict=True):
            blocks[question.name][places] = logits

    def _unsure(self, blocks: dict[str, Array], read: Array) -> dict[str, Array]:
        """Return for each question with a band of doubt which posts' answers lie in it."""
        unsure = {}
        for name, (low, high) in self._doubt.items():
            question = next(it for it in self.questions if it.name == name)
            yes = blocks[name][:, question.label_names.index(str(question.positive))]
            unsure[name] = read & (yes >= low) & (yes <= high)
        return unsure

    def _thresholds(self) -> dict[str, float]:
        return {name: float(it) for name, it in self.manifest.thresholds.items()}

    def _clear(self, places: Array, names: Sequence[str], logits: Array, blocks: dict[str, Array]) -> None:
        """Give the posts at these places the probabilities that a screen or an exit has for them."""
        import numpy as np

        thresholds = self._thresholds()
        for column, name in enumerate(names):
            question = next(it for it in self.questions if it.name == name)
            yes = question.label_names.index(str(question.positive))
            # A cleared post says no, whatever the scale of what cleared it.
            most = np.nextafter(np.float32(thresholds.get(name, 0.5)), np.float32(0))
            odds = logits[:, column] + self.manifest.shifts.get(name, 0.0)
            chance = np.minimum(1 / (1 + np.exp(-np.clip(odds, -60, 60))), most)
            blocks[name][places, yes], blocks[name][places, 1 - yes] = chance, 1 - chance

    def _encoded(self, texts: list[str]) -> list[Sequence[int]]:
        """Return the token ids of each text, special tokens and all, cut unless the model reads windows."""
        limit = MOST_CHARACTERS if self._windows else self._length * CHARACTERS_PER_TOKEN
        short = [prepare_text(cut(text, limit, tail=self._tail, glue=" "), self._steps) for text in texts]
        ids = self._pieces.ids(short)
        return list(ids) if self._windows else [cut(row, self._length, tail=self._tail) for row in ids]

    def _run(self, ids: Array, mask: Array) -> list[Array]:
        """Return the logits of one batch, a block for each question."""
        import numpy as np

        feed = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(ids)
        outputs: list[Array] = self._session.run([question.name for question in self.questions], feed)
        return outputs

    def _probabilities(self, question: Question, logits: Array) -> Array:
        import numpy as np

        scaled = logits.astype(np.float32) / self.manifest.temperatures.get(question.name, 1.0)
        if question.multilabel:
            return np.asarray(1 / (1 + np.exp(-np.clip(scaled, -60, 60))))
        if shift := self.manifest.shifts.get(question.name):
            scaled[:, question.label_names.index(str(question.positive))] += shift
        odds = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def _check_graph(self) -> None:
        """Raise where the network's inputs or outputs are not what the manifest promises."""
        unknown = self._inputs - {"input_ids", "attention_mask", "token_type_ids"}
        outputs = {given.name: given.shape for given in self._session.get_outputs()}
        for question in self.questions:
            if question.name not in outputs:
                found = ", ".join(outputs)
                raise UserError(
                    f"{self.folder}/model.onnx has no output {question.name!r}; it has {found}. Export again."
                )
            width = outputs[question.name][-1] if outputs[question.name] else None
            if isinstance(width, int) and width != len(question.labels):
                raise UserError(
                    f"{self.folder}/model.onnx gives {width} values for {question.name!r}, "
                    f"which has {len(question.labels)} labels. Export again."
                )
        self._check_asked(self._screen)
        if unknown:
            raise UserError(f"{self.folder}/model.onnx wants {', '.join(sorted(unknown))}, which Davy does not give.")

    def _check_asked(self, cheap: Screen | EarlyExit | None) -> None:
        """Raise where a screen or an exit asks what the model does not."""
        yes_or_no = {question.name for question in self.questions if question.positive}
        for name in cheap.questions if cheap else ():
            if name not in yes_or_no:
                what = type(cheap).__name__.lower()
                raise UserError(f"{self.folder}: its {what} asks {name!r}, its model does not. Export the model again.")


def _max_length(folder: Path, manifest: folders.Manifest) -> int:
    length = manifest.settings.get("max_length", 128)
    if not isinstance(length, int) or length < 4:
        raise UserError(f"{folder}/manifest.json: settings.max_length is {length!r}; it must be a number from 4 up.")
    return length


def _steps(folder: Path, manifest: folders.Manifest) -> tuple[str, ...]:
    steps = tuple(manifest.settings.get("prepare", ()))
    unknown = [step for step in steps if step not in PREPARATION_STEPS]
    if unknown:
        raise UserError(f"{folder} wants the text step {unknown[0]!r}, which this Davy does not have. Update Davy.")
    return steps


def _doubt(folder: Path, manifest: folders.Manifest) -> dict[str, tuple[float, float]]:
    """Return the probabilities between which a yes/no answer is unsure, for each question that has such a band."""
    given = manifest.settings.get("unsure", {})
    yes_or_no = {question.name for question in manifest.questions if question.positive}
    try:
        bands = {str(name): (float(low), float(high)) for name, (low, high) in given.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{folder}/manifest.json: settings.unsure is malformed ({error}). Export again.") from error
    if unknown := [name for name in bands if name not in yes_or_no]:
        raise UserError(f"{folder}/manifest.json: settings.unsure names {unknown[0]!r}, which is no yes/no question.")
    return bands


def open_tokenizer(folder: Path) -> tuple[Any, int]:
    """Return the folder's tokenizer with truncation and padding off, and the id it pads with."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise UserError(f"{folder} has no tokenizer.json. Export the model again.")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise UserError(f"{path} is no tokenizer: {str(error).splitlines()[0]}. Export the model again.") from error
    padding = (tokenizer.padding or {}).get("pad_id")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if padding is None:
        found = (tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
        padding = next((token for token in found if token is not None), 0)
    return tokenizer, int(padding)


class OnnxSession:
    """A graph that is ready to run, on one core a run. A pickle holds its path and hash, and opens it again."""

    def __init__(self, path: Path) -> None:
        # Its builds can report usage to their maker; what people score here is nobody else's business.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        if not path.is_file():
            raise UserError(f"{path.parent} has no {path.name}. Export the model again.")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # Two runs of one thread do nearly twice the work of one, two threads in one run a third more.
        options.intra_op_num_threads = 1
        self.path = path.absolute()
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise UserError(
                f"{path} can't be loaded: {str(error).splitlines()[0][:200]}. Export the model again."
            ) from error
        self.run, self.get_modelmeta = session.run, session.get_modelmeta
        self.get_inputs, self.get_outputs = session.get_inputs, session.get_outputs

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_unchanged, (self.path, file_hash(self.path))


def open_session(path: Path) -> OnnxSession:
    """Return a graph that is ready to run, on one core a run."""
    return OnnxSession(path)


def _open_unchanged(path: Path, digest: str) -> OnnxSession:
    """Return the graph of a pickled detector, whose other numbers fit no other graph."""
    if path.is_file() and file_hash(path) != digest:
        raise UserError(f"{path} is another network than when the detector was pickled. Load it by its folder.")
    return OnnxSession(path)
