"""A line that tells a change beside the name in a statement stands right behind that, where the question asks how things are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import memory_core

STATEMENTS = {
    "en": ("# Me\n- Dentist: Dr Paul Heller, Mill Lane\n- Likes tea\n", "Who is my dentist?", "Heller found nothing\n"),
    "de": (
        "# Ich\n- Zahnarzt: Praxis Holm, Marktplatz\n- mag Tee\n",
        "Wer ist unser Zahnarzt?",
        "Holm war zufrieden\n",
    ),
    "es": ("# Yo\n- Dentista: Dra. Ibáñez, calle Mayor\n", "¿Quién es mi dentista?", "Ibáñez no encontró nada\n"),
}


def search(folder: Path, language: str, later: str, question: str = "") -> Sequence[str]:
    """Return the snippets of hits among a statement, a later note and many others."""
    undated, asked, before = STATEMENTS[language]
    files = {f"memory/2026-03-{day:02}.md": f"- swam {day} lengths\n- ein Kapitel gelesen\n" for day in range(1, 29)}
    files |= {"MEMORY.md": undated, "memory/2026-04-01.md": before, "memory/2026-06-02.md": later}
    for path, text in files.items():
        (folder / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "w" / path).write_text(text, encoding="utf-8")
    config = {"memorySearch": {"provider": "none"}}
    with memory_core.open_memory(config, workspace=folder / "w", state_dir=folder / "s") as memory:
        results = memory.call_tool("memory_search", {"query": question or asked})["results"]
        return [hit["snippet"] for hit in results]


@pytest.mark.parametrize(
    ("language", "later", "answer"),
    [
        ("en", "- Heller retires. From July I go to Dr Amsel\n- garlic\n", "Amsel"),
        ("de", "- Holm hört auf. Ab Juli gehen wir zu Frau Dr. Lenz\n- Knoblauch\n", "Lenz"),
        ("de", "Holm behandelt nur noch Kinder. Wir sind seit heute bei Dr. Lenz.\n", "Lenz"),
        ("es", "- Ibáñez se jubila. A partir de julio voy con el Dr. Quiroga\n- ajos\n", "Quiroga"),
    ],
)
def test_a_change_told_beside_the_name_stands_second(tmp_path: Path, language: str, later: str, answer: str) -> None:
    found = search(tmp_path, language, later)
    assert found[0].startswith(STATEMENTS[language][0][:8])
    assert answer in found[1]


@pytest.mark.parametrize(
    ("language", "later"),
    [
        ("en", "- Left my umbrella at Heller's\n"),
        ("en", "- Appointment at Heller moved to 15:30\n"),
        ("en", "- Tim Heller from school has moved to Leeds, new address\n"),
        ("en", "- If Heller retires, I will go to Dr Amsel from July\n"),
        ("de", "- Holm macht Urlaub, ausnahmsweise ab Dienstag Frau Dr. Lenz\n"),
        ("de", "- Termin bei Holm jetzt um 15 Uhr\n"),
        ("es", "- Ibáñez de baja hasta el lunes\n"),
    ],
)
def test_the_statement_stays_first_whatever_else_is_told_of_the_name(tmp_path: Path, language: str, later: str) -> None:
    assert search(tmp_path, language, later)[0].startswith(STATEMENTS[language][0][:8])


def test_a_question_for_the_past_is_left_alone(tmp_path: Path) -> None:
    asked = "Who was my dentist before?"
    assert "Amsel" not in "".join(search(tmp_path, "en", "- Heller retires. From July I go to Dr Amsel\n", asked)[:1])
