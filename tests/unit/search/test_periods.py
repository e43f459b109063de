"""The period that a question speaks of."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.search.periods import Period, find_named_period, find_period

TODAY = date(2026, 3, 18)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what happened on 2026-01-12?", "2026-01-12", "2026-01-12"),
        ("what did we decide on 8 May 2023?", "2023-05-08", "2023-05-08"),
        ("notes of May 8th, 2023", "2023-05-08", "2023-05-08"),
        ("the review on December 3rd", "2025-12-03", "2025-12-03"),
        ("the review on March 3", "2026-03-03", "2026-03-03"),
        ("trips in May 2023", "2023-05-01", "2023-05-31"),
        ("trips in 2023-02", "2023-02-01", "2023-02-28"),
        ("what did I buy in April?", "2025-04-01", "2025-04-30"),
        ("2023年5月8日に何をした？", "2023-05-08", "2023-05-08"),
        ("2023年5月的会议", "2023-05-01", "2023-05-31"),
        ("what did I do yesterday", "2026-03-17", "2026-03-17"),
        ("deploys last week", "2026-03-09", "2026-03-15"),
        ("deploys this month", "2026-03-01", "2026-03-31"),
        ("the budget of last year", "2025-01-01", "2025-12-31"),
        ("three days ago", "2026-03-15", "2026-03-15"),
        ("2 weeks ago", "2026-03-01", "2026-03-07"),
        ("4 months ago", "2025-11-01", "2025-11-30"),
        ("the call on Tuesday", "2026-03-17", "2026-03-17"),
        ("last Wednesday's call", "2026-03-11", "2026-03-11"),
        ("on 2023-02-30, a day that never was", "2023-02-01", "2023-02-28"),
        ("what changed in 2024?", "2024-01-01", "2024-12-31"),
    ],
)
def test_a_period_is_understood(text: str, first: str, last: str) -> None:
    assert find_period(text, TODAY) == Period(date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "which port?",
        "may I go?",
        "we march on",
        "version 2.20.26",
        "error 2023",
    ],
)
def test_no_period_where_none_is_meant(text: str) -> None:
    assert find_period(text, TODAY) is None


@given(st.dates(min_value=date(1950, 1, 1), max_value=date(2090, 12, 31)))
def test_every_iso_day_is_its_own_period(day: date) -> None:
    found = find_period(f"notes of {day.isoformat()}, please", TODAY)
    if 1900 <= day.year < 2100:
        assert found == Period(day, day)
        assert day.isoformat() in found


@given(st.text(), st.dates())
def test_any_text_on_any_day_is_read_without_error(text: str, today: date) -> None:
    found = find_period(text, today)
    assert found is None or found.first <= found.last


def test_the_words_that_name_a_period() -> None:
    assert find_named_period("What changed in April 2022, exactly?", TODAY) == (
        Period(date(2022, 4, 1), date(2022, 4, 30)),
        "april 2022",
    )
    assert find_named_period("What changed?", TODAY) is None
