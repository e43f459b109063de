"""Passages: they quote their file, keep to the size, show the best unit whatever its length, and no unit twice."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memory_core.search.passages import GAP, SHARED, SPAN, Mark, PlacedUnit, find_marks, pack

LINES = [
    "# Harbour",
    "",
    "The dentist moved.",
    "Paint the fence.",
    "Call the school.",
    "",
    *["More."] * 30,
    "The end is near.",
]


def unit(
    line: int, *, index: int | None = None, lines: list[str] = LINES, path: str = "a.md", chunk: int = 0
) -> PlacedUnit:
    """The unit that a line is, from 1; its index counts lines that are not blank."""
    start = sum(len(text) + 1 for text in lines[: line - 1])
    place = sum(bool(text.strip()) for text in lines[: line - 1]) if index is None else index
    text = "\n".join(lines)
    return PlacedUnit(line, line, start, start + len(lines[line - 1]), path, "memory", chunk, place, text)


def cut_all(ranked: list[PlacedUnit], max_chars: int, *words: str) -> list[PlacedUnit]:
    """Cut to a length around some words."""

    def marked(unit: PlacedUnit) -> list[Mark]:
        return find_marks(unit.text, (unit.start, unit.end), dict.fromkeys(words, 1.0), lambda word: [word.lower()])

    return [unit.cut(max_chars, marked) for unit in ranked]


def test_what_does_not_match_opens_no_passage_beside_its_chunks() -> None:
    far = [unit(3), replace(unit(37), matches=False), replace(unit(37, path="b.md"), matches=False)]
    assert [[own.path for own in passage.units] for passage in pack(far, count=6, max_chars=100)] == [
        ["a.md"],
        ["b.md"],
    ]
    beside = [unit(3), replace(unit(4), matches=False)]
    assert [passage.snippet for passage in pack(beside, count=6, max_chars=100)] == [
        "The dentist moved.\nPaint the fence."
    ]


def test_units_of_one_place_make_one_passage_in_file_order() -> None:
    (passage,) = pack([unit(5), unit(3)], count=6, max_chars=100)
    assert passage.snippet == f"The dentist moved.\n{GAP}\nCall the school."
    assert (passage.first_line, passage.last_line) == (3, 5)


def test_neighbours_stand_as_in_the_file() -> None:
    (passage,) = pack([unit(4), unit(3)], count=6, max_chars=100)
    assert passage.snippet == "The dentist moved.\nPaint the fence."


def test_neighbours_of_two_chunks_have_no_gap() -> None:
    (passage,) = pack([unit(4, chunk=1), unit(3)], count=6, max_chars=100)
    assert passage.snippet == "The dentist moved.\nPaint the fence."


def test_a_heading_and_a_blank_line_between_are_shown() -> None:
    (passage,) = pack([unit(3), unit(1)], count=6, max_chars=100)
    assert passage.snippet == "# Harbour\n\nThe dentist moved."


def test_places_far_apart_or_in_other_files_are_passages_of_their_own() -> None:
    far = pack([unit(3), unit(37), unit(3, path="b.md"), replace(unit(3), source="sessions")], count=6, max_chars=200)
    assert [(passage.units[0].path, passage.first_line) for passage in far] == [
        ("a.md", 3),
        ("a.md", 37),
        ("b.md", 3),
        ("a.md", 3),
    ]


def test_no_more_passages_than_asked_for_but_those_are_filled() -> None:
    (passage,) = pack([unit(3), unit(3, path="b.md"), unit(4)], count=1, max_chars=200)
    assert [found.first_line for found in passage.units] == [3, 4]


def test_a_unit_that_is_too_long_alone_is_cut_and_others_get_their_own_place() -> None:
    lines = ["word " * 100, "Paint the fence."]
    first, second = pack(cut_all([unit(1, lines=lines), unit(2, lines=lines)], 50), count=6, max_chars=50)
    assert len(first.snippet) <= 50
    assert first.snippet.endswith(GAP)
    assert lines[0].startswith(first.snippet.removesuffix(GAP))
    assert second.snippet == "Paint the fence."


def test_a_unit_that_does_not_fit_leaves_room_for_a_smaller_one() -> None:
    lines = ["Paint the fence.", "word " * 20, "Call the school."]
    ranked = cut_all([unit(1, lines=lines), unit(2, lines=lines), unit(3, lines=lines)], 60)
    (passage, long) = pack(ranked, count=2, max_chars=60)
    assert passage.snippet == f"Paint the fence.\n{GAP}\nCall the school."
    assert long.snippet.startswith("word")


def test_a_unit_that_is_cut_around_its_match_tells_the_lines_that_are_shown() -> None:
    text = "The fence was green for years and\nnobody minded that at all. Since\nMay the gate is blue, though.\nSo it goes."
    whole = PlacedUnit(5, 8, 0, len(text), "a.md", "memory", 0, 0, text)
    (passage,) = pack(cut_all([whole], 50, "gate", "blue"), count=6, max_chars=50)
    assert passage.snippet == f"{GAP}Since\nMay the gate is blue, though.\nSo it goes."
    assert (passage.first_line, passage.last_line) == (6, 8)


def test_nothing_is_packed_from_nothing() -> None:
    assert pack([], count=6, max_chars=100) == []


def units(lengths: list[int], *, path: str = "memory/a.md") -> list[PlacedUnit]:
    """Units of one chunk, a line each."""
    text = "\n".join(chr(97 + index % 26) * length for index, length in enumerate(lengths))
    made, start = [], 0
    for index, length in enumerate(lengths):
        made.append(PlacedUnit(index + 1, index + 1, start, start + length, path, "memory", 0, index, text))
        start += length + 1
    return made


def test_one_place_may_fill_two_passages() -> None:
    first, second = pack(units([60, 60]), count=6, max_chars=100)
    assert (first.first_line, second.first_line) == (1, 2)


def test_a_long_list_shows_the_best_unit_of_places_that_no_longer_fit() -> None:
    best = [unit for number in range(SHARED) for unit in units([99], path=f"memory/{number}.md")]
    later = units([50, 40], path="memory/later.md")
    passages = pack([*best, *units([80], path="memory/x.md"), *later], count=100, max_chars=100)
    assert [len(passage.snippet) for passage in passages] == [99] * SHARED + [80, 50]


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=60), min_size=1, max_size=40
    ),
    st.data(),
    st.integers(1, 8),
    st.integers(2, 300),
)
def test_passages_quote_within_their_size(lines: list[str], data: st.DataObject, count: int, max_chars: int) -> None:
    numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
    ranked = [unit(number, lines=lines) for number in data.draw(st.permutations(numbers))]
    passages = pack(cut_all(ranked, max_chars), count=count, max_chars=max_chars)
    assert len(passages) <= count
    assert bool(passages) == bool(ranked)
    if ranked:
        assert ranked[0].index in {shown.index for shown in passages[0].units}
    shown = [number for passage in passages for number in (found.first_line for found in passage.units)]
    assert len(shown) == len(set(shown))
    for passage in passages:
        assert len(passage.snippet) <= max_chars
        assert passage.last_line - passage.first_line <= SPAN
        assert passage.units == sorted(passage.units)
        if not any(shown.cut_before or shown.cut_after for shown in passage.units):
            assert all(line in lines or line == GAP for line in passage.snippet.split("\n"))
