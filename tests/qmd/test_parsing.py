"""The output of QMD: rows, counts and versions, whatever stands around them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.records import SyncReport
from memory_qmd.queries import (
    QmdRow,
    UnreadableOutput,
    parse_counts,
    parse_rows,
    parse_server_rows,
    parse_version,
)

ROW = {"docid": "#1", "score": 0.5, "file": "qmd://notes-main/a b/c.md", "line": 3, "title": "t", "snippet": "s"}
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_a_row_is_read() -> None:
    assert parse_rows(json.dumps([ROW]).encode()) == [
        QmdRow(collection="notes-main", path="a b/c.md", score=0.5, line=3)
    ]


@pytest.mark.parametrize("text", ["", "nothing", "{}", "3", '["a"]', "[1]", "[{]"])
def test_what_is_no_list_of_rows_is_refused(text: str) -> None:
    with pytest.raises(UnreadableOutput):
        parse_rows(text.encode())


@pytest.mark.parametrize("text", ["[]", "No results found.", "\x1b[2KNo results found.\n", "warming up\n[]\n"])
def test_no_hits(text: str) -> None:
    assert parse_rows(text.encode()) == []


@pytest.mark.parametrize(
    "file", [None, 3, "a.md", "qmd://", "qmd://only", "qmd://x/", "qmd://x/\ud800.md", "qmd://x/\0.md"]
)
def test_rows_without_a_file_are_left_out(file: object) -> None:
    assert parse_rows(json.dumps([{"file": file}, ROW]).encode()) == parse_rows(json.dumps([ROW]).encode())


def test_evidence_is_read() -> None:
    explain = {"vectorScores": [0.2, 0.7, None], "rerankScore": 0.9}
    (row,) = parse_rows(json.dumps([{**ROW, "explain": explain}]).encode())
    assert (row.cosine, row.rerank) == (0.7, 0.9)


@given(st.lists(JSON_VALUES) | JSON_VALUES, st.text(), st.text())
def test_any_output_is_rows_or_refused(value: Any, before: str, after: str) -> None:
    noisy = f"{before}\n{json.dumps(value)}\n{after}".encode(errors="replace")
    try:
        rows = parse_rows(noisy)
    except UnreadableOutput:
        return
    for row in rows:
        assert row.collection
        assert row.path.encode()


@given(st.binary())
def test_any_bytes_are_rows_or_refused(data: bytes) -> None:
    with contextlib.suppress(UnreadableOutput):
        parse_rows(data)
    parse_version(data)
    parse_counts(data)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("score", "line", "snippet", "explain"), JSON_VALUES)))
def test_odd_fields_become_defaults(fields: dict[str, Any]) -> None:
    (row,) = parse_server_rows({"results": [{"file": "qmd://n/a%20b.md", **fields}]})
    assert row.path == "a b.md"
    assert row.line is None or row.line > 0
    assert abs(row.score) < 1e9


def test_the_server_must_give_results() -> None:
    with pytest.raises(UnreadableOutput):
        parse_server_rows({"error": "no"})


def test_counts_are_summed_over_collections() -> None:
    text = "Indexed: 1 new, 0 updated, 2 unchanged, 0 removed\n\x1b[2KIndexed: 3 new, 1 updated, 0 unchanged, 4 removed"
    assert parse_counts(text.encode()) == SyncReport(added=4, changed=1, unchanged=2, removed=4)


@pytest.mark.parametrize(
    ("text", "version"), [("qmd 2.8.3 (facd35e)", (2, 8, 3)), ("qmd 0.9.0", (0, 9, 0)), ("help", ())]
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert parse_version(text.encode()) == version
