"""A model at a scripted endpoint judges what the rules suspect, and words the lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from memory_core.upkeep.asking import ANSWER_TOKENS, JUDGE_LINES, SYSTEM, ModelFailed
from tests.unit.upkeep.conftest import House

NOTES = {
    "MEMORY.md": "# Memory\n\n- Rent: £410 a month, to Mr Prentice\n- Accountant: Prakash Nair\n",
    "memory/2026-05-11.md": "The rent goes up to £445 a month from June.\n",
    "memory/2026-06-08.md": "Prakash retires, Sunniva Bell is our accountant from August.\n",
}
ASKED = """\
Pair 0
> older (no date): Rent: £410 a month, to Mr Prentice
> newer (2026-05-11): The rent goes up to £445 a month from June.

Pair 1
> older (no date): Accountant: Prakash Nair
> newer (2026-06-08): Prakash retires, Sunniva Bell is our accountant from August.
"""


class Model:
    """Answers with what it is given, and remembers what it was asked."""

    def __init__(self, *verdicts: Mapping[str, Any]) -> None:
        self.answer: dict[str, Any] = {"verdicts": [*verdicts]}
        self.asked: list[tuple[Any, ...]] = []

    def __call__(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
    ) -> Mapping[str, Any]:
        self.asked.append((messages, tools, max_tokens))
        call = {"function": {"name": "judge_lines", "arguments": self.answer}}
        return {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}


def ask(house: House, model: Model) -> dict[int, str | None]:
    """Let a model judge what is suspected; return the new lines by their numbers."""
    house.write(NOTES)
    house.find()
    house.tidy.consult(model)
    return {each.line: each.new for each in house.find("outdated")}


@pytest.fixture(autouse=True)
def _alone(house: House) -> None:
    for note in house.workspace.rglob("*.md"):
        note.unlink()


def test_the_model_is_asked_once_with_a_fixed_prompt_and_words_what_it_finds_outdated(house: House) -> None:
    model = Model(
        {"pair": 0, "outdated": True, "line": "Rent: £445 a month, to Mr Prentice"}, {"pair": 1, "outdated": False}
    )
    assert ask(house, model) == {
        3: "- Rent: £445 a month, to Mr Prentice (since 2026-05-11, see memory/2026-05-11.md:1)"
    }
    assert model.asked == [
        (
            [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ASKED}],
            [{"type": "function", "function": JUDGE_LINES}],
            ANSWER_TOKENS,
        )
    ]
    house.tidy.consult(model)
    assert len(model.asked) == 1  # a verdict holds as long as the notes do
    house.tidy.accept(house.find("outdated")[0])
    assert house.find("outdated") == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Rent: £455 a month",  # a number that nobody has said
        "Rent: £445 a month\n- and more",
        "Rent: £445 a month, " + "to Mr Prentice " * 20,
        None,
    ],
)
def test_a_line_that_the_sources_do_not_say_is_left_to_the_rules(house: House, line: str | None) -> None:
    assert ask(house, Model({"pair": 0, "outdated": True, "line": line}))[3] == "- Rent: £445 a month, to Mr Prentice"


def test_a_secret_is_not_sent(house: House) -> None:
    secret = "sk-" + "proj4f9Q2xLm8Zt1Vb6Nc3Rd7Wy5Hs0Kj"
    house.write({"MEMORY.md": f"- Rent: £410 a month, token {secret}\n", **dict([*NOTES.items()][1:2])})
    house.find()
    model = Model({"pair": 0, "outdated": True, "line": "Rent: £445 a month"})
    house.tidy.consult(model)
    assert model.asked
    assert secret not in str(model.asked)
    assert [each.new for each in house.find("outdated")] == [f"- Rent: £445 a month, token {secret}"]


@pytest.mark.parametrize("answer", [{}, {"verdicts": 3}, {"verdicts": [{"outdated": True}]}, {"verdicts": ["yes"]}])
def test_an_answer_that_cannot_be_read_is_told_and_changes_nothing(house: House, answer: dict[str, Any]) -> None:
    model = Model()
    model.answer = answer
    house.write(NOTES)
    before = house.find()
    with pytest.raises(ModelFailed, match="gave no verdicts"):
        house.tidy.consult(model)
    assert house.find() == before
