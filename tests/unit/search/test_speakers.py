"""Lines that the other one of two speakers says."""

from __future__ import annotations

import pytest

from memory_core.search.candidates import Candidate
from memory_core.search.question import Question
from memory_core.search.scoring import find_other_speakers
from memory_core.stores.values import IndexedChunk
from memory_core.text.units import split_units

TWO = "- Anna: I cook soup.\n- Ben: I cook pasta.\n- Anna: With leeks.\n- **Ben:** With basil.\n- Nobody says this."


def find(text: str, question: str, path: str = "memory/2026-01-02.md") -> list[str]:
    """Return the lines that somebody else says than the question names."""
    units = split_units(text)
    chunk = IndexedChunk(1, path, "memory", None, 1, "", text, units)
    places = [(0, index) for index in range(len(units))]
    others = find_other_speakers(Question(words=(), phrases=(), chunks=1, text=question), [Candidate(chunk)], places)
    return [text[unit.start : unit.end].strip() for unit, is_other in zip(units, others, strict=True) if is_other]


@pytest.mark.parametrize("question", ["What does Anna cook?", "what does anna cook", "Anna's recipe"])
def test_the_lines_of_the_one_who_is_not_asked_about_are_found(question: str) -> None:
    assert find(TWO, question) == ["- Ben: I cook pasta.", "- **Ben:** With basil."]


@pytest.mark.parametrize("question", ["What do they cook?", "What did Anna and Ben cook?", "What does Tom cook?", ""])
def test_a_question_that_names_nobody_or_both_tells_nothing(question: str) -> None:
    assert find(TWO, question) == []


def test_in_a_meeting_of_three_others_tell_it_as_well() -> None:
    assert find(TWO + "\n- Cleo: No soup.\n- Cleo: Never.", "What does Anna cook?") == []


def test_a_label_that_stands_once_is_no_speaker() -> None:
    assert find("- Anna: Hello.\n- Phone: 555\n- Anna: Bye.", "What is the phone number of Anna?") == []


def test_names_of_several_words_count_as_a_whole() -> None:
    text = "- Anna Berg: Soup.\n- Ben Tal: Pasta.\n- Anna Berg: Leeks.\n- Ben Tal: Basil."
    assert find(text, "What does Anna Berg cook?") == ["- Ben Tal: Pasta.", "- Ben Tal: Basil."]
    assert find(text, "What does Anna Karenina cook?") == []
