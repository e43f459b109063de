"""Questions in plain language, prepared for QMD."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_qmd.queries import MAX_WORDS, build_lines, extract_words, join_lines, prepare, strip_syntax


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("lex: vec: a", "a"),
        ("  INTENT : a", "a"),
        ("-a --b c-d", "a b c-d"),
        ('say "no"\nnow', "say no now"),
        ("\x00\u2028a", "a"),
        ("expand: a", "a"),
    ],
)
def test_syntax_is_taken_out(text: str, left: str) -> None:
    assert strip_syntax(text) == left


@given(st.text())
def test_a_document_has_one_typed_line_a_word(text: str) -> None:
    question = prepare(text, extract_words(text), {}, 10)
    lines = build_lines(question, by_meaning=False)
    assert len(lines) <= MAX_WORDS
    for (kind, word), line in zip(lines, join_lines(lines).split("\n"), strict=bool(lines)):
        assert kind == "lex"
        assert line == f"lex: {word}"
        assert len(word.split()) == 1
        assert not word.startswith(("-", '"'))
    first = strip_syntax(text)[:1]
    assert first not in {"-", '"', " "} or first == ""


def test_rare_words_and_whole_identifiers_lead() -> None:
    text = "Which commit fixed PRS-2209 in the gateway?"
    words = extract_words(text)
    counts = {"commit": 9, "fixed": 4, "prs": 1, "2209": 1, "gateway": 6}
    lines = build_lines(prepare(text, words, counts, 20), by_meaning=True)
    assert lines[0] == ("vec", text)
    assert [word for _, word in lines[1:]] == ["PRS-2209", "prs", "2209", "fixed", "gateway", "commit"]


def test_words_that_are_nowhere_are_not_asked_for_but_count() -> None:
    question = prepare("green giraffe", ["green", "giraffe"], {"green": 1, "giraffe": 0}, 5)
    assert question.known == ("green",)
    assert question.weights[1] > question.weights[0]
