"""Units quote the chunk, are disjoint and leave no text out; windows hold every unit once."""

from __future__ import annotations

from itertools import accumulate, dropwhile, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.settings import Chunking
from memory_core.records import Unit
from memory_core.text.chunks import split_chunks
from memory_core.text.markdown import Line, scan
from memory_core.text.tokens import estimate_tokens
from memory_core.text.units import LONG, find_sentence_starts, split_units, split_windows

PIECES = (
    "# Heading", "## 会议", "- item", "  continued", "1. first", "| a | b |", "|---|---|", "```", "~~~", "# comment", "",
    "A sentence here. Another one follows it, longer. And a third", "wrapped over lines.", "e.g. Dr. Miller said so",
    "## " + "long heading " * 50,
    "今天开会。明天休息！", "x" * 700, "word " * 150, "漢字" * 200, "User: hello", "12:30 lunch", "  ", "> quoted. Text",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=20).map("\n".join)


def shown(text: str, *, skip_lines: int = 0, fence: str = "") -> list[str]:
    return [text[unit.start : unit.end] for unit in split_units(text, skip_lines=skip_lines, fence=fence)]


@given(st.one_of(texts, st.text()), st.integers(0, 4), st.sampled_from(["", "```"]))
def test_units_are_ordered_disjoint_and_leave_nothing_out(text: str, skip_lines: int, fence: str) -> None:
    lines = text.split("\n")
    skip_lines = min(skip_lines, len(lines))
    units = split_units(text, skip_lines=skip_lines, fence=fence)
    assert all(before.end <= after.start for before, after in pairwise(units))
    covered = bytearray(len(text))
    for unit in units:
        assert unit.start < unit.end
        assert text[unit.start : unit.end].strip()
        covered[unit.start : unit.end] = b"x" * (unit.end - unit.start)
    kinds = [None] * skip_lines + [*scan(lines[skip_lines:], fence=fence)]
    at = 0
    for line, kind in zip(lines, kinds, strict=True):
        here = covered[at : at + len(line)]
        if kind is None or kind in {Line.OPEN, Line.CLOSE}:
            assert not any(here)
        else:
            assert all(mark for mark, character in zip(here, line, strict=True) if not character.isspace())
        at += len(line) + 1


@given(texts)
def test_units_know_their_lines(text: str) -> None:
    for unit in split_units(text):
        assert unit.first_line == text.count("\n", 0, unit.start)
        assert unit.last_line == text.count("\n", 0, unit.end)


@given(texts)
def test_units_stay_on_their_side_of_headings_and_fences(text: str) -> None:
    kinds = scan(text.split("\n"))
    for unit in split_units(text):
        inside = kinds[unit.first_line : unit.last_line + 1]
        under = list(dropwhile(lambda kind: kind in {Line.HEADING, Line.BLANK}, inside))  # what headings it opens with
        kind = set(under) or {Line.HEADING}
        assert len(kind) == 1 or not kind & {Line.HEADING, Line.OPEN, Line.CODE, Line.CLOSE, Line.BLANK}
        assert inside[0] is not Line.BLANK
        assert len(inside) == len(under) or Line.CODE not in kind


@given(texts)
def test_units_fit_a_snippet(text: str) -> None:
    assert all(4 * estimate_tokens(unit) <= LONG + 3 for unit in shown(text))


@given(texts, st.integers(1, 150))
def test_windows_hold_every_unit_once(text: str, max_tokens: int) -> None:
    units = split_units(text)
    windows = split_windows(text, units, max_tokens=max_tokens)
    assert [i for window in windows for i in range(window.first, window.last + 1)] == list(range(len(units)))
    for window in windows:
        assert window.text == "\n".join(text[unit.start : unit.end] for unit in units[window.first : window.last + 1])
        assert window.first == window.last or estimate_tokens(window.text) <= max_tokens


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("", []),
        ("\n \n", []),
        ("short. Yes.", ["short. Yes."]),
        (
            "The first sentence is long enough to stand alone. So is the second one, which follows it here.",
            ["The first sentence is long enough to stand alone.", "So is the second one, which follows it here."],
        ),
        (
            "The first sentence is wrapped\nover two lines and goes on. Then comes\nthe second, which is wrapped as well.",
            ["The first sentence is wrapped\nover two lines and goes on.", "Then comes\nthe second, which is wrapped as well."],
        ),
        (
            "We met Dr. Miller and J. R. Brown at approx. 5 p.m. at the place. It was raining, yet nobody at all was late.",
            ["We met Dr. Miller and J. R. Brown at approx. 5 p.m. at the place.", "It was raining, yet nobody at all was late."],
        ),
        (
            "She said it was done... and then it was not done at all. Version 2.5 of the gateway is out since this week.",
            ["She said it was done... and then it was not done at all.", "Version 2.5 of the gateway is out since this week."],
        ),
        (
            "部署在周三晚上完成，没有任何问题。回滚脚本也测试过了，结果正常。好。",
            ["部署在周三晚上完成，没有任何问题。", "回滚脚本也测试过了，结果正常。好。"],
        ),
        (
            "Der Vertrag für den Liegeplatz endet am 3. Februar. Die Schlüssel liegen jeden 2. Dienstag im 1. Stock bereit.",
            ["Der Vertrag für den Liegeplatz endet am 3. Februar.", "Die Schlüssel liegen jeden 2. Dienstag im 1. Stock bereit."],
        ),
        ("- one\n- two\n  continued\n- three", ["- one", "- two\n  continued", "- three"]),
        ("1. one\n   - nested\n2) two", ["1. one", "- nested", "2) two"]),
        ("| k | v |\n|---|---|\n| a | 1 |\n| b | 2 |", ["| k | v |\n|---|---|", "| a | 1 |", "| b | 2 |"]),
        ("before\n```py\n  x = 1\n# y\n\nz = 2\n```\nafter", ["before", "  x = 1\n# y", "z = 2", "after"]),
        (
            "User: is the staging deployment of the gateway done\nAssistant: it is, and so are the database migrations",
            ["User: is the staging deployment of the gateway done", "Assistant: it is, and so are the database migrations"],
        ),
        ("# Title\n\ntext\n\n## Under", ["# Title\n\ntext", "## Under"]),
        ("# Title\n\n## Under", ["# Title", "## Under"]),
        ("# Title\n```\n```", ["# Title"]),
        ("# Title\n\n## Under\n\ntext", ["# Title\n\n## Under\n\ntext"]),
        ("- one\n\n## Under\n- two\n- three", ["- one", "## Under\n- two", "- three"]),
        ("## Under\n```\ncode\n```\ntext", ["## Under", "code", "text"]),
        ("## Under\n```\n```\n- item", ["## Under", "- item"]),
        (f"## Under\n{'word ' * 98}end.", ["## Under", f"{'word ' * 98}end."]),
    ],
)  # fmt: skip
def test_what_a_unit_is(text: str, units: list[str]) -> None:
    assert shown(text) == units


@pytest.mark.parametrize(
    "heading", ["## " + "word " * 150, "## " + "漢字" * 300, "## stand-up\n\n" * 60, "# A\n" * 200]
)
def test_headings_that_are_too_long_to_go_with_a_text_are_units_of_their_own(heading: str) -> None:
    units = shown(f"{heading}\n\nText under it.\n")
    assert units[-1] == "Text under it."
    assert "".join("".join(units[:-1]).split()) == "".join(heading.split())


def test_lines_that_were_not_wrapped_are_apart() -> None:
    lines = ["a line that was ended by hand, long before the column", "the next one " + "goes on and on " * 6]
    assert shown("\n".join(lines)) == [line.strip() for line in lines]
    wide = ["paragraph " * 20, "another paragraph " * 10]
    assert shown("\n".join(wide)) == [line.strip() for line in wide]


def test_code_is_grouped_by_a_few_lines() -> None:
    code = "\n".join(f"value_{i} = compute({i})" for i in range(30))
    groups = shown(f"```py\n{code}\n```")
    assert "\n".join(groups) == code
    assert all(100 < len(group) <= 200 for group in groups[:-1])


def test_a_long_item_is_cut_at_sentences() -> None:
    sentences = [f"Sentence number {i} of the item says something about the deployment." for i in range(12)]
    assert shown("- " + " ".join(sentences)) == [f"- {sentences[0]}", *sentences[1:]]


def test_a_long_sentence_is_cut_at_clauses() -> None:
    sentence = ", ".join(f"clause number {i} of the sentence" for i in range(30))
    units = shown(sentence)
    assert " ".join(units) == sentence
    assert all(unit.endswith(",") for unit in units[:-1])


def test_overlap_has_no_units() -> None:
    text = "```\nold code\n```\n# not skipped\nnew text"
    assert shown(text, skip_lines=3) == ["# not skipped\nnew text"]
    assert split_units(text, skip_lines=4) == [Unit(start=31, end=39, first_line=4, last_line=4)]
    assert shown(text, skip_lines=5) == []


def test_a_chunk_may_begin_inside_a_fence() -> None:
    text = "# comment\n```\nProse again."
    assert shown(text, fence="```") == ["# comment", "Prose again."]


def test_pieces_of_a_large_fence_are_code() -> None:
    code = [f"# step {i}. Then. More" for i in range(200)]
    chunks = split_chunks("\n".join(["```", *code, "```", "after"]), Chunking(tokens=100, overlap=20))
    units = [
        line
        for chunk in chunks
        for unit in shown(chunk.text, skip_lines=chunk.overlap_lines, fence=chunk.fence)
        for line in unit.split("\n")
    ]
    assert units == [*code, "after"]


def test_windows_are_filled_up() -> None:
    text = "\n".join(f"- item number {i} with some words" for i in range(30))
    windows = split_windows(text, split_units(text))
    assert [estimate_tokens(window.text) > 80 for window in windows[:-1]] == [True] * (len(windows) - 1)
    assert split_windows("", []) == []


@pytest.mark.parametrize(
    "text",
    [
        "Koncert je 3. Března v knihovně.| Vstup je volný.",
        "Der Vertrag endet am 3. Februar.| Jeden 1. und 3. Dienstag im 2. Stock.| Danach nicht.",
        "Wir zahlten 30.| Der Rest kam später.",
        "Wir haben wieder Zimmer 9.| Danach zogen wir um.",
        "The boat had 12.| May I go along?",
        "I am 30.| She is 31.| Everybody knows.",
        "Version 3.| Release it.",
        "Wir waren 12.| Peter kam spät.",
        "We bought 7.| March is better for it.",
    ],
)
def test_a_number_with_a_full_stop_ends_a_sentence_unless_it_is_an_ordinal(text: str) -> None:
    *parts, last = text.replace("| ", " |").split("|")
    whole = "".join([*parts, last])
    assert find_sentence_starts(whole, 0, len(whole)) == [len(part) for part in accumulate(parts)]
