"""Tools as data: valid schemas in every form, and wrong arguments refused by name."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import QuerySettings
from memory_core.errors import InvalidArgument
from memory_core.tools import schemas

CONFIG = AgentConfig(agent="main", workspace=Path("/w"), state_dir=Path("/s"), store_path=Path("/s/main.sqlite"))
ORBIT = AgentConfig(
    agent="main", workspace=Path("/w"), state_dir=Path("/s"), store_path=Path("/s/main.sqlite"), dialect="orbit"
)


@pytest.mark.parametrize("schema", schemas.ALL, ids=lambda schema: schema["name"])
def test_schemas_are_valid_closed_and_explained(schema: schemas.Schema) -> None:
    Draft202012Validator.check_schema(schema["parameters"])
    assert schema["parameters"]["additionalProperties"] is False
    assert schema["description"]
    assert all(argument["description"] for argument in schema["parameters"]["properties"].values())
    assert json.loads(json.dumps(schema)) == schema


def test_search_is_the_mandatory_recall_step() -> None:
    text = schemas.SEARCH["description"].lower()
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


def test_forms() -> None:
    bare = schemas.to_form(schemas.GET, "bare")
    assert schemas.to_form(schemas.GET, "openai") == {"type": "function", "function": bare}
    assert schemas.to_form(schemas.GET, "anthropic")["input_schema"] == bare["parameters"]
    assert schemas.to_form(schemas.GET, "mcp")["inputSchema"] == bare["parameters"]


@pytest.mark.parametrize(
    ("schema", "arguments", "named"),
    [
        (schemas.SEARCH, {}, "query: is required"),
        (schemas.SEARCH, {"query": 7}, "query: "),
        (schemas.SEARCH, {"query": "x", "maxResults": 0}, "maxResults: "),
        (schemas.SEARCH, {"query": "x", "maxResults": 101}, "maxResults: "),
        (schemas.SEARCH, {"query": "x", "maxResults": 2.5}, "maxResults: "),
        (schemas.SEARCH, {"query": "x", "maxResults": True}, "maxResults: "),
        (schemas.SEARCH, {"query": "x", "maxResults": "6"}, "maxResults: "),
        (schemas.SEARCH, {"query": "x", "minScore": -0.1}, "minScore: "),
        (schemas.SEARCH, {"query": "x", "minScore": 1.1}, "minScore: "),
        (schemas.SEARCH, {"query": "x", "max_results": 3}, "max_results: is not an argument of memory_search"),
        (schemas.SEARCH, {"query": None}, "query: "),
        (schemas.GET, {"path": "a.md", "from": 0}, "from: "),
        (schemas.GET, {"path": "a.md", "lines": 0}, "lines: "),
        (schemas.GET, {"from": 1}, "path: is required"),
        (schemas.GET, [], "arguments: expected an object"),
        (schemas.GET, None, "arguments: expected an object"),
        (schemas.GET, "a.md", "arguments: expected an object"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(schema: schemas.Schema, arguments: Any, named: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        schemas.check_arguments(schema, arguments)
    assert str(error.value).startswith(named)


def test_whole_numbers_may_be_written_with_a_point() -> None:
    """JSON knows one kind of number: models write 6.0 for 6."""
    checked = schemas.check_arguments(schemas.SEARCH, {"query": "x", "maxResults": 6.0})
    assert schemas.read_query(checked, QuerySettings()).max_results == 6


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(schemas.READING),
    st.dictionaries(
        st.sampled_from(["query", "maxResults", "minScore", "after", "before", "path", "from", "lines"])
        | st.text(max_size=5),
        JSON,
    ),
)
def test_any_arguments_are_taken_or_refused_by_name(schema: schemas.Schema, arguments: dict[str, Any]) -> None:
    try:
        checked = schemas.check_arguments(schema, arguments)
        if schema is schemas.SEARCH:
            query = schemas.read_query(checked, QuerySettings())
            assert 1 <= query.max_results <= 100
            assert 0 <= query.min_score <= 1
    except InvalidArgument as refused:
        named = refused.argument
    else:
        assert Draft202012Validator(schema["parameters"]).is_valid(arguments)
        return
    assert named in {*arguments, *schema["parameters"]["required"]}


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
