"""Token ids made of the ids of words: the same as the tokenizer gives for the whole text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE

from memory_core.embeddings import word_tokens
from memory_core.embeddings.static import _read_wheel
from memory_core.embeddings.word_tokens import MARK, WordTokens, cuts_at_words
from tests.benchmarks.daily_notes import compose


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    loaded = _read_wheel()
    assert loaded is not None
    return loaded[1]


def encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def test_the_model_of_the_wheel_is_cut_at_words(tokenizer: Tokenizer) -> None:
    assert cuts_at_words(tokenizer)


PIECES = st.sampled_from(
    [
        "word",
        " ",
        "  ",
        "\n",
        "\t",
        MARK,
        "\0",
        "-",
        "E11000",
        "</s>",
        "<s>",
        "naïve",
        "漢字かな",
        "🙂",
        "\u200d",
        ".",
        "'s",
    ]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(texts=st.lists(TEXTS, max_size=5))
def test_the_ids_are_those_of_whole_texts(tokenizer: Tokenizer, texts: list[str]) -> None:
    words = WordTokens(tokenizer)
    assert words.find_ids(texts) == encode(tokenizer, texts)
    assert [words._cut(text) for text in texts if "s>" not in text] == [
        ids for text, ids in zip(texts, encode(tokenizer, texts), strict=True) if "s>" not in text
    ]
    assert words.find_ids(texts) == encode(tokenizer, texts)  # now of words that are known


def test_only_some_words_are_kept(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_tokens, "MOST_WORDS", 20)
    words = WordTokens(tokenizer)
    texts = [text for _, text in islice(compose(3), 3)]
    assert words.find_ids(texts) == encode(tokenizer, texts)
    assert 0 < len(words) <= 20
    words.find_ids(["x" * 1000])
    assert "x" * 1000 not in {key.lstrip(MARK) for key in words}


def test_a_tokenizer_whose_tokens_go_over_words_is_not_cut() -> None:
    vocabulary = {MARK: 0, "a": 1, f"a{MARK}": 2, "<unk>": 3}
    assert not cuts_at_words(Tokenizer(BPE(vocab=vocabulary, merges=[("a", MARK)], unk_token="<unk>")))


def test_a_tokenizer_that_normalises_otherwise_is_not_cut() -> None:
    assert not cuts_at_words(Tokenizer(BPE(vocab={MARK: 0, "a": 1, "<unk>": 2}, merges=[], unk_token="<unk>")))
