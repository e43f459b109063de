"""Which lines match: right for all texts, as difflib for small ones, and in linear time for long ones."""

from __future__ import annotations

import difflib
import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.matching import LineMatcher, count_changes, unified_diff
from tests.growth import MOST_GROWTH, measure_growth

LINES = 20_000
LONG = 8_000  # lines, long enough for quadratic work to show
LINE = st.sampled_from(["", "a", "b", "c", "d", "- e", "# f"])


def apply(matcher: LineMatcher, new: list[str], old: list[str]) -> list[str]:
    made: list[str] = []
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        made += old[i1:i2] if kind == "equal" else new[j1:j2]
    return made


@given(st.lists(LINE, max_size=300), st.lists(LINE, max_size=300))
def test_the_new_text_follows_from_what_matches(old: list[str], new: list[str]) -> None:
    blocks = LineMatcher(old, new).get_matching_blocks()
    assert all(old[block.a + at] == new[block.b + at] for block in blocks for at in range(block.size))
    assert all(one.a + one.size <= two.a and one.b + one.size <= two.b for one, two in itertools.pairwise(blocks))
    assert apply(LineMatcher(old, new), new, old) == new
    added, removed = count_changes(old, new)
    assert len(old) - removed == len(new) - added


@given(st.lists(LINE, max_size=30), st.lists(LINE, max_size=30), st.integers(0, 3))
def test_a_small_diff_is_that_of_difflib(old: list[str], new: list[str], around: int) -> None:
    ours = [*unified_diff(old, new, "x", "y", around=around)]
    assert [line.rstrip() for line in difflib.unified_diff(old, new, "x", "y", lineterm="", n=around)] == [
        line.rstrip() for line in ours
    ]


def test_a_few_changes_in_a_long_note_are_found() -> None:
    old = [f"line {number}" if number % 3 else "" for number in range(LINES)]
    new = [*old[:500], "new", *old[500:7_000], *old[7_002:15_001], "edited", *old[15_002:]]
    assert count_changes(old, new) == (2, 3)


def test_lines_that_look_the_same_are_equal_and_are_shown_as_they_are() -> None:
    old = ["Caf\u00e9 \uff12", "soft\u00adware", "fish &amp; chips", "rent 700"]
    new = ["Cafe\u0301 2", "software", "fish & chips", "rent 800"]
    assert count_changes(old, new) == (1, 1)
    assert count_changes(old[:3], new[:3]) == (0, 0)
    shown = [*unified_diff(old, new, "x", "y", around=1)]
    assert shown[3:] == [" fish &amp; chips", "-rent 700", "+rent 800"]


def rewrite(old: list[str], dice: random.Random) -> list[str]:
    return [f"{line} {dice.random()}" if line else "" for line in old]


def move(old: list[str], _: random.Random) -> list[str]:
    return old[len(old) // 2 :] + old[: len(old) // 2]


def shuffle(old: list[str], dice: random.Random) -> list[str]:
    return dice.sample(old, len(old))


def turn(old: list[str], _: random.Random) -> list[str]:
    return old[::-1]


def edit_each_tenth(old: list[str], dice: random.Random) -> list[str]:
    return [f"{line} {dice.random()}" if number % 10 == 0 else line for number, line in enumerate(old)]


def repeat(old: list[str], dice: random.Random) -> list[str]:
    return [dice.choice(["- [ ] done", "", "---"]) for _ in old]


@pytest.mark.parametrize(
    "change", [rewrite, move, shuffle, turn, edit_each_tenth, repeat], ids=lambda each: each.__name__
)
@pytest.mark.parametrize("blank", [2, 7], ids=["half blank", "a seventh blank"])
def test_a_rewritten_note_takes_linear_time(
    change: Callable[[list[str], random.Random], list[str]], blank: int
) -> None:
    dice = random.Random(5)
    old = [f"entry {number}" if number % blank else "" for number in range(LONG)]
    quarter = old[: LONG // 4]
    notes = {LONG: (old, change(old, dice)), LONG // 4: (quarter, change(quarter, dice))}
    assert measure_growth(lambda lines: LineMatcher(*notes[lines]).get_opcodes(), LONG) < MOST_GROWTH
    assert apply(LineMatcher(*notes[LONG]), notes[LONG][1], old) == notes[LONG][1]


def test_lines_that_all_repeat_take_linear_time_too() -> None:
    dice = random.Random(6)
    old, new = ([dice.choice(["a", "b", "c"]) for _ in range(LONG)] for _ in range(2))
    assert measure_growth(lambda lines: LineMatcher(old[:lines], new[:lines]).get_opcodes(), LONG) < MOST_GROWTH
