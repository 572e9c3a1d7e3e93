"""Classifiers of the Hugging Face hub: `hf:ORG/NAME`, from the hub, its cache or a folder.

A name in, a scorer out. Its one question has the classifier's own labels; `models.label_answers` gives them a meaning.
Pickled weights are refused, code that lies beside them is not run, and one whose head has no weights is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from davy.core.errors import UserError
from davy.core.scheme import Label, Question
from davy.core.scorer import PLAIN, Abilities, Scorer, Scores
from davy.detectors import encoder
from davy.detectors import folder as folders
from davy.detectors.baselines import content_hash
from davy.detectors.encoder import (
    UNKNOWN,
    TextTokenizer,
    load_tokenizer,
    silence_transformers,
    unknown_beyond,
    why_not_loaded,
)
from davy.detectors.label_answers import answer_by_labels, parse_answers
from davy.detectors.model_name import ModelName
from davy.detectors.token_batches import TokenRows

if TYPE_CHECKING:
    import polars as pl

BATCH = 32


def load_from_hub(asked: ModelName) -> Scorer:
    """Return the classifier `hf:NAME`, from the hub, its cache or a folder.

    `hf:NAME@hate=LABEL` makes a label of its own the yes of a question; `hf:NAME@hate` finds the label by its spelling.
    """
    if not asked.argument:
        raise UserError("hf: needs a name, such as hf:org/name, or a folder.")
    silence_transformers()
    name = asked.argument
    path = Path(name).expanduser()
    if (path / folders.MANIFEST).is_file():
        raise UserError(f"{path} is a model folder of Davy's own: load it by its path, without hf:.")
    if path.is_dir():
        folders.refuse_pickles(path)
    tokenizer, pad = load_tokenizer(name)
    try:
        model, loaded = _load_classifier(name, encoder.download_options(name))
    except UserError:
        raise
    except Exception as error:  # the hub's client raises many kinds
        raise UserError(f"No classifier {name!r}: {why_not_loaded(name, error)}") from error
    if loaded["missing_keys"]:
        missing = sorted(loaded["missing_keys"])
        raise UserError(
            f"{name} is no trained classifier: {len(missing)} of its weights are missing, such as {missing[0]}."
        )
    longest = min(512, getattr(model.config, "max_position_embeddings", 512) - 2)
    labels = [str(model.config.id2label[i]) for i in range(model.config.num_labels)]
    many = getattr(model.config, "problem_type", None) == "multi_label_classification"
    question = _question(labels, many=many)
    version = content_hash((question,), {"weights": _fingerprint(model)})
    made = HubClassifier(model.eval(), TextTokenizer(tokenizer, longest, pad), (question,), asked.name, version)
    return answer_by_labels(made, parse_answers(asked.scheme)) if asked.scheme else made


def _load_classifier(name: str, options: dict[str, Any]) -> Any:
    """Return the model and what was missing; for a folder that Davy wrote for transformers, with the code we have."""
    from transformers import AutoModelForSequenceClassification, PretrainedConfig

    from davy.detectors.huggingface_model import DavyConfig, DavyForSequenceClassification

    known, _ = PretrainedConfig.get_config_dict(name, **options)
    ours = known.get("model_type") == DavyConfig.model_type
    kind: Any = DavyForSequenceClassification if ours else AutoModelForSequenceClassification
    return kind.from_pretrained(name, use_safetensors=True, output_loading_info=True, **options)


@dataclass(frozen=True)
class HubClassifier:
    """A sequence classifier from the hub: one question, whose labels are the model's own."""

    model: Any
    reading: TextTokenizer
    questions: tuple[Question, ...]
    name: str
    version: str
    abilities: Abilities = PLAIN

    def score(self, posts: pl.DataFrame) -> Scores:
        """Return the classifier's probabilities."""
        import numpy as np
        import torch

        tokens = self.reading.ids(posts["text"].fill_null("").to_list())
        size = getattr(self.model.config, "vocab_size", None)  # detectors that Davy wrote keep it with their encoder
        if size is not None and self.reading.tokenizer.get_vocab_size() > size:
            tokens = unknown_beyond(tokens, size, self.reading.tokenizer.token_to_id(UNKNOWN) or 0)
        rows = TokenRows.of(tokens)
        question = self.questions[0]
        out = np.zeros((len(rows), len(question.labels)), dtype=np.float32)
        for batch in rows.longest_first(BATCH):
            ids, mask = (torch.from_numpy(block) for block in rows.padded(batch, self.reading.pad))
            with torch.inference_mode():
                logits = self.model(input_ids=ids, attention_mask=mask.long()).logits
            out[batch] = (logits.sigmoid() if question.multilabel else logits.softmax(1)).numpy()
        return Scores(self.questions, {question.name: out})


def _question(labels: list[str], *, many: bool) -> Question:
    """Return the model's question: `hate` where its two labels say so, else `label` with the labels as they are."""
    from davy import schemes

    hate = schemes.load("hate").question("hate")
    if len(labels) == 2 and not many:
        try:
            named = tuple(hate.label(label) for label in labels)
        except KeyError:
            named = ()
        if len({label.name for label in named}) == 2:
            return Question("hate", named, positive=hate.positive)
    # transformers writes LABEL_0, LABEL_1 … where nobody named the labels: files then hold the numbers.
    bare = all(label == f"LABEL_{i}" for i, label in enumerate(labels))
    named = tuple(Label(label, aliases=(str(i),) if bare else ()) for i, label in enumerate(labels))
    positive = labels[1] if bare and len(labels) == 2 and not many else None
    return Question("label", named, kind="many" if many else "one", positive=positive)


def _fingerprint(model: Any) -> float:
    return float(sum(parameter.detach().double().abs().sum() for parameter in model.parameters()))
