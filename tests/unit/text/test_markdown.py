"""Kinds of lines, headings and fences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.markdown import (
    TABLE,
    Line,
    close_fence,
    find_unclosed_fence,
    parse_fence,
    parse_heading,
    scan,
    split_lines,
)
from tests.growth import MOST_GROWTH, measure_growth

BLANK, HEADING, OPEN, CODE, CLOSE, ROW, ITEM, MORE, TEXT = Line


@pytest.mark.parametrize(
    ("note", "kinds"),
    [
        ("# A\ntext\n\n#no heading\n####### none", [HEADING, TEXT, BLANK, TEXT, TEXT]),
        ("```sh\n# comment\n\n```\n# A", [OPEN, CODE, CODE, CLOSE, HEADING]),
        ("````\n```\n````", [OPEN, CODE, CLOSE]),
        ("~~~ info\n```\n~~~~", [OPEN, CODE, CLOSE]),
        ("```inline``` code", [TEXT]),
        ("```\nnever closed\n# A", [OPEN, CODE, CODE]),
        ("- a\n  more\nlazy\n\n  still\n\nout", [ITEM, MORE, MORE, BLANK, MORE, BLANK, TEXT]),
        ("* a\n  1. b\n     c\n+ d", [ITEM, ITEM, MORE, ITEM]),
        ("- a\n  ```\n  # x\n  ```\n  b\n\nc", [ITEM, OPEN, CODE, CLOSE, MORE, BLANK, TEXT]),
        ("- a\n```\nx\n```\nb", [ITEM, OPEN, CODE, CLOSE, TEXT]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\ntext", [ROW, ROW, ROW, TEXT]),
        ("a | b\n--|--\n1 | 2\n\n3 | 4", [ROW, ROW, ROW, BLANK, TEXT]),
        ("either | or", [TEXT]),
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |\n> text", [ROW, ROW, ROW, TEXT]),
        ("> [!note] Hours\n>> | a |\n>> | - |", [TEXT, ROW, ROW]),
        ("> ```sh\n> # x\n>\n> ```\n> text", [OPEN, CODE, CODE, CLOSE, TEXT]),
        (">> ~~~\n> > x\n> out\n# A", [OPEN, CODE, TEXT, HEADING]),
        ("```\n> ```\n```\ntext", [OPEN, CODE, CLOSE, TEXT]),
        ("-5 degrees\n1.5 metres\n*bold*", [TEXT, TEXT, TEXT]),
        ("-\n2)", [ITEM, ITEM]),
        ("", []),
    ],
)
def test_every_line_has_its_kind(note: str, kinds: list[Line]) -> None:
    assert scan(split_lines(note)) == kinds


def test_a_scan_may_begin_inside_a_fence() -> None:
    assert scan(["# x", "```", "# A"], fence="```") == [CODE, CLOSE, HEADING]


def test_a_scan_may_begin_inside_a_table() -> None:
    assert scan(["1 | 2", "", "3 | 4"], fence=TABLE) == [ROW, BLANK, TEXT]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# A", (1, "A")),
        ("   ###  Deep  ###  ", (3, "Deep")),
        ("## C#", (2, "C#")),
        ("##", (2, "")),
        ("## ##", (2, "")),
        ("#\tTab", (1, "Tab")),
        ("    # code", None),
        ("#tag", None),
        ("text", None),
    ],
)
def test_headings(line: str, expected: tuple[int, str] | None) -> None:
    assert parse_heading(line) == expected


@pytest.mark.parametrize(
    ("line", "fence"), [("```", "```"), ("  ~~~~ x", "~~~~"), ("``", ""), ("``` a`", ""), ("~~~ a`", "~~~")]
)
def test_what_opens_a_fence(line: str, fence: str) -> None:
    assert parse_fence(line) == fence


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\u2028c\x0bd\x85e\fg", ["a\rb\u2028c\x0bd\x85e\fg"]),
    ],
)
def test_only_line_feeds_end_lines(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


PIECES = ("```", "~~~", "````", "```sh", "  ```", "- item", "  more", "# A", "", "text", "``` `")


def fence_open_behind(lines: list[str]) -> str:
    """The fence that is open behind the last line, told by walking over all fences; "" when none is."""
    fence = ""
    for line, kind in zip(lines, scan(lines), strict=True):
        if kind in {OPEN, CLOSE}:
            fence = parse_fence(line) if kind is OPEN else ""
    return fence


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_an_open_fence_is_found_from_the_end_and_closed_once(lines: list[str]) -> None:
    fence = fence_open_behind(lines)
    opening = find_unclosed_fence(scan(lines))
    assert (opening is not None) == bool(fence)
    assert opening is None or parse_fence(lines[opening]) == fence

    closed = list(lines)
    close_fence(closed)
    assert closed == [*lines, fence] if fence else closed == lines
    assert find_unclosed_fence(scan(closed)) is None


@pytest.mark.parametrize(
    "line",
    [
        "#" * 300_000,
        "# " + "a #" * 100_000,
        "# " + " " * 300_000 + "x" + " " * 300_000,
        "|-" * 150_000 + "x",
        "`" * 300_000,
    ],
    ids=["hashes", "closing hashes", "spaces", "delimiters", "ticks"],
)
def test_no_line_takes_long(line: str) -> None:
    def read(length: int) -> None:
        scan([line[:length]] * 2)
        parse_heading(line[:length])

    assert measure_growth(read, len(line)) < MOST_GROWTH
