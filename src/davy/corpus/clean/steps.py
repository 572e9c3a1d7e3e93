"""Every step that a recipe can name, and what it is."""

from __future__ import annotations

from davy.corpus.clean import changes, drops, duplicate_steps

Step = changes.ChangeStep | drops.DropStep | duplicate_steps.DuplicateStep

STEPS: dict[str, type[Step]] = {
    "unify-space": changes.UnifySpace,
    "remove-controls": changes.RemoveControls,
    "decode-entities": changes.DecodeEntities,
    "mask-urls": changes.MaskUrls,
    "remove-urls": changes.RemoveUrls,
    "mask-mentions": changes.MaskMentions,
    "remove-mentions": changes.RemoveMentions,
    "mask-emails": changes.MaskEmails,
    "mask-emoji": changes.MaskEmoji,
    "mask-phones": changes.MaskPhones,
    "mask-hashtags": changes.MaskHashtags,
    "remove-hashtags": changes.RemoveHashtags,
    "drop-empty": drops.DropEmpty,
    "drop-one-word": drops.DropOneWord,
    "drop-only": drops.DropOnly,
    "keep-languages": drops.KeepLanguages,
    "drop-length": drops.DropLength,
    "drop-words": drops.DropWords,
    "drop-lexicon": drops.DropLexicon,
    "drop-duplicates": duplicate_steps.DropDuplicates,
    "drop-near-duplicates": duplicate_steps.DropNearDuplicates,
}


def name_of(step: Step) -> str:
    """Return the name under which recipes know a step."""
    return next(name for name, kind in STEPS.items() if type(step) is kind)
