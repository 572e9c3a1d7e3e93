"""A detector that Davy trained, as a model of transformers: an encoder, a pooling, and one linear layer for all labels.

It is written beside the weights by `to_huggingface`, so that
`AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True)` gives the detector's own scores
where Davy is not installed. It imports torch and transformers alone.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class DavyConfig(PretrainedConfig):
    """The encoder's own configuration under `encoder`, and how its last layer is pooled: `mean` or `first`."""

    model_type = "davy"

    def __init__(self, encoder: dict[str, Any] | None = None, pooling: str = "mean", **others: Any) -> None:
        self.encoder = dict(encoder or {})
        self.pooling = pooling
        super().__init__(**others)


class DavyForSequenceClassification(PreTrainedModel):
    """Logits of all labels. Temperatures are in the weights: softmax or sigmoid gives the detector's probabilities."""

    config_class = DavyConfig

    def __init__(self, config: DavyConfig) -> None:
        super().__init__(config)
        self.encoder = AutoModel.from_config(AutoConfig.for_model(**config.encoder))
        self.out = nn.Linear(self.encoder.config.hidden_size, int(config.num_labels or 0))
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        states = self.encoder(input_ids=input_ids, attention_mask=mask).last_hidden_state
        if self.config.pooling == "first":
            pooled = states[:, 0]
        else:
            weight = mask.unsqueeze(-1).to(states.dtype)
            pooled = (states * weight).sum(1) / weight.sum(1).clamp(min=1)
        logits = self.out(pooled)
        loss = None
        if labels is not None:
            many = self.config.problem_type == "multi_label_classification"
            loss = (nn.BCEWithLogitsLoss() if many else nn.CrossEntropyLoss())(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)
