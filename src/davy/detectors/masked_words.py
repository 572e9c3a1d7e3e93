"""Words that a masked language model would put in a gap: suggestions for a template's slots.

A text with a gap in, words with probabilities out. The model is any folder or hub name with a masked-language head;
nothing is learnt and nothing is labelled: a person chooses which words fit.
"""

from __future__ import annotations

from dataclasses import dataclass

from davy.core.errors import UserError
from davy.core.install import install_extra
from davy.detectors import encoder
from davy.detectors.encoder import encoder_error, silence_transformers

GAP = "{mask}"


@dataclass(frozen=True, slots=True)
class SuggestedWord:
    """A word for the gap, and the model's probability of it, the mean over the texts given."""

    word: str
    probability: float


def suggest_words(texts: list[str], model: str, *, most: int = 20) -> list[SuggestedWord]:
    """Return the likeliest whole words for the one gap `{mask}` that every text has, best first."""
    try:
        import torch
        from transformers import AutoModelForMaskedLM, AutoTokenizer
    except ModuleNotFoundError as error:
        raise UserError(f"Suggestions need {error.name!r}, which is not installed: {install_extra('train')}.") from None

    for text in texts:
        if text.count(GAP) != 1:
            raise UserError(f"{text!r} must hold {GAP} once, where words are wanted.")
    silence_transformers()
    try:
        options = encoder.download_options(model)
        tokenizer = AutoTokenizer.from_pretrained(model, **options)
        network, loading = AutoModelForMaskedLM.from_pretrained(
            model, use_safetensors=True, output_loading_info=True, **options
        )
    except (OSError, ValueError, KeyError) as error:
        raise encoder_error(model, error) from error
    if tokenizer.mask_token is None or loading["missing_keys"]:
        raise UserError(f"{model} can't fill gaps: it has no masked-language head. Name one that has, such as a BERT.")
    network.eval()
    batch = tokenizer([text.replace(GAP, tokenizer.mask_token) for text in texts], return_tensors="pt", padding=True)
    with torch.no_grad():
        logits = network(**batch).logits
    at_gap = logits[batch["input_ids"] == tokenizer.mask_token_id]
    if len(at_gap) != len(texts):
        raise UserError(f"A text is too long for {model}, or its gap was cut off. Shorten it.")
    chances = at_gap.softmax(-1).mean(0)
    suggested: list[SuggestedWord] = []
    for token in chances.argsort(descending=True).tolist():
        word = _whole_word(tokenizer, token)
        if word:
            suggested.append(SuggestedWord(word, float(chances[token])))
        if len(suggested) == most:
            break
    return suggested


def _whole_word(tokenizer: object, token: int) -> str | None:
    """Return what a token stands for where it is a word of its own, not a piece, a sign or a special token."""
    piece = tokenizer.convert_ids_to_tokens(token)  # type: ignore[attr-defined]
    if token in tokenizer.all_special_ids or piece.startswith(("##", "@@")):  # type: ignore[attr-defined]
        return None
    word: str = tokenizer.decode([token]).strip()  # type: ignore[attr-defined]
    return word if word.isalpha() and len(word) > 1 else None
