"""Questions about the present and about what was before, and lines that tell a change."""

from __future__ import annotations

import pytest

from memory_core.text.tense import find_asked_time, find_present, find_tense, tells_change


@pytest.mark.parametrize(
    "question",
    [
        "Where does Ann live?", "What is the rate limit now?", "Who mentors Ben at the moment?", "door code of the church?",
        "Wo wohnt Anna?", "Wie viel nehme ich zurzeit?", "Où habite Anne maintenant ?", "¿Dónde vive Ana actualmente?",
        "Dove abita Anna adesso?", "Onde mora a Ana agora?", "Waar woont Anna nu?", "Где сейчас живёт Анна?",
        "Wann nächste Probe?", "¿Quién envía el paquete?", "¿Quién vacía la basura?",
        "Was lernt Jonas?", "Was trinkt Ben?", "Wo arbeite ich?", "Wann möchte Anna kommen?", "¿Qué compañía tiene Ana?",
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
        "Was hat Anna gekauft?", "Wo wohnte Anna?", "Wer wollte kommen?", "¿Cuándo salía el tren?", "¿Dónde se hacía la feria?",
        "Qu'a-t-elle acheté ?", "¿Qué compró Ana?", "Cosa ha comprato Anna?",
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


# By language: questions about what was; about what is, or is to come; about what is to come. "…" stands for words of time.
TENSES = {
    "en": (
        "What was planned for …?; Who rang …?; What happened … with Tom?; What have we done …?; what's happened …?; Did I pay …?",
        "What is on …?; what's on …?; Do I have anything …?; when do we fly …?; what happens …?; What is left to do …?",
        "What is planned for …?; What have I planned for …?; Who is coming …?; What will we do …?; I have to go …",
    ),
    "de": (
        "Was war … geplant?; Was habe ich … gemacht?; Was ist … passiert?; Was wurde … besprochen?",
        "Was ist …?; Habe ich … etwas vor?; Wer kommt …?; Wann treffe ich Anna …?",
        "Was ist … geplant?; Was steht … an?; Was muss ich … erledigen?; Was werden wir … tun?",
    ),
    "fr": (
        "Qu'est-ce qui était prévu …?; Qu'est-ce que j'ai fait …?; Qu'est-ce qui s'est passé …?; Qui est venu …?",
        "Qu'est-ce que j'ai …?; Qui vient …?; Qu'est-ce que nous faisons …?",
        "Qu'est-ce qui est prévu …?; Que ferons-nous …?; Qui va venir …?",
    ),
    "es": (
        "¿Qué hice …?; ¿Qué pasó …?; ¿Qué ha pasado …?; ¿Quién estaba …?",
        "¿Qué hay …?; ¿Qué tengo …?; ¿Quién viene …?",
        "¿Qué está previsto …?; ¿Qué vamos a hacer …?; ¿Qué habrá …?",
    ),
    "it": (
        "Cosa ho fatto …?; Cosa è successo …?; Chi c'era …?",
        "Cosa c'è …?; Cosa ho …?; Chi viene …?",
        "Cosa è previsto …?; Cosa faremo …?",
    ),
    "pt": (
        "O que fiz …?; O que aconteceu …?; Quem estava …?",
        "O que tenho …?; O que há …?; Quem vem …?",
        "O que está previsto …?; O que vamos fazer …?",
    ),
    "nl": (
        "Wat is er … gebeurd?; Wat heb ik … gedaan?; Wat hebben we … bezocht?; Wie was er …?",
        "Wat is er …?; Wie komt er …?",
        "Wat staat er … gepland?; Wat ga ik … doen?",
    ),
    "ru": (
        "Что я делал …?; Что было …?",
        "Что у меня …?; Что происходит …?",
        "Что запланировано …?; Что будет …?; Что мы запланировали …?",
    ),
    "zh": ("…我做了什么？", "…有什么？", "…有什么安排？; …要做什么"),
    "ja": (
        "…に何がありましたか; …に何をした？; …の予定は何でしたか",
        "…に何がありますか; …は何をしますか",
        "…の予定は？",
    ),
}


@pytest.mark.parametrize("language", TENSES)
def test_the_tense_of_a_question(language: str) -> None:
    for tense, questions in zip(("past", "present", "future"), TENSES[language], strict=True):
        for question in questions.split("; "):
            assert find_tense(question, language) == tense, question


@pytest.mark.parametrize("text", ["rent …", "- Flight … at 7:10", "…", ""])
def test_words_without_a_verb_have_no_tense(text: str) -> None:
    assert find_tense(text, "en") is None
    assert find_tense(text, "fi") is None
