"""Results of tools in the shape of the contract; an error of any kind is a result too."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from memory_core.errors import ConfigError, ConfigProblem, InvalidArgument, MemoryCoreError, PathRefused
from memory_core.records import Document, Fallback, Hit, SearchResult
from memory_core.tools import results

HIT = Hit(path="memory/2026-03-01.md", source="memory", start_line=3, end_line=9, score=0.5, snippet="The fence.")
RESULT = SearchResult(hits=(HIT,), provider="static", model="m", mode="hybrid", backend="builtin")


def test_the_result_of_a_search() -> None:
    assert results.shape_search(RESULT, cite_hits=False, citations="off") == {
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
    shaped = results.shape_search(worse, cite_hits=True, citations="on")
    assert (shaped["stale"], shaped["warning"], shaped["action"]) == (True, "w", "a")
    assert shaped["fallback"] == {"from": "openai", "to": "static", "reason": "no key"}
    assert shaped["backendFallback"] == {"from": "qmd", "to": "builtin", "reason": "missing"}


def test_a_citation_stands_beside_the_snippet_and_not_in_it() -> None:
    (cited,) = results.shape_search(RESULT, cite_hits=True, citations="on")["results"]
    assert cited["citation"] == "memory/2026-03-01.md#L3-L9"
    assert cited["snippet"] == "The fence."


def test_a_citation_of_one_line() -> None:
    assert results.cite(Hit(path="a.md", source="memory", start_line=3, end_line=3, score=1, snippet="")) == "a.md#L3"


def test_scores_of_each_side_are_shown_where_there_were_any() -> None:
    both = SearchResult(
        hits=(replace(HIT, vector_score=0.0, text_score=0.25),),
        provider="static", model="m", mode="hybrid", backend="builtin",
    )  # fmt: skip
    (hit,) = results.shape_search(both, cite_hits=False, citations="auto")["results"]
    assert (hit["vectorScore"], hit["textScore"]) == (0.0, 0.25)


def test_the_result_of_a_get() -> None:
    page = Document(path="a.md", text="x\ny", from_line=3, lines=2, truncated=True, next_from=5)
    assert results.shape_document(page) == {
        "path": "a.md", "text": "x\ny", "from": 3, "lines": 2, "status": "ok", "truncated": True, "nextFrom": 5,
    }  # fmt: skip
    missing = Document(path="b.md", text="", from_line=1, lines=0, status="not_found")
    assert results.shape_document(missing) == {"path": "b.md", "text": "", "from": 1, "lines": 0, "status": "not_found"}


def test_refusals() -> None:
    assert results.shape_refusal("disabled", "off", "do") == {
        "results": [],
        "disabled": True,
        "error": "off",
        "action": "do",
    }
    assert results.shape_refusal("denied", "no", "do") == {"results": [], "denied": True, "error": "no", "action": "do"}
    assert results.shape_refusal("unavailable", "out", "do") == {
        "results": [],
        "unavailable": True,
        "error": "out",
        "action": "do",
    }


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (InvalidArgument("path", "is empty"), {"error": "path: is empty", "code": "invalid_argument"}),
        (PathRefused("x.md", "is outside"), {"results": [], "denied": True, "error": "x.md: is outside",
            "action": "ask for a path that memory_search returned"}),
        (ConfigError([ConfigProblem("", "is bad")], origin="a.json5"), {"results": [], "unavailable": True,
            "error": "a.json5: is bad", "action": "correct the configuration: memory-core config check"}),
        (MemoryCoreError("it is out", action="wait"), {"results": [], "unavailable": True, "error": "it is out",
            "action": "wait"}),
        (KeyError("x"), {"results": [], "unavailable": True, "error": "KeyError: 'x'",
            "action": "report this, with the log, as a defect"}),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_errors_become_results(error: Exception, result: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> dict[str, Any]:
        raise error

    with caplog.at_level(logging.ERROR):
        assert results.run_safely("memory_get", fail) == result
    assert bool(caplog.records) == isinstance(error, KeyError)  # a defect: with its traceback
    assert all(record.exc_info for record in caplog.records)
