"""Questions that ask for several things are told from those that ask for one."""

from __future__ import annotations

import pytest

from memory_core.text.terms import asks_for_several


@pytest.mark.parametrize(
    "question",
    [
        "How many pets does Ada have?",
        "how often did the build fail",
        "Which hobbies does Ada enjoy?",
        "What instruments can she play?",
        "What kinds of wood did we buy?",
        "What kind of films does Ada enjoy?",
        "In what ways does the cache help?",
        "What are Ada’s hobbies?",
        "What are the reasons for the delay?",
        "What has Ada painted?",
        "Which people came to the harbour?",
        "Which half-hour walks did Ada take?",
        "What did Ada and Max pay altogether?",
        "How did each of the boats do?",
        "Wie viele Katzen hat Ada?",
        "Welche Farben hat der Hafen?",
        "Wo war Ada überall?",
        "Welke boeken heeft Ada gelezen?",
        "¿Cuántas veces fue Ada al puerto?",
        "Combien de livres a-t-elle lus ?",
        "Quels livres a-t-elle lus ?",
        "Сколько у Ады кошек?",
        "她去过哪些城市？",
        "猫は何匹いて、何回引っ越しましたか？",
    ],
)
def test_several_things(question: str) -> None:
    assert asks_for_several(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What is the name of Ada's dog?",
        "What did Ada buy in the shops?",
        "Which bus took Ada to the harbour?",
        "What class is the boat in?",
        "What is Ada's address?",
        "How much does the harbour cost?",
        "When did Ada buy the books?",
        "Who has the keys of the boats?",
        "pets hobbies books",
        "I wonder which books are on the shelves.",
        "Wo ist der Hafen?",
        "Welche Farbe hat der Hafen?",
        "她住在哪里？",
    ],
)
def test_one_thing(question: str) -> None:
    assert not asks_for_several(question)


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert not asks_for_several("Where is it? " * 1000 + "Which books are there?")
