"""Units of one chunk as they are shown: they quote it, keep to the size, and the best one is always among them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_core.records import Unit
from memory_core.snippets import GAP, TINY, Mark, around, choose_units, marks, passage, quoted

TEXT = "# Harbour\n\nThe dentist moved.\nPaint the fence.\nCall the school.\n"
UNITS = [Unit(11, 29, 2, 2), Unit(30, 46, 3, 3), Unit(47, 63, 4, 4)]
LINES = st.lists(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=40), min_size=1, max_size=12
)


def units_of(lines: list[str]) -> list[Unit]:
    """Each line that is not blank."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return [Unit(starts[n], starts[n] + len(line), n, n) for n, line in enumerate(lines) if line.strip()]


def test_the_best_units_are_shown_in_file_order() -> None:
    chosen = choose_units(UNITS, [2, 0, 1], 40)
    assert chosen == [0, 2]
    shown = passage(TEXT, UNITS, chosen, 40)
    assert shown.text == f"The dentist moved.\n{GAP}\nCall the school."
    assert (shown.first_line, shown.last_line) == (2, 4)


def test_neighbours_stand_as_in_the_file() -> None:
    assert passage(TEXT, UNITS, [0, 1], 100).text == TEXT[11:46]


def test_a_unit_that_does_not_fit_leaves_room_for_a_smaller_one() -> None:
    units = [Unit(0, 10, 0, 0), Unit(10, 500, 1, 1), Unit(500, 510, 2, 2)]
    assert choose_units(units, [0, 1, 2], 50) == [0, 2]


def test_a_long_unit_alone_is_cut() -> None:
    text = "word " * 100
    units = [Unit(0, len(text), 0, 0)]
    shown = passage(text, units, choose_units(units, [0], 50), 50)
    assert len(shown.text) <= 50
    assert shown.text.endswith(GAP)
    assert text.startswith(shown.text.removesuffix(GAP))


@given(LINES.filter(lambda lines: any(map(str.strip, lines))), st.data(), st.integers(2, 200))
def test_a_passage_quotes_its_chunk_within_its_size(lines: list[str], data: st.DataObject, max_chars: int) -> None:
    text, units = "\n".join(lines), units_of(lines)
    ranked = data.draw(st.permutations(range(len(units))))
    chosen = choose_units(units, ranked, max_chars)
    assert chosen == sorted(set(chosen))
    assert ranked[0] in chosen
    shown = passage(text, units, chosen, max_chars)
    assert len(shown.text) <= max_chars
    assert (shown.first_line, shown.last_line) == (units[chosen[0]].first_line, units[chosen[-1]].last_line)
    if units[ranked[0]].end - units[ranked[0]].start <= max_chars:
        assert all(line in lines or line == GAP for line in shown.text.split("\n"))


PROSE = (
    "The path begins behind the factory. It does not look promising, but after half an hour the noise is gone. "
    "We were five, with one dog. The hut has a telephone that is painted on a stone! Nobody called. The end."
)


def find(text: str, *words: str) -> list[Mark]:
    return marks(text, (0, len(text)), dict.fromkeys(words, 1.0), lambda word: [word.lower()])


def shown(text: str, max_chars: int, *words: str) -> str:
    whole = 0, len(text)
    return quoted(text, whole, around(text, whole, max_chars, find(text, *words)))


def test_a_long_text_is_cut_around_its_match_and_begins_with_a_sentence() -> None:
    assert (
        shown(PROSE, 60, "telephone", "stone")
        == f"{GAP}The hut has a telephone that is painted on a stone! Nobody{GAP}"
    )
    assert shown(PROSE, 60, "dog") == f"{GAP}We were five, with one dog. The hut has a telephone that{GAP}"


def test_where_more_of_the_question_stands_together_wins() -> None:
    assert "promising" in shown(PROSE, 60, "dog", "promising", "noise", "hour")


def test_what_matches_at_the_end_is_shown_with_whole_sentences_before() -> None:
    assert (
        shown(PROSE, 80, "end") == f"{GAP}The hut has a telephone that is painted on a stone! Nobody called. The end."
    )


def test_without_a_match_the_beginning_is_shown() -> None:
    assert shown(PROSE, 50, "sea") == f"The path begins behind the factory. It does not{GAP}"
    assert shown(PROSE, 1000, "sea") == PROSE


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    text = "and so " * 30 + "came the otter " + "and so on " * 30
    assert shown(text, 50, "otter") == f"{GAP}so and so came the otter and so on and so on and{GAP}"


def test_text_without_spaces_is_cut_anywhere() -> None:
    assert shown("\u6e2f" * 100 + "\u76d0\u7530" + "\u6e2f" * 100, 21, "\u76d0\u7530").count("\u76d0\u7530") == 1


@given(
    st.text(st.sampled_from("ab .!\n\u3002\u6e2f"), max_size=300),
    st.sets(st.sampled_from(["a", "b", "ab", "ba", "bb"])),
    st.integers(1, 120),
    st.data(),
)
def test_what_is_shown_fits_and_holds_the_most_it_can(
    text: str, words: set[str], max_chars: int, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = marks(text, (start, end), dict.fromkeys(words, 1.0), lambda word: [word])
    first, last = around(text, (start, end), max_chars, found)
    assert start <= first <= last <= end
    assert len(quoted(text, (start, end), (first, last))) <= max_chars
    assert (first, last) == (start, end) or end - start > max_chars
    if max_chars >= TINY:
        inside = {mark.stem for mark in found if first <= mark.start and mark.end <= last}
        for mark in found:
            room = [near.stem for near in found if mark.start <= near.start and near.end <= mark.start + max_chars - 2]
            assert len(inside) >= len(set(room))
