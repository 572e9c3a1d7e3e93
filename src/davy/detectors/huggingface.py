"""A trained detector as a folder of transformers that gives the same scores there.

A fine-tuned encoder in; weights, config, tokenizer and the model's code (`huggingface_model.py`) out. The code is there
because no classifier of transformers averages over tokens and has one linear layer, as ours do; so the folder is loaded
with `trust_remote_code=True`, and without it refused, never with new weights.

One question: its labels, by softmax (or sigmoid, where several may be true). Several questions: one label for the yes
of each yes/no question, `QUESTION: LABEL` for all labels of the others, `problem_type` multi_label_classification.
Sigmoid then gives yes/no questions and questions of several labels their probabilities; a question of one label out of
more than two has them by softmax over its own columns, which `config.davy` lists.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from davy.core.errors import UserError
from davy.core.scheme import Question
from davy.core.scorer import Scorer
from davy.detectors.calibrated import CalibratedScorer
from davy.files.atomic import require_empty_folder

CODE = "modeling_davy.py"


def write_huggingface(scorer: Scorer, folder: Path) -> Path:
    """Write the folder and return it; temperatures are folded into the weights, thresholds are in the config."""
    from davy.detectors.transformer import TransformerScorer

    scorer = _uncalibrated(scorer)
    if not isinstance(scorer, TransformerScorer):
        raise UserError(
            f"{scorer.name} is no fine-tuned encoder, so transformers can't hold it. Train one: encoder=NAME"
        )
    require_empty_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _model(scorer).save_pretrained(folder)
    _tokenizer(scorer).save_pretrained(folder)
    from davy.detectors import huggingface_model

    shutil.copyfile(huggingface_model.__file__, folder / CODE)
    (folder / "README.md").write_text(_readme(scorer), encoding="utf-8")
    return folder


def _uncalibrated(scorer: Scorer) -> Scorer:
    """Return a calibrated transformer with its numbers as its own; any other scorer as it is."""
    from davy.detectors.transformer import TransformerScorer

    if not isinstance(scorer, CalibratedScorer) or not isinstance(scorer.scorer, TransformerScorer):
        return scorer
    inner = scorer.scorer
    temperatures = dict(inner.temperatures or {})
    for name, value in scorer.temperatures.items():
        temperatures[name] = temperatures.get(name, 1.0) * value
    return replace(inner, temperatures=temperatures, thresholds={**(inner.thresholds or {}), **scorer.thresholds})


def _model(scorer: Any) -> Any:
    import torch

    from davy.detectors.huggingface_model import DavyConfig, DavyForSequenceClassification

    weight, bias, labels = _head(scorer)
    many = len(scorer.questions) > 1 or scorer.questions[0].multilabel
    config = DavyConfig(
        encoder=scorer.network.encoder.config.to_dict(),
        pooling=scorer.network.pooling,
        id2label=dict(enumerate(labels)),
        label2id={label: place for place, label in enumerate(labels)},
        problem_type="multi_label_classification" if many else "single_label_classification",
        pad_token_id=scorer.reading.pad,
        davy=_notes(scorer, labels),
    )
    module = CODE.removesuffix(".py")
    config.auto_map = {
        "AutoConfig": f"{module}.DavyConfig",
        "AutoModelForSequenceClassification": f"{module}.DavyForSequenceClassification",
    }
    model = DavyForSequenceClassification(config)
    model.encoder.load_state_dict(scorer.network.encoder.state_dict())
    with torch.no_grad():
        model.out.weight.copy_(weight)
        model.out.bias.copy_(bias)
    return model.eval()  # type: ignore[no-untyped-call]


def _head(scorer: Any) -> tuple[Any, Any, list[str]]:
    """Return the weights and biases of all labels, temperatures folded in, and the labels' names."""
    import torch

    from davy.detectors.network import columns_of
    from davy.detectors.transformer import heads_of

    out, alone = scorer.network.out, len(scorer.questions) == 1
    weights, biases, labels = [], [], []
    for question, columns in zip(scorer.questions, columns_of(heads_of(scorer.questions)).values(), strict=True):
        temperature = (scorer.temperatures or {}).get(question.name, 1.0)
        weight, bias = out.weight[columns].detach() / temperature, out.bias[columns].detach() / temperature
        if not alone and _yes_or_no(question):
            yes = question.label_names.index(question.positive)
            # The softmax over two labels is the sigmoid of their difference.
            weight, bias = weight[yes : yes + 1] - weight[1 - yes], bias[yes : yes + 1] - bias[1 - yes]
        weights.append(weight)
        biases.append(bias)
        labels += _labels(question, alone=alone)
    return torch.cat(weights), torch.cat(biases), labels


def _yes_or_no(question: Question) -> bool:
    return question.nominal and question.positive is not None and len(question.labels) == 2


def _labels(question: Question, *, alone: bool) -> list[str]:
    if alone:
        return list(question.label_names)
    return [question.name] if _yes_or_no(question) else [f"{question.name}: {label}" for label in question.label_names]


def _notes(scorer: Any, labels: list[str]) -> Mapping[str, Any]:
    """Return what the config says of the detector, for whoever turns its logits into answers."""
    alone = len(scorer.questions) == 1
    questions = {}
    for question in scorer.questions:
        columns = [labels.index(label) for label in _labels(question, alone=alone)]
        sigmoid = question.multilabel or (not alone and _yes_or_no(question))
        questions[question.name] = {
            "columns": columns,
            "by": "sigmoid" if sigmoid else "softmax",
            "threshold": float((scorer.thresholds or {}).get(question.name, 0.5)),
        }
    reading = scorer.reading
    return {
        "name": scorer.name,
        "version": scorer.version,
        "questions": questions,
        "max_length": reading.max_length,
        "prepare": list(reading.steps),
    }


def _tokenizer(scorer: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    reading = scorer.reading
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=reading.tokenizer,
        pad_token=reading.tokenizer.id_to_token(reading.pad) or "[PAD]",
        model_max_length=reading.max_length,
        model_input_names=["input_ids", "attention_mask"],
    )


def _readme(scorer: Any) -> str:
    steps = ", ".join(scorer.reading.steps)
    before = (
        f"\nBefore the tokenizer each text goes through: {steps} (`davy.detectors.token_batches`).\n" if steps else ""
    )
    return f"""---
library_name: transformers
pipeline_tag: text-classification
---
# {scorer.name}

A detector that Davy trained (version {scorer.version}), for {", ".join(q.name for q in scorer.questions)}.

```python
from transformers import AutoModelForSequenceClassification, AutoTokenizer

model = AutoModelForSequenceClassification.from_pretrained(FOLDER, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(FOLDER)
```

`{CODE}` is the model's code: an encoder, a pooling and one linear layer. `config.davy` says which columns answer which
question, by softmax or sigmoid, and from which threshold on a yes is a yes.{before}
Texts of more than {scorer.reading.max_length} tokens are cut: by Davy to head and end, by transformers to the head.
"""
