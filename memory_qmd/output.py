"""What QMD prints -> rows; tolerant of the noise that older versions and native libraries put around the JSON. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

# CSI sequences (colours, cursor), OSC sequences (progress in the terminal's title bar), single-character escapes.
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")
_ARRAY = re.compile(r"^[ \t]*\[", re.MULTILINE)
_MAX_ATTEMPTS = 50  # arrays that are looked at in noise; a log line may begin with "[" too
_COUNTS = re.compile(r"(\d+) (new|updated|unchanged|removed)")


class UnreadableOutput(ValueError):
    """QMD printed something that is no list of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a search.

    Attributes:
        collection: Which collection it is of.
        path: Relative to the collection's root; slugged by versions before 2.5.
        score: As QMD gives it; what it means depends on the mode.
        line: Where QMD saw the match, from 1; None when it does not say.
        snippet: QMD's own; may miss the match.
        rerank: The reranker's judgement, 0..1; None when there was none.
        cosine: The best cosine of the vector side; None when there was none.
    """

    collection: str
    path: str
    score: float
    line: int | None = None
    snippet: str = ""
    rerank: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What an update did to files, over all collections."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0


def parse_rows(stdout: bytes) -> list[Row]:
    """The rows of a search with `--json`, in QMD's order.

    Rows that name no file of a collection are left out; a missing or odd field of a row becomes its default.

    Raises:
        UnreadableOutput: It is neither a list of objects nor a message that nothing was found.
    """
    text = clean(stdout).strip()
    found = _documents(text)
    return [row for row in map(_row, found) if row is not None]


def rows_of(document: Any) -> list[Row]:
    """The rows of the server's answer to POST /query; unlike the command line it percent-encodes paths.

    Raises:
        UnreadableOutput: It has no list of results.
    """
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list):
        raise UnreadableOutput("the server's answer has no results")
    return [replace(row, path=unquote(row.path)) for row in map(_row, results) if row is not None]


def parse_counts(stdout: bytes) -> Counts:
    """What `qmd update` says it did; all 0 when it does not say."""
    totals = dict.fromkeys(("new", "updated", "unchanged", "removed"), 0)
    for number, kind in _COUNTS.findall(clean(stdout)):
        totals[kind] += int(number)
    return Counts(**totals)


def parse_version(stdout: bytes) -> tuple[int, ...]:
    """(2, 8, 3) from "qmd 2.8.3 (facd35e)"; empty when it is no version."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", stdout.decode("utf-8", errors="replace"))
    return tuple(map(int, found.groups())) if found else ()


def clean(output: bytes) -> str:
    """As text, without escape sequences."""
    return _ANSI.sub("", output.decode("utf-8", errors="replace"))


def _documents(text: str) -> list[Any]:
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if _is_rows(whole):
        return list(whole)
    decoder = json.JSONDecoder()
    for number, match in enumerate(_ARRAY.finditer(text)):
        if number == _MAX_ATTEMPTS:
            break
        try:
            value, _ = decoder.raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError):
            continue
        if _is_rows(value):
            return list(value)
    if "No results found" in text:
        return []
    raise UnreadableOutput(f"no list of results in {len(text)} characters: {text[:200]!r}")


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _row(item: Any) -> Row | None:
    """A row, or None when its file is not `qmd://collection/path`."""
    uri = item.get("file") if isinstance(item, dict) else None
    if not isinstance(uri, str) or not uri.startswith("qmd://"):
        return None
    collection, _, path = uri.removeprefix("qmd://").partition("/")
    if not collection or not path or not _is_text(path):
        return None
    line = item.get("line")
    snippet = item.get("snippet")
    return Row(
        collection=collection,
        path=path,
        score=_number(item.get("score")) or 0.0,
        line=line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None,
        snippet=snippet if isinstance(snippet, str) else "",
        **_evidence(item.get("explain")),
    )


def _evidence(explain: Any) -> dict[str, float | None]:
    """What `--explain` adds: the reranker's score, 0 when there was no reranker, and the cosines of the vector side."""
    if not isinstance(explain, Mapping):
        return {}
    cosines = explain.get("vectorScores")
    numbers = [_number(cosine) or 0.0 for cosine in cosines] if isinstance(cosines, list) else []
    return {"rerank": _number(explain.get("rerankScore")), "cosine": max(numbers, default=None)}


def _number(value: Any) -> float | None:
    """A finite number; JSON as Python reads it knows NaN and Infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        return None
    return float(value)


def _is_text(path: str) -> bool:
    """Whether a path can be looked up: JSON may smuggle in lone surrogates and NULs."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in path
