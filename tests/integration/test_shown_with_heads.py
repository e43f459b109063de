"""Rows of tables are ranked and shown with their head, items of lists with the line above them, children with their parents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from memory_core.records import Hit
from memory_core.text.markdown import scan
from memory_core.text.units import find_leads
from tests.index import Index, make_filled

TODAY = date(2026, 3, 20)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(make_filled(tmp_path)) as made:
        yield made


def ask(index: Index, text: str, max_snippet_chars: int = 700) -> Hit:
    return index.find(text, TODAY, max_snippet_chars=max_snippet_chars)[0]


TABLE = "# Lockers\n\n| locker | holder | code |\n| --- | --- | --- |\n"


def test_a_row_of_a_long_table_comes_with_its_head(index: Index) -> None:
    rows = "".join(f"| L{number} | Person {number} | {7000 + number} |\n" for number in range(80))
    index.note("memory/lockers.md", f"{TABLE}{rows}| L99 | Ottoline | 4711 |\n{rows}")
    index.note("memory/code.md", "# Code\n\nThe code of conduct hangs in the hall.\n")
    hit = ask(index, "code of Ottoline")
    shown = hit.snippet.split("\n")
    assert shown[:3] == ["| locker | holder | code |", "| --- | --- | --- |", "…"]
    assert "| L99 | Ottoline | 4711 |" in shown
    assert hit.start_line <= 85 <= hit.end_line
    assert hit.start_line > 4  # the head is not counted
    assert len(hit.snippet) <= 700


@pytest.mark.parametrize(("before", "bar"), [("", ""), ("> ", "|"), (">", "")])
def test_so_does_a_row_without_outer_bars_or_in_a_quote(before: str, bar: str, index: Index) -> None:
    def row(*cells: object) -> str:
        return f"{before}{bar}{' | '.join(map(str, cells))}{bar}\n"

    rows = "".join(row(f"L{number}", f"Person {number}", 7000 + number) for number in range(80))
    head = row("locker", "holder", "code") + row("---", "---", "---")
    index.note("memory/lockers.md", f"# Lockers\n\n{head}{rows}{row('L99', 'Ottoline', 4711)}{rows}")
    index.note("memory/code.md", "# Code\n\nThe code of conduct hangs in the hall.\n")
    shown = ask(index, "code of Ottoline").snippet.split("\n")
    assert shown[:3] == [*head.splitlines(), "…"]
    assert row("L99", "Ottoline", 4711).rstrip() in shown


@pytest.mark.parametrize("tags", ["[daily]", "\n  - daily\n  - crown"])
def test_front_matter_is_shown_where_a_word_of_it_is_asked_for(tags: str, index: Index) -> None:
    index.note(
        "memory/2026-03-04.md", f"---\nmood: sunny\ntags: {tags}\n---\n# Wednesday\n- The dentist took out a tooth.\n"
    )
    index.note("memory/code.md", "# Code\n\nThe code of conduct hangs in the hall.\n")
    hit = ask(index, "What did the dentist do?")
    assert hit.snippet == "# Wednesday\n- The dentist took out a tooth."
    assert hit.start_line == 5 + tags.count("\n")
    assert ask(index, "What happened on 4 March?").snippet == hit.snippet
    assert "mood: sunny" in ask(index, "sunny mood").snippet


def test_a_note_of_front_matter_alone_is_shown(index: Index) -> None:
    index.note("memory/2026-03-04.md", "---\nmood: sunny\n---\n")
    assert ask(index, "What happened on 4 March?").snippet == "---\nmood: sunny\n---"


def test_so_does_a_row_of_a_table_in_html(index: Index) -> None:
    def row(*cells: object, tag: str = "td") -> str:
        return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>\n"

    rows = "".join(row(f"L{number}", f"Person {number}", 7000 + number) for number in range(80))
    head, wanted = row("locker", "holder", "code", tag="th"), row("L99", "Ottoline", 4711)
    table = f"<table>\n<thead>{head.rstrip()}</thead>\n<tbody>\n{rows}{wanted}{rows}</tbody>\n</table>\n"
    index.note("memory/lockers.md", f"# Lockers\n\n{table}")
    shown = ask(index, "code of Ottoline").snippet.split("\n")
    assert shown[:2] == [f"<thead>{head.rstrip()}</thead>", "…"]
    assert wanted.rstrip() in shown


def test_so_does_a_row_in_html_that_is_written_over_several_lines(index: Index) -> None:
    def row(*cells: object) -> str:
        return "<tr>\n" + "".join(f"  <td>\n    {cell}\n  </td>\n" for cell in cells) + "</tr>\n"

    rows = "".join(row(f"L{number}", f"Person {number}", 7000 + number) for number in range(80))
    head = "<tr>\n  <th>locker</th>\n  <th>holder</th>\n  <th>code</th>\n</tr>\n"
    before = f"# Lockers\n\n<table>\n{head}{rows}"
    index.note("memory/lockers.md", f"{before}{row('L99', 'Ottoline', 4711)}{rows}</table>\n")
    hit = ask(index, "code of Ottoline")
    assert hit.snippet.startswith("<tr> <th>locker</th> <th>holder</th> <th>code</th> </tr>\n…\n")
    assert "<td> Ottoline </td> <td> 4711 </td>" in hit.snippet
    assert hit.start_line <= before.count("\n") + 1 <= hit.end_line


def test_a_head_that_stands_near_is_shown_once(index: Index) -> None:
    index.note("memory/lockers.md", f"{TABLE}| L1 | Ottoline | 4711 |\n| L2 | Piers | 4712 |\n")
    assert ask(index, "code of Ottoline").snippet.count("| locker | holder | code |") == 1


def test_an_item_comes_with_the_line_that_introduces_its_list(index: Index) -> None:
    items = "".join(f"- keep the number {number} in mind when the tide turns again\n" for number in range(40))
    index.note("memory/list.md", f"# Boat\n\nBefore the mast comes down:\n\n{items}- grease the tabernacle\n")
    hit = ask(index, "mast tabernacle")
    assert hit.snippet.startswith("Before the mast comes down:\n…\n")
    assert hit.snippet.endswith("- grease the tabernacle")


def test_a_child_comes_with_its_parents(index: Index) -> None:
    children = "".join(f"    - page {number} of the handbook, read twice and annotated\n" for number in range(40))
    outline = f"- Lighthouse\n  - Keeper\n{children}    - likes marzipan\n"
    index.note("memory/outline.md", outline)
    hit = ask(index, "marzipan", max_snippet_chars=200)
    assert hit.snippet.split("\n")[:3] == ["- Lighthouse", "  - Keeper", "…"]
    assert hit.snippet.endswith("- likes marzipan")


def test_a_lead_that_leaves_no_room_is_left_out(index: Index) -> None:
    index.note("memory/lockers.md", f"{TABLE}| L1 | Ottoline | 4711 |\n| L2 | Piers | 4712 |\n")
    assert ask(index, "Piers", max_snippet_chars=40).snippet == "| L2 | Piers | 4712 |"


@pytest.mark.parametrize(
    ("text", "line", "lead"),
    [
        ("| a |\n| - |\n| 1 |\n| 2 |", 3, (0, 1)),
        ("| a |\n| - |\n| 1 |", 1, ()),
        ("| 1 |\n| 2 |", 1, ()),
        ("a | b\n--- | ---\n1 | 2", 2, (0, 1)),
        ("intro:\n\n- x\n- y", 3, (0,)),
        ("intro\n- x", 1, (0,)),
        ("no intro\n\n- x", 2, ()),
        ("用品：\n\n- 伞", 2, (0,)),
        ("- a\n  - b\n    - c\n  - d\n- e", 2, (0, 1)),
        ("- a\n  - b\n    - c\n  - d\n- e", 3, (0,)),
        ("- a\n  - b\n    - c\n  - d\n- e", 4, ()),
        ("- a\n\n  more of a", 2, (0,)),
        ("intro:\n- a\n\n# Head\n\n- b", 5, ()),
        ("intro:\n- a\n\ntext\n\n- b", 5, ()),
        ("1. a\n   - b", 1, (0,)),
    ],
)
def test_the_lines_that_introduce_a_line(text: str, line: int, lead: tuple[int, ...]) -> None:
    lines = text.split("\n")
    assert find_leads(lines, scan(lines))[line] == lead
