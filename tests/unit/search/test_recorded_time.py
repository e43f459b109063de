"""Words of a question that only say that it asks of the past."""

from __future__ import annotations

import pytest

from memory_core.search.recorded_time import leave_out_time


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Originally, which port did it listen on?", "which port did it listen on?"),
        ("Which port did it listen on back then?", "Which port did it listen on?"),
        ("Who was, at that time, the lead?", "Who was, the lead?"),
        ("What was the rent at the time?", "What was the rent?"),
        ("At first we used what?", "we used what?"),
        ("As of March 1st, 2026, what is the rent?", "what is the rent?"),
        ("the rent as of 2026-03-01", "the rent"),
        ("rent as of 1 March 2026?", "rent?"),
        ("rent as of March", "rent"),
        ("当时的房租是多少", "的房租是多少"),
    ],
)
def test_is_left_out(text: str, left: str) -> None:
    assert leave_out_time(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "What must be done before June?",
        "What did we plan in March 2026?",
        "Which tool did we use to answer tickets?",
        "What happened at the time of the move?",
        "Is it love at first sight?",
        'Which note says "originally"?',
        "as of the new contract, who pays?",
        "as of 1 marching band",
        "originally",
        "as-of queries",
        "who  asked for two  spaces ?",
        "",
    ],
)
def test_what_may_be_asked_about_stays(text: str) -> None:
    assert leave_out_time(text) == text
