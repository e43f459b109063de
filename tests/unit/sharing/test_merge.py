"""Two versions of a note become one that loses no line, repeats none, and holds no conflict mark."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.sharing.merge import merge, merge_folders, merge_notes
from tests.growth import MOST_GROWTH, measure_growth

BASE = "# Memory\n\n- The cat is called Mia.\n- The car is red.\n\n## Work\n\nThe office is in Bern.\n"


def test_what_one_side_alone_changed_is_taken() -> None:
    changed = BASE.replace("red", "blue and fast")
    assert merge(BASE, changed, BASE) == merge(BASE, BASE, changed) == changed


def test_new_lines_of_both_sides_stand_and_the_first_side_s_go_first() -> None:
    first = BASE.replace("red.\n", "red.\n- First.\n")
    second = BASE.replace("red.\n", "red.\n- Second.\n")
    assert merge(BASE, first, second) == BASE.replace("red.\n", "red.\n- First.\n- Second.\n")


def test_one_line_written_by_both_stands_once() -> None:
    both = BASE.replace("red.\n", "red.\n- The dog is new.\n")
    assert merge(BASE, both + "\nA.\n", both + "\nB.\n").count("The dog is new.") == 1


def test_an_edit_beats_a_deletion_and_an_untouched_line_does_not() -> None:
    edited = BASE.replace("The car is red.", "The car is red and old.")
    deleted = BASE.replace("- The cat is called Mia.\n- The car is red.\n\n", "")
    assert merge(BASE, edited, deleted) == edited.replace("- The cat is called Mia.\n", "")


def test_two_edits_of_one_line_both_stand_and_are_told() -> None:
    first, second = (BASE.replace("red", f"red and {colour}") for colour in ("green", "white"))
    merged = merge_notes(BASE, first, second)
    assert "- The car is red and green.\n- The car is red and white.\n" in merged.text
    assert [tuple(each) for each in merged.conflicts] == [
        ("- The car is red.", "- The car is red and green.", "- The car is red and white.")
    ]


def test_a_deleted_section_returns_only_if_something_was_written_into_it() -> None:
    deleted = BASE.partition("\n## Work")[0]
    written = BASE + "\nThe desk is at the window.\n"
    assert merge(BASE, deleted, BASE) == deleted
    assert merge(BASE, deleted, written) == deleted + "\n## Work\n\nThe desk is at the window.\n"


def test_blocks_with_a_time_of_day_stand_in_its_order() -> None:
    day = "# 2026-03-02\n\n- 08:10 Breakfast\n"
    first = day + "- 10:00 Call\n- 15:30 Train\n"
    second = day + "- 09:15 Mail\n  with a child\n- 12:00 Lunch\n"
    assert merge(day, first, second) == (
        day + "- 09:15 Mail\n  with a child\n- 10:00 Call\n- 12:00 Lunch\n- 15:30 Train\n"
    )


def test_a_day_that_both_have_begun_has_one_heading() -> None:
    assert merge("", "# 2026-03-02\n\nOne.\n", "# 2026-03-02\n\nTwo.\n") == "# 2026-03-02\n\nOne.\n\nTwo.\n"


def test_a_day_that_both_have_begun_stands_in_the_order_of_its_times() -> None:
    day = "# 2026-03-02\n\n- {} One\n- {} Two\n"
    merged = merge("", day.format("08:00", "10:00"), day.format("07:30", "09:00"))
    assert [line[2:7] for line in merged.split("\n") if line.startswith("- ")] == ["07:30", "08:00", "09:00", "10:00"]


@pytest.mark.parametrize("swap", [False, True])
def test_what_stands_below_a_heading_stays_there_if_one_side_renames_it(swap: bool) -> None:
    base = "# Memory\n\n## Work\n\n- Deploy on Thursdays\n\n## Home\n\n- The cat is Tom\n"
    first = "# Memory\n\n## Household\n\n- The cat is Tom\n- The dog is Rex\n"
    second = base.replace("Thursdays\n", "Thursdays\n- CI is green\n").replace(
        "## Home\n\n", "## Home\n\n- Tea is out\n"
    )
    merged = merge(base, *((second, first) if swap else (first, second)))
    work, home = "## Work\n\n- CI is green\n", "## Household\n\n- Tea is out\n- The cat is Tom\n- The dog is Rex\n"
    assert merged == f"# Memory\n\n{work}\n{home}"


@pytest.mark.parametrize("swap", [False, True])
def test_a_new_section_stands_behind_what_is_added_above_it(swap: bool) -> None:
    base = "# Memory\n\n## Work\n\n- Deploy on Thursdays\n"
    first = "# Memory\n\n## Work\n\n## Garden\n\n- The roses are red\n"
    merged = merge(base, *((f"{base}- CI is green\n", first) if swap else (first, f"{base}- CI is green\n")))
    assert merged == "# Memory\n\n## Work\n\n- CI is green\n\n## Garden\n\n- The roses are red\n"


def test_a_moved_line_stays_moved_and_is_not_doubled() -> None:
    moved = BASE.replace("- The car is red.\n", "") + "\n- The car is red.\n"
    other = BASE.replace("Mia", "Mia the cat")
    assert merge(BASE, moved, other) == moved.replace("Mia", "Mia the cat")


def test_code_is_merged_by_line_and_stays_in_one_fence() -> None:
    base = "```py\na = 1\nb = 2\nc = 3\n```\n"
    merged = merge(base, base.replace("a = 1", "a = 10"), base.replace("c = 3", "c = 30"))
    assert merged == "```py\na = 10\nb = 2\nc = 30\n```\n"


def test_what_both_write_into_a_block_stands_whole_and_is_told() -> None:
    first, second = (f"if {name}; then\n  run {name}\nfi" for name in ("linux", "windows"))
    block = "```sh\nset -e\n{}\n```\n"
    merged = merge_notes("```sh\nset -e\n```\n", block.format(first), block.format(second))
    assert merged.text == block.format(f"{first}\n{second}")
    assert merged.conflicts == (("", first, second),)
    matter = "---\nstatus: {}\nowner: ann\n---\n\nText.\n"
    merged = merge_notes(*(matter.format(word) for word in ("open", "done", "late")))
    assert merged.text == matter.format("done\nstatus: late")
    assert merged.conflicts == (("status: open", "status: done", "status: late"),)


def test_changes_of_a_block_that_overlap_are_told() -> None:
    base = "```\na = 1\nb = 2\nc = 3\n```\n"
    merged = merge_notes(base, base.replace("a = 1\nb = 2", "a = 10"), base.replace("b = 2\nc = 3", "b = 20"))
    assert merged.text == "```\na = 10\nb = 20\n```\n"
    assert merged.conflicts == (("a = 1\nb = 2\nc = 3", "a = 10", "b = 20"),)


def test_what_both_begin_with_stands_once_in_a_block() -> None:
    base = "```\na = 1\n```\n"
    first, second = (base.replace("a = 1", f"a = 1\n{lines}") for lines in ("b = 2", "b = 2\nc = 3"))
    assert merge_notes(base, first, second) == merge_notes(base, second, first) == (second, ())


def test_a_fence_that_is_never_closed_swallows_nothing() -> None:
    base = "```\n- One.\n- Two.\n"
    assert merge(base, base + "- Three.\n", base.replace("- One.\n", "")) == "```\n- Two.\n- Three.\n"


def test_a_line_moved_to_another_note_does_not_return_where_it_was_deleted() -> None:
    texts: dict[str, str] = {}

    def put(**notes: str) -> dict[str, str]:
        texts.update({text: text for text in notes.values()})
        return dict(notes)

    base = put(a="# A\n\n- The long line that moves.\n- It stays here.\n", b="# B\n\n- Something else.\n")
    first = put(a="# A\n\n- It stays here.\n", b="# B\n\n- Something else.\n- The long line that moves.\n")
    second = put(a="# A\n\n- It stays here.\n- Added.\n", b=base["b"])
    merged, conflicts = merge_folders(base, first, second, texts.__getitem__)
    assert merged == {"a": "# A\n\n- It stays here.\n- Added.\n", "b": base["b"]}
    assert conflicts == []


def test_a_line_that_both_moved_to_other_notes_stands_once() -> None:
    line = "  - The long line that moves.\n"
    base = {"a": f"# A\n\n- One.\n{line}", "b": "# B\n\n- Something of b.\n", "c": "# C\n"}
    first = {**base, "a": "# A\n\n- One.\n", "b": f"# B\n\n{line.strip()}\n"}  # in the place of another line
    second = {**base, "a": "# A\n\n- One.\n", "c": f"# C\n\n{line.strip()}\n"}
    merged, _ = merge_folders(base, first, second, str)
    assert sum(text.count("The long line") for text in {**base, **merged}.values() if text) == 1
    for heading in ("# B\n", "# B\n\n- Something of b.\n\n## Below\n"):  # to one note, under different headings
        second["b"], second["c"] = f"{heading}\n{line.strip()}\n", base["c"]
        merged, _ = merge_folders(base, first, second, str)
        assert merged["b"] is not None
        assert merged["b"].count("The long line") == 1
    merged, _ = merge_folders(base, first, {**base, "a": "# A\n\n- One.\n"}, str)
    assert "The long line" not in "".join(text or "" for text in {**base, **merged}.values())


def test_a_renamed_note_takes_what_was_written_under_its_old_name() -> None:
    old, new = (
        "# Trip\n\n- The train leaves at noon.\n",
        "# Trip\n\n- The train leaves at noon.\n- The hotel is booked.\n",
    )
    merged, _ = merge_folders({"old": old}, {"new": old}, {"old": new}, {old: old, new: new}.__getitem__)
    assert merged == {"new": new, "old": None}


def test_a_deleted_note_stays_deleted_unless_it_was_changed() -> None:
    changed = BASE + "\nMore.\n"
    read = {BASE: BASE, changed: changed}.__getitem__
    assert merge_folders({"n": BASE}, {"n": BASE}, {}, read)[0] == {"n": None}
    assert merge_folders({"n": BASE}, {"n": changed}, {}, read)[0] == {"n": "# Memory\n\n## Work\n\nMore.\n"}


# Numbered lines: each is a line of its own, and no two are near.
OLD, OF_FIRST, OF_SECOND = (st.lists(st.integers(low, low + 30), unique=True, max_size=9) for low in (0, 100, 200))
PREFIX = st.sampled_from(["- ", "  - ", "", "## "])


def _write(numbers: list[int], prefixes: dict[int, str]) -> str:
    return "# Top\n\n" + "".join(
        f"{prefixes[n]}{'abcdefgh'[n % 8] * 3}{n}\n\n"[: -1 if n % 2 else None] for n in numbers
    )


def _count(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.splitlines() if line.strip())


@given(OLD, OF_FIRST, OF_SECOND, st.data())
def test_every_line_stands_once_unless_a_side_deleted_it(
    base: list[int], new: list[int], other: list[int], data: st.DataObject
) -> None:
    kept = st.lists(st.sampled_from(base), unique=True) if base else st.just([])
    first, second = (data.draw(st.permutations([*data.draw(kept), *own])) for own in (new, other))
    prefixes = {n: data.draw(PREFIX) for n in {*base, *first, *second}}
    texts = [_write(numbers, prefixes) for numbers in (base, first, second)]
    merged = merge(*texts)
    wanted = (set(first) & set(second)) | (set(first) ^ set(second)) - set(base)
    counted = _count(merged)
    lines = {n: f"{prefixes[n]}{'abcdefgh'[n % 8] * 3}{n}".strip() for n in prefixes}
    assert [counted[lines[n]] for n in sorted(wanted)] == [1] * len(wanted)
    back = {n for n in base if n not in wanted and counted[lines[n]]}
    parents = {n for n in base if prefixes[n] in ("## ", "- ")}
    assert back <= parents
    assert merge(*texts) == merged
    assert merge(merged, merged, texts[2]) == texts[2]


@given(st.text(alphabet="ab #-\n`<!>", max_size=80), st.text(alphabet="ab #-\n`<!>", max_size=80))
def test_any_text_merges_and_no_line_of_two_new_notes_is_lost(first: str, second: str) -> None:
    merged = merge("", first, second)
    lines = {line.rstrip() for line in merged.split("\n")}
    assert {line.rstrip() for text in (first, second) for line in text.split("\n") if line.strip()} <= lines
    assert merge(merged, first, merged) == first


@given(st.lists(st.integers(0, 9), max_size=8, unique=True), st.data())
def test_every_line_that_a_side_writes_into_a_block_stands_as_often_as_it_was_written(
    base: list[int], data: st.DataObject
) -> None:
    """Runs of lines such as `fi`, which repeat, are put between unique lines, of which each side deletes some."""
    drawn = st.lists(st.sampled_from(["if a", "if b", "fi"]), max_size=3)
    texts = ["\n".join(["```sh", *(f"line {n}" for n in base), "```", ""])]
    sides: list[dict[int, list[str]]] = []  # what each has written, by the number of base lines up to the last kept
    kept = {*base}
    for _ in range(2):
        stays = data.draw(st.sets(st.sampled_from(base))) if base else set()
        runs, lines, at = {0: data.draw(drawn)}, list[str](), 0
        lines += runs[0]
        for place, n in enumerate(base, 1):
            at = place if n in stays else at
            run = data.draw(drawn)
            runs[at] = [*runs.get(at, []), *run]
            lines += [*([f"line {n}"] if n in stays else []), *run]
        texts.append("\n".join(["```sh", *lines, "```", ""]))
        sides.append(runs)
        kept &= stays
    merged, conflicts = merge_notes(*texts)
    wanted, told = Counter(f"line {n}" for n in kept), 0
    for at in range(len(base) + 1):
        first, second = sorted((side.get(at, []) for side in sides), key=len)
        is_once = second[: len(first)] == first
        wanted.update(second if is_once else [*first, *second])
        told += not is_once
    assert Counter(merged.split("\n")[1:-2]) == wanted
    assert len(conflicts) >= told


@pytest.mark.parametrize("line", ["```a", "- a", "a b", "<!--", "#", "---"])
def test_many_equal_lines_take_no_quadratic_time(line: str) -> None:
    def merge_copies(count: int) -> None:
        base = f"{line}\n" * count
        merge(base, base + "First.\n", "Second.\n" + base)

    assert measure_growth(merge_copies, 8000) < MOST_GROWTH
