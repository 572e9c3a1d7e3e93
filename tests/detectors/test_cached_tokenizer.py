"""Token ids word by word are those that the tokenizer gives for the whole text."""

import json
import random

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from davy.detectors import cached_tokenizer
from davy.detectors.cached_tokenizer import CachedTokenizer
from davy.detectors.embedded import shipped_names, weights_folder

WORDS = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "grumble", "##fop", "##s", "lobster", "don", "t", "'",
    ".", ",", "a", "!", "##a", "b", "##b", "[url]", "[", "]", "url", "-", "9", "##9",
]  # fmt: skip
STRANGE = [
    " ", "  ", "\t", "\n", "\r", "\x00", "\x0b", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\u200b",
    "\u0301", "é", "ß", "Σ", "ﬁ", "½", "´", "🦞", "⚠️", "👩🏽\u200d🚀", "月", "㊗", "が", "[CLS]", "@user",
    "https://", "www.", "www. ", "'", "…", "don't", "Grumblefops,", "THE", "a.b", "(the)", "9-9",
    "x" * 70, "\ud7ff", "\U0010ffff",
]  # fmt: skip


def tokenizer(*steps, added=()) -> Tokenizer:
    made = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Sequence(list(steps)) if steps else None
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.add_tokens([AddedToken(it, normalized=True) for it in added])
    return made


def texts(n: int) -> list[str]:
    chance = random.Random(6)
    pool = [*STRANGE, *STRANGE[:3] * 20, *(chr(chance.randrange(0x20, 0x3100)) for _ in range(200)), *WORDS]
    return ["".join(chance.choices(pool, k=chance.randint(0, 25))) for _ in range(n)]


URLS = normalizers.Replace(Regex(r"https?://\S+|www\.\S+"), "[url]")


@pytest.mark.parametrize(
    ("made", "plain"),
    [
        (tokenizer(normalizers.BertNormalizer()), True),
        (tokenizer(normalizers.NFKC(), URLS, normalizers.BertNormalizer(), normalizers.Replace("@user", "a")), True),
        (tokenizer(normalizers.BertNormalizer(lowercase=False)), True),
        (tokenizer(), True),
        (tokenizer(normalizers.BertNormalizer(), added=["🦞", "lobster"]), False),
        (tokenizer(normalizers.BertNormalizer(), normalizers.Replace("fop", "a")), False),
    ],
)
def test_ids_are_the_tokenizers_own(made, plain):
    mine = CachedTokenizer(made)
    assert mine.by_word
    assert (mine._words._model is not None) == plain
    given = texts(1500)
    assert mine.ids(given) == [it.ids for it in made.encode_batch(given)]
    assert mine.ids(given) == [it.ids for it in made.encode_batch(given)]


@pytest.mark.parametrize(
    "made",
    [
        tokenizer(normalizers.Replace(Regex(r"\s+"), " ")),
        tokenizer(normalizers.Replace(Regex(r"a.b"), "c")),
        tokenizer(normalizers.Replace("a b", "c")),
        tokenizer(normalizers.Replace("a", " b ")),
        tokenizer(normalizers.Strip()),
        tokenizer(added=["the lobster"]),
        Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")),
    ],
)
def test_a_tokenizer_that_may_look_across_spaces_is_asked_itself(made):
    mine = CachedTokenizer(made)
    assert not mine.by_word
    given = texts(50)
    assert mine.ids(given) == [it.ids for it in made.encode_batch(given)]


def test_what_is_kept_is_bounded_and_nothing_is_lost_when_it_is_full(monkeypatch):
    monkeypatch.setattr(cached_tokenizer, "KEPT", 5)
    made = tokenizer(normalizers.BertNormalizer())
    mine = CachedTokenizer(made)
    given = [*texts(200), "", "the " * 50, "a" * 5000]
    for _ in range(2):
        assert mine.ids(given) == [it.ids for it in made.encode_batch(given)]
        assert len(mine._words._known) <= 5
    assert mine.ids([]) == []


def test_one_text_is_left_to_the_tokenizer():
    made = tokenizer(normalizers.BertNormalizer())
    mine = CachedTokenizer(made)
    assert mine.ids(["the grumblefops"]) == [made.encode("the grumblefops").ids]
    assert mine._words is None
    mine.ids(["the lobster"] * 40)
    assert set(mine._words._known) == {"the", "lobster"}


def test_the_shipped_tokenizers_give_the_same_ids():
    for path in [weights_folder(name) / "tokenizer.json" for name in shipped_names()]:
        made = Tokenizer.from_file(str(path))
        made.no_padding()
        made.no_truncation()
        mine = CachedTokenizer(made)
        assert mine.by_word == (json.loads(path.read_text())["model"]["type"] == "WordPiece")
        given = texts(800)
        assert mine.ids(given) == [it.ids for it in made.encode_batch(given)]
