"""explain over QMD: all that can be known of a program that returns hits and nothing else, and the truth where that ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memory_core
from memory_core.explanations import Explanation
from memory_core.plugin.memory import Memory
from tests.qmd.conftest import QmdAgent

WORDS = "The hedgehog sleeps under the shed"


@pytest.fixture(params=["fake", "real"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    agent: QmdAgent = request.getfixturevalue("agent" if request.param == "fake" else "real")
    agent.note("memory/garden.md", f"# Garden\n\n{WORDS}.\n")
    agent.note("memory/street.md", "The hedgehog crossed the street.\n")
    agent.note("memory/roof.md", "The slates of the roof are loose.\n")
    document = {
        "memory": {"backend": "qmd", "qmd": {"command": agent.settings.command, "limits": {"timeoutMs": 60_000}}},
        "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"onSearchBudgetMs": 60_000}}}},
    }
    with memory_core.open_memory(document, workspace=agent.workspace, state_dir=agent.config.state_dir) as opened:
        opened.sync()
        yield opened


def explain(memory: Memory, question: str, place: str | None = None, **options: float) -> Explanation:
    found = memory.explain(question, place, **options)  # type: ignore[arg-type]  # max_results is a whole number
    assert found.backend == "qmd"
    return found


def test_what_is_explained_is_what_is_found(memory: Memory) -> None:
    found = explain(memory, WORDS)
    hits = memory.call_tool("memory_search", {"query": WORDS})["results"]
    shown = [(passage.path, passage.start_line) for passage in found.passages if passage.shown_as]
    assert sorted(shown) == sorted((hit["path"], hit["startLine"]) for hit in hits)
    assert "memory/garden.md" in {path for path, _ in shown}
    assert found.verdict.stage == "shown"
    assert all(
        passage.keyword_rank is None and passage.shares is None for passage in found.passages
    )  # QMD does not tell


def test_a_place_that_came_is_told_its_number(memory: Memory) -> None:
    verdict = explain(memory, WORDS, "memory/garden.md").verdict
    assert (verdict.stage, verdict.reason.startswith("it is in result ")) == ("shown", True)


def test_a_place_behind_the_results_is_told_so(memory: Memory) -> None:
    found = explain(memory, "hedgehog", max_results=1, min_score=0.0)
    (behind, *_) = [passage for passage in found.passages if not passage.shown_as]
    verdict = explain(memory, "hedgehog", behind.path, max_results=1, min_score=0.0).verdict
    assert (verdict.stage, verdict.cause) == ("packing", "behind")


def test_a_place_below_the_gate_is_told_its_score(memory: Memory) -> None:
    question = "hedgehog concert piano"  # of which the notes hold one word
    lowest = min(explain(memory, question, min_score=0.0).passages, key=lambda each: each.score or 0.0)
    assert (lowest.score or 0.0) < 1.0
    verdict = explain(memory, question, lowest.path, min_score=1.0).verdict
    assert (verdict.stage, verdict.cause) == ("gate", "low_score")
    assert f"{lowest.score:.2f}" in verdict.reason


def test_a_place_that_qmd_did_not_return_is_said_to_be_unknown(memory: Memory) -> None:
    verdict = explain(memory, "hedgehog", "memory/roof.md").verdict
    if verdict.stage == "gate":  # a real model finds some likeness in everything, and then its score is known
        assert "below the gate" in verdict.reason
    else:
        assert (verdict.stage, verdict.cause) == ("unknown", "not_returned")
        assert verdict.reason.startswith("qmd did not return it among its best ")
        assert verdict.action


@pytest.mark.parametrize(
    ("place", "cause"),
    [("memory/none.md", "missing"), ("memory/garden.md#L99", "no_such_line"), ("notes.txt", "excluded")],
)
def test_what_the_files_tell_is_told_for_qmd_too(memory: Memory, place: str, cause: str) -> None:
    assert (Path(memory.config().workspace) / "memory/garden.md").exists()
    verdict = explain(memory, "loose slates", place).verdict
    assert (verdict.stage, verdict.cause) == ("file", cause)
