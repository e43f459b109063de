"""Forty judged questions about the past of a sample history, both by an author who had not seen the product."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.past_sample import SAMPLE, find_missed, finds, open_sample

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def _say_when(question: dict[str, Any], number: int) -> dict[str, Any]:
    """Say in the question, too, that it asks of the past."""
    asked = question["question"]
    said = (
        f"Originally, {asked}",
        f"{asked[:-1]} back then?",
        f"As of {question['asOf']}, {asked}",
        f"{asked[:-1]} at the time?",
    )
    return question | {"question": said[number % len(said)]}


@pytest.mark.parametrize(("provider", "ranked", "least"), [("static", 34, 33), ("none", 31, 30)])
def test_what_was_true_then_is_found(tmp_path: Path, provider: str, ranked: int, least: int) -> None:
    """At least `ranked` of the lines rank among the first hits, and `least` of them pass the default minimum score."""
    with open_sample(tmp_path, {"provider": provider}) as memory:
        missed = find_missed(memory)
        unranked = find_missed(memory, minScore=0)
        now = sum(finds(memory, question) for question in SAMPLE["questions"])
        told = [
            _say_when(question, number)["question"]
            for number, question in enumerate(SAMPLE["questions"])
            if finds(memory, _say_when(question, number), asOf=question["asOf"]) == (question["question"] in missed)
        ]
    asked = len(SAMPLE["questions"])
    print(f"{provider}: {asked - len(missed)} of {asked} then, {now} by a search of the present; missed: {missed}")
    assert asked - len(missed) >= least, missed
    assert asked - len(unranked) >= ranked, unranked
    assert not told
    assert now <= asked // 3
