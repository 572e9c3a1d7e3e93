"""The endings under which an English or German word counts as the same word.

A lexicon entry in, spellings out. Generous on purpose: a made-up form does no
harm where nobody writes it, and forms that are other words are entries of kind
`harmless`.
"""

from davy.text.lexicons.read import LexiconEntry

_GERMAN: dict[str, tuple[str, ...]] = {
    "s": ("s",),
    "noun": ("e", "n", "en", "s", "es", "er", "ern", "in", "innen"),
    "verb": ("e", "st", "t", "en", "te", "ten", "end", "ende", "enden", "er", "ers", "ern", "erin", "erei", "erisch"),
    "adj": ("e", "er", "es", "en", "em", "ere", "eren", "ste", "sten"),
}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def forms(entry: LexiconEntry) -> list[str]:
    """Return the spellings of an entry, the term itself first; `ä` is also spelt `ae`."""
    term = entry.term
    found = [term, *(_german(term, entry.inflect) if entry.lang == "de" else _english(term, entry.inflect))]
    found += [form.translate(_UMLAUTS) for form in found]
    return list(dict.fromkeys(found))


def _german(term: str, inflect: str) -> list[str]:
    endings = [term + ending for ending in _GERMAN.get(inflect, ())]
    return [*endings, f"ge{term}t", f"ge{term}te", f"ge{term}ten", f"ge{term}ter"] if inflect == "verb" else endings


def _english(term: str, inflect: str) -> list[str]:
    if not inflect:
        return []
    if term.endswith("y") and term[-2:-1] not in ("a", "e", "o", "u"):
        found = [term + "s", term[:-1] + "ies"]
    elif term.endswith(("s", "x", "z", "ch", "sh")):
        found = [term + "es", term + "s"]
    else:
        found = [term + "s"]
    stem = term.removesuffix("e")
    if inflect == "verb":
        found += [stem + ending for ending in ("ing", "in", "ings", "ed", "er", "ers", "able")]
    if inflect == "adj":
        found += [(stem[:-1] + "i" if term.endswith("y") else stem) + ending for ending in ("er", "est", "ly", "ness")]
    return found
