"""What became of lines of a note."""

from __future__ import annotations

from memory_core.history.notes import find_now
from memory_core.records import Now

PAST = ["# Trip", "", "- train at 9", "- hotel Astor", "- return on Sunday"]


def _find(now: list[str] | None, first: int, last: int) -> Now:
    return find_now(PAST, now, first, last, max_chars=100)


def test_lines_that_moved_are_unchanged() -> None:
    assert _find(["# Trip", "", "new", *PAST[2:]], 3, 4) == Now(status="unchanged", start_line=4, end_line=5)


def test_a_line_that_was_edited_has_another_in_its_place() -> None:
    now = [*PAST[:2], "- train at 10", *PAST[3:]]
    assert _find(now, 3, 3) == Now(status="changed", start_line=3, end_line=3, text="- train at 10")
    assert _find(now, 3, 4).text == "- train at 10\n- hotel Astor"


def test_lines_that_were_deleted_are_gone() -> None:
    assert _find([*PAST[:3], PAST[4]], 4, 4) == Now(status="gone")
    assert _find(None, 4, 4) == Now(status="gone")
