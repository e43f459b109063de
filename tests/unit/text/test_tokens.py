"""The token estimate, cuts of long text, and the characters that count as CJK."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.tokens import CHARACTERS, WORD_CHARACTERS, count_quarters, cut_long, estimate_tokens

# The classes by which indexes were cut before there was one definition, and the one that requests were packed by.
CHUNKED = (
    "\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"
)
PAIRED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
PACKED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef\U00020000-\U0003ffff"

ALL = "".join(map(chr, range(sys.maxunicode + 1)))


def members(characters: str) -> set[str]:
    return set(re.findall(f"[{characters}]", ALL))


def test_indexes_that_were_cut_before_stay_good() -> None:
    assert members(CHARACTERS) == members(CHUNKED)
    assert members(WORD_CHARACTERS) == members(PAIRED)


def test_requests_are_packed_no_fuller_than_before() -> None:
    assert members(PACKED) < members(CHARACTERS)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("会议室", 3), ("会 a", 2), ("ひらがな カタカナ", 9), ("한국어", 3)],
)
def test_the_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_lengths_add_up(a: str, b: str) -> None:
    assert count_quarters(a) + count_quarters(b) == count_quarters(a + b)


@given(st.text(alphabet="ab ,.。漢字ー\t", max_size=400), st.integers(1, 30), st.sets(st.integers(0, 400)))
def test_long_text_is_cut_without_loss(text: str, max_tokens: int, sentences: set[int]) -> None:
    pieces = [text[start:end] for start, end in cut_long(text, max_tokens, sentences=sorted(sentences))]
    assert "".join(pieces) == text
    assert all(piece and estimate_tokens(piece) <= max_tokens for piece in pieces)


def test_long_text_is_cut_at_clauses_then_at_spaces() -> None:
    clauses = "one two three, four five six seven eight"
    assert [clauses[a:b] for a, b in cut_long(clauses, 5)] == ["one two three,", " four five six ", "seven eight"]


def test_long_text_is_cut_where_sentences_begin_unless_little_would_stand_before_it() -> None:
    text = "Ask me. She sings in a choir, he does not"
    assert [text[a:b] for a, b in cut_long(text, 8, sentences=[0, 8])] == [
        "Ask me. She sings in a choir,",
        " he does not",
    ]
    text = "Ask me now. She sings in a choir, he does not"
    assert [text[a:b] for a, b in cut_long(text, 9, sentences=[0, 12])] == [
        "Ask me now. ",
        "She sings in a choir, he does not",
    ]


def test_cjk_counts_a_token_a_character() -> None:
    assert estimate_tokens("数据库") == 3
    assert estimate_tokens("database") == 2
    assert estimate_tokens("x") == 1
