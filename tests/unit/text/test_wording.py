"""A wording is found in every form of its letters, at the characters in which it stands."""

from __future__ import annotations

from itertools import pairwise
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.folding import fold
from memory_core.text.wording import Wording, _bound_pieces, _continues

# Letters whose forms differ, and signs that join them: what text of any letters rarely holds.
ODD = st.text(
    "aAeiIıİsSßẞſ ﬁﬀﬃ１Ａa\u0301\u0323\u0307\u0345éÉΣςσĳ½…\u00a0\u3000\u200b\u00ad\ufe0f\u0bc6\u0bbe"
    "ㄱㅏ가각ᄀ\u1161\u11a8か\u3099が\n\t\udc80😀ﷺ"
)
TEXTS = st.one_of(ODD, st.text(), st.text("ab \n"))


@pytest.mark.parametrize(
    ("text", "sought", "spans"),
    [
        ("the ﬁle", "file", ["ﬁle"]),
        ("the file", "ﬁle", ["file"]),
        ("a ﬁle", "ile", ["ﬁle"]),
        ("ﬀ", "f", ["ﬀ"]),
        ("pin １２３４!", "PIN 1234", ["pin １２３４"]),
        ("pin 1234", "ＰＩＮ　１２３４", ["pin 1234"]),
        ("cafe\u0301 x", "CAFÉ", ["cafe\u0301"]),
        ("café", "cafe\u0301", ["café"]),
        ("café", "cafe", []),
        ("Straße, STRASSE, STRAẞE", "strasse", ["Straße", "STRASSE", "STRAẞE"]),
        ("İSTANBUL istanbul ıstanbul", "Istanbul", ["İSTANBUL", "istanbul", "ıstanbul"]),
        ("hun\u00adter\u200b2!", "hunter2", ["hun\u00adter\u200b2"]),
        ("각", "가", []),
        ("ㄱㅏ 가", "가", ["ㄱㅏ", "가"]),
        ("one\r\n\u00a0 two", "one two", ["one\r\n\u00a0 two"]),
        ("aaaa", "aa", ["aa", "aa"]),
        ("a.b axb", "A.B", ["a.b"]),
        ("x", "\u200b", []),
    ],
)
def test_places(text: str, sought: str, spans: list[str]) -> None:
    wording = Wording(sought)
    assert [text[start:end] for start, end in wording.find_spans(text)] == spans
    assert wording.stands_in(text) == bool(spans)


@given(TEXTS)
def test_a_text_folds_piece_by_piece(text: str) -> None:
    pieces = [text[start:end] for start, end in pairwise(_bound_pieces(text))]
    assert "".join(pieces) == text
    assert "".join(map(fold, pieces)) == fold(text)


def test_every_character_continues_a_piece_or_leaves_the_one_before_alone() -> None:
    before = ["a", "i", "e\u0301", "가", "ᄀ", "か", "\u0bc6", "\u09c7", "\u1025", "s", "\udc80"]
    folded = [*map(fold, before)]
    ideographs = {*range(0x3400, 0xA000), *range(0xAC00, 0xD7A4)}  # each is like the others
    wrong = []
    for number in (each for each in range(0x80, 0x1FFFF) if each not in ideographs):
        character = chr(number)
        if not _continues(character):
            after = fold(character)
            if fold("".join(each + character for each in before)) != "".join(each + after for each in folded):
                wrong.append(character)
    assert not wrong


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.booleans())
def test_what_was_put_into_a_text_is_found(before: str, sought: str, after: str, form: str, upper: bool) -> None:
    wording = Wording(sought)
    written = normalize(form, sought)  # type: ignore[arg-type]
    text = f"{before}|{written.upper() if upper and sought.isascii() else written}|{after}"
    assert wording.stands_in(text) == bool(wording.folded)
    spans = [*wording.find_spans(text)]
    assert spans == sorted(spans)
    assert all(start < end for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(wording.stands_in(text[start:end]) for start, end in spans)
    replaced = wording.replace(text, "\0")
    if "\0" not in f"{text}{wording.folded}":
        assert not any(map(wording.stands_in, replaced.split("\0")))
        assert replaced.count("\0") == len(spans)


@given(st.text("ab \n", max_size=30), st.text("ab", min_size=1, max_size=3))
def test_plain_text_is_found_as_everybody_would(text: str, sought: str) -> None:
    assert Wording(sought).replace(text, "-") == text.replace(sought, "-")
