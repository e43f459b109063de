"""Names: which spellings are one name, and which texts mention it."""

from __future__ import annotations

import pytest

from memory_core.text.names import compile_spellings, find_names, make_key, split_phrases, suggest_near


@pytest.mark.parametrize(
    "spellings",
    [
        (
            "Remote readout",
            "remote-readout",
            "REMOTE_READOUT",
            "#remote-readout",
            "remote-readout.md",
            " Remote  Readout ",
        ),
        ("O'Brien", "O’Brien", "o’brien"),
        ("Café Müller", "cafe\u0301 mu\u0308ller", "ＣＡＦÉ　Müller"),
        ("Straße", "STRASSE"),
        ("東京", "東京"),
    ],
)
def test_spellings_of_one_name_have_one_key(spellings: tuple[str, ...]) -> None:
    assert len({make_key(each) for each in spellings}) == 1


@pytest.mark.parametrize("name", ["", "  ", "---", "#", "***", "🙂"])
def test_what_holds_no_word_has_no_key(name: str) -> None:
    assert not make_key(name)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("Ada", "ADA came.", 0),
        ("Ada", "Adam came to Canada.", None),
        ("Ada", "It is\nAda's.", 1),
        ("Remote readout", "the remote-\nreadout page", 0),
        ("Remote readout", "a remote and a readout", None),
        ("O'Brien", "Mrs. O’Brien", 0),
        ("横浜", "今日は横浜にある工場", 0),
        ("C++", "We use C++.", 0),
        ("C++", "We use C.", None),
        (".*", "anything", None),
        ("a|b", "a", None),
        ("(x", "look at (x now", 0),
        ("Will", "We will come.", None),
        ("Will", "Then\nWill came.", 1),
        ("May Day", "on may day", 0),
        ("Müller", "bei Mu\u0308ller", 0),
    ],
)
def test_a_text_mentions_a_name_or_not(name: str, text: str, line: int | None) -> None:
    assert compile_spellings([name]).find_line(text) == line


def test_the_index_is_asked_for_every_run_of_a_script() -> None:
    assert split_phrases('NEAR("a" OR b*) NOT c:d') == ["NEAR a OR b NOT c d"]
    assert split_phrases("横浜NATS工場") == ["横浜", "NATS", "工場"]
    assert split_phrases("東京都") == ["東京 京都"]
    assert split_phrases("🙂") == ["🙂"]
    assert split_phrases("…") == []


def test_names_are_found_by_rule() -> None:
    found = [
        *find_names("Yesterday we met Anna Karenina in March. The talk was on EMB-2131. 彼は「量子計算」と言った。")
    ]
    assert set(found) == {"Anna Karenina", "EMB-2131", "量子計算"}


def test_marks_colours_and_attachments_are_no_names() -> None:
    text = "Here is a TODO and a FIXME for MEDIA:/tmp/out/x3.png in #0c4f9e beside Ada Quill."
    assert set(find_names(text)) == {"Ada Quill"}


def test_near_names_are_suggested() -> None:
    assert suggest_near("gatehous", ["gatehouse", "courier", "gate"], 2) == ["gatehouse", "gate"]
    assert suggest_near("jetstream", ["NATS JetStream", "courier"], 2) == ["NATS JetStream"]
    assert suggest_near("[[*", ["a"], 2) == []
