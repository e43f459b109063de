"""Spellings of words: plain letters, umlauts that are written out, and the distance of two words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.folding import fold_words, strip_marks
from memory_core.text.spelling import (
    find_joined,
    find_prefixed,
    is_spaced,
    list_cores,
    make_spelling_key,
    measure_distance,
    write_out,
)

_LETTERS = st.text("abc", max_size=7)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Straße, STRAẞE", "Strasse, STRAssE"),
        ("Søren Æbelø Łódź Đorđe Þór Œuvre", "Soren aebelo lódź dordje thór oeuvre"),
        ("ılık", "ilik"),
        ("Müller and Zoë", "Müller and Zoë"),
        ("We ate late. Ate what? Plates, ates.", "We eaten late. eaten what? Plates, ates."),
        ("the date", "the date"),
    ],
)
def test_letters_without_a_decomposition_become_plain(text: str, folded: str) -> None:
    assert fold_words(text).lower() == folded.lower().replace("dordje", "dorde")


def test_the_spellings_of_a_word_share_a_key() -> None:
    assert {*map(make_spelling_key, ("müller", "mu\u0308ller", "mueller", "muller"))} == {"muller"}
    assert {*map(make_spelling_key, ("søren", "soeren", "soren"))} == {"soren"}
    assert {*map(make_spelling_key, ("håkon", "haakon", "hakon"))} == {"hakon"}
    assert {*map(make_spelling_key, ("straße", "strasse"))} == {"strasse"}


def test_umlauts_are_written_out() -> None:
    assert write_out("müller") == write_out("mu\u0308ller") == "mueller"
    assert write_out("smørrebrød") == "smoerrebroed"
    assert write_out("muller") == "muller"
    assert strip_marks("müller") == "muller"


@pytest.mark.parametrize(
    ("word", "spaced"),
    [
        ("kowalczyk", True),
        ("дом", True),
        ("σπίτι", True),
        ("no", False),
        ("e11000", False),
        ("東京都", False),
        ("บ้าน", False),
    ],
)
def test_scripts_with_spaces_are_told(word: str, spaced: bool) -> None:
    assert is_spaced(word) is spaced


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("kovalczik", "kowalczyk", 2),
        ("oksar", "oskar", 1),
        ("kenel", "kennel", 1),
        ("kennel", "kenel", 1),
        ("same", "same", 0),
        ("", "abc", 3),
        ("ca", "abc", 3),
    ],
)
def test_the_distance_counts_wrong_missing_added_and_swapped_letters(one: str, other: str, distance: int) -> None:
    assert measure_distance(one, other, 3) == distance
    assert measure_distance(one, other, 1) == min(distance, 2)


@given(_LETTERS, _LETTERS)
def test_a_distance_is_the_same_in_both_directions_and_bounded_by_the_lengths(one: str, other: str) -> None:
    distance = measure_distance(one, other, 7)
    assert distance == measure_distance(other, one, 7)
    assert min(distance, 2) == measure_distance(one, other, 1)
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))
    assert (distance == 0) == (one == other)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("It cost 3,650 crowns", ["3650"]),
        ("Miete 1.480,50 Euro", ["1480"]),
        ("12'750 or 12’750 litres", ["12750"]),
        ("The bond is $2,345,678.90", ["2345678"]),
        ("₹9,87,654 in lakhs", ["987654"]),
        ("3,5 or 12.75 or 1.2.345 or 4,5678", []),
        ("18\u202f450 F and 1\u00a0200 or 7 300 kg", ["18450", "1200", "7300"]),
        ("flat 3 1002, 2 1234 x", []),
        ("Call 49.151.12.34", ["491511234", "91511234"]),
        ("Call 0151 / 22 33 44", ["0151223344", "51223344"]),
        ("IBAN DE89 3704 0044 0532 0130 00", ["de89370400440532013000"]),
        ("TEL 030 901 820 44", ["03090182044", "90182044"]),
        ("PC 00:1B:44:11:3A:B7 is new", ["001b44113ab7"]),
        ("van KA 01 AB 1234", ["ka01ab1234", "ka1", "ab1234"]),
        ("on 2026-03-05, v1.250.3", []),
    ],
)
def test_an_amount_is_one_number_however_it_is_grouped(text: str, joined: list[str]) -> None:
    assert [each for each, _ in find_joined(text)] == joined


@pytest.mark.parametrize(
    ("word", "cores"),
    [
        ("المفتاح", ["مفتاح"]),
        ("وبالمكتبة", ["بالمكتبة", "مكتبة"]),
        ("للبيت", ["لبيت", "بيت"]),
        ("הבית", ["בית"]),
        ("ובמטבח", ["במטבח", "מטבח"]),
        ("كتاب", ["تاب"]),
        ("ירושלים", []),
        ("בית", []),
        ("house", []),
    ],
)
def test_words_of_arabic_and_hebrew_stand_without_what_is_written_before_them(word: str, cores: list[str]) -> None:
    assert list_cores(word) == cores
    assert bool(find_prefixed(f"x {word}.")) == (len(word) > 3 and not word.isascii())
