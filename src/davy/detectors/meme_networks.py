"""The networks of the Hateful Memes paper (section 4, appendix A): a caption and picture features in, one logit out.

Every network is called alike: `network(input_ids, attention_mask, features, feature_mask, boxes)`. `features` are
(n, k, d) vectors of grid cells or regions; pixels (n, 3, side, side) where the image encoder is a part of the network
and learns with it. Nothing is frozen here. It needs only torch and transformers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

ROWS: dict[str, str] = {
    "image-grid": "Image-Grid",
    "image-region": "Image-Region",
    "text": "Text BERT",
    "late-fusion": "Late Fusion",
    "concat": "Concat BERT",
    "mmbt-grid": "MMBT-Grid",
    "mmbt-region": "MMBT-Region",
    "vilbert": "ViLBERT",
    "visualbert": "Visual BERT",
    "vilbert-cc": "ViLBERT CC",
    "visualbert-coco": "Visual BERT COCO",
}
"""The rows of Table 1 in its order: our name → the paper's."""

PARTS_OF_LATE_FUSION = ("image-grid", "text")
PRETRAINED: dict[str, str] = {"vilbert-cc": "vilbert", "visualbert-coco": "visualbert"}
"""Rows that learn from captioned pictures first → the row whose network they are."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """The shape of one row's network."""

    row: str
    features: str = ""
    """`grid`, `region`, or nothing for a network that reads the caption alone."""
    feature_width: int = 2048
    cells: int = 0
    """To how many vectors a grid is averaged (a square number); 0 leaves it as it is."""
    fc7: int = 0
    """Width of a trained layer over the features, as fc7 over a detector's fc6; 0 is none."""
    normalise: bool = False
    """Whether features are normalised first, and picture tokens scaled like words: for features computed once."""
    boxes: bool = False
    """Whether a single-stream network is told where its regions lie; ViLBERT always is."""
    pooling: str = "first"
    """How states become one vector: the `first` token, or the `mean`."""
    visual_layers: int = 6
    visual_width: int = 1024
    visual_heads: int = 8
    joined: str = "product"
    """How ViLBERT makes one vector of its two: their `product`, or both beside each other (`concat`)."""
    quiet_start: bool = False
    """Whether ViLBERT's new blocks add nothing at first, so that what both encoders know reaches the classifier."""
    dropout: float = 0.1
    """Of the layers that the text encoder does not bring; its own come with it."""
    classifier_width: int = 768
    classifier_layers: int = 2
    classifier_dropout: float = 0.5


class PictureInput(nn.Module):
    """Features as a network gets them: pixels encoded where it has an encoder, a grid averaged, fc7 applied."""

    def __init__(self, settings: NetworkSettings, encoder: nn.Module | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.cells = settings.cells
        self.width = settings.fc7 or settings.feature_width
        self.norm = nn.LayerNorm(settings.feature_width) if settings.normalise else None
        self.fc7 = nn.Linear(settings.feature_width, settings.fc7) if settings.fc7 else None

    def train(self, mode: bool = True) -> PictureInput:
        """Switch modes, but leave the encoder's batch statistics alone: a batch of memes is too small for new ones."""
        super().train(mode)
        if self.encoder is not None:
            self.encoder.eval()
        return self

    def forward(self, features: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return (n, k, width) and the mask of what is there."""
        if self.encoder is not None:
            features = self.encoder(features)
        if self.cells and self.cells != features.shape[1]:
            features, mask = average_cells(features, self.cells), None
        features = features.float() if self.norm is None else self.norm(features.float())
        if self.fc7 is not None:
            features = functional.relu(self.fc7(features))
        if mask is None:
            mask = features.new_ones(features.shape[:2], dtype=torch.bool)
        return features, mask.bool()


def average_cells(features: Tensor, cells: int) -> Tensor:
    """Return a square grid averaged to fewer cells."""
    side, wanted = math.isqrt(features.shape[1]), math.isqrt(cells)
    if side * side != features.shape[1] or wanted * wanted != cells:
        raise ValueError(f"{features.shape[1]} features can't be averaged to {cells}: both must be square grids")
    grid = features.transpose(1, 2).reshape(len(features), -1, side, side)
    return functional.adaptive_avg_pool2d(grid, wanted).flatten(2).transpose(1, 2)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the states that a mask leaves."""
    weight = mask.unsqueeze(-1).to(states.dtype)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)


class Classifier(nn.Module):
    """Hidden layers with dropout, then yes against no: one logit.

    The paper's classifiers normalise by batch; layers are normalised here, which needs no statistics of the data.
    """

    def __init__(self, inputs: int, settings: NetworkSettings) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(settings.classifier_layers):
            width = settings.classifier_width
            layers += [nn.Linear(inputs, width), nn.LayerNorm(width), nn.GELU()]
            layers.append(nn.Dropout(settings.classifier_dropout))
            inputs = width
        self.layers = nn.Sequential(*layers, nn.Linear(inputs, 2))

    def forward(self, pooled: Tensor) -> Tensor:
        no, yes = self.layers(pooled).unbind(-1)
        logit: Tensor = yes - no
        return logit


class MemeNetwork(nn.Module):
    """What all rows share: `pooled` gives the vector that the classifier reads."""

    text: Any

    def __init__(self, settings: NetworkSettings, text: nn.Module | None, image: nn.Module | None) -> None:
        super().__init__()
        self.settings = settings
        self.text = text
        self.picture = PictureInput(settings, image) if settings.features else None
        self.pooled_width = self.prepare()
        self.classifier = Classifier(self.pooled_width, settings)

    @property
    def text_width(self) -> int:
        """The width of the text encoder's states."""
        return int(self.text.config.hidden_size)

    def prepare(self) -> int:
        """Make the row's own layers and return the width of its pooled vector."""
        raise NotImplementedError

    def encode(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        features: Tensor | None,
        feature_mask: Tensor | None,
        boxes: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Return the states of the caption's tokens (n, tokens, width) and the pooled vector (n, pooled width)."""
        raise NotImplementedError

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        features: Tensor | None = None,
        feature_mask: Tensor | None = None,
        boxes: Tensor | None = None,
    ) -> Tensor:
        """Return one logit a meme (n,)."""
        logit: Tensor = self.classifier(self.encode(input_ids, attention_mask, features, feature_mask, boxes)[1])
        return logit

    def pool(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the first token's vector, by the text encoder's pooler where it has one, or the mean."""
        if self.settings.pooling != "first":
            return masked_mean(states, mask)
        pooler = getattr(self.text, "pooler", None)
        return states[:, 0] if pooler is None else pooler(states)

    def read(self, **inputs: Any) -> Tensor:
        """Return the text encoder's last states."""
        states: Tensor = self.text(**inputs).last_hidden_state
        return states

    def look(self, features: Tensor | None, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the picture's vectors and their mask."""
        if features is None or self.picture is None:
            raise ValueError(f"the row {self.settings.row} needs the features of a picture")
        seen: tuple[Tensor, Tensor] = self.picture(features, feature_mask_of(features, mask))
        return seen


def feature_mask_of(features: Tensor, mask: Tensor | None) -> Tensor | None:
    """Return the mask of features; pixels have none."""
    return None if features.dim() == 4 else mask


class TextNetwork(MemeNetwork):
    """Text BERT: the caption alone."""

    def prepare(self) -> int:
        return self.text_width

    def encode(self, input_ids, attention_mask, features=None, feature_mask=None, boxes=None):  # type: ignore[no-untyped-def]  # noqa: ARG002
        states = self.read(input_ids=input_ids, attention_mask=attention_mask)
        return states, self.pool(states, attention_mask)


class ImageNetwork(MemeNetwork):
    """Image-Grid and Image-Region: the mean of the picture's vectors alone."""

    def prepare(self) -> int:
        assert self.picture is not None
        return self.picture.width

    def encode(self, input_ids, attention_mask, features=None, feature_mask=None, boxes=None):  # type: ignore[no-untyped-def]  # noqa: ARG002
        vectors, mask = self.look(features, feature_mask)
        return vectors, masked_mean(vectors, mask)


class ConcatNetwork(MemeNetwork):
    """Concat BERT: the mean of the picture's vectors beside the caption's vector, and an MLP over both."""

    def prepare(self) -> int:
        assert self.picture is not None
        return self.text_width + self.picture.width

    def encode(self, input_ids, attention_mask, features=None, feature_mask=None, boxes=None):  # type: ignore[no-untyped-def]  # noqa: ARG002
        states = self.read(input_ids=input_ids, attention_mask=attention_mask)
        vectors, mask = self.look(features, feature_mask)
        return states, torch.cat([self.pool(states, attention_mask), masked_mean(vectors, mask)], dim=1)


def with_area(boxes: Tensor) -> Tensor:
    """Return boxes (left, top, right, bottom) with their share of the picture as a fifth number, as ViLBERT has it."""
    area = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return torch.cat([boxes, area.unsqueeze(-1)], dim=-1)


class PictureTokens(nn.Module):
    """Picture vectors as tokens for a text encoder, in the width of its word embeddings."""

    def __init__(self, settings: NetworkSettings, inputs: int, words: nn.Embedding) -> None:
        super().__init__()
        self.project = nn.Linear(inputs, words.embedding_dim)
        self.box = nn.Linear(5, words.embedding_dim) if settings.boxes else None
        self.norm = nn.LayerNorm(words.embedding_dim) if settings.normalise else None
        if self.norm is not None:
            with torch.no_grad():
                self.norm.weight.fill_(float(words.weight.std()))

    def forward(self, vectors: Tensor, boxes: Tensor | None) -> Tensor:
        tokens: Tensor = self.project(vectors)
        if self.box is not None and boxes is not None:
            tokens = tokens + self.box(with_area(boxes).to(tokens.dtype))
        return tokens if self.norm is None else self.norm(tokens)


class SingleStreamNetwork(MemeNetwork):
    """One text encoder reads picture tokens and words in one sequence."""

    def prepare(self) -> int:
        assert self.picture is not None
        self.tokens = PictureTokens(self.settings, self.picture.width, self.text.get_input_embeddings())
        return self.text_width

    def embed(self, words: Tensor, mask: Tensor, segment: int) -> Tensor:
        """Return word vectors with the encoder's own places, counted over what the mask leaves, and segment added."""
        table = self.text.embeddings
        places = mask.long().cumsum(1).sub(1).clamp(min=0)
        placed: Tensor = words + table.position_embeddings(places) + table.token_type_embeddings.weight[segment]
        return placed

    def read_embedded(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the encoder's states of a sequence that was put together here."""
        table = self.text.embeddings
        return read_layers(self.text.encoder.layer, table.dropout(table.LayerNorm(states)), mask)


class MultimodalBitransformer(SingleStreamNetwork):
    """MMBT-Grid and MMBT-Region: the picture, between the caption's first and last token, then the caption."""

    def encode(self, input_ids, attention_mask, features=None, feature_mask=None, boxes=None):  # type: ignore[no-untyped-def]
        vectors, seen = self.look(features, feature_mask)
        words = self.text.embeddings.word_embeddings(input_ids)
        last = attention_mask.sum(1).clamp(min=1).sub(1).long()[:, None, None]
        end = words.gather(1, last.expand(-1, 1, words.shape[2]))
        picture = torch.cat([words[:, :1], self.tokens(vectors, boxes).to(words.dtype), end], dim=1)
        seen = functional.pad(seen, (1, 1), value=True)
        states = torch.cat([self.embed(picture, seen, 0), self.embed(words, attention_mask, 1)], dim=1)
        mask = torch.cat([seen, attention_mask.bool()], dim=1)
        states = self.read_embedded(states, mask)
        return states[:, picture.shape[1] :], self.pool(states, mask)


class VisualBert(SingleStreamNetwork):
    """Visual BERT and Visual BERT COCO: the caption, then the picture, with a token kind and places of its own.

    The picture's tokens all have the first of those places: regions have no order.
    """

    def prepare(self) -> int:
        width = super().prepare()
        table = self.text.embeddings
        self.visual_kinds, self.visual_places = (
            deepcopy(table.token_type_embeddings),
            deepcopy(table.position_embeddings),
        )
        return width

    def encode(self, input_ids, attention_mask, features=None, feature_mask=None, boxes=None):  # type: ignore[no-untyped-def]
        vectors, seen = self.look(features, feature_mask)
        words = self.embed(self.text.embeddings.word_embeddings(input_ids), attention_mask, 0)
        picture = self.tokens(vectors, boxes) + self.visual_places.weight[0] + self.visual_kinds.weight[1]
        mask = torch.cat([attention_mask.bool(), seen], dim=1)
        states = self.read_embedded(torch.cat([words, picture.to(words.dtype)], dim=1), mask)
        return states[:, : words.shape[1]], self.pool(states, mask)


class AttentionBlock(nn.Module):
    """Attention of one stream to another (or to itself), then a feed-forward layer, each added and normalised."""

    def __init__(self, width: int, other: int, settings: NetworkSettings, inner: int) -> None:
        super().__init__()
        self.heads, self.dropout = settings.visual_heads, settings.dropout
        shared = settings.visual_width
        self.query, self.key, self.value = nn.Linear(width, shared), nn.Linear(other, shared), nn.Linear(other, shared)
        self.out, self.norm = nn.Linear(shared, width), nn.LayerNorm(width)
        self.inner = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
        self.last_norm = nn.LayerNorm(width)

    def forward(self, states: Tensor, other: Tensor, mask: Tensor) -> Tensor:
        """Return the new states; `mask` (n, tokens of the other) says what may be looked at."""
        query, key, value = (
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for layer, x in ((self.query, states), (self.key, other), (self.value, other))
        )
        rate = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, mask[:, None, None, :].bool(), rate)
        states = self.norm(states + functional.dropout(self.out(mixed.transpose(1, 2).flatten(2)), rate))
        new: Tensor = self.last_norm(states + functional.dropout(self.inner(states), rate))
        return new


class ViLBert(MemeNetwork):
    """ViLBERT and ViLBERT CC: a stream of words and a stream of regions that look at each other.

    The text encoder's lower layers read alone; then, for each visual block, both streams attend to each other and
    take a block of their own (12 and 6 blocks in the paper). The two pooled vectors are multiplied, or concatenated.
    """

    def prepare(self) -> int:
        assert self.picture is not None
        width, words, count = self.settings.visual_width, self.text_width, self.settings.visual_layers
        self.embed, self.box = nn.Linear(self.picture.width, width), nn.Linear(5, width)
        self.embed_norm = nn.LayerNorm(width)

        def blocks(one: int, other: int, inner: int) -> nn.ModuleList:
            return nn.ModuleList(AttentionBlock(one, other, self.settings, inner) for _ in range(count))

        self.words_look, self.regions_look = blocks(words, width, 4 * words), blocks(width, words, width)
        self.regions = blocks(width, width, width)
        self.pool_words, self.pool_regions = nn.Linear(words, width), nn.Linear(width, width)
        if self.settings.quiet_start:
            self.start_quietly()
        return width if self.settings.joined == "product" else 2 * width

    @torch.no_grad()
    def start_quietly(self) -> None:
        """Let the new blocks add nothing, and leave words as large as the text encoder's layer before made them."""
        block: Any
        for block in (*self.words_look, *self.regions_look, *self.regions):
            for layer in (block.out, block.inner[-1]):
                layer.weight.zero_()
                layer.bias.zero_()
        norms = [self.text.embeddings.LayerNorm, *(layer.output.LayerNorm for layer in self.text.encoder.layer)]
        for before, block in zip(norms[-1 - len(self.words_look) : -1], self.words_look, strict=True):
            for norm in (block.norm, block.last_norm):
                norm.weight.fill_(float(before.weight.mean()))

    def encode(self, input_ids, attention_mask, features=None, feature_mask=None, boxes=None):  # type: ignore[no-untyped-def]
        vectors, seen = self.look(features, feature_mask)
        regions = self.embed(vectors)
        if boxes is not None and boxes.shape[1] == vectors.shape[1]:
            regions = regions + self.box(with_area(boxes).to(regions.dtype))
        regions = functional.dropout(self.embed_norm(regions), self.settings.dropout, self.training)
        layers = self.text.encoder.layer
        alone = len(layers) - self.settings.visual_layers
        words = read_layers(layers[:alone], self.text.embeddings(input_ids=input_ids), attention_mask)
        for layer, words_look, regions_look, block in zip(
            layers[alone:], self.words_look, self.regions_look, self.regions, strict=True
        ):
            words, regions = words_look(words, regions, seen), regions_look(regions, words, attention_mask)
            words, regions = read_layers([layer], words, attention_mask), block(regions, regions, seen)
        of_words = functional.relu(self.pool_words(self.pool(words, attention_mask)))
        of_regions = functional.relu(self.pool_regions(self.pool(regions, seen)))
        if self.settings.joined == "product":
            return words, of_words * of_regions
        return words, torch.cat([of_words, of_regions], dim=1)


def read_layers(layers: Iterable[Any], states: Tensor, mask: Tensor) -> Tensor:
    """Return the states after some layers of a BERT; older versions of transformers wrap them in a tuple."""
    wide = mask[:, None, None, :].bool()
    for layer in layers:
        output = layer(states, attention_mask=wide)
        states = output[0] if isinstance(output, tuple) else output
    return states


class LateFusion(nn.Module):
    """Late Fusion: the mean of the scores of a trained image network and a trained text network; nothing to train."""

    def __init__(self, image: MemeNetwork, text: MemeNetwork) -> None:
        super().__init__()
        self.image, self.text_part = image, text
        self.settings = image.settings

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        features: Tensor | None = None,
        feature_mask: Tensor | None = None,
        boxes: Tensor | None = None,
    ) -> Tensor:
        """Return the logit of the mean probability."""
        inputs = (input_ids, attention_mask, features, feature_mask, boxes)
        mean = (self.image(*inputs).float().sigmoid() + self.text_part(*inputs).float().sigmoid()) / 2
        return torch.logit(mean, eps=1e-6)


NETWORKS: dict[str, type[MemeNetwork]] = {
    "image-grid": ImageNetwork,
    "image-region": ImageNetwork,
    "text": TextNetwork,
    "concat": ConcatNetwork,
    "mmbt-grid": MultimodalBitransformer,
    "mmbt-region": MultimodalBitransformer,
    "vilbert": ViLBert,
    "visualbert": VisualBert,
    "vilbert-cc": ViLBert,
    "visualbert-coco": VisualBert,
}
"""Late Fusion is made of two of these."""


def build_network(settings: NetworkSettings, text: nn.Module | None, image: nn.Module | None = None) -> MemeNetwork:
    """Return a row's untrained network over a text encoder and, where pixels come in, an image encoder.

    A row that looks at the picture alone is given no text encoder.
    """
    if settings.row.startswith("image-"):
        text = None
    elif text is not None and (settings.pooling != "first" or settings.row.startswith("vilbert")):
        text.pooler = None  # type: ignore[assignment]  # it is not asked, and its weights would travel with the model
    return NETWORKS[settings.row](settings, text, image)
