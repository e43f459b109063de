"""A question about how things are shows the line first that replaces an older statement, though the two share only a name."""

from __future__ import annotations

from pathlib import Path

import pytest

import memory_core

DENTIST = {
    "en": ("# Me\n- Dentist: Paul Heller, Mill Lane\n- Likes tea\n", "Who is my dentist?", "Heller found nothing\n"),
    "de": (
        "# Ich\n- Zahnarzt: Praxis Holm, Marktplatz\n- mag Tee\n",
        "Wer ist unser Zahnarzt?",
        "Holm war zufrieden\n",
    ),
    "es": ("# Yo\n- Dentista: Dra. Ibáñez, calle Mayor\n", "¿Quién es mi dentista?", "Ibáñez no encontró nada\n"),
}


def find_first(folder: Path, undated: str, question: str, notes: dict[str, str]) -> str:
    """Return the snippet of the best hit among the notes, by their days, and many others."""
    files = {f"memory/2026-03-{day:02}.md": f"- swam {day} lengths\n- ein Kapitel gelesen\n" for day in range(1, 29)}
    files |= {"MEMORY.md": undated} | {f"memory/{day}.md": text for day, text in notes.items()}
    for path, text in files.items():
        (folder / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "w" / path).write_text(text, encoding="utf-8")
    config = {"memorySearch": {"provider": "none"}}
    with memory_core.open_memory(config, workspace=folder / "w", state_dir=folder / "s") as memory:
        snippet: str = memory.call_tool("memory_search", {"query": question})["results"][0]["snippet"]
        return snippet


@pytest.mark.parametrize(
    ("language", "later", "answer"),
    [
        ("en", "- Heller retires. From July I go to Dr Amsel\n- garlic\n", "Amsel"),
        ("en", "Heller has shut the practice.\nFrom July I go to Dr Amsel.\n", "Amsel"),
        ("de", "- Holm hört auf. Ab Juli gehen wir zu Frau Dr. Lenz\n- Knoblauch\n", "Lenz"),
        ("de", "Holm behandelt nur noch Kinder. Wir sind seit heute bei Dr. Lenz.\n", "Lenz"),
        ("es", "- Ibáñez se jubila. A partir de julio voy con el Dr. Quiroga\n- ajos\n", "Quiroga"),
    ],
)
def test_a_line_that_names_what_the_statement_holds_and_tells_a_change_comes_first(
    tmp_path: Path, language: str, later: str, answer: str
) -> None:
    undated, question, before = DENTIST[language]
    assert answer in find_first(tmp_path, undated, question, {"2026-04-01": before, "2026-06-02": later})


@pytest.mark.parametrize(
    ("language", "later"),
    [
        ("en", "- Heller is on holiday, this week only Dr Amsel from Tuesday\n"),  # an exception
        ("en", "- If Heller retires, I will go to Dr Amsel from July\n"),  # a plan
        ("en", "- Thinking of leaving Heller for Dr Amsel from next year\n"),
        ("en", "- Does Heller retire? From July somebody else?\n"),  # a question
        ("en", "- Tim Heller from school has moved to Leeds, new address\n"),  # another one of the name
        ("en", "- Heller joked that he retires and opens a bar\n"),
        ("de", "- Holm macht Urlaub, ausnahmsweise ab Dienstag Frau Dr. Lenz\n"),
        ("de", "- Falls Holm aufhört, gehen wir ab Juli zu Lenz\n"),
        ("de", "- Hört Holm auf?\n"),
        ("de", "- Vielleicht wechseln wir von Holm zu Lenz\n"),
        ("de", "- Holm scherzte, er hört auf\n"),
        ("es", "- Ibáñez de vacaciones, solo esta semana desde hoy el Dr. Quiroga\n"),
        ("es", "- Si Ibáñez se jubila, iré con Quiroga a partir de julio\n"),
        ("es", "- ¿Se jubila Ibáñez?\n"),
        ("es", "- Quizás cambiamos de Ibáñez a Quiroga\n"),
    ],
)
def test_the_older_statement_stays_first_where_nothing_has_changed(tmp_path: Path, language: str, later: str) -> None:
    undated, question, before = DENTIST[language]
    first = find_first(tmp_path, undated, question, {"2026-04-01": before, "2026-06-02": later})
    assert first.startswith(undated.split("\n")[0])


@pytest.mark.parametrize(
    ("undated", "question", "changes", "answer"),
    [
        ("- Broadband: Plusway, £29 a month\n", "What do we pay for broadband?",
         ("We are with Corvo now. Sent the Plusway box back.\n", "- Corvo has shut down, it is Tessera from May\n"), "Tessera"),
        ("- Den Zweitschlüssel hat Jonas Brandt\n", "Wer hat unseren Zweitschlüssel?",
         ("- Brandt zieht nach Kiel. Neu hat ihn Sommer\n", "- Sommer ist weggezogen, jetzt hat ihn Uhland\n"), "Uhland"),
        ("- La llave de reserva la tiene Jonás Prado\n", "¿Quién tiene la llave de reserva?",
         ("- Prado se muda a Vigo. Ahora la guarda Soto\n", "- Soto se ha ido, desde hoy la guarda Rivas\n"), "Rivas"),
    ],
)  # fmt: skip
def test_what_has_changed_twice_is_followed_to_its_end(
    tmp_path: Path, undated: str, question: str, changes: tuple[str, str], answer: str
) -> None:
    notes = dict(zip(("2026-04-01", "2026-05-01"), changes, strict=True))
    assert answer in find_first(tmp_path, f"# Home\n{undated}", question, notes)
