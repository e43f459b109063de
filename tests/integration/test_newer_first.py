"""Newer statements stand before older ones where the present is asked, older ones where that is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.plugin.memory import Memory

NOTES = {
    "memory/2026-03-02.md": "# Monday\n\nThe standup meeting of the team is at nine.\n",
    "memory/2026-04-06.md": "# Monday\n\nThe standup meeting of the team is at ten from today, in the kitchen.\n",
    "memory/2026-06-01.md": "- Ann: The choir rehearsal is now on Monday.\n- Ben: Fine.\n- Ann: Bring cake.\n- Ben: I will.\n",
    "memory/2026-02-02.md": "- Ann: The choir rehearsal is on Friday.\n- Ben: Fine.\n- Ann: Bring cake.\n- Ben: I will.\n",
}


@pytest.fixture(params=["static", "none"])
def memory(tmp_path: Path, request: pytest.FixtureRequest) -> Memory:
    for path, text in NOTES.items():
        (tmp_path / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "w" / path).write_text(text, encoding="utf-8")
    config = {"agents": {"defaults": {"memorySearch": {"provider": request.param}}}}
    return memory_core.open_memory(config, workspace=tmp_path / "w", state_dir=tmp_path / "s")


def search(memory: Memory, question: str) -> list[dict[str, Any]]:
    with memory:
        found: list[dict[str, Any]] = memory.call_tool("memory_search", {"query": question})["results"]
        return found


def test_the_newest_change_comes_first_and_the_older_statement_says_so(memory: Memory) -> None:
    first, *others = search(memory, "When is the standup meeting of the team?")
    assert first["path"] == "memory/2026-04-06.md"
    assert "supersededBy" not in first
    [older] = [hit for hit in others if hit["path"] == "memory/2026-03-02.md"]
    assert older["supersededBy"] == {
        "path": "memory/2026-04-06.md", "line": 3,
        "text": "The standup meeting of the team is at ten from today, in the kitchen.",
        "since": "2026-04-06", "because": "newer", "replaces": 3,
    }  # fmt: skip


def test_the_older_one_comes_first_where_that_is_asked(memory: Memory) -> None:
    first, *_ = search(memory, "When was the standup meeting of the team originally?")
    assert first["path"] == "memory/2026-03-02.md"


def test_what_is_said_in_a_conversation_replaces_nothing(memory: Memory) -> None:
    assert not any("supersededBy" in hit for hit in search(memory, "When is the choir rehearsal?"))


def test_explain_tells_what_age_adds(memory: Memory) -> None:
    with memory:
        passages = memory.explain("When is the standup meeting of the team?").passages
    ages = {passage.path: passage.shares.age for passage in passages if passage.shares is not None}
    assert ages["memory/2026-04-06.md"] > 0
    assert ages["memory/2026-03-02.md"] == 0


def test_a_later_line_comes_first_that_repeats_the_older_line_rather_than_the_question(tmp_path: Path) -> None:
    notes = {
        "MEMORY.md": "# Bills\n- Broadband: Plusway, £29 a month\n- Electricity: Voltary, 24 pence\n",
        "memory/2026-02-03.md": "- rang Plusway about the slow evenings\n- planted the garlic\n",
        "memory/2026-07-09.md": "- walked to the reservoir\n- Plusway raises the price in August, £34.50 a month then\n",
    } | {f"memory/2026-05-{day:02}.md": f"- swam {day} lengths\n- read a chapter\n" for day in range(1, 29)}
    for path, text in notes.items():
        (tmp_path / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "w" / path).write_text(text, encoding="utf-8")
    config = {"memorySearch": {"provider": "none"}}
    memory = memory_core.open_memory(config, workspace=tmp_path / "w", state_dir=tmp_path / "s")
    first, second, *_ = search(memory, "How much is the broadband?")
    assert "£34.50" in first["snippet"]
    assert second["path"] == "MEMORY.md"


@pytest.mark.parametrize(
    ("question", "first"),
    [("What did the broadband cost before?", "MEMORY.md"), ("What does the broadband cost?", "memory/2026-07-09.md")],
)
def test_a_note_without_a_date_is_older_than_a_line_that_tells_a_change(
    tmp_path: Path, question: str, first: str
) -> None:
    notes = {
        "MEMORY.md": "# Bills\n- The broadband costs £29\n- The gym sends a letter each quarter\n- The gym has a sauna\n",
        "memory/2026-07-09.md": "- Broadband: the broadband costs £34 from today\n",
    }
    for path, text in notes.items():
        (tmp_path / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "w" / path).write_text(text, encoding="utf-8")
    memory = memory_core.open_memory(
        {"memorySearch": {"provider": "none"}}, workspace=tmp_path / "w", state_dir=tmp_path / "s"
    )
    assert search(memory, question)[0]["path"] == first


@pytest.mark.parametrize("provider", ["static", "none"])
def test_a_change_of_another_matter_that_shares_a_verb_with_the_question_is_not_newer(
    tmp_path: Path, provider: str
) -> None:
    notes = {
        "rezepte": "# Rezepte\n\nGraupensuppe: 300 g Graupen, zwei Möhren, ein Sellerie, Essig ganz zum Schluss.\n"
        "Butterkuchen: 500 g Mehl, ein Würfel Hefe, 250 g Butter.\nGratin nie mit Gouda.\n",
        "2026-05-05": "Neue Zeit für die Ableserin, sie kommt erst um neun, dafür länger.\n",
        "2026-04-01": "Das Paket kommt in die Garage.\n",
        "2026-04-02": "Besuch kommt im Dezember, sagt sie.\n",
        "2026-04-03": "Zur Feier kommt eine Frau Olschewski.\n",
        "2026-04-04": "Der Ofen kommt in zwei Wochen.\n",
    }
    for number in range(60):
        text = f"Heute war Markt in der Stadt, Nummer {number}, und am Abend ein Spaziergang am Kanal.\n"
        notes[f"2026-0{1 + number // 28}-{1 + number % 28:02d}"] = text
    (tmp_path / "w/memory").mkdir(parents=True)
    for name, text in notes.items():
        (tmp_path / f"w/memory/{name}.md").write_text(text, encoding="utf-8")
    config = {"agents": {"defaults": {"memorySearch": {"provider": provider}}}}
    memory = memory_core.open_memory(config, workspace=tmp_path / "w", state_dir=tmp_path / "s")
    assert search(memory, "Was kommt in die Graupensuppe?")[0]["path"] == "memory/rezepte.md"


BOOKS = {
    "2026-01-05": "The books are with Mr Quill, above the bakery.\n",
    "2026-05-20": "Nadia at Hobb & Co does the books.\n",
}


@pytest.mark.parametrize("provider", ["static", "none"])
def test_what_stands_behind_before_names_what_came_after(tmp_path: Path, provider: str) -> None:
    first, *_ = ask(tmp_path, provider, BOOKS, "Who did the books before Nadia?")
    assert "Mr Quill" in first["snippet"]


FILLED = {
    f"memory/2026-05-{day:02}.md": f"- swam {day} lengths in the old bath\n- read a chapter\n" for day in range(1, 29)
}


@pytest.mark.parametrize("provider", ["static", "none"])
@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("What is my ferritin?", "Ferritin 31, tired all week.", "Ferritin 58!!! The doctor is content."),
        ("Which locker do I have at work?", "Locker 204 at work, by the door.", "Locker 17 at work, under the stairs."),
        ("When is band practice?", "Band practice on Fridays in the cellar.", "Band practice is on Mondays now."),
    ],
)
def test_another_value_of_the_same_kind_comes_first_and_replaces_the_older_one(
    tmp_path: Path, provider: str, question: str, older: str, newer: str
) -> None:
    first, *others = ask(tmp_path, provider, {"2026-02-03": f"{older}\n", "2026-07-09": f"{newer}\n"}, question)
    assert first["path"] == "memory/2026-07-09.md"
    [former] = [hit for hit in others if hit["path"] == "memory/2026-02-03.md"]
    assert former["supersededBy"]["text"] == newer


@pytest.mark.parametrize("provider", ["static", "none"])
@pytest.mark.parametrize(
    "other",
    [
        "The boiler is serviced, new filter, 2 hours, and the man had biscuits.",  # a value of another kind
        "Looked at the new boiler of the neighbours with envy.",  # none
    ],
)
def test_a_later_line_without_another_value_of_the_same_kind_does_not_come_first(
    tmp_path: Path, provider: str, other: str
) -> None:
    notes = {"2026-02-03": "The boiler needs 1.5 bar of pressure.\n", "2026-07-09": f"{other}\n"}
    first, *_ = ask(tmp_path, provider, notes, "What pressure does the boiler need?")
    assert first["path"] == "memory/2026-02-03.md"


def test_a_later_line_is_found_that_names_neither_the_matter_nor_its_change_in_one_sentence(tmp_path: Path) -> None:
    notes = {
        "2026-02-03": "Surgery, Dr Imber. Blood pressure too high, so ramatal, 5 mg in the morning.\n",
        "2026-07-09": "Feet like balloons. Dr Imber changed it, I get 50 mg cortinol at night, morning none.\n",
    }
    first, *_ = ask(tmp_path, "none", notes, "What do I take for my blood pressure?")
    assert "cortinol" in first["snippet"]


@pytest.mark.parametrize("provider", ["static", "none"])
def test_a_change_of_another_matter_in_a_line_about_the_same_person_replaces_nothing(
    tmp_path: Path, provider: str
) -> None:
    notes = {
        "2026-10-05": "- Kickoff of Project Heron with Tomasz Wolski on 6 October\n",
        "2026-10-20": "- Tomasz Wolski is ill, Priya Nair takes over the API part of Project Heron.\n",
    }
    found = ask(tmp_path, provider, notes, "What is happening with Tomasz?")
    assert [hit["path"] for hit in found] == ["memory/2026-10-20.md", "memory/2026-10-05.md"]
    assert not any("supersededBy" in hit for hit in found)


def ask(folder: Path, provider: str, notes: dict[str, str], question: str) -> list[dict[str, Any]]:
    """Search notes by their day, among many others."""
    for path, text in (FILLED | {f"memory/{day}.md": text for day, text in notes.items()}).items():
        (folder / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "w" / path).write_text(text, encoding="utf-8")
    config = {"memorySearch": {"provider": provider}}
    return search(memory_core.open_memory(config, workspace=folder / "w", state_dir=folder / "s"), question)


@pytest.mark.parametrize(
    ("question", "answer", "later"),
    [
        (
            "What is Ruth's email?",
            "# Ruth Okafor\n- Designer. Email ruth@example.org",
            "[[Ruth Okafor]] takes over as designer",
        ),
        (
            "When is the pottery class?",
            "- The pottery class moved to Thursdays",
            "Moved the plumber: not Friday, Thursday 3 May",
        ),
        ("Wann ist der Chor?", "- Chor am 3. Mai um 19 Uhr", "Die Fahrschule ist jetzt mittwochs um 16 Uhr"),
        (
            "What is Omar's phone number?",
            "# Omar Haddad\n- Phone: +46 70 555 12 34",
            "Mrs Castle has a new phone number 0176 555",
        ),
        ("Where does Ines live?", "# Ines Prado\n- Lives in Porto", "Buy cheese and bread now, ask Ines"),
    ],
)
@pytest.mark.parametrize("provider", ["static", "none"])
def test_a_change_of_something_else_comes_behind(
    tmp_path: Path, question: str, answer: str, later: str, provider: str
) -> None:
    notes = {"memory/2026-03-01.md": f"{answer}\n", "memory/2026-04-28.md": f"{later}\n"} | {
        f"memory/2026-05-{day:02}.md": f"- swam {day} lengths\n- read a chapter of the atlas\n" for day in range(1, 29)
    }
    for path, text in notes.items():
        (tmp_path / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "w" / path).write_text(text, encoding="utf-8")
    config = {"memorySearch": {"provider": provider}}
    first, *_ = search(memory_core.open_memory(config, workspace=tmp_path / "w", state_dir=tmp_path / "s"), question)
    assert first["path"] == "memory/2026-03-01.md"


def test_a_note_of_the_last_day_of_all_is_searched(tmp_path: Path) -> None:
    for day, text in {"9999-12-31": "Ferry: the 9:40, gate 3.\n", "2026-03-02": "The ferry of old.\n"}.items():
        (tmp_path / "w" / "memory").mkdir(parents=True, exist_ok=True)
        (tmp_path / "w" / "memory" / f"{day}.md").write_text(text, encoding="utf-8")
    with memory_core.open_memory({}, workspace=tmp_path / "w", state_dir=tmp_path / "s") as memory:
        answer = memory.call_tool("memory_search", {"query": "Which gate has the ferry?"})
    assert "error" not in answer
    assert answer["results"]
