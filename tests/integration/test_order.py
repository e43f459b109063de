"""The score that is shown orders the hits and is what `minScore` asks for, with every kind of evidence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import memory_core
from memory_core.plugin.memory import Memory
from tests.command import SAMPLE
from tests.servers.openai import OpenAIServer

QUESTIONS = [
    *(row["question"] for row in json.loads((SAMPLE.parent / "sample_questions.json").read_text())),
    "What was decided about the garden and the kitchen?", "guitar lesson", "Who repaired the roof, and what did it cost?",
    "When is the next appointment?", "statement redesign open points", "PRS-2209", "Which notes are about money?",
    "2026-03-07 wedding flowers",
]  # fmt: skip
EVIDENCE: Mapping[str, Mapping[str, Any]] = {
    "static": {"provider": "static"},
    "keywords": {"provider": "none"},
    "remote": {"provider": "openai-compatible", "model": "fake"},
    "vectors": {"provider": "static", "query": {"hybrid": {"enabled": False}}},
}


@pytest.fixture(scope="module", params=EVIDENCE)
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """The sample workspace, searched by one kind of evidence."""
    with OpenAIServer() as server:
        search = {**EVIDENCE[request.param], "sync": {"onSearch": False}, "remote": {"baseUrl": server.url}}
        config = {"agents": {"defaults": {"memorySearch": search}}}
        with memory_core.open_memory(config, workspace=SAMPLE, state_dir=tmp_path_factory.mktemp("state")) as opened:
            opened.sync()
            yield opened


def search(memory: Memory, question: str, **arguments: Any) -> list[dict[str, Any]]:
    answer = memory.call_tool("memory_search", {"query": question, **arguments})
    assert "warning" not in answer, answer
    found: list[dict[str, Any]] = answer["results"]
    return found


@pytest.mark.parametrize("count", [6, 40])
def test_scores_never_rise_down_the_list(count: int, memory: Memory) -> None:
    several_of_one_file = 0
    for question in QUESTIONS:
        found = search(memory, question, maxResults=count, minScore=0)
        scores = [hit["score"] for hit in found]
        assert scores == sorted(scores, reverse=True), question
        several_of_one_file += len({hit["path"] for hit in found}) < len(found)
    assert several_of_one_file


def test_a_higher_min_score_keeps_the_beginning_of_an_answer(memory: Memory) -> None:
    lengths = set()
    for question in QUESTIONS:
        every = search(memory, question, minScore=0)
        for least in (0.2, 0.35, 0.5, 0.8, 0.9, 0.97):
            found = search(memory, question, minScore=least)
            assert found == every[: len(found)]
            lengths.add(len(found))
    assert len(lengths) > 3


def test_fewer_results_are_the_first_of_more(memory: Memory) -> None:
    for question in QUESTIONS:
        assert search(memory, question, maxResults=2) == search(memory, question, maxResults=6)[:2]
