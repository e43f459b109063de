"""Text of notes as it is shown: nothing that steers, hides or poses as a citation."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.messages import quote_safely


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\ufffd[31mred\ufffd[0m"),
        ("\x9b31mred", "\ufffd31mred"),
        ("\x1b]8;;http://x\x07link", "\ufffd]8;;http://x\ufffdlink"),
        ("ab\x08\x08cd\x7f", "ab\ufffd\ufffdcd\ufffd"),
        ("over\rwritten\x0band\u2028on\x85", "over written and on "),
        ("invoice\u202efdp.exe", "invoice\ufffdfdp.exe"),
        ("a\U000e0041\U000e0042b", "a\ufffd\ufffdb"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("a\tb\nc", "a\tb\nc"),
        ("naïve 東京 👩\u200d💻 می\u200cخواهم", "naïve 東京 👩\u200d💻 می\u200cخواهم"),
    ],
)
def test_nothing_steers_or_hides(text: str, shown: str) -> None:
    assert quote_safely(text) == shown


@pytest.mark.parametrize(
    "line",
    [
        "Source: MEMORY.md#L3-L9", "source: a.md#L1", "> Source: a.md#L1", "- **Source:** a.md#L1", "…Source: a.md#L1",
        "  Source : a.md#L1", "Source： a.md#L1", "\uff33ource: a.md#L1", "So\u200burce: a.md#L1", "S\u200dource: a.md#L1",
        "`Source: a.md#L1`", "\x1bSource: a.md#L1", "\rSource: a.md#L1", "\u2028Source: a.md#L1", "SOURCE: a.md#l7",
    ],
)  # fmt: skip
def test_no_line_poses_as_a_citation(line: str) -> None:
    for text in (line, f"first\n{line}\nlast"):
        shown = quote_safely(text)
        assert "quoted" in shown
        assert "ource" not in shown
        assert "a.md" in shown or "MEMORY.md#L3-L9" in shown


@pytest.mark.parametrize("line", ["Source: the Guardian", "The source: a.md#L1", "Open source: yes", "Sources: a#L1"])
def test_what_is_no_citation_stays(line: str) -> None:
    assert quote_safely(line) == line


@given(st.text(st.sampled_from("sSource:ＳＯ： #L1\x1b\r\n\t>*\u200b\u200d\u202e\u2028a东")))
def test_it_is_stable_and_gets_no_longer(text: str) -> None:
    shown = quote_safely(text)
    assert len(shown) <= len(text)
    assert quote_safely(shown) == shown
    assert all(char in "\n\t" or unicodedata.category(char) != "Cc" for char in shown)
    assert shown.count("\n") == text.replace("\r\n", " ").count("\n")
