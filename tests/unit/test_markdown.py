"""Line kinds, the token estimate and cuts of long text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.markdown import Line, cut_long, estimate_tokens, heading, opened_fence, quarters, scan, split_lines

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
        ("-5 degrees\n1.5 metres\n*bold*", [TEXT, TEXT, TEXT]),
        ("-\n2)", [ITEM, ITEM]),
        ("", []),
    ],
)
def test_every_line_has_its_kind(note: str, kinds: list[Line]) -> None:
    assert scan(split_lines(note)) == kinds


def test_a_scan_may_begin_inside_a_fence() -> None:
    assert scan(["# x", "```", "# A"], fence="```") == [CODE, CLOSE, HEADING]


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
    assert heading(line) == expected


@pytest.mark.parametrize(
    ("line", "fence"), [("```", "```"), ("  ~~~~ x", "~~~~"), ("``", ""), ("``` a`", ""), ("~~~ a`", "~~~")]
)
def test_what_opens_a_fence(line: str, fence: str) -> None:
    assert opened_fence(line) == fence


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


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("会议室", 3), ("会 a", 2), ("ひらがな カタカナ", 9), ("한국어", 3)],
)
def test_the_estimate(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_lengths_add_up(a: str, b: str) -> None:
    assert quarters(a) + quarters(b) == quarters(a + b)


@given(st.text(alphabet="ab ,.。漢字ー\t", max_size=400), st.integers(1, 30))
def test_long_text_is_cut_without_loss(text: str, max_tokens: int) -> None:
    pieces = [text[start:end] for start, end in cut_long(text, max_tokens)]
    assert "".join(pieces) == text
    assert all(piece and estimate_tokens(piece) <= max_tokens for piece in pieces)


def test_long_text_is_cut_at_clauses_then_at_spaces() -> None:
    clauses = "one two three, four five six seven eight"
    assert [clauses[a:b] for a, b in cut_long(clauses, 5)] == ["one two three,", " four five six ", "seven eight"]


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
    started = time.perf_counter()
    scan([line, line])
    heading(line)
    assert time.perf_counter() - started < 1
