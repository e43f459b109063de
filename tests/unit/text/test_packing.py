"""Texts packed by the words that many of them share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.packing import LONGEST_WORD, MOST_BYTES, RECURS, choose_words, pack, unpack

TEXTS = [f"- The gate of field {number} was closed after the harvest.\n- The fence is green." for number in range(90)]
PLAIN = st.text(st.characters(exclude_categories=["Cs"]))


@given(PLAIN, st.lists(PLAIN))
def test_a_text_comes_back_whatever_the_words(text: str, others: list[str]) -> None:
    words = choose_words(others * RECURS)
    assert unpack(pack(text, words), words) == text


def test_words_that_texts_share_make_them_shorter() -> None:
    words = choose_words(TEXTS)
    assert len(pack(TEXTS[0], words)) < len(pack(TEXTS[0], b"")) * 0.7
    assert words.endswith(b"The - ")  # the most frequent
    assert b"harvest.\n" in words


def test_rare_and_long_words_are_left_out() -> None:
    rare, long = "zebra", "x" * (LONGEST_WORD + 1)
    words = choose_words([f"{rare} {long} barn"] * 2 + [f"{long} barn"])
    assert words == b"barn"
    assert choose_words([]) == b""
    assert len(choose_words([" ".join(f"word{number}" for number in range(9000))] * RECURS)) <= MOST_BYTES


def test_lone_surrogates_harm_no_choice() -> None:
    assert choose_words(["\ud800bad word "] * RECURS) in {b"?bad word ", b"word ?bad "}


@pytest.mark.parametrize(
    "change", [lambda blob: blob[:-1], lambda blob: blob + b"x", lambda _: b"", lambda blob: b"\xff" + blob]
)
def test_what_is_no_packed_text_is_told(change: object) -> None:
    words = choose_words(TEXTS)
    assert callable(change)
    with pytest.raises(ValueError):  # noqa: PT011 -- of zlib, of UTF-8, or ours
        unpack(change(pack(TEXTS[0], words)), words)
