"""The score that a hit shows: how surely it answers, apart from the evidence that is compared with `minScore`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.plugin.memory import Memory
from memory_core.search.confidence import SHOWN, _asks_for_number

NOTES = {
    "memory/people.md": "# People\n\n## Marta\n- plays the cello\n- shoe size 38\n\n## Martin\n- birthday 4 May\n- plays chess\n",
    "memory/2026-03-02.md": "The dentist charged 84 euros for the filling.\n\nThe blue kettle is broken.\n",
    "memory/2026-03-09.md": "Ruth painted the fence green.\n\nThe neighbour's hedge was cut. Ruth said that it took long.\n",
}
SURE = SHOWN[1]


def open_notes(folder: Path, notes: dict[str, str], provider: str) -> Memory:
    for path, text in notes.items():
        (folder / "w" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "w" / path).write_text(text, encoding="utf-8")
    config = {"agents": {"defaults": {"memorySearch": {"provider": provider}}}}
    return memory_core.open_memory(config, workspace=folder / "w", state_dir=folder / "s")


def search(memory: Memory, question: str, **arguments: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory.call_tool("memory_search", {"query": question, **arguments})["results"]
    return found


def best(memory: Memory, question: str) -> float:
    return max((hit["score"] for hit in search(memory, question)), default=0.0)


@pytest.mark.parametrize("provider", ["static", "none"])
def test_what_answers_is_sure_and_a_near_miss_is_not(tmp_path: Path, provider: str) -> None:
    with open_notes(tmp_path, NOTES, provider) as memory:
        assert best(memory, "How much did the dentist charge for the filling?") >= SURE
        assert best(memory, "Who painted the fence green?") >= SURE
        for near in ("Which colour does the dentist's car have?", "What did Ruth cook for the dentist?"):
            assert best(memory, near) < SURE


@pytest.mark.parametrize("provider", ["static", "none"])
def test_words_in_headings_above_count_and_those_of_a_former_heading_do_not(tmp_path: Path, provider: str) -> None:
    with open_notes(tmp_path, NOTES, provider) as memory:
        assert best(memory, "What is the shoe size of Marta?") > best(memory, "What is the shoe size of Martin?")


@pytest.mark.parametrize("provider", ["static", "none"])
def test_a_number_that_is_dialled_answers_for_its_words(tmp_path: Path, provider: str) -> None:
    notes = {**NOTES, "memory/2026-03-11.md": "Plumber (Osman, 01632 960 455) bled the radiators.\n\nRuth rang at 9.\n"}
    with open_notes(tmp_path, notes, provider) as memory:
        assert best(memory, "telephone number of Osman") >= SURE
        assert best(memory, "What is Ruth's telephone number?") < SURE


@pytest.mark.parametrize("question", ["When does Ruth sing?", "Wann singt Ruth?", "¿Cuándo canta Ruth?"])
def test_an_undated_line_without_a_time_does_not_tell_when(tmp_path: Path, question: str) -> None:
    lines = {"when": "Ruth sings, singt, canta on Mondays.", "where": "Ruth sings, singt, canta in Ely."}
    with (
        open_notes(tmp_path / "a", {"memory/choir.md": lines["when"]}, "none") as told,
        open_notes(tmp_path / "b", {"memory/choir.md": lines["where"]}, "none") as untold,
    ):
        assert best(told, question) > best(untold, question)


def test_what_a_message_calls_to_mind_without_evidence_is_not_sure(tmp_path: Path) -> None:
    with open_notes(tmp_path, NOTES, "static") as memory:
        first, *others = search(memory, "the filling that the dentist charged euros for")
    assert first["score"] >= SURE
    assert {hit["score"] for hit in others} <= {SHOWN[0]}


def test_a_line_without_a_number_does_not_tell_how_much(tmp_path: Path) -> None:
    notes = {"memory/2026-03-02.md": "The boiler repair was long and costly.\n"}
    with open_notes(tmp_path / "without", notes, "none") as memory:
        without = best(memory, "How long was the costly boiler repair?")
    notes = {"memory/2026-03-02.md": "The boiler repair was 3 h long and costly.\n"}
    with open_notes(tmp_path / "with", notes, "none") as memory:
        assert best(memory, "How long was the costly boiler repair?") > without


@pytest.mark.parametrize(
    "question",
    [
        "How many pets?", "how tall is it", "Wie viele Tiere?", "Wie alt ist er?", "Combien de temps ?", "¿Cuántos años?",
        "Quanto costa?", "Quantas vezes?", "Hoeveel kost het?", "Hoe laat is het?", "Сколько лет?",
    ],
)  # fmt: skip
def test_questions_for_a_number_are_told(question: str) -> None:
    assert _asks_for_number().search(question)


@pytest.mark.parametrize(
    "question",
    ["How do I start?", "how was it", "Wie heißt er?", "Wie geht es?", "Hoe heet hij?", "Show many", "how to"],
)
def test_other_questions_are_not(question: str) -> None:
    assert not _asks_for_number().search(question)


def test_min_score_asks_for_evidence_which_explain_tells_beside_the_score(tmp_path: Path) -> None:
    with open_notes(tmp_path, NOTES, "static") as memory:
        question = "What did Ruth cook for the dentist?"
        passages = memory.explain(question).passages
        shown = [passage for passage in passages if passage.shown_as == 1]
        assert shown[0].evidence is not None
        assert shown[0].score is not None
        assert shown[0].score < SURE < shown[0].evidence
        [hit, *_] = search(memory, question, minScore=shown[0].evidence)
        assert hit["score"] < shown[0].evidence
        assert "evidence" not in hit
        assert all(passage.score == passage.evidence for passage in passages if (passage.evidence or 0.0) < SHOWN[0])


def test_cjk_and_searches_by_vectors_alone_show_their_evidence(tmp_path: Path) -> None:
    notes = {"memory/2026-03-02.md": "牙医的预约是星期二十点。\n\n网络密码在抽屉里。\n", **NOTES}
    with open_notes(tmp_path, notes, "static") as memory:
        passages = memory.explain("牙医的预约是什么时候？").passages
        assert [passage.score for passage in passages] == [passage.evidence for passage in passages]
    config = {"agents": {"defaults": {"memorySearch": {"provider": "static", "query": {"hybrid": {"enabled": False}}}}}}
    with memory_core.open_memory(config, workspace=tmp_path / "w", state_dir=tmp_path / "s") as memory:
        passages = memory.explain("Who painted the fence green?").passages
        assert [passage.score for passage in passages] == [passage.evidence for passage in passages]


ALPHABETS = {
    "Greek": ("Το ποδήλατο είναι στο υπόγειο.", "Ποιος έγραψε την Οδύσσεια;"),
    "Cyrillic": ("Велосипед стоит в подвале.", "Кто написал роман об Анне Карениной?"),
    "Hebrew": ("האופניים במרתף.", "מי כתב את ספר תהילים?"),
    "Arabic": ("الدراجة في القبو.", "من كتب ألف ليلة وليلة؟"),
    "Thai": ("จักรยานอยู่ในห้องใต้ดิน", "ใครแต่งพระอภัยมณี"),
}


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_spelling_alike_in_letters_or_bytes_is_no_meaning(tmp_path: Path, alphabet: str) -> None:
    text, question = ALPHABETS[alphabet]
    with open_notes(tmp_path, {"memory/2026-03-02.md": f"{text}\n"}, "static") as memory:
        assert search(memory, question) == []
        word = max(re.findall(r"\w+", text), key=len)
        assert search(memory, word)


# Notes, questions that they do not answer, and one that they do.
FOREIGN = {
    "Spanish": (
        "Cambiaron la clave de la oficina.|La abuela toma media pastilla.|Arreglaron el horno.|La vecina cuida las plantas.",
        "¿Cuál es la capital de Mongolia?|¿Quién ganó el mundial de hockey?|¿A cuánto está el dólar?",
        "¿Quién cuida las plantas?",
    ),
    "French": (
        "Le code du bureau a changé.|Mamie prend un demi-cachet.|Le lave-vaisselle est réparé.|La voisine arrose les plantes.",
        "Quelle est la capitale de la Mongolie ?|Comment brasser de la bière ?|Combien vaut le dollar ?",
        "Qui arrose les plantes ?",
    ),
    "Polish": (
        "Zmieniono hasło w biurze.|Babcia bierze pół tabletki.|Naprawiono zmywarkę.|Sąsiadka podlewa kwiaty.",
        "Jaka jest stolica Mongolii?|Jak uwarzyć piwo w domu?|Jaki jest kurs dolara?", "Kto podlewa kwiaty?",
    ),
    "Turkish": (
        "Ofisin şifresi değişti.|Babaanne sabah yarım hap alıyor.|Bulaşık makinesi tamir edildi.|Komşu çiçekleri suluyor.",
        "Moğolistan'ın başkenti neresi?|Evde nasıl bira yapılır?|Dünya kupasını kim kazandı?", "Çiçekleri kim suluyor?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", FOREIGN)
def test_notes_in_one_language_are_not_near_all_questions_in_it(tmp_path: Path, language: str) -> None:
    notes, others, answered = FOREIGN[language]
    files = {f"memory/2026-03-{day:02}.md": f"{text}\n" for day, text in enumerate(notes.split("|"), start=1)}
    with open_notes(tmp_path, files, "static") as memory:
        assert [question for question in others.split("|") if search(memory, question)] == []
        assert search(memory, answered)


@pytest.mark.parametrize("provider", ["static", "none"])
def test_lines_about_the_one_who_is_named_come_first(tmp_path: Path, provider: str) -> None:
    notes = {
        "memory/people.md": "# People\n\n## Marta\n- birthday 9 June, birthday cake with nuts\n\n## Martin\n- birthday 4 May\n"
    }
    with open_notes(tmp_path, notes, provider) as memory:
        passages = memory.explain("When is the birthday of Martin?").passages
        assert "4 May" in passages[0].text


@pytest.mark.parametrize("question", ["Wann hat Nora Geburtstag?", "When is Nora's birthday, Geburtstag?"])
def test_the_date_of_a_note_is_no_birthday(tmp_path: Path, question: str) -> None:
    notes = {
        "memory/people/Nora.md": "# Nora Lind\n\nSegelt im Verein. Geburtstag: 14. Februar.\nMag keine Oliven.\n",
        "memory/2026-03-02.md": "# Montag, 2. März 2026\n\n- Mit Nora Lind telefoniert: sie übernimmt das Geld vom Verein\n",
    }
    with open_notes(tmp_path, notes, "static") as memory:
        first, *others = search(memory, question)
        assert first["path"] == "memory/people/Nora.md"
        assert all(hit["score"] < SURE for hit in others)


def test_the_date_of_a_note_tells_when_what_was_in_it_happened(tmp_path: Path) -> None:
    with open_notes(tmp_path, {"memory/2026-03-02.md": "Ruth repaired the old piano.\n"}, "none") as memory:
        assert best(memory, "When did Ruth repair the piano?") > best(memory, "When will Ruth repair the piano?")
