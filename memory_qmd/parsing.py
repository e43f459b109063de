"""The output of QMD, parsed; tolerates the noise that older versions and native libraries print around the JSON. Pure."""

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
_MAX_ATTEMPTS = 50  # arrays that are tried in noise; a log line may begin with "[" too
_COUNTS = re.compile(r"(?<!\d)(\d{1,18}) (new|updated|unchanged|removed)")


class UnreadableOutput(ValueError):
    """QMD printed something else than a list of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdRow:
    """One row of a search.

    Attributes:
        collection: The collection's name.
        path: Relative to the collection's root; slugged by versions before 2.5.
        score: As QMD gives it; its meaning depends on the mode.
        line: The line of the match, from 1; None if QMD gives none.
        snippet: QMD's own; may miss the match.
        rerank: The reranker's judgement, 0..1; None without a reranker.
        cosine: The best cosine of the vector side; None without one.
    """

    collection: str
    path: str
    score: float
    line: int | None = None
    snippet: str = ""
    rerank: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateCounts:
    """Numbers of files that an update handled, over all collections."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0


def parse_rows(stdout: bytes) -> list[QmdRow]:
    """Parse the rows of a search with `--json`, in QMD's order.

    Rows that name no file of a collection are left out; a missing or invalid field of a row becomes its default.

    Raises:
        UnreadableOutput: The output is neither a list of objects nor a message that nothing was found.
    """
    text = decode(stdout).strip()
    found = _find_rows(text)
    return [row for row in map(_parse_row, found) if row is not None]


def parse_server_rows(document: Any) -> list[QmdRow]:
    """Parse the rows of the server's answer to POST /query, which percent-encodes paths, unlike the command line.

    Raises:
        UnreadableOutput: The answer has no list of results.
    """
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list):
        raise UnreadableOutput("the server's answer has no results")
    return [replace(row, path=unquote(row.path)) for row in map(_parse_row, results) if row is not None]


def parse_counts(stdout: bytes) -> UpdateCounts:
    """Parse the counts that `qmd update` prints; all are 0 if it prints none."""
    totals = dict.fromkeys(("new", "updated", "unchanged", "removed"), 0)
    for number, kind in _COUNTS.findall(decode(stdout)):
        totals[kind] += int(number)
    return UpdateCounts(**totals)


def parse_version(stdout: bytes) -> tuple[int, ...]:
    """Parse "qmd 2.8.3 (facd35e)" into (2, 8, 3); empty if it is no version."""
    found = re.search(r"(?<!\d)(\d{1,9})\.(\d{1,9})\.(\d{1,9})", stdout.decode("utf-8", errors="replace"))
    return tuple(map(int, found.groups())) if found else ()


def decode(output: bytes) -> str:
    """Decode an output and remove escape sequences."""
    return _ANSI.sub("", output.decode("utf-8", errors="replace"))


def _find_rows(text: str) -> list[Any]:
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


def _parse_row(item: Any) -> QmdRow | None:
    """Parse one row; None if its file is not `qmd://collection/path`."""
    uri = item.get("file") if isinstance(item, dict) else None
    if not isinstance(uri, str) or not uri.startswith("qmd://"):
        return None
    collection, _, path = uri.removeprefix("qmd://").partition("/")
    if not collection or not path or not _is_path(path):
        return None
    line = item.get("line")
    snippet = item.get("snippet")
    return QmdRow(
        collection=collection,
        path=path,
        score=_parse_number(item.get("score")) or 0.0,
        line=line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None,
        snippet=snippet if isinstance(snippet, str) else "",
        **_parse_evidence(item.get("explain")),
    )


def _parse_evidence(explain: Any) -> dict[str, float | None]:
    """Parse what `--explain` adds: the reranker's score, 0 without a reranker, and the cosines of the vector side."""
    if not isinstance(explain, Mapping):
        return {}
    cosines = explain.get("vectorScores")
    numbers = [_parse_number(cosine) or 0.0 for cosine in cosines] if isinstance(cosines, list) else []
    return {"rerank": _parse_number(explain.get("rerankScore")), "cosine": max(numbers, default=None)}


def _parse_number(value: Any) -> float | None:
    """Return a finite number, else None; Python's JSON parser also accepts NaN and Infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        return None
    return float(value)


def _is_path(path: str) -> bool:
    """Return True if a path can be looked up: JSON strings may hold lone surrogates and NULs."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in path
