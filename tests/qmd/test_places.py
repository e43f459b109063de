"""Places in notes, and the passages that are cut from them by `memory_core.search.passages`."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.settings import Chunking
from memory_core.embeddings.vectors import DEFAULT_CALIBRATION
from memory_core.records import FileStamp, MemoryFile
from memory_core.search.passages import GAP, SPAN, Passage
from memory_qmd.hits import Judge, Place, PlaceFinder
from memory_qmd.queries import extract_words, prepare

NOTE = "# Garden\n\n## Fence\n\nThe fence is of oak.\n\n## Shed\n\nThe shed is blue. It has a gate.\n"
FILE = MemoryFile(path="a.md", source="memory", real_path=Path("/notes/a.md"), stamp=FileStamp(0, 0))


def finder(text: str, **counts: int) -> PlaceFinder:
    question = prepare(text, extract_words(text), counts, 10)
    return PlaceFinder(question, Chunking(), Judge(question, "words", DEFAULT_CALIBRATION, chunks=100))


def find(asked: PlaceFinder, text: str, *, line: int | None, max_chars: int) -> tuple[Place, Passage] | None:
    place = asked.find(text, line=line, title="a.md", evidence=None)
    return None if place is None else (place, asked.cut(place, FILE, max_chars))


def cut(question: str, text: str, *, max_chars: int, line: int | None = None) -> Passage:
    found = find(finder(question), text, line=line, max_chars=max_chars)
    assert found is not None
    return found[1]


def test_a_passage_is_cut_around_the_words() -> None:
    passage = cut("what colour is the shed", NOTE, max_chars=45)
    assert (passage.first_line, passage.last_line, passage.snippet) == (
        7,
        9,
        "## Shed\n\nThe shed is blue. It has a gate.",
    )


def test_without_words_the_line_decides() -> None:
    found = find(finder("Zaun"), NOTE, line=9, max_chars=45)
    assert found is not None
    place, passage = found
    assert (passage.first_line, passage.snippet, place.covered) == (
        7,
        "## Shed\n\nThe shed is blue. It has a gate.",
        0,
    )


def test_a_blank_note_has_no_passage() -> None:
    assert find(finder("shed"), "\n \n", line=1, max_chars=100) is None


LIST = "- The fence is of oak.\n- The gate squeaks.\n- The hinges of the gate are of brass.\n- The shed is blue.\n"


def test_the_best_units_stand_in_file_order_with_a_gap_between() -> None:
    passage = cut("fence hinges", LIST, max_chars=70)
    assert passage.snippet == f"- The fence is of oak.\n{GAP}\n- The hinges of the gate are of brass."
    assert (passage.first_line, passage.last_line) == (1, 3)


def test_neighbours_stand_as_in_the_file() -> None:
    assert cut("gate hinges", LIST, max_chars=65).snippet == "\n".join(LIST.split("\n")[1:3])


def test_a_unit_that_does_not_fit_leaves_room_for_a_smaller_one() -> None:
    text = f"- The fence is of oak.\n- The fence {'was painted ' * 10}green.\n- The fence leans.\n"
    passage = cut("fence", text, max_chars=60)
    assert passage.snippet == f"- The fence is of oak.\n{GAP}\n- The fence leans."


def test_a_unit_that_is_too_long_is_cut_around_the_words_of_the_question() -> None:
    text = "\n".join(f"and so on {n} and so on" for n in range(20)) + "\ntill the otter came\n" + "and so on\n" * 9
    passage = cut("otter", text, max_chars=60)
    assert "otter" in passage.snippet
    assert len(passage.snippet) <= 60
    assert passage.first_line <= 21 <= passage.last_line


@given(st.text(), st.integers(1, 50) | st.none(), st.integers(50, 200))
def test_any_note_gives_a_passage_within_it(text: str, line: int | None, max_chars: int) -> None:
    text = text.replace("\r", " ")
    found = find(finder("shed fence"), text, line=line, max_chars=max_chars)
    if found is None:
        return
    place, passage = found
    assert 1 <= passage.first_line <= passage.last_line <= len(text.split("\n"))
    assert len(passage.snippet) <= max_chars
    assert 0 <= place.covered <= 1


@given(
    st.lists(st.sampled_from(["The shed is blue.", "A fence.", "", "# Garden", "- The gate of the fence squeaks."])),
    st.integers(50, 200),
)
def test_a_passage_quotes_its_note(lines: list[str], max_chars: int) -> None:
    found = find(finder("shed fence"), "\n".join(lines), line=None, max_chars=max_chars)
    if found is None:
        return
    passage = found[1]
    shown = "\n".join(lines[passage.first_line - 1 : passage.last_line])
    assert all(line.strip(GAP) in shown for line in passage.snippet.split("\n"))
    assert passage.last_line - passage.first_line <= SPAN
