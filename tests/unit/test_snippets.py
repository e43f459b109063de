"""Units of one chunk as they are shown: they quote it, keep to the size, and the best one is always among them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_core.records import Unit
from memory_core.snippets import GAP, choose_units, passage

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
    if len(shown.text) < max_chars:
        assert all(line in lines or line == GAP for line in shown.text.split("\n"))
