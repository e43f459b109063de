"""Questions about the present and about what was before, and lines that tell a change."""

from __future__ import annotations

import pytest

from memory_core.text.tense import find_asked_time, find_present, tells_change


@pytest.mark.parametrize(
    "question",
    [
        "Where does Ann live?", "What is the rate limit now?", "Who mentors Ben at the moment?", "door code of the church?",
        "Wo wohnt Anna?", "Wie viel nehme ich zurzeit?", "Où habite Anne maintenant ?", "¿Dónde vive Ana actualmente?",
        "Dove abita Anna adesso?", "Onde mora a Ana agora?", "Waar woont Anna nu?", "Где сейчас живёт Анна?",
    ],
)  # fmt: skip
def test_the_present_is_asked(question: str) -> None:
    assert find_asked_time(question) == "now"


@pytest.mark.parametrize(
    "question",
    [
        "What did it cost before the rise?", "Where was the trip originally going?", "Which days were office days back then?",
        "Was kostete das Wasser vor der Erhöhung?", "Wohin sollte es ursprünglich gehen?", "Combien coûtait-il avant la hausse ?",
        "¿Cuánto costaba antes de la subida?", "Quanto costava prima?", "Quanto custava antes?", "Wat kostte het vroeger?",
        "Сколько стоило раньше?",
    ],
)  # fmt: skip
def test_what_was_before_is_asked(question: str) -> None:
    assert find_asked_time(question) == "then"


@pytest.mark.parametrize(
    "question",
    [
        "Who was ill?", "What did Ann buy?", "Where has Ann moved the boxes?", "boiler filter part number",
        "The old office was nice.",
        "Was hat Anna gekauft?", "Qu'a-t-elle acheté ?", "¿Qué compró Ana?", "Cosa ha comprato Anna?",
        "Wat heeft Anna gekocht?", "Что купила Анна?",
    ],
)  # fmt: skip
def test_of_what_has_happened_and_of_lists_no_time_is_asked(question: str) -> None:
    assert find_asked_time(question) is None


@pytest.mark.parametrize(
    "line",
    [
        "Standup is at ten from Monday.", "As of today we use pnpm", "No longer on Fridays", "Training moves to the hall",
        "Ab sofort um neun", "Er wohnt nicht mehr hier", "Désormais le lundi", "À partir d'octobre", "A partir de mañana",
        "Da oggi alle nove", "Ya no vive aquí", "A partir de amanhã", "Vanaf maandag", "Теперь в девять",
    ],
)  # fmt: skip
def test_a_change_is_told(line: str) -> None:
    assert tells_change(line)


@pytest.mark.parametrize(
    "line",
    ["Standup is at ten.", "We know the snow.", "Der Report ist fertig", "A report on mud", "Le lundi à neuf heures"],
)
def test_no_change_is_told(line: str) -> None:
    assert not tells_change(line)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Where does Ann work these days?", {"these", "days"}), ("Where did Ann work before?", set()),
        ("¿Qué toma mamá hoy en día?", {"hoy", "en", "día"}), ("Wo arbeitet Anna derzeit?", {"derzeit"}),
        ("Was heißt noch?", {"noch"}),
    ],
)  # fmt: skip
def test_the_words_that_ask_for_the_present_are_found(question: str, words: set[str]) -> None:
    assert find_present(question) == words
