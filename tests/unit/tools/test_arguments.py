"""Arguments of tools: wrong ones are refused by name, null is absent, and a citation is a place."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from memory_core.config.load import load_config
from memory_core.config.settings import QuerySettings
from memory_core.errors import InvalidArgument
from memory_core.tools import schemas
from memory_core.tools.append import APPEND
from memory_core.tools.arguments import TOOLS, Schema, check_arguments, find_cited, read_citation

SEARCH, GET, STORE = (TOOLS[f"memory_{name}"] for name in ("search", "get", "store"))
TAGS = "tags: expected a list of 0 to 16 strings, each a string that is not empty, of at most 64 characters, not "


@pytest.mark.parametrize(
    ("schema", "arguments", "named"),
    [
        (SEARCH, {}, "query: is required"),
        (SEARCH, {"query": 7}, "query: expected a string that is not empty, not 7"),
        (SEARCH, {"query": ""}, 'query: expected a string that is not empty, not the string ""'),
        (SEARCH, {"query": None}, "query: is required; null is no value for it"),
        (SEARCH, {"query": "x", "maxResults": 0}, "maxResults: expected a whole number from 1 to 100, not 0"),
        (SEARCH, {"query": "x", "maxResults": 101}, "maxResults: expected a whole number from 1 to 100, not 101"),
        (SEARCH, {"query": "x", "maxResults": 2.5}, "maxResults: expected a whole number from 1 to 100, not 2.5"),
        (SEARCH, {"query": "x", "maxResults": True}, "maxResults: expected a whole number from 1 to 100, not true"),
        (SEARCH, {"query": "x", "maxResults": "5"},
         'maxResults: expected a whole number from 1 to 100, not the string "5"'),
        (SEARCH, {"query": "x", "maxResults": 10**5000}, "maxResults: expected a whole number from 1 to 100, not a n"),
        (SEARCH, {"query": "x", "maxResults": [5]}, "maxResults: expected a whole number from 1 to 100, not a list"),
        (SEARCH, {"query": "x", "minScore": -0.1}, "minScore: expected a number from 0 to 1, not -0.1"),
        (SEARCH, {"query": "x", "minScore": "0.5"}, 'minScore: expected a number from 0 to 1, not the string "0.5"'),
        (SEARCH, {"query": "x", "after": 20260301}, "after: expected a string, not 20260301"),
        (SEARCH, {"query": "x", "max_results": None}, "max_results: is not an argument of memory_search; known are q"),
        (SEARCH, {"query": "x", "maxResults": 0, "minScore": 2, "limit": 5},
         "limit: is not an argument of memory_search; known are query, maxResults, minScore, after, before, about, asOf;"
         " maxResults: expected a whole number from 1 to 100, not 0; minScore: expected a number from 0 to 1, not 2"),
        (GET, {"path": "a.md", "from": 0}, "from: expected a whole number, at least 1, not 0"),
        (GET, {"path": "a.md", "from": 10**5000}, "from: expected a whole number, at least 1, not a number far out of"),
        (GET, {"path": "a.md", "from": "x" * 99},
         f'from: expected a whole number, at least 1, not the string "{"x" * 40}…"'),
        (GET, {"path": "a.md", "lines": 0}, "lines: "),
        (APPEND, {"text": "x", "target": "notes/x.md"}, 'target: expected "daily" or "longterm" or "person", not'),
        (STORE, {"text": "x", "tags": "a"}, TAGS + 'the string "a"'),
        (STORE, {"text": "x", "tags": ["a", ""]}, TAGS + 'one whose item 2 is the string ""'),
        (STORE, {"text": "x", "tags": [5]}, TAGS + "one whose item 1 is 5"),
        (STORE, {"text": "x", "tags": ["a"] * 17}, TAGS + "a list of 17"),
        (GET, {"from": 1}, "path: is required"),
        (GET, [], "arguments: expected an object"),
        (GET, None, "arguments: expected an object"),
        (GET, "a.md", "arguments: expected an object"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named(schema: Schema, arguments: Any, named: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        check_arguments(schema, arguments)
    assert str(error.value).startswith(named)


def test_a_tool_is_named_as_it_was_called() -> None:
    with pytest.raises(InvalidArgument, match="is not an argument of search_memory"):
        check_arguments(SEARCH, {"query": "x", "limit": 3}, name="search_memory")


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("MEMORY.md#L3-L4", ("MEMORY.md", 3, 2)),
        ("MEMORY.md#L3", ("MEMORY.md", 3, 1)),
        ("MEMORY.md:L3-L4", ("MEMORY.md", 3, 2)),
        ("memory/2026-03-07.md#L3-4", ("memory/2026-03-07.md", 3, 2)),
        ("Source: qmd/recipes/a b.md#L12-L20", ("qmd/recipes/a b.md", 12, 9)),
        ("MEMORY.md#L9-L3", ("MEMORY.md", 9, 1)),
        ("MEMORY.md:3", ("MEMORY.md", 3, 1)),
        ("memory/a b.md:3-9", ("memory/a b.md", 3, 7)),
        ("person:MEMORY.md:12", ("person:MEMORY.md", 12, 1)),
        ("team:12", ("team:12", None, None)),
        ("MEMORY.md", ("MEMORY.md", None, None)),
        ("MEMORY.md#L3-L4 and more", ("MEMORY.md#L3-L4 and more", None, None)),
        ("#L3", ("#L3", None, None)),
        ("a#L3.md", ("a#L3.md", None, None)),
        (" `MEMORY.md` ", ("MEMORY.md", None, None)),
        ('"memory/a b.md:3"', ("memory/a b.md", 3, 1)),
        ("[the note](<memory/a b.md#L3>)", ("memory/a b.md", 3, 1)),
        ("file:///home/kim/notes/a.md", ("/home/kim/notes/a.md", None, None)),
        ("memory/a b.md#Day one", ("memory/a b.md", None, None)),
        ("memory/hash #1.md", ("memory/hash #1.md", None, None)),
        ("'tis.md", ("'tis.md", None, None)),
        ("memory/tea.md:12:40", ("memory/tea.md", 12, 1)),
        ("[memory/tea.md#L12-L14]", ("memory/tea.md", 12, 3)),
        ("(memory/tea.md#L12).", ("memory/tea.md", 12, 1)),
        ("memory/tea.md, L12-L14.", ("memory/tea.md", 12, 3)),
        ("memory/tea.md L12", ("memory/tea.md", 12, 1)),
        ("memory/tea.md (lines 12-14)", ("memory/tea.md", 12, 3)),
        ("memory/tea.markdown, line 12", ("memory/tea.markdown", 12, 1)),
        ("memory/tea.Rmd:12", ("memory/tea.Rmd", 12, 1)),
        ("memory/tea.qmd#Green", ("memory/tea.qmd", None, None)),
        ("memory/tea.md#L12:", ("memory/tea.md", 12, 1)),
        ("memory/tea.md?line=12", ("memory/tea.md", 12, 1)),
        ("memory/tea.md#L12\u2013L14", ("memory/tea.md", 12, 3)),
        ("memory/tea.md#L12C4-L14C9", ("memory/tea.md", 12, 3)),
        ("memory/tea.md#2026-05-01", ("memory/tea.md", None, None)),
        ("memory/tea (lines 12-14).md", ("memory/tea (lines 12-14).md", None, None)),
        ("@memory/tea.md:12", ("memory/tea.md", 12, 1)),
        ("[[tea kinds#Green|green]]", ("tea kinds", None, None)),
        ("**`memory/tea.md`**", ("memory/tea.md", None, None)),
        ("memory:///person%3Atea%20kinds.md#L12-L14", ("person:tea kinds.md", 12, 3)),
        ("..", ("..", None, None)),
    ],
)
def test_a_citation_is_a_place(given: str, place: tuple[str, int | None, int | None]) -> None:
    assert read_citation(given)[:3] == place


@pytest.mark.parametrize("given", ["MEMORY.md#L0", "MEMORY.md:0", "MEMORY.md:-2", "MEMORY.md:x-y"])
def test_a_citation_of_no_line_is_refused(given: str) -> None:
    with pytest.raises(InvalidArgument, match="lines count from 1"):
        read_citation(given)


@pytest.mark.parametrize("text", [".md:" * 20_000 + " x", "a.md#" * 20_000 + "\nx", "a.md#L1 (as of " * 10_000])
def test_a_long_text_is_read_in_linear_time(text: str) -> None:
    start = process_time()
    read_citation(text)
    assert process_time() - start < 2


def test_a_note_that_is_called_as_a_citation_is_written_comes_first(tmp_path: Path) -> None:
    (tmp_path / "@memory").mkdir()
    (tmp_path / "@memory" / "tea.md").touch()
    document = {"agents": {"defaults": {"workspace": str(tmp_path), "memorySearch": {"extraPaths": ["@memory"]}}}}
    config = load_config(document, environ={}).agent()
    assert find_cited(config, "@memory/tea.md").path == "@memory/tea.md"
    assert find_cited(config, "@memory/tin.md").path == "memory/tin.md"


def test_a_citation_of_the_past_names_its_moment() -> None:
    found = read_citation("memory/house.md#L3-L9 (as of 2026-03-01T18:30:00.250+01:00)")
    assert found == ("memory/house.md", 3, 7, "2026-03-01T18:30:00.250+01:00")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from((SEARCH, GET)),
    st.dictionaries(
        st.sampled_from(["query", "maxResults", "minScore", "after", "before", "path", "from", "lines"])
        | st.text(max_size=5),
        JSON,
    ),
)
def test_any_arguments_are_taken_or_refused_by_name(schema: Schema, arguments: dict[str, Any]) -> None:
    try:
        checked = check_arguments(schema, arguments)
        if schema is SEARCH:
            query = schemas.read_query(checked, QuerySettings())
            assert 1 <= query.max_results <= 100
            assert 0 <= query.min_score <= 1
    except InvalidArgument as refused:
        named = refused.argument
    else:
        assert Draft202012Validator(schema["parameters"]).is_valid(arguments)
        return
    assert named in {*arguments, *schema["parameters"]["required"]}
