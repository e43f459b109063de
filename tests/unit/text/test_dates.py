"""Days, times and periods that are written in words and figures."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import InvalidArgument
from memory_core.text.dates import (
    Period,
    find_day,
    find_period,
    leave_out_time,
    parse_day,
    parse_instant,
)

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
    found = find_period(text, TODAY)
    assert found is not None
    assert found[0] == Period(date.fromisoformat(first), date.fromisoformat(last))


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
        assert found is not None
        assert found[0] == Period(day, day)
        assert day.isoformat() in found[0]


@given(st.text(), st.dates())
def test_any_text_on_any_day_is_read_without_error(text: str, today: date) -> None:
    found = find_period(text, today)
    assert found is None or found[0].first <= found[0].last


def test_the_words_that_name_a_period() -> None:
    assert find_period("What changed in April 2022, exactly?", TODAY) == (
        Period(date(2022, 4, 1), date(2022, 4, 30)),
        "april 2022",
    )
    assert find_period("What changed?", TODAY) is None


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
def test_words_of_the_past_are_left_out(text: str, left: str) -> None:
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


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-01T17:30:00Z", "2026-03-01T17:30:00.999+00:00"),
        ("2026-03-01T17:30Z", "2026-03-01T17:30:00.999+00:00"),
        ("2026-03-01T17:30:00.000Z", "2026-03-01T17:30:00+00:00"),
        ("2026-03-01T17:30:00,000Z", "2026-03-01T17:30:00+00:00"),
        ("2026-03-01T17:30:00.250Z", "2026-03-01T17:30:00.250+00:00"),
    ],
)
def test_a_second_means_its_end_and_a_fraction_that_instant(text: str, instant: str) -> None:
    assert parse_instant(text) == datetime.fromisoformat(instant)


def test_a_day_means_its_end() -> None:
    assert parse_instant("2026-03-01").astimezone().isoformat(timespec="milliseconds")[:23] == "2026-03-01T23:59:59.999"


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "2026-03-01T25:00", "9999-12-31"])
def test_what_is_no_point_in_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidArgument, match="asOf"):
        parse_instant(text)


@pytest.mark.parametrize(
    ("text", "short", "day"),
    [
        ("on 2026-02-30, or 2026-03-01", False, "2026-03-01"),
        ("2026-3-1, then 2026-03-02", False, "2026-03-02"),
        ("2026-3-1, then 2026-03-02", True, "2026-03-01"),
        ("12026-03-01 and 2026-03-011", False, None),
        ("", True, None),
    ],
)
def test_the_first_day_that_exists_is_found(text: str, short: bool, day: str | None) -> None:
    assert find_day(text, short=short) == day


def test_a_day_is_parsed_or_its_argument_is_named() -> None:
    assert parse_day("2026-03-01", "--after") == date(2026, 3, 1)
    with pytest.raises(InvalidArgument, match=r"--after: .*YYYY-MM-DD, not '2026-02-30'"):
        parse_day("2026-02-30", "--after")
