"""Points in time as people and models write them."""

from __future__ import annotations

from datetime import datetime

import pytest

from memory_core.errors import InvalidArgument
from memory_core.history.moments import parse_instant


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
