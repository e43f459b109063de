"""The keys of the host's section `history` that are ours under another name."""

from __future__ import annotations

import pytest

from memory_core.config.description import explain_other_spellings
from memory_core.config.load import load_config
from memory_core.errors import ConfigError

HISTORY = {
    "memory_recall": True,
    "memory_recall_limit": 3,
    "memory_recall_scope": "work",
    "embedding_model": "text-embedding-3-small",
    "embedding_dimensions": 256,
    "keep_turns": 20,
}


def test_they_are_read_as_ours_and_the_others_are_the_hosts() -> None:
    config = load_config({"history": HISTORY})
    search = config.agent().search
    assert (search.recall.enabled, search.items.scope) == (True, "work")
    assert (search.model, search.output_dimensionality) == ("text-embedding-3-small", 256)
    told = explain_other_spellings(config)
    assert "history.memory_recall is read as memorySearch.recall.enabled" in told
    assert len(told) == 4
    assert any("history.memory_recall_limit: no longer a setting" in warning for warning in config.agent().warnings)


def test_an_agents_own_section_wins() -> None:
    raw = {"history": HISTORY, "agents": {"list": [{"id": "a", "memorySearch": {"items": {"scope": "garden"}}}]}}
    assert load_config(raw).agent("a").search.items.scope == "garden"


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ({"memory_recall": "yes"}, "history.memory_recall: expected true or false"),
        ({"embedding_dimensions": 63}, "history.embedding_dimensions: expected at least 64"),
        ({"embedding_dimensions": 4097}, "history.embedding_dimensions: expected at most 4096"),
        ([], "history: expected an object"),
    ],
)
def test_wrong_values_are_named_as_they_are_written(history: object, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_config({"history": history})


def test_one_key_in_two_spellings_is_a_problem() -> None:
    with pytest.raises(ConfigError, match="given twice"):
        load_config({"history": {"memory_recall": True}, "memorySearch": {"recall": {"enabled": False}}})
