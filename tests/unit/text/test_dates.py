"""Days and times that are written in words and figures."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from memory_core.errors import InvalidArgument
from memory_core.text.dates import (
    begin_day,
    leave_out_time,
    parse_day,
    parse_instant,
)


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
        ("2026-03-01", "2026-03-01T10:59:59.999000+00:00"),
        ("2026-03-01T18:30", "2026-03-01T05:30:00.999000+00:00"),
        ("2026-03-01T17:30:00Z", "2026-03-01T17:30:00.999000+00:00"),
    ],
)
def test_a_time_is_that_of_the_time_zone_unless_it_names_one(text: str, instant: str) -> None:
    assert parse_instant(text, timezone="Pacific/Auckland").astimezone(UTC).isoformat() == instant


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


@pytest.mark.parametrize("text", ["yesterday", "gestern", "3 March", "2026-03-03"])
def test_a_day_may_be_named_as_in_a_question(text: str) -> None:
    named = parse_instant(text, timezone="Pacific/Auckland", today=date(2026, 3, 4))
    assert named == parse_instant("2026-03-03", timezone="Pacific/Auckland")


@pytest.mark.parametrize(
    "text", ["", "some minutes ago", "25:61", "last week", "2026-13-01", "2026-03-01T25:00", "9999-12-31"]
)
def test_what_is_no_point_in_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidArgument, match="asOf"):
        parse_instant(text)


def test_a_time_of_today_and_one_some_hours_ago_are_moments() -> None:
    zone, today = "Pacific/Auckland", date(2026, 3, 4)
    for text, time in {"8:45": "08:45", "08:45": "08:45", "17:05:30": "17:05:30"}.items():
        asked = parse_instant(text, timezone=zone, today=today)
        assert asked == parse_instant(f"2026-03-04T{time}", timezone=zone)
    before = datetime.now(UTC)
    for text, span in {"2 hours ago": timedelta(hours=2), "a minute ago": timedelta(minutes=1)}.items():
        assert before - span <= parse_instant(text) <= datetime.now(UTC) - span


def test_a_day_of_an_argument_may_be_named_as_in_a_question() -> None:
    today = date(2026, 3, 4)
    assert parse_day("yesterday", "--after", today=today) == parse_day("gestern", "--after", today=today)
    assert parse_day("yesterday", "--after", today=today) == date(2026, 3, 3)
    with pytest.raises(InvalidArgument, match=r"--after: .*YYYY-MM-DD, not 'last week'"):  # no single day
        parse_day("last week", "--after", today=today)


@pytest.mark.parametrize("text", ["12/01/2026", "01/12/2026", "3/4"])
def test_a_day_that_is_a_month_elsewhere_is_not_guessed(text: str) -> None:
    with pytest.raises(InvalidArgument, match="YYYY-MM-DD"):
        parse_day(text, "--after", today=date(2026, 3, 4))


def test_a_day_that_can_be_no_month_is_read() -> None:
    assert parse_day("13/01/2026", "--after") == date(2026, 1, 13)
    assert parse_day("03/03/2026", "--after") == date(2026, 3, 3)


def test_a_day_is_parsed_or_its_argument_is_named() -> None:
    assert parse_day("2026-03-01", "--after") == date(2026, 3, 1)
    with pytest.raises(InvalidArgument, match=r"--after: .*YYYY-MM-DD, not '2026-02-30'"):
        parse_day("2026-02-30", "--after")


@pytest.mark.parametrize(
    ("zone", "day", "expected"),
    [
        ("Asia/Tokyo", date(2026, 3, 1), "2026-02-28T15:00:00Z"),
        ("Europe/Paris", date(2026, 3, 30), "2026-03-29T22:00:00Z"),  # the day after summer time begins
        ("America/Santiago", date(2026, 9, 6), "2026-09-06T04:00:00Z"),  # which has no midnight
    ],
)
def test_a_day_begins_in_its_time_zone(zone: str, day: date, expected: str) -> None:
    assert begin_day(zone, day).timestamp() == datetime.fromisoformat(expected).timestamp()
    assert begin_day(None, day) == datetime.combine(day, datetime.min.time()).astimezone()
