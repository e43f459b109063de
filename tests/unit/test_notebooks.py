"""The benchmark of notebooks judges answers as its documentation says."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.notebooks import auc, evaluate, summarise, table

NOTES = {
    "memory/2026-06-01.md": "- The code of the brass gate of Anna is 4711.\n",
    "memory/2026-09-01.md": "- The code of the gate of Hanna is 2044.\n",
}
ROW: dict[str, object] = {"stale": [], "today": "2026-11-25"}
QUESTIONS: list[dict[str, object]] = [
    {
        "id": "a", "kind": "plain", "question": "What is the code of the gate?",
        "gold": [["memory/2026-06-01.md", 1]] * 2, "gold_text": ["- The code of the brass gate", "of the moat"],
    },
    {
        "id": "b", "kind": "person", "question": "What is the code of the brass gate of Anna?",
        "gold": [["memory/2026-09-01.md", 1]], "gold_text": ["2044"], "stale": [["memory/2026-06-01.md", 1]],
    },
    {"id": "c", "kind": "none", "question": "qwertz uiop asdf", "gold": [], "gold_text": []},
]  # fmt: skip


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    folder = tmp_path / "notebook"
    (folder / "memory").mkdir(parents=True)
    for path, text in NOTES.items():
        (folder / path).write_text(text, encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps([ROW | each for each in QUESTIONS]), encoding="utf-8")
    return folder


def test_an_answer_is_judged_by_what_it_shows_and_in_which_order(notebook: Path) -> None:
    plain, person, none = evaluate(notebook, {"provider": "none", "sync": {"onSearch": False}})
    assert (plain.seen, plain.missed) == (0.5, ("of the moat",))
    assert person.seen == 1
    assert person.right == 0  # what the question says more of stands before it
    assert (none.hits, none.best) == (0, 0)
    assert auc([plain, person, none]) == 1
    assert "| plain | 1 | 0.500 |" in table(summarise([plain, person, none]))
