"""Questions as FTS5 expressions: any of the words, and nothing in them is read as syntax."""

from __future__ import annotations

import apsw
from hypothesis import given
from hypothesis import strategies as st

from memory_core.stores.sqlite.reader import match_expression
from memory_core.text.terms import extract_words


def test_words_are_quoted_and_a_single_cjk_character_is_a_prefix() -> None:
    assert match_expression(["港", "near", "盐田"]) == '"港"* OR "near" OR "盐田"'
    assert match_expression([]) == ""


@given(st.text())
def test_no_question_is_read_as_syntax(text: str) -> None:
    expression = match_expression(extract_words(text))
    if expression:
        assert FTS.execute("SELECT count(*) FROM notes WHERE notes MATCH ?", (expression,)).get in {0, 1}


def _one_note() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE notes USING fts5 (text, content='')")
    connection.execute("INSERT INTO notes (rowid, text) VALUES (1, 'near the harbour')")
    return connection


FTS = _one_note()
