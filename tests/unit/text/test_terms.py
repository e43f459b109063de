"""Words of the keyword side: what is cut and what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.text.languages import OPENERS, STOP_WORDS, Language
from memory_core.text.terms import (
    classify,
    cut_cjk,
    detect_language,
    extract_file_names,
    extract_identifiers,
    extract_ideographs,
    extract_words,
    find_cjk_share,
    is_functional,
    is_question,
    is_single_cjk,
)
from tests.growth import MOST_GROWTH, measure_growth


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("盐田港", " 盐田 田港 港 "),
        ("港", " 港 "),
        ("from盐田to", "from 盐田 田 to"),
        ("ブートローダー", " ブー ート トロ ロー ーダ ダー ー "),
        ("회의록", " 회의 의록 록 "),
        ("plain ascii", "plain ascii"),
        ("Łódź café", "Łódź café"),
    ],
)
def test_a_cjk_run_becomes_overlapping_pairs(text: str, cut: str) -> None:
    assert cut_cjk(text) == cut


@given(st.text())
def test_cutting_loses_no_character(text: str) -> None:
    assert set(text) <= set(cut_cjk(text))


@given(st.text(alphabet=st.characters(max_codepoint=0xDFF)))
def test_text_without_cjk_stays_as_it_is(text: str) -> None:
    assert cut_cjk(text) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What did we decide about the Database?", ["decide", "database"]),
        ("clock.max_self_drift_ms", ["clock", "max", "self", "drift", "ms"]),
        ("PRS-2209 prs 2209", ["prs", "2209"]),
        ("第一批样机", ["第一", "一批", "批样", "样机"]),
        ("港", ["港"]),
        ("version 港 盐田", ["version", "港", "盐田"]),
        ("what is it about?", []),
        ("hay", ["hay"]),
        ('"*(:^-+', []),
        ("", []),
        ("NEAR(a b) AND NOT x", ["near", "b", "x"]),
        ("Wann hat der Hausmeister die Heizung geprüft?", ["hausmeister", "heizung", "geprüft"]),
        ("Was hat das Kind dem Arzt gesagt?", ["kind", "arzt", "gesagt"]),
        ("Was ist beim Ultraschall eigentlich rausgekommen?", ["ultraschall", "rausgekommen"]),
        ("Was kam beim Ultraschall raus, und wer ist heute dran?", ["kam", "ultraschall", "heute"]),
        ("Seid ihr gerade im Schrebergarten?", ["schrebergarten"]),
        ("¿Qué han decidido sobre las facturas?", ["decidido", "facturas"]),
        ("¿Habéis pagado ya al fontanero?", ["pagado", "fontanero"]),
        ("Serez-vous à la kermesse ?", ["kermesse"]),
        ("Quando eravate in palestra?", ["palestra"]),
        ("Où est-ce qu’on a mis les clés de l'atelier ?", ["mis", "clés", "atelier"]),
    ],
)
def test_the_words_of_a_question(text: str, words: list[str]) -> None:
    assert extract_words(text) == words


@given(st.text())
def test_words_are_lower_case_distinct_and_no_stop_words(text: str) -> None:
    words = extract_words(text)
    assert len(words) == len(set(words))
    assert not STOP_WORDS[detect_language(text) or "en"] & set(words)
    assert all(word and word == word.lower() for word in words)


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_are_words_as_questions_spell_them(language: Language) -> None:
    assert all(word.isalpha() and word.islower() for word in STOP_WORDS[language] | OPENERS[language])


def test_a_single_cjk_character_is_a_prefix() -> None:
    assert is_single_cjk("港")
    assert not is_single_cjk("盐田")
    assert not is_single_cjk("a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PRS-2209 wobbling gizmo", ["PRS-2209"]),
        ("error E11000 blorp", ["E11000"]),
        ("What about commit a828e60? And 4f1c31c.", ["a828e60", "4f1c31c"]),
        ("`idle_in_transaction`, TileCache::get", ["idle_in_transaction", "TileCache::get"]),
        ("(CooperativeStickyAssignor)", ["CooperativeStickyAssignor"]),
        ("order 20417733 of v2.11.4", ["20417733", "v2.11.4"]),
        ("at 10am on the 2nd, a 24-hour race of 100km in 2023", []),
        ("well-being and self-care on YouTube, an iPhone 12", []),
        ("会议室 A1 是什么", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_names_one_thing_exactly(text: str, expected: list[str]) -> None:
    assert extract_identifiers(text) == expected


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What is the correct treatment for burns?", True),
        ("why did the insurance refuse to cover the equipment", True),
        ("Do we restore the backup by hand?", True),
        ("treatment burns", False),
        ("ribbon paint paint tomato?", False),
        ("I took the ribbon to the tower and it was yellow", False),
        ("where apple anchor autumn balloon", False),
        ("Wie hoch ist der Deich?", True),
        ("wann wird die Heizung geprüft", True),
        ("¿Cuándo es la cita con el dentista?", True),
        ("Quand est-ce que le dentiste pose la couronne ?", True),
        ("Deich Heizung Hausmeister?", False),
        ("Die Heizung ist seit gestern wieder warm", False),
        ("?", False),
        ("", False),
    ],
)
def test_what_is_a_question_in_a_sentence(text: str, asks: bool) -> None:
    assert is_question(text) is asks


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What is the correct treatment for burns?", "question"),
        ("I don’t know what I should have done with it", "statement"),
        ("treatment burns", "words"),
        ("Die Heizung ist seit gestern wieder warm", "statement"),
        ("香港经济复苏的原因是什么", "question"),
        ("今天和妈妈一起去了海边。 ", "statement"),
        ("昨日は雨でした！", "statement"),
        ("你好！你去过哪里？", "question"),
        ("我昨天也去过那里。你呢？", "statement"),
        ("", "words"),
    ],
)
def test_questions_statements_and_lists_are_told_apart(text: str, kind: str) -> None:
    assert classify(text) == kind


def test_ideographs_that_do_more_than_build_sentences() -> None:
    assert extract_ideographs("我很怕黑，也怕雷。Thunder") == ["怕", "黑", "雷"]
    assert extract_ideographs("plain") == extract_ideographs("これは") == []


def test_the_share_of_cjk_letters_and_pairs_that_only_build_sentences() -> None:
    assert find_cjk_share("香港 2004 GDP") == pytest.approx(2 / 9)
    assert find_cjk_share("plain") == find_cjk_share("…") == 0
    assert is_functional("什么")
    assert is_functional("から")
    assert not is_functional("香港")


@pytest.mark.parametrize("part", ["aA", "a_", "a:", "a::", "_", "1a", "aAbB", "ab-", "a.1", "9", "a"])
def test_identifiers_are_told_in_linear_time(part: str) -> None:
    """Long runs once made a pattern try every way to divide them."""
    assert measure_growth(lambda times: extract_identifiers(part * times + "!x"), 5000) < MOST_GROWTH


@given(st.text())
def test_any_text_has_or_has_not_identifiers_and_a_question(text: str) -> None:
    assert all(word in text for word in extract_identifiers(text))
    assert not is_question(text) or text.strip()


def test_a_question_that_is_a_path_names_its_file() -> None:
    assert "memory/red kite/plan.md" in extract_file_names("memory/Red Kite/plan.md ")
    assert extract_file_names("is it in Red Kite/plan.md?") == ["kite/plan.md"]
