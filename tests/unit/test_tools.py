"""Tools as data: valid schemas in every form, arguments refused by name, results in the shape of the contract."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from memory_core import tools
from memory_core.errors import InvalidArgument
from memory_core.records import Document, Fallback, Hit, SearchResult
from memory_core.settings import AgentConfig, QuerySettings

CONFIG = AgentConfig(agent="main", workspace=Path("/w"), state_dir=Path("/s"), store_path=Path("/s/main.sqlite"))
ORBIT = AgentConfig(
    agent="main", workspace=Path("/w"), state_dir=Path("/s"), store_path=Path("/s/main.sqlite"), dialect="orbit"
)
HIT = Hit(path="memory/2026-03-01.md", source="memory", start_line=3, end_line=9, score=0.5, snippet="The fence.")
RESULT = SearchResult(hits=(HIT,), provider="static", model="m", mode="hybrid", backend="builtin")


@pytest.mark.parametrize("schema", tools.ALL, ids=lambda schema: schema["name"])
def test_schemas_are_valid_closed_and_explained(schema: tools.Schema) -> None:
    Draft202012Validator.check_schema(schema["parameters"])
    assert schema["parameters"]["additionalProperties"] is False
    assert schema["description"]
    assert all(argument["description"] for argument in schema["parameters"]["properties"].values())
    assert json.loads(json.dumps(schema)) == schema


def test_search_is_the_mandatory_recall_step() -> None:
    text = tools.SEARCH["description"].lower()
    assert all(
        word in text
        for word in ("mandatory", "before answering", "decisions", "dates", "people", "preferences", "todos")
    )


def test_which_tools_a_session_is_offered() -> None:
    assert [tool["name"] for tool in tools.schemas(CONFIG, "rw")] == ["memory_search", "memory_get", "memory_append"]
    assert [tool["name"] for tool in tools.schemas(CONFIG, "ro")] == ["memory_search", "memory_get"]
    assert [tool["name"] for tool in tools.schemas(ORBIT, "ro")] == ["search_memory", "get_memory"]


def test_forms() -> None:
    bare = tools.in_form(tools.GET, "bare")
    assert tools.in_form(tools.GET, "openai") == {"type": "function", "function": bare}
    assert tools.in_form(tools.GET, "anthropic")["input_schema"] == bare["parameters"]
    assert tools.in_form(tools.GET, "mcp")["inputSchema"] == bare["parameters"]


@pytest.mark.parametrize(
    ("schema", "arguments", "named"),
    [
        (tools.SEARCH, {}, "query: is required"),
        (tools.SEARCH, {"query": 7}, "query: "),
        (tools.SEARCH, {"query": "x", "maxResults": 0}, "maxResults: "),
        (tools.SEARCH, {"query": "x", "maxResults": 101}, "maxResults: "),
        (tools.SEARCH, {"query": "x", "maxResults": 2.5}, "maxResults: "),
        (tools.SEARCH, {"query": "x", "maxResults": True}, "maxResults: "),
        (tools.SEARCH, {"query": "x", "maxResults": "6"}, "maxResults: "),
        (tools.SEARCH, {"query": "x", "minScore": -0.1}, "minScore: "),
        (tools.SEARCH, {"query": "x", "minScore": 1.1}, "minScore: "),
        (tools.SEARCH, {"query": "x", "max_results": 3}, "max_results: is not an argument of memory_search"),
        (tools.SEARCH, {"query": None}, "query: "),
        (tools.GET, {"path": "a.md", "from": 0}, "from: "),
        (tools.GET, {"path": "a.md", "lines": 0}, "lines: "),
        (tools.GET, {"from": 1}, "path: is required"),
        (tools.GET, [], "arguments: expected an object"),
        (tools.GET, None, "arguments: expected an object"),
        (tools.GET, "a.md", "arguments: expected an object"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(schema: tools.Schema, arguments: Any, named: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        tools.check_arguments(schema, arguments)
    assert str(error.value).startswith(named)
    assert tools.bad_argument(error.value) == {"error": str(error.value), "code": "invalid_argument"}


def test_whole_numbers_may_be_written_with_a_point() -> None:
    """JSON knows one kind of number: models write 6.0 for 6."""
    checked = tools.check_arguments(tools.SEARCH, {"query": "x", "maxResults": 6.0})
    assert tools.read_query(checked, QuerySettings()).max_results == 6


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(tools.READING),
    st.dictionaries(
        st.sampled_from(["query", "maxResults", "minScore", "after", "before", "path", "from", "lines"])
        | st.text(max_size=5),
        JSON,
    ),
)
def test_any_arguments_are_taken_or_refused_by_name(schema: tools.Schema, arguments: dict[str, Any]) -> None:
    try:
        checked = tools.check_arguments(schema, arguments)
        if schema is tools.SEARCH:
            query = tools.read_query(checked, QuerySettings())
            assert 1 <= query.max_results <= 100
            assert 0 <= query.min_score <= 1
    except InvalidArgument as refused:
        named = refused.argument
    else:
        assert Draft202012Validator(schema["parameters"]).is_valid(arguments)
        return
    assert named in {*arguments, *schema["parameters"]["required"]}


def test_what_is_not_given_is_as_configured() -> None:
    query = tools.read_query({"query": "fence"}, QuerySettings(max_results=9, min_score=0.2, max_snippet_chars=300))
    assert (query.text, query.max_results, query.min_score, query.max_snippet_chars) == ("fence", 9, 0.2, 300)
    assert (query.after, query.before, query.deadline) == (None, None, None)


def test_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    query = tools.read_query({"query": "fence \ud800 \ud83e\udd8a"}, QuerySettings())
    assert query.text == "fence \N{REPLACEMENT CHARACTER} \N{FOX FACE}"


def test_dates() -> None:
    query = tools.read_query({"query": "x", "after": "2026-03-01", "before": "2026-03-01"}, QuerySettings())
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
        tools.read_query({"query": "x", **arguments}, QuerySettings())
    assert str(error.value).startswith(named)


def test_the_result_of_a_search() -> None:
    assert tools.search_result(RESULT, cite=False, citations="off") == {
        "results": [
            {
                "path": "memory/2026-03-01.md", "startLine": 3, "endLine": 9, "score": 0.5, "source": "memory",
                "snippet": "The fence.",
            }
        ],
        "provider": "static", "model": "m", "fallback": None, "backend": "builtin", "backendFallback": None,
        "citations": "off", "mode": "hybrid",
    }  # fmt: skip


def test_what_was_worse_than_usual_is_said() -> None:
    worse = SearchResult(
        hits=(), provider="none", model=None, mode="keyword", backend="builtin", stale=True, warning="w", action="a",
        fallback=Fallback(origin="openai", to="static", reason="no key"),
        backend_fallback=Fallback(origin="qmd", to="builtin", reason="missing"),
    )  # fmt: skip
    shaped = tools.search_result(worse, cite=True, citations="on")
    assert (shaped["stale"], shaped["warning"], shaped["action"]) == (True, "w", "a")
    assert shaped["fallback"] == {"from": "openai", "to": "static", "reason": "no key"}
    assert shaped["backendFallback"] == {"from": "qmd", "to": "builtin", "reason": "missing"}


def test_citations_stand_below_the_snippet() -> None:
    (cited,) = tools.search_result(RESULT, cite=True, citations="on")["results"]
    assert cited["citation"] == "memory/2026-03-01.md#L3-L9"
    assert cited["snippet"] == "The fence.\n\nSource: memory/2026-03-01.md#L3-L9"


def test_a_citation_of_one_line() -> None:
    assert tools.citation(Hit(path="a.md", source="memory", start_line=3, end_line=3, score=1, snippet="")) == "a.md#L3"


def test_scores_of_each_side_are_shown_where_there_were_any() -> None:
    both = SearchResult(
        hits=(replace(HIT, vector_score=0.0, text_score=0.25),),
        provider="static", model="m", mode="hybrid", backend="builtin",
    )  # fmt: skip
    (hit,) = tools.search_result(both, cite=False, citations="auto")["results"]
    assert (hit["vectorScore"], hit["textScore"]) == (0.0, 0.25)


def test_the_result_of_a_get() -> None:
    page = Document(path="a.md", text="x\ny", from_line=3, lines=2, truncated=True, next_from=5)
    assert tools.document(page) == {
        "path": "a.md", "text": "x\ny", "from": 3, "lines": 2, "status": "ok", "truncated": True, "nextFrom": 5,
    }  # fmt: skip
    missing = Document(path="b.md", text="", from_line=1, lines=0, status="not_found")
    assert tools.document(missing) == {"path": "b.md", "text": "", "from": 1, "lines": 0, "status": "not_found"}


def test_refusals() -> None:
    assert tools.disabled("off", "do") == {"results": [], "disabled": True, "error": "off", "action": "do"}
    assert tools.denied("no", "do") == {"results": [], "denied": True, "error": "no", "action": "do"}
    assert tools.unavailable("out", "do") == {"results": [], "unavailable": True, "error": "out", "action": "do"}
    assert tools.unavailable("out", "do", warning="w")["warning"] == "w"
