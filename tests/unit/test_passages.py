"""Units put together by place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_core.passages import SHARED, SPAN, Piece, pack
from memory_core.snippets import GAP


def pieces(lengths: list[int], *, path: str = "memory/a.md") -> list[Piece]:
    """Units of one chunk, a line each."""
    text = "\n".join(chr(97 + index % 26) * length for index, length in enumerate(lengths))
    made, start = [], 0
    for index, length in enumerate(lengths):
        made.append(Piece(index + 1, index + 1, start, start + length, path, "memory", 0, index, text))
        start += length + 1
    return made


def test_neighbours_stand_as_in_the_file_and_others_are_joined_by_a_gap() -> None:
    units = pieces([3, 4, 5])
    (passage,) = pack([units[2], units[0]], count=6, max_chars=700)
    assert passage.snippet == f"aaa\n{GAP}\nccccc"
    (passage,) = pack([units[1], units[0]], count=6, max_chars=700)
    assert passage.snippet == "aaa\nbbbb"


def test_one_place_may_fill_two_passages() -> None:
    first, second = pack(pieces([60, 60]), count=6, max_chars=100)
    assert (first.first_line, second.first_line) == (1, 2)


def test_a_unit_longer_than_a_snippet_is_cut() -> None:
    (passage,) = pack(pieces([300]), count=1, max_chars=100)
    assert len(passage.snippet) == 100
    assert passage.snippet.endswith(GAP)


def test_far_units_of_a_file_stand_apart() -> None:
    units = pieces([5] * 40)
    assert len(pack([units[0], units[39]], count=6, max_chars=700)) == 2


def test_a_long_list_shows_the_best_unit_of_places_that_no_longer_fit() -> None:
    best = [piece for number in range(SHARED) for piece in pieces([99], path=f"memory/{number}.md")]
    later = pieces([50, 40], path="memory/later.md")
    passages = pack([*best, *pieces([80], path="memory/x.md"), *later], count=100, max_chars=100)
    assert [len(passage.snippet) for passage in passages] == [99] * SHARED + [80, 50]


@given(
    st.lists(st.integers(1, 200), min_size=1, max_size=60).flatmap(
        lambda lengths: st.tuples(st.just(lengths), st.permutations(range(len(lengths))))
    ),
    st.integers(1, 8),
    st.integers(50, 400),
)
def test_passages_keep_their_bounds_and_show_nothing_twice(
    made: tuple[list[int], list[int]], count: int, max_chars: int
) -> None:
    lengths, order = made
    units = pieces(lengths)
    passages = pack([units[index] for index in order], count=count, max_chars=max_chars)
    shown = [piece for passage in passages for piece in passage.pieces]
    assert 1 <= len(passages) <= count
    assert len(shown) == len(set(shown))
    assert passages[0].pieces.count(units[order[0]]) == 1
    for passage in passages:
        assert len(passage.snippet) <= max_chars
        assert passage.pieces == sorted(passage.pieces)
        assert passage.last_line - passage.first_line <= SPAN
        if len(passage.pieces) > 1:
            assert passage.length == len(passage.snippet)
