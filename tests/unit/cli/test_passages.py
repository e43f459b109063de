"""Hits as a person reads them: wrapped and marked on a terminal, plain elsewhere."""

from __future__ import annotations

import pytest

from memory_core.cli import output

HIT = {
    "path": "memory/2026-02-21.md",
    "startLine": 5,
    "endLine": 6,
    "score": 0.75,
    "snippet": "- Third lesson on the classical guitar: fingerpicking in G, thumb on the low strings, "
    "Tuesdays at 18:30 in hall B.\n"
    "https://example.org/" + "a" * 90,
}


def test_a_pipe_gets_the_snippet_as_it_is() -> None:
    first, *rest = output.format_hit(HIT, "guitar").splitlines()
    assert first == "memory/2026-02-21.md:L5-L6  0.75"
    assert [line.removeprefix("    ") for line in rest] == str(HIT["snippet"]).splitlines()


def test_a_terminal_gets_lines_that_fit_and_an_address_whole() -> None:
    _, *rest = output.format_hit(HIT, "guitar", columns=60).splitlines()
    assert len(rest) == 4
    assert all(len(line) <= 60 for line in rest[:3])
    assert rest[1].startswith("      ")  # under the text of its list item
    assert rest[3] == f"    {str(HIT['snippet']).splitlines()[1]}"
    assert "\x1b" not in "".join(rest)


def test_a_terminal_shows_what_matched() -> None:
    shown = output.format_hit(HIT, "Which guitars are for the lesson?", colours=True)
    assert f"{output.MATCH}guitar{output.RESET}" in shown
    assert f"{output.MATCH}lesson{output.RESET}" in shown
    assert f"{output.MATCH}the{output.RESET}" not in shown
    assert shown.startswith(f"{output.BOLD}memory/2026-02-21.md:L5-L6{output.RESET}")


@pytest.mark.parametrize(
    ("line", "columns", "wrapped"),
    [
        ("short", 20, ["short"]),
        ("one two three four", 9, ["one two", "three", "four"]),
        ("  - one two three", 12, ["  - one two", "    three"]),
        ("12. one two three", 12, ["12. one two", "    three"]),
        ("", 20, [""]),
    ],
)
def test_wrapping_keeps_the_shape_of_lists(line: str, columns: int, wrapped: list[str]) -> None:
    assert output.wrap_line(line, columns) == wrapped
