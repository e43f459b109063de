"""The results of all tools are as their published schemas say, whatever came out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from memory_core.tools.results import derive_output

MAIN = CallContext.local("agent:main:main")
OUTPUTS = json.loads((Path(__file__).parents[1] / "data" / "tool_outputs.json").read_text(encoding="utf-8"))
DENIED = {"memory": {"scope": {"default": "deny", "rules": []}}}


def close(schema: Any) -> Any:
    """The schema with no other keys allowed than those that it lists."""
    if isinstance(schema, list):
        return [close(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: close(each) for name, each in schema.items()}
    return closed | ({"additionalProperties": False} if "properties" in schema else {})


@pytest.mark.parametrize("name", OUTPUTS)
def test_published_schemas_change_on_purpose_only(name: str) -> None:
    assert derive_output(name) == OUTPUTS[name]


CLOSED = {name: Draft202012Validator(close(schema)) for name, schema in OUTPUTS.items()}


def call(slot: MemorySlot, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = slot.call_tool(name, arguments, MAIN)
    CLOSED[name].validate(answer)
    return answer


def test_results_with_and_without_content(tmp_path: Path) -> None:
    query = {"explain": True, "related": True}
    config = {"memorySearch": {"provider": "static", "items": {"enabled": True}, "query": query}}
    with MemorySlot(config, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        assert "warning" in call(slot, "memory_search", {"query": "fence"})
        assert call(slot, "memory_append", {"text": "The fence is green."})["status"] == "appended"
        again = call(slot, "memory_append", {"text": "The fence is green.\n\nThe gate is red.", "target": "daily"})
        assert again["skipped"] == 1
        assert call(slot, "memory_append", {"text": "The gate is red."})["status"] == "nothing new"
        secret = call(slot, "memory_append", {"text": "Hi.\n\nThe admin password is hunter2-Xy77! for staging."})
        assert secret["status"] == "appended"
        assert '"The admin password is [redacted]' in secret["warning"]
        assert "hunter2" not in str(secret)
        assert "history purge" in secret["action"]
        [hit] = call(slot, "memory_search", {"query": "Which colour has the fence?", "maxResults": 1})["results"]
        assert "hint" in call(slot, "memory_search", {"query": "zeppelin"})
        assert call(slot, "memory_explain", {"query": "fence", "path": hit["path"]})["passages"]
        assert call(slot, "memory_related", {"name": "fence"})["mentions"]
        assert call(slot, "memory_related", {})["count"] == 0
        assert call(slot, "memory_get", {"path": hit["path"], "lines": 1})["truncated"]
        assert call(slot, "memory_get", {"path": "memory/2001-01-01.md"})["status"] == "not_found"
        stored = call(slot, "memory_store", {"text": "The vet is Dr. Lind.", "tags": ["cat"]})
        assert call(slot, "memory_recall", {"query": "vet"})["results"]
        assert call(slot, "memory_store", {"text": "The vet is Dr. Lind."}) == {"status": "nothing new"}
        assert call(slot, "memory_forget", {"query": "lind"})["results"]
        assert call(slot, "memory_forget", {"ids": [stored["id"]]})["deleted"]
        assert call(slot, "memory_forget", {"ids": [stored["id"]]})["status"] == "not_found"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"plugins": {"slots": {"memory": "none"}}}, "disabled"),
        ({"plugins": 5}, "unavailable"),
        (DENIED, "denied"),
        ({}, "code"),
    ],
)
@pytest.mark.parametrize("name", OUTPUTS)
def test_results_that_are_errors(tmp_path: Path, config: dict[str, Any], said: str, name: str) -> None:
    with MemorySlot(config, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        answer = call(slot, name, {"wrong": 5})
    assert said in answer or "items are off" in answer["error"]
    assert answer["error"]
