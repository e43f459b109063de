"""`after` and `before` look at the day of a passage's own section, where a heading gives one, else at the date of its file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

import memory_core
from tests.command import Command

DAYS = [date(2024, 3, 4) + timedelta(9 * number) for number in range(80)]
JOURNAL = "# Journal\n\nThe walrus is ours.\n" + "".join(
    f"\n## {day.isoformat() if number % 2 else f'{day.day} {day:%B %Y}'}\n\nThe walrus had dinner {number}.\n"
    f"\n### Weather\n\nThe walrus saw rain {number}.\n"
    for number, day in enumerate(DAYS)
)  # fmt: skip
NOTES = {
    "memory/journal.md": JOURNAL + "\n## Ideas\n\nThe walrus could sing.\n",
    "memory/2025-02-01.md": "# Saturday\n\n## 2025-03-20\n\nThe walrus goes to the dentist.\n",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[memory_core.Memory]:
    for path, text in NOTES.items():
        (tmp_path / "ws" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ws" / path).write_text(text)
    config = {"memory": {"search": {"provider": "none", "query": {"explain": True}}}}
    with memory_core.open_memory(config, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as opened:
        opened.sync()
        yield opened


def ask(memory: memory_core.Memory, **arguments: object) -> str:
    result = memory.call_tool("memory_search", {"query": "walrus", "maxResults": 50, **arguments})
    return "\n".join(hit["snippet"] for hit in result["results"])


@pytest.mark.parametrize("number", [0, 1, 40, 79])
def test_only_the_sections_of_the_days_asked_for_are_found(memory: memory_core.Memory, number: int) -> None:
    day = DAYS[number].isoformat()
    shown = ask(memory, after=day, before=day)
    assert [f"{said} {other}." in shown for said in ("dinner", "rain") for other in (number - 1, number, number + 1)] == [
        False, True, False, False, True, False,
    ]  # fmt: skip
    assert "dentist" not in shown


def test_as_many_are_found_as_there_are(memory: memory_core.Memory) -> None:
    days = [number for number, day in enumerate(DAYS) if day >= date(2025, 6, 1)]
    shown = ask(memory, after="2025-06-01")
    assert [number for number in range(len(DAYS)) if f"dinner {number}." in shown] == days


def test_a_section_without_a_day_and_a_note_of_one_day_have_that_of_the_file(memory: memory_core.Memory) -> None:
    assert "could sing" in ask(memory, after="2024-03-04", before="2024-03-05")
    assert "could sing" not in ask(memory, after="2024-03-05")
    assert "dentist" in ask(memory, after="2025-02-01", before="2025-02-01")
    assert "dentist" not in ask(memory, after="2025-03-20", before="2025-03-20")


def test_explain_tells_the_day_of_the_section(memory: memory_core.Memory, tmp_path: Path) -> None:
    line = JOURNAL.split("\n").index("The walrus had dinner 1.") + 1
    lines = Command(tmp_path / "ws", tmp_path / "state")(
        "explain", "walrus", f"memory/journal.md#L{line}", "--after", "2025-01-01"
    ).out.splitlines()
    assert "did not come: it is of 2024-03-13, and only what is after 2025-01-01 was asked for." in lines[0]
    told = memory.call_tool(
        "memory_explain", {"query": "walrus", "path": "memory/journal.md", "line": line, "after": "2025-01-01"}
    )
    assert "it is of 2024-03-13" in str(told)


def test_a_question_for_a_month_lists_the_sections_of_a_log(memory: memory_core.Memory) -> None:
    found = memory.call_tool("memory_search", {"query": "What happened in May 2025?", "maxResults": 20})
    numbers = [number for number, day in enumerate(DAYS) if (day.year, day.month) == (2025, 5)]
    said = re.findall(r"dinner (\d+)", "\n".join(hit["snippet"] for hit in found["results"]))
    assert [int(each) for each in said] == numbers, "in order of time"


def test_the_newest_section_of_a_log_comes_first(tmp_path: Path) -> None:
    said = {"2025-02-03": "The vet of Rufus is Dr Pell.", "2026-04-09": "The vet of Rufus is now Dr Quist."}
    days = sorted({*said, *(day.isoformat() for day in DAYS)})
    parts = [f"\n## {day}\n\n{said.get(day, 'A walk along the river, and rain.')}\n" for day in days]
    (tmp_path / "ws/memory").mkdir(parents=True)
    (tmp_path / "ws/memory/dog.md").write_text("# Dog\n" + "".join(parts))
    config = {"memory": {"search": {"provider": "none"}}}
    with memory_core.open_memory(config, workspace=tmp_path / "ws", state_dir=tmp_path / "state") as opened:
        found = opened.call_tool("memory_search", {"query": "Who is the vet of Rufus?"})
    shown = [hit["snippet"] for hit in found["results"]]
    assert "Quist" in shown[0]
    assert "Pell" in shown[1]
