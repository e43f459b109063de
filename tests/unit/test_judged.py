"""Sets of judged questions, as the benchmark of retrieval reads them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.benchmarks.gates import Passed, probes, word_list
from tests.benchmarks.judged import Judged, collapsed, conversations, find_sets, load_questions

ROW = {"id": "1", "question": "Who came?", "category": 1, "gold": [["memory/a.md", 3]]}


def keep(folder: Path, *rows: dict[str, object]) -> None:
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "a.md").write_text("# A\n\n- Ann  came to tea. She left.\n", encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(rows), encoding="utf-8")


def test_a_set_is_the_folder_of_its_workspaces_at_any_depth(tmp_path: Path) -> None:
    for place in ("locomo/one", "locomo/two", "more/talks/one"):
        keep(tmp_path / place, ROW)
    assert {name: len(folders) for name, folders in find_sets(tmp_path).items()} == {"locomo": 2, "talks": 1}
    assert conversations(tmp_path) == conversations(tmp_path / "locomo")


def test_the_evidence_is_what_the_set_names_or_else_the_lines(tmp_path: Path) -> None:
    keep(tmp_path / "one", ROW, {**ROW, "gold_text": ["Ann came"]}, {**ROW, "gold": []}, {**ROW, "category": 5})
    whole, part = load_questions(tmp_path / "one")
    assert whole.evidence == ("Ann came to tea. She left.",)
    assert part.evidence == ("Ann came",)
    assert collapsed("- one\n  2. two") == "one two"


def test_other_sets_in_the_same_script_are_foreign() -> None:
    def asked(*texts: str) -> list[Judged]:
        return [Judged(text, text, (), ()) for text in texts]

    sets = {"a": asked("Who came?"), "b": asked("Who left?"), "c": asked("谁来了？")}
    assert probes("a", 0, 1, sets, sets["a"]).foreign == ["Who left?"]
    assert not probes("c", 0, 1, sets, sets["c"]).foreign
    assert probes("c", 0, 1, sets, sets["c"]).shuffled
    assert not probes("a", 0, 1, sets, sets["a"]).shuffled


def test_short_statements_of_other_sets_are_said() -> None:
    statement, question, long = "We went to the sea with our dog.", "Did we go to the sea?", "It was the best day. " * 9
    sets = {"a": [Judged("1", "?", (), ())], "b": [Judged("2", "?", (), (statement, question, long))]}
    assert probes("a", 0, 1, sets, sets["a"]).said == [statement]
    assert not probes("b", 0, 1, sets, sets["b"]).said


def test_a_list_of_words_has_none_that_only_build_questions() -> None:
    assert word_list("Where did Ann's sister go in 2019?") == "Ann sister 2019"
    assert word_list("香港经济复苏的原因是什么？") == "香港经济复苏 原因"


def test_own_questions_are_counted_by_what_finds_nothing_and_others_by_what_finds_something() -> None:
    passed = Passed()
    passed.add("own", 4, 3)
    passed.add("foreign", 4, 3)
    assert "own 0.250" in str(passed)
    assert "foreign 0.750" in str(passed)
