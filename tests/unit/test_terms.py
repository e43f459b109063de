"""Words of the keyword side: what is cut, what is left out, and that no query is read as FTS5 syntax."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.terms import STOP_WORDS, cut_cjk, is_single_cjk, match_expression, question_words


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


@given(st.text(alphabet=st.characters(max_codepoint=0x2FFF)))
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
        ('"*(:^-+', []),
        ("", []),
        ("NEAR(a b) AND NOT x", ["near", "b", "x"]),
    ],
)
def test_the_words_of_a_question(text: str, words: list[str]) -> None:
    assert question_words(text) == words


@given(st.text())
def test_words_are_lower_case_distinct_and_no_stop_words(text: str) -> None:
    words = question_words(text)
    assert len(words) == len(set(words))
    assert not STOP_WORDS & set(words)
    assert all(word and word == word.lower() for word in words)


def test_stop_words_are_words_as_questions_spell_them() -> None:
    assert all(word.isalpha() and word.islower() for word in STOP_WORDS)


def test_a_single_cjk_character_is_a_prefix() -> None:
    assert is_single_cjk("港")
    assert not is_single_cjk("盐田")
    assert not is_single_cjk("a")
    assert match_expression(["港", "near", "盐田"]) == '"港"* OR "near" OR "盐田"'
    assert match_expression([]) == ""


@given(st.text())
def test_no_question_is_read_as_syntax(text: str) -> None:
    expression = match_expression(question_words(text))
    if expression:
        assert FTS.execute("SELECT count(*) FROM notes WHERE notes MATCH ?", (expression,)).get in {0, 1}


def _one_note() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE notes USING fts5 (text, content='')")
    connection.execute("INSERT INTO notes (rowid, text) VALUES (1, 'near the harbour')")
    return connection


FTS = _one_note()
