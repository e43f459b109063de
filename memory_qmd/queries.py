"""Questions prepared for it, and its output parsed. Pure.

QMD joins the words of one search with AND, so that a whole sentence finds nothing. Since 2.1 it also takes a document of
typed lines, here one for each word, and fuses what they find. The parser tolerates the noise that older versions and
native libraries print around the JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal
from urllib.parse import unquote

from memory_core.records import SyncReport
from memory_core.search import scores
from memory_core.text import terms
from memory_core.text.messages import replace_surrogates

MAX_WORDS = 10  # lines of one document; the rarest words are kept
MAX_IDENTIFIERS = 3
MAX_VEC_CHARS = 1000  # of the line that is embedded; models cut at 512 tokens or earlier

# Letters and digits joined by signs name one thing, such as PRS-2209 or clock.max_drift.
_IDENTIFIER = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[-._][A-Za-z0-9]++)+")
_TYPED = re.compile(r"^(?:\s*(?:lex|vec|hyde|intent|expand)\s*:)+", re.IGNORECASE)
_DASH = re.compile(r"(?:(?<=\s)|^)[-\u2010-\u2015\u2212]+")

# CSI sequences (colours, cursor), OSC sequences (progress in the terminal's title bar), single-character escapes.
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")
_ARRAY = re.compile(r"^[ \t]*\[", re.MULTILINE)
_MAX_ATTEMPTS = 50  # arrays that are tried in noise; a log line may begin with "[" too
_COUNTS = re.compile(r"(?<!\d)(\d{1,18}) (new|updated|unchanged|removed)")

# The meaning of QMD's scores: none ("words": 1 / rank), none, but cosines are given beside them ("explained"), a cosine,
# or a blend of the rank and the reranker's judgement.
Scale = Literal["words", "explained", "cosine", "blend"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of one search.

    Attributes:
        names: The collections to search, which every search names.
        limit: The greatest number of rows.
        deadline: `time.monotonic()` at which QMD is killed.
    """

    names: Sequence[str]
    limit: int
    deadline: float


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A question without syntax, with its words.

    Attributes:
        text: On one line, without quotes, leading dashes or anything else that QMD reads as syntax.
        words: Its words, lower case, each once; empty if it has stop words only.
        weights: The share of each word in the question: rarer words weigh more.
        known: The words that the index holds, rarest first; all words if they could not be looked up.
    """

    text: str
    words: tuple[str, ...]
    weights: tuple[float, ...]
    known: tuple[str, ...]


def prepare(text: str, words: Sequence[str], counts: Mapping[str, int], documents: int) -> PreparedQuestion:
    """Prepare a question.

    Args:
        text: As it was asked.
        words: `extract_words` of it.
        counts: Number of documents that hold each word; empty if it is not known.
        documents: Number of documents in the index.
    """
    known = [word for word in words if not counts or counts.get(word, 0) > 0]
    return PreparedQuestion(
        text=strip_syntax(text),
        words=tuple(words),
        weights=tuple(scores.coverage_weight(documents, counts.get(word, 0)) for word in words),
        known=tuple(sorted(known, key=lambda word: counts.get(word, 0))),
    )


def extract_words(text: str) -> list[str]:
    """Extract the words of a question that are worth looking for."""
    return terms.extract_words(strip_syntax(text))


def strip_syntax(text: str) -> str:
    """Remove all that QMD could take for syntax: line ends, quotes, leading dashes, and a type such as "lex:" in front."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    line = _DASH.sub("", line.replace('"', " ").replace("\N{LEFT DOUBLE QUOTATION MARK}", " "))
    return " ".join(_TYPED.sub("", line).split())


def build_lines(question: PreparedQuestion, *, by_meaning: bool) -> list[tuple[str, str]]:
    """Build the typed lines of a question: ("lex", word) from the rarest word on, and ("vec", sentence) if wanted.

    The first line counts twice in QMD's fusion, so an identifier that was asked for as a whole leads.
    Empty if nothing is left to ask for.
    """
    # Where the index lacks a part of an identifier, a search for it as a whole finds nothing.
    found = _IDENTIFIER.findall(question.text)
    identifiers = [each for each in found if set(extract_words(each)) <= set(question.known)]
    lex = [*dict.fromkeys([*identifiers[:MAX_IDENTIFIERS], *question.known])][:MAX_WORDS]
    lines = [("lex", word) for word in lex]
    if by_meaning and question.text:
        lines.insert(0, ("vec", _DASH.sub("", question.text[:MAX_VEC_CHARS])))
    return lines


def join_lines(lines: Sequence[tuple[str, str]]) -> str:
    """Join typed lines to one argument for `qmd query`."""
    return "\n".join(f"{kind}: {text}" for kind, text in lines)


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
        rerank: The reranker's judgement, 0..1; None without a reranker.
        cosine: The best cosine of the vector side; None without one.
    """

    collection: str
    path: str
    score: float
    line: int | None = None
    rerank: float | None = None
    cosine: float | None = None


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


def parse_counts(stdout: bytes) -> SyncReport:
    """Parse the counts of files that `qmd update` prints, over all collections; all are 0 if it prints none."""
    totals = dict.fromkeys(("new", "updated", "unchanged", "removed"), 0)
    for number, kind in _COUNTS.findall(decode(stdout)):
        totals[kind] += int(number)
    return SyncReport(
        added=totals["new"], changed=totals["updated"], unchanged=totals["unchanged"], removed=totals["removed"]
    )


def parse_version(stdout: bytes) -> tuple[int, ...]:
    """Parse "qmd 2.8.3 (facd35e)" into (2, 8, 3); empty if it is no version."""
    found = re.search(r"(?<!\d)(\d{1,9})\.(\d{1,9})\.(\d{1,9})", stdout.decode("utf-8", errors="replace"))
    return tuple(map(int, found.groups())) if found else ()


def decode(output: bytes) -> str:
    """Decode an output and remove escape sequences."""
    return _ANSI.sub("", output.decode("utf-8", errors="replace"))


def _find_rows(text: str) -> list[Any]:
    for match in islice(_ARRAY.finditer(text), _MAX_ATTEMPTS):
        with suppress(ValueError, RecursionError):
            value, _ = json.JSONDecoder().raw_decode(text, match.end() - 1)
            if isinstance(value, list) and all(isinstance(item, dict) for item in value):
                return value
    if "No results found" in text:
        return []
    raise UnreadableOutput(f"no list of results in {len(text)} characters: {text[:200]!r}")


def _parse_row(item: Any) -> QmdRow | None:
    """Parse one row; None if its file is not `qmd://collection/path`."""
    uri = item.get("file") if isinstance(item, dict) else None
    if not isinstance(uri, str) or not uri.startswith("qmd://"):
        return None
    collection, _, path = uri.removeprefix("qmd://").partition("/")
    is_text = "\0" not in path and path == replace_surrogates(path)  # JSON strings may hold NULs and lone surrogates
    if not collection or not path or not is_text:
        return None
    line = item.get("line")
    return QmdRow(
        collection=collection,
        path=path,
        score=_parse_number(item.get("score")) or 0.0,
        line=line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None,
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
