"""Which language a text is in, and stems of its words."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text import languages
from memory_core.text.languages import STEMMED, STEMMERS, Language, is_common, list_synonyms, stem_text, stem_words
from memory_core.text.terms import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What did we decide about the database?", "en"),
        ("Was the fence painted?", "en"),
        ("Is there a man in the den?", "en"),
        ("MIT license of the editor", "en"),
        ("What did the doctor say the patient would die of?", "en"),
        ("Was kostet die Heizung?", "de"),
        ("Was lernt Jonas?", "de"),
        ("War Jonas krank?", "de"),
        ("Was Jonas ziek?", "nl"),
        ("Come sta Anna?", "it"),
        ("Was Jonas late?", "en"),
        ("Was Ben ill?", "en"),
        ("Had Lotte fever?", "en"),
        ("Was Otto with Berta?", "en"),
        ("Was war am Dienstag in Berlin mit dem Zug?", "de"),
        ("Welche Rechnung fehlt?", "de"),
        ("die Wände streichen", "de"),
        ("¿Qué estuvimos podando?", "es"),
        ("cuando es la cita con el dentista", "es"),
        ("Qu'est-ce qu'on taillait ?", "fr"),
        ("Où sont les clés ?", "fr"),
        ("Quando é que chega a encomenda?", "pt"),
        ("Onde deixei as chaves?", "pt"),
        ("De que cor pintamos a parede dos corredores?", "pt"),
        ("¿De qué color pintamos la pared de los pasillos?", "es"),
        ("Che cosa hanno deciso per il magazzino?", "it"),
        ("Dov'è la chiave?", "it"),
        ("Où est la clé de la cave ?", "fr"),
        ("Waar hangt de sleutel van de schuur?", "nl"),
        ("Wo hängt der Schlüssel?", "de"),
        ("Wat kost de verwarming?", "nl"),
        ("Где ключи?", "ru"),
        ("Что сказал врач?", "ru"),
        ("cost per seat, fare and due date", "en"),
        ("come via Lisbon, fare due", None),
        ("door van Dan", None),
        ("война и мир", "ru"),
        ("война", None),
        ("war stories", None),
        ("die cast model", None),
        ("Rechnung Zahnarzt", None),
        ("PRS-2209", None),
        ("会議はいつですか", None),
        ("法国的 la defense 在哪里", None),
        ("", None),
    ],
)
def test_the_language_of_a_question(text: str, language: Language | None) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("Die Rechnungen und die Häuser sind nicht von uns", {"rechnungen": "rechnung", "häuser": "haus"}),
        ("Die Ha\u0308user sind nicht von uns", {"häuser": "haus"}),
        ("Las canciones que decidió el coro", {"canciones": "cancion", "decidió": "decid", "coro": "cor"}),
        ("Les chevaux que nous avons réparés", {"chevaux": "cheval", "réparés": "répar"}),
        (
            "As canções que o coro decidiu cantar",
            {"canções": "cançõ", "coro": "cor", "decidiu": "decid", "cantar": "cant"},
        ),
        ("Le porte che abbiamo dipinto", {"porte": "port", "dipinto": "dipint"}),
        ("De fietsen die we hebben besteld", {"fietsen": "fiets", "besteld": "besteld"}),
        ("Тормоза, которые мы заказали", {"тормоза": "тормоз", "заказали": "заказа"}),
        ("The horses that we have repaired", {}),
        ("猫が庭で寝ている", {}),
        ("E11000 2026-03-01", {}),
    ],
)
def test_words_of_a_text_with_their_stems(text: str, stems: dict[str, str]) -> None:
    assert {each.word: each.stem for each in stem_text(text)} == stems


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "go went gone going"),
        ("en", "eat ate eaten"),
        ("en", "leave left leaving"),
        ("de", "gehen geht ging gegangen"),
        ("de", "nehmen nahm nimmt genommen"),
        ("de", "kaufen kaufte gekauft"),
        ("de", "anrufen angerufen anzurufen"),
        ("fr", "aller va irai allé"),
        ("fr", "voir vu verra"),
        ("es", "ir fue voy"),
        ("es", "ser fue era"),
        ("es", "tener tuvo tengo tendrá"),
        ("it", "andare vado andrò"),
        ("it", "vedere visto vide"),
        ("pt", "fazer fez feito faço"),
        ("pt", "ir foi vai"),
        ("nl", "komen kwam gekomen"),
        ("nl", "kopen koopt kocht gekocht"),
    ],
)
def test_all_forms_of_an_irregular_verb_share_its_infinitive(language: Language, words: str) -> None:
    infinitive = f"to {words.split(maxsplit=1)[0]}"
    sharing = {each.word for each in stem_words(words.split(), language) if each.stem == infinitive}
    assert sharing == {*words.split()}


def test_a_form_comes_before_its_stem() -> None:
    """The keyword index's stemmer makes "ate" "at"; a word that is no verb has no verb."""
    assert {each.word for each in stem_words(["ate", "at", "late"], "en")} == {"ate"}
    assert stem_words(["invoice", "kitchens"], "en") == []


TABLES: list[tuple[Literal["verbs", "words", "synonyms"], Language]] = [
    *(("verbs", language) for language in STEMMERS if language != "ru"),
    *(("words", language) for language in STEMMERS),
    *(("synonyms", language) for language in languages.SYNONYMOUS),
]


@pytest.mark.parametrize(("kind", "language"), TABLES)
def test_every_line_of_the_tables_is_found(kind: Literal["verbs", "words", "synonyms"], language: Language) -> None:
    path = Path(languages.__file__).parent / kind / f"{language}.txt"
    source, *rows = path.read_text(encoding="utf-8").splitlines()
    assert source.startswith("# Made by tests/word_tables.py from ")
    for line in [*rows[:40], *rows[40::97], *rows[-1:]]:
        assert languages._find_line(kind, language, line.split()[0]) == line.split()
    for missing in ("\U0010ffff", "", " ", "aaaaab"):
        assert languages._find_line(kind, language, missing) == []


def test_common_words_are_told_from_misspelt_ones() -> None:
    assert all(is_common(word, "en") for word in ("fruit", "earn", "swum", "october"))
    assert not any(is_common(word, "en") for word in ("friut", "ocotber", "wich", "definately", "adress"))
    assert is_common("oktober", "de")
    assert not is_common("oktober", "en")
    assert is_common("oktober", None)


def test_synonyms_are_those_of_a_word_then_of_its_singular_or_infinitive_then_of_another_form() -> None:
    assert "mum" in list_synonyms("mother", "en")
    assert "kid" in list_synonyms("children", "en")
    assert list_synonyms("vacations", "en") == list_synonyms("vacation", "en")
    assert list_synonyms("grossmutter", "de") == list_synonyms("großmutter", "de") == ["oma", "omi"]
    assert list_synonyms("großmutter", "en") == list_synonyms("grand-mère", "fr") == list_synonyms("", "en") == []
    assert {*list_synonyms("fridge", None)} >= {*list_synonyms("fridge", "en")}


@given(
    st.text()
    | st.lists(st.sampled_from(["der", "die", "que", "los", "les", "het", "мы", "x" * 90, "\ud800"])).map(" ".join)
)
def test_any_text_has_stems_or_not(text: str) -> None:
    assert all(len(each.word) <= 40 for each in stem_text(text))
    for language in STEMMED:
        stem_words(text.split(), language)
    for word in text.lower().split():
        assert word not in list_synonyms(word, None)
