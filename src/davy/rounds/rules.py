"""What an entry must be like before a target sees it: length, emoji, language, and nothing that was entered before.

A text in; its language out, or an `EntryRefused` that says what is wrong. Nothing is stored, so nothing is lost: the
page keeps the text in its form.
"""

from __future__ import annotations

from typing import Any

from davy.core import UserError
from davy.rounds.round import EntryRules
from davy.rounds.store import entries
from davy.store import Connection
from davy.text import emoji, language, near_keys

SURE = 0.7
"""From this probability on a text counts as one in another language; below it, its author is believed."""
FEWEST_LETTERS = 12
"""Shorter texts say too little of their language."""

SENTENCES: dict[str, str] = {
    "empty": "There is no text yet. Write one.",
    "short": "The text has {got} characters; this round takes {least} or more.",
    "long": "The text has {got} characters; this round takes {most} at most. Shorten it.",
    "emoji": "The text has no emoji, and this round is about emoji. Add at least one.",
    "language": "The text reads like {got!r}, and this round takes {wanted}. Write it so, or say that it is.",
    "equal": "This very text was entered before. Write another one.",
    "near": "The text is too like an earlier entry ({share} of its word pairs are the same). Change more of it, "
    "or write it as a contrast.",
    "both": "A contrast changes the emoji or the words, and this one changes both. Put one of them back.",
    "neither": "The contrast has the same words and the same emoji as the original. Change one of them.",
    "wrong_change": "You chose to change the {wanted}, and the {got} changed. Put that back, or choose the other rule.",
    "much": "{got} words changed; a contrast changes as few as it can, here {most} at most.",
    "no_flip": "The contrast has the label of its original ({label}). A contrast flips it.",
    "unsettled": "This entry's label is not settled yet, so there is nothing to flip. Wait for its validation.",
    "dropped": "This entry was dropped, so it needs no contrast.",
    "taken": "Somebody wrote the contrast of this entry already. Take another one.",
    "not_original": "This entry is a contrast itself. Contrasts are written for originals.",
    "looked_at": "This entry can't be taken back any more: somebody else has begun to label it. An expert can drop it.",
    "contrast_stays": "A contrast can't be taken back, since its original waits for it. An expert can drop it.",
    "closed": "Round {n} takes no more entries. Your text is still in the box: copy it for the next round.",
    "target": "The target {name} can't be asked now ({reason}). Nothing was saved, and your text is still in the box. "
    "Try again later, or tell a manager.",
    "question": "The target {name} does not answer {question!r}, so it can't be fooled on it.",
}
"""Why an entry is refused; pages have the same keys in every language."""


class EntryRefused(UserError):
    """An entry can't be taken; `why` is a key of `SENTENCES`, `values` fill it in, so that pages can translate it."""

    def __init__(self, why: str, *, status: int = 422, **values: Any) -> None:
        super().__init__(SENTENCES[why].format(**values), status=status)
        self.why = why
        self.values = values


def check_text(text: str, rules: EntryRules, *, lang: str | None = None) -> str | None:
    """Return a text's language, None where it can't be told; refuse a text that a round's rules don't allow.

    `lang` is what the author says: it is believed where the round takes it.
    """
    length = len(text.strip())
    if not length:
        raise EntryRefused("empty")
    if length < rules.shortest:
        raise EntryRefused("short", got=length, least=rules.shortest)
    if length > rules.longest:
        raise EntryRefused("long", got=length, most=rules.longest)
    if rules.needs_emoji and not emoji.count(text):
        raise EntryRefused("emoji")
    return _language(text, rules, lang)


def _language(text: str, rules: EntryRules, declared: str | None) -> str | None:
    if declared and (not rules.languages or declared in rules.languages):
        return declared
    words = emoji.replace(text, " ")
    letters = sum(char.isalpha() for char in words)
    found, share = language.detect(words) if letters >= FEWEST_LETTERS else language.UNKNOWN
    only = rules.languages[0] if len(rules.languages) == 1 else None
    if share < SURE:
        return only
    if rules.languages and found not in rules.languages:
        raise EntryRefused("language", got=found, wanted=", ".join(rules.languages))
    return found


def check_new(db: Connection, project_id: str, text: str, *, but: str | None = None) -> tuple[str, list[str]]:
    """Return the keys of a text that no entry of the project has or comes near; `but` is the original of a contrast."""
    key, bands = near_keys.equal_key(text), near_keys.bands(text)
    if entries.equal_entry(db, project_id, key):
        raise EntryRefused("equal", status=409)
    for entry_id, other in entries.near_texts(db, project_id, bands).items():
        alike = near_keys.likeness(text, other)
        if entry_id != but and alike >= near_keys.LEAST:
            raise EntryRefused("near", status=409, share=f"{alike:.0%}")
    return key, bands
