"""The kinds of ways in which people tell facts beside the work at hand, each with near misses that leave nothing."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.items.capture.rules import resolve_days
from memory_core.items.items import Items

MARCH_10 = datetime(2026, 3, 10, 12).astimezone().timestamp()


def learn(folder: Path, *said: str) -> list[tuple[str, bool]]:
    """Return what an exchange leaves, and whether it waits; what begins with "A: " is said by the assistant."""
    config = AgentConfig(
        agent="main", workspace=folder, state_dir=folder, store_path=folder / "main.sqlite",
        search=SearchSettings(provider="none"),
    )  # fmt: skip
    roles = ["assistant" if each.startswith("A: ") else "user" for each in said]
    messages = [
        {"role": role, "content": each.removeprefix("A: "), "time": MARCH_10}
        for role, each in zip(roles, said, strict=True)
    ]
    items = Items(config)
    try:
        return [(item.content, item.pending) for item in items.memorize(messages, session="s").stored]
    finally:
        items.close()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (("what do people wear?", "A: When is the regatta?", "4 June"), "When is the regatta? 4 June."),
        (("hints?", "A: Nice. Where are you headed?", "Oban"), "Where are you headed? Oban."),
        (("a present for my niece", "A: How old is she?", "7"), "A present for my niece. How old is she? 7."),
        (("was zieht man an?", "A: Wann ist die Regatta?", "am 4. Juni"), "Wann ist die Regatta? Am 4. Juni."),
        (("on met quoi ?", "A: C'est quand, la régate ?", "le 4 juin"), "C'est quand, la régate ? Le 4 juin."),
        (("qué me pongo?", "A: ¿Cuándo es la regata?", "el 4 de junio"), "¿Cuándo es la regata? El 4 de junio."),
    ],
)
def test_an_answer_is_kept_with_its_question(tmp_path: Path, said: tuple[str, ...], kept: str) -> None:
    assert [content.lower() for content, _ in learn(tmp_path, *said)] == [kept.lower()]


@pytest.mark.parametrize(
    "said",
    [
        ("fix the report", "A: When should I send it?", "June 3"),
        ("fix the report", "A: When do you need it?", "by 12 March"),
        ("store it", "A: Where should I store it?", "in Downloads"),
        ("call it", "A: What is the function called?", "Parse_all"),
        ("a caption", "A: How long should it be?", "200 words, by Friday"),
        ("is it far?", "A: When is the regatta?", "maybe 4 June"),
        ("is it far?", "A: When is the regatta?", "is it on 4 June?"),
        ("wo fange ich an", "A: Wann soll ich dich wecken?", "am 3. Mai"),
        ("fais une affiche", "A: Quelle date veux-tu ?", "le 12 mai"),
        ("haz un cartel", "A: ¿Qué fecha pongo?", "el 12 de mayo"),
    ],
)
def test_an_answer_for_the_work_at_hand_is_not_kept(tmp_path: Path, said: tuple[str, ...]) -> None:
    assert learn(tmp_path, *said) == []


def test_what_stands_behind_the_request_for_a_letter_waits(tmp_path: Path) -> None:
    said = "Write an email to Bob. I have decided to move to Oslo."
    assert learn(tmp_path, said) == [("I have decided to move to Oslo.", True)]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("help me write a note to the harbour. we're moving to Oban on 4 June", "We're moving to Oban on 4 June"),
        ("our mooring ends on 4 June, draft a letter to the harbour", "Our mooring ends on 4 June"),
        ("schreib einen Brief an den Hafen. wir ziehen am 4. Juni um", "Wir ziehen am 4. Juni um"),
        ("write a message to the harbour: we sail on 4 June. we live in Oban", ""),
        ("write an email to the crew that we never sail on Fridays", ""),
        ("write a letter from a sailor. I live in Oban", ""),
    ],
)
def test_a_letter_is_told_from_what_its_writer_says(tmp_path: Path, said: str, kept: str) -> None:
    assert [content for content, _ in learn(tmp_path, said)] == ([kept] if kept else [])


@pytest.mark.parametrize(
    ("heard", "said", "kept"),
    [
        ("Dear Marian,", "it's Marion, not Marian", "It's Marion, not Marian"),
        ("Lieber Stephan,", "er heißt Stefan, nicht Stephan", "Er heißt Stefan, nicht Stephan"),
        ("Chère Hélène,", "c'est Helena, pas Hélène", "C'est Helena, pas Hélène"),
        ("Querida Elena,", "se llama Helena, no Elena", "Se llama Helena, no Elena"),
        ("How about Monday?", "it's Tuesday, not Monday", ""),
        ("Flask fits.", "it's Django, not Flask", ""),
        ("Das ist Butter.", "das ist Butter, nicht Margarine", ""),
    ],
)
def test_the_right_spelling_of_a_name_is_kept(tmp_path: Path, heard: str, said: str, kept: str) -> None:
    assert [content for content, _ in learn(tmp_path, "a card please", f"A: {heard}", said)] == ([kept] if kept else [])


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ("the winch slips under load", "the pawl was loose. tightened the pawl and now the winch is fine"),
        ("die Winde rutscht durch", "die Klinke klemmte. geölt, jetzt läuft die Winde wieder"),
        ("le treuil patine", "c'était le cliquet ! je l'ai changé et le treuil refonctionne"),
        ("el winche patina", "era el trinquete, lo cambié y el winche ya funciona"),
    ],
)
def test_a_solution_is_kept_with_the_thing_that_it_names(tmp_path: Path, problem: str, said: str) -> None:
    (kept,) = learn(tmp_path, problem, "A: Have a look at the pawl.", said)
    told, _, cured = kept[0].lower().partition(". ")
    assert told == problem.lower()
    assert cured == f"{said.lower()}."


def test_what_is_fine_by_itself_solves_nothing(tmp_path: Path) -> None:
    assert learn(tmp_path, "the winch is red", "A: Nice.", "now the winch is fine") == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("soup for six? beans are ok but Rosa is vegan", "Rosa is vegan"),
        ("Suppe? außerdem verträgt Rosa keine Milch", "Außerdem verträgt Rosa keine Milch"),
        ("une soupe ? par contre Rosa ne supporte pas le lait", "Rosa ne supporte pas le lait"),
        ("una sopa? además Rosa es alérgica a la leche", "Rosa es alérgica a la leche"),
        ("mach einen Plan. Rosa hat dienstags Chor", "Rosa hat dienstags Chor"),
        ("fais-moi un plan pour la semaine. Rosa a chorale le mardi", "Rosa a chorale le mardi"),
        ("haz un plan. Rosa tiene coro los martes", "Rosa tiene coro los martes"),
        ("ein Geschenk für meine Tante? sie liebt Opern", "Meine Tante liebt Opern"),
        ("un cadeau pour ma tante ? elle adore l'opéra", "Ma tante adore l'opéra"),
        ("un regalo para mi tía? vive en Vigo y adora la ópera", "Mi tía vive en Vigo y adora la ópera"),
        ("thanks, but from now on leave out the greeting", "From now on leave out the greeting"),
        ("danke, aber lass künftig deine Anrede weg", "Lass künftig deine Anrede weg"),
        ("merci, mais à l'avenir évite la formule du début", "À l'avenir évite la formule du début"),
        ("vale, pero en adelante quita el saludo", "En adelante quita el saludo"),
        ("change the poster, choir practice has moved to Thursdays", "Choir practice has moved to Thursdays"),
        (
            "unsere neue Nachbarin, Frau Lind, ist Ärztin in Bonn",
            "Unsere neue Nachbarin, Frau Lind, ist Ärztin in Bonn",
        ),
    ],
)
def test_a_fact_beside_a_request_is_kept_by_itself(tmp_path: Path, said: str, kept: str) -> None:
    assert [content for content, _ in learn(tmp_path, said)] == [kept]


@pytest.mark.parametrize(
    "said",
    [
        "when I was small we always had soup at six",
        "früher haben wir immer um sechs gegessen",
        "avant on mangeait toujours à six heures",
        "antes cenábamos siempre a las seis",
        "my neighbour says Rosa hates soup",
        "mein Nachbar sagt, Rosa kommt immer am Montag",
        "mon voisin dit que Rosa déteste la soupe",
        "mi vecina dice que Rosa odia la sopa",
        "I'd buy a yacht and live in Spain",
        "ich such drei Lieder in Moll",
        "faut que je fasse 3 exercices",
        "is Rosa vegan?",
        "je cherche ma tante, elle est en retard",
        "mi hermana? tiene razón",
        "nothing works because Chrome is broken",
        "siempre falla, ayúdame porfa",
    ],
)
def test_what_is_past_or_said_by_others_or_asked_is_not_kept(tmp_path: Path, said: str) -> None:
    assert learn(tmp_path, said) == []


@pytest.mark.parametrize(
    "said",
    [
        ("hints?", "A: Where do you live?", "Please stop asking"),
        ("hints?", "A: Where do you live?", "Rosa lives in Oban"),
        ("Tipps?", "A: Wo wohnst du?", "Das ist meine Sache"),
        ("hints?", "A: When is the regatta?", "not on 4 June"),
        ("Tipps?", "A: Wie alt ist deine Nichte?", "Das sind 3 Fragen"),
        ("the key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789", "A: When does it end?", "4 June"),
    ],
)
def test_a_reply_that_answers_nothing_is_not_kept_as_an_answer(tmp_path: Path, said: tuple[str, ...]) -> None:
    assert not any("?" in content for content, _ in learn(tmp_path, *said))


@pytest.mark.parametrize(
    "said",
    [
        "der Neffe meiner Tante, er liebt Opern",
        "ein Geschenk für meine Tante? er liebt Opern",
        "un cadeau pour le neveu de ma tante ? il adore l'opéra",
        "un regalo para el sobrino de mi tía? vive en Vigo",
    ],
)
def test_what_is_said_of_somebody_else_is_not_said_of_the_relative(tmp_path: Path, said: str) -> None:
    told = [content.lower() for content, _ in learn(tmp_path, said)]
    assert not any(each.startswith(("meine", "ma tante", "mi tía")) for each in told)


@pytest.mark.parametrize(
    "said",
    [
        "Linux ist montags langsam",
        "Linux est lent le lundi",
        "Linux va lento los lunes",
        "le film passe vendredi, on y va ?",
        "der Film läuft am Freitag, kommst du?",
        "la película es el viernes, ¿vienes?",
        "tu das bitte nie wieder",
        "ne fais plus jamais ça s'il te plaît",
        "pon eso en rojo, siempre no",
        "dis-moi pourquoi il est toujours fermé",
        "si Rosa es vegana, nada de leche",
        "the minutes are from Tuesday, translate them",
        "unser erfundener Laden heißt Möwe und öffnet montags. ein Logo bitte",
        "mon oncle disait toujours que la mer porte conseil",
    ],
)
def test_what_is_of_the_moment_or_invented_is_not_kept(tmp_path: Path, said: str) -> None:
    assert learn(tmp_path, said) == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("today's tea is hot and today's soup red", "today's (2026-03-10) tea is hot and today's (2026-03-10) soup red"),
        (
            "the day after tomorrow we sail, tomorrow we rest",
            "the day after tomorrow (2026-03-12) we sail, tomorrow (2026-03-11) we rest",
        ),
        ("le bac passe vendredi", "le bac passe vendredi"),
    ],
)  # fmt: skip
def test_each_near_day_gets_its_date(said: str, kept: str) -> None:
    assert resolve_days(said, date(2026, 3, 10)) == kept


def test_a_place_is_nobody_that_he_stands_for(tmp_path: Path) -> None:
    told = [
        content for content, _ in learn(tmp_path, "Which bus goes there? Owen starts school in Bergen, he's my cousin")
    ]
    assert not any(each.startswith("Bergen") for each in told)
