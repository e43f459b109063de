"""Tools as data: valid schemas in every form, and wrong arguments refused by name."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import ExtraPath, QuerySettings, SearchSettings
from memory_core.errors import InvalidArgument
from memory_core.records import AUTHORS, ITEM_KINDS
from memory_core.tools import schemas
from memory_core.tools.arguments import DESCRIBED, TOOLS, Schema, check_arguments, resolve

SEARCH, GET, APPEND = (TOOLS[f"memory_{name}"] for name in ("search", "get", "append"))
CONFIG = AgentConfig(agent="main", workspace=Path("/w"), state_dir=Path("/s"), store_path=Path("/s/main.sqlite"))
ORBIT = AgentConfig(
    agent="main", workspace=Path("/w"), state_dir=Path("/s"), store_path=Path("/s/main.sqlite"), dialect="orbit"
)


@pytest.mark.parametrize("schema", TOOLS.values(), ids=lambda schema: schema["name"])
def test_schemas_are_valid_closed_and_explained(schema: Schema) -> None:
    Draft202012Validator.check_schema(schema["parameters"])
    assert schema["parameters"]["additionalProperties"] is False
    assert schema["description"]
    assert all(argument["description"] for argument in schema["parameters"]["properties"].values())
    assert json.loads(json.dumps(schema)) == schema


def test_kinds_and_authors_are_those_of_the_records() -> None:
    assert tuple(DESCRIBED["memory_store"]["arguments"]["kind"]["enum"]) == ITEM_KINDS
    assert tuple(resolve({"$ref": "origin"})["properties"]["by"]["enum"]) == AUTHORS


def test_search_is_the_mandatory_recall_step() -> None:
    text = SEARCH["description"].lower()
    assert all(
        word in text
        for word in ("mandatory", "before answering", "decisions", "dates", "people", "preferences", "todos")
    )


def test_which_tools_a_session_is_offered() -> None:
    assert [tool["name"] for tool in schemas.list_tools(CONFIG, "rw")] == [
        "memory_search",
        "memory_get",
        "memory_append",
    ]
    assert [tool["name"] for tool in schemas.list_tools(CONFIG, "ro")] == ["memory_search", "memory_get"]
    assert [tool["name"] for tool in schemas.list_tools(ORBIT, "ro")] == ["search_memory", "get_memory"]


def test_the_texts_say_what_is_searched_and_how_the_tools_are_called() -> None:
    orbit = replace(ORBIT, search=SearchSettings(sources=("memory", "workspace")))
    texts = json.dumps(schemas.list_tools(orbit, "rw"))
    assert "memory_search" not in texts
    assert "memory_get" not in texts
    assert "read more of a note with get_memory" in texts
    assert "search the notes (MEMORY.md, memory/*.md, other Markdown of the workspace)" in texts
    assert "memory_append" in texts

    everything = SearchSettings(sources=("memory", "sessions"), extra_paths=(ExtraPath(path="~/recipes"),))
    assert "(MEMORY.md, memory/*.md, earlier conversations, further folders of the user)" in json.dumps(
        schemas.list_tools(replace(CONFIG, search=everything), "ro")
    )
    assert schemas.list_tools(CONFIG, "rw") == [dict(schema) for schema in (SEARCH, GET, APPEND)]


def test_hosts_with_strict_schemas_may_make_every_argument_required() -> None:
    """They send null for what is optional, so the published schema allows it there and nowhere else."""
    for schema in TOOLS.values():
        parameters = schema["parameters"]
        strict = Draft202012Validator({**parameters, "required": list(parameters["properties"])})
        needed = {name: parameters["properties"][name] for name in parameters["required"]}
        plain = {name: each.get("enum", [1 if each["type"] == "integer" else "x"])[0] for name, each in needed.items()}
        given = dict.fromkeys(parameters["properties"]) | plain
        strict.validate(given)
        assert check_arguments(schema, given) == plain
        for name in parameters["required"]:
            assert not strict.is_valid({**given, name: None})


def test_forms() -> None:
    bare = schemas.to_form(GET, "bare")
    assert schemas.to_form(GET, "openai") == {"type": "function", "function": bare}
    assert schemas.to_form(GET, "anthropic")["input_schema"] == bare["parameters"]
    assert schemas.to_form(GET, "mcp")["inputSchema"] == bare["parameters"]


def test_whole_numbers_may_be_written_with_a_point() -> None:
    """JSON knows one kind of number: models write 6.0 for 6."""
    checked = check_arguments(SEARCH, {"query": "x", "maxResults": 6.0})
    assert schemas.read_query(checked, QuerySettings()).max_results == 6


def test_what_is_not_given_is_as_configured() -> None:
    query = schemas.read_query({"query": "fence"}, QuerySettings(max_results=9, min_score=0.2, max_snippet_chars=300))
    assert (query.text, query.max_results, query.min_score, query.max_snippet_chars) == ("fence", 9, 0.2, 300)
    assert (query.after, query.before, query.deadline) == (None, None, None)


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    query = schemas.read_query({"query": "fence \ud800 \ud83e\udd8a"}, QuerySettings())
    assert query.text == "fence \N{REPLACEMENT CHARACTER} \N{FOX FACE}"


def test_dates() -> None:
    query = schemas.read_query({"query": "x", "after": "2026-03-01", "before": "2026-03-01"}, QuerySettings())
    assert query.after == query.before == date(2026, 3, 1)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"after": "soon"}, "after: expected a date"),
        ({"before": "2026-02-30"}, "before: expected a date"),
        ({"after": "2026-03-02", "before": "2026-03-01"}, "after: 2026-03-02 is later"),
        ({"minScore": math.nan}, "minScore: "),
    ],
)
def test_what_no_schema_says(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        schemas.read_query({"query": "x", **arguments}, QuerySettings())
    assert str(error.value).startswith(named)


def test_mcp_clients_are_told_of_every_tool_what_it_does() -> None:
    told = {schema["name"]: schemas.to_form(schema, "mcp") for schema in TOOLS.values()}
    hints = {name: tool["annotations"] for name, tool in told.items()}
    assert {name for name in hints if hints[name]["readOnlyHint"]} == {
        "memory_search",
        "memory_get",
        "memory_explain",
        "memory_related",
        "memory_recall",
        "memory_review",
    }
    assert {name for name in hints if hints[name]["destructiveHint"]} == {"memory_forget", "memory_resolve"}
    for tool in told.values():
        assert tool["title"] == tool["annotations"]["title"]
        assert tool["annotations"]["openWorldHint"] is False
        assert tool["annotations"]["idempotentHint"] is True
        assert tool["_meta"] == {"anthropic/alwaysLoad": True}


def test_tools_under_orbits_names_are_described_as_ours() -> None:
    orbit = schemas.to_form({**GET, "name": "get_memory"}, "mcp")
    assert orbit["name"] == "get_memory"
    assert orbit["title"] == schemas.to_form(GET, "mcp")["title"]


def test_a_question_for_several_things_asks_for_half_as_many_more() -> None:
    def count(question: str, configured: int, **arguments: int) -> int:
        return schemas.read_query({"query": question, **arguments}, QuerySettings(max_results=configured)).max_results

    assert count("Which pets does Ada have?", 6) == 9
    assert count("Which dog does Ada have?", 6) == 6
    assert count("Which pets does Ada have?", 80) == 100
    assert count("Which pets does Ada have?", 6, maxResults=6) == 6  # the call says how many
    assert count("Which pets does Ada have?", 5) == 5  # so few would not share their room
