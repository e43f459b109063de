"""The chunks whose units are worth ranking: the best of the keyword index, the nearest of the vectors, notes that are named."""

# ruff: noqa: S608 -- what is put into SQL are ids, names of bindings and clauses of our own

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core import ranking
from memory_core.question import Question, Term
from memory_core.records import Query, Unit
from memory_core.store.connection import Connection
from memory_core.store.rows import unpack_units
from memory_core.store.vectors import VectorIndex
from memory_core.terms import match_expression

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_DEPTH = 32  # chunks a leg, whatever maxResults is
RANKED_CHUNKS = 16  # ranking the units of 64 changes nothing (R4000 .843 and .845)
MAX_HITS = 3000  # chunks that a search scores by keyword, about


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with its evidence.

    Attributes:
        id: In the index.
        path, source, date: Of its file.
        start_line: In the file, from 1.
        context: The date and headings above it.
        text: Its lines.
        units: What is ranked, never empty.
        tokens: Token ids of its units, packed; None when they were not computed.
        named: The question names its file.
    """

    id: int
    path: str
    source: str
    date: str | None
    start_line: int
    context: str
    text: str
    units: Sequence[Unit]
    tokens: bytes | None
    named: bool


def candidates(
    connection: Connection,
    question: Question,
    query: Query,
    weights: ranking.Weights,
    *,
    multiplier: int,
    near: Mapping[int, float],
) -> list[Candidate]:
    """The chunks to rank, in no order that counts.

    Args:
        near: Cosines of the nearest chunks, by chunk id; empty without vectors.
    """  # fmt: skip
    depth = max(MIN_DEPTH, query.max_results * multiplier)
    by_text = _by_keyword(connection, question, query, depth) if weights.text else {}
    count = max(RANKED_CHUNKS, query.max_results)
    named = _named(connection, question, query, count)
    ids = list(dict.fromkeys([*named, *_best(by_text, near, weights)]))[:count]
    return _load(connection, ids, named)


def nearest(
    connection: Connection,
    index: VectorIndex,
    space_id: int,
    vector: NDArray[np.float32],
    query: Query,
    *,
    multiplier: int,
) -> dict[int, float]:
    """Cosine of the best window of the nearest chunks, by chunk id, best first."""
    depth = max(MIN_DEPTH, query.max_results * multiplier)
    clauses, bindings = _dated(query)
    near = index.nearest(connection, space_id, vector, depth * (8 if clauses else 2))
    cosines = {window.hash: window.cosine for window in near}
    rows = connection.execute(
        "SELECT w.hash, w.chunk_id FROM windows w"
        + (" CROSS JOIN chunks c ON c.id = w.chunk_id CROSS JOIN files f ON f.id = c.file_id" if clauses else "")
        + f" WHERE w.hash IN ({','.join(f':h{i}' for i in range(len(near)))}) {clauses}",
        {**{f"h{i}": window.hash for i, window in enumerate(near)}, **bindings},
    )
    found: dict[int, float] = {}
    for key, chunk_id in rows:
        found[chunk_id] = max(found.get(chunk_id, -1.0), cosines[key])
    return dict(sorted(found.items(), key=lambda item: -item[1])[:depth])


def _dated(query: Query) -> tuple[str, dict[str, str]]:
    """The date filter as SQL on files `f`, with its bindings; a note without a date is of the day it was last changed."""
    clauses, bindings = "", {}
    for name, comparison, day in (("after", ">=", query.after), ("before", "<=", query.before)):
        if day is not None:
            clauses += (
                f" AND coalesce(f.date, date(f.mtime_ns / 1000000000, 'unixepoch', 'localtime')) {comparison} :{name}"
            )
            bindings[name] = day.isoformat()
    return clauses, bindings


def _by_keyword(connection: Connection, question: Question, query: Query, depth: int) -> dict[int, float]:
    """A keyword score of the best chunks, higher is better, by chunk id, best first.

    It is BM25; in a large index only chunks with one of the rarer terms have one, and those terms count twice.
    """
    clauses, bindings = _dated(query)
    terms = sorted((term for term in question.terms if term.documents), key=lambda term: term.documents)
    if not terms:
        return {}
    match = match_expression(term.text for term in terms) if clauses else _match(terms, depth)
    joined = "JOIN chunks c ON c.id = chunks_fts.rowid JOIN files f ON f.id = c.file_id" if clauses else ""
    rows = connection.execute(
        f"SELECT chunks_fts.rowid, -bm25(chunks_fts) AS score FROM chunks_fts {joined}"
        f" WHERE chunks_fts MATCH :match {clauses} ORDER BY score DESC LIMIT :depth",
        {"match": match, "depth": depth, **bindings},
    )
    return dict(rows)


def _match(terms: Sequence[Term], depth: int) -> str:
    """The FTS5 query for terms, of which the rarest are first, that finds so many chunks if there are.

    bm25() reads the length of every chunk that matches, most of which hold one common word. So where they are many, one of
    the rarer terms must stand in a chunk for the common ones to be looked at.
    """
    hits = count = 0
    for term in terms:
        if hits >= depth and hits + term.documents > MAX_HITS:
            break
        hits, count = hits + term.documents, count + 1
    rare = match_expression(term.text for term in terms[:count])
    common = match_expression(term.text for term in terms[count:])
    return f"({rare}) AND ({rare} OR {common})" if common else rare


def _named(connection: Connection, question: Question, query: Query, count: int) -> set[int]:
    """Chunks of the notes that the question names by file name or date."""
    clauses, bindings = _dated(query)
    found: set[int] = set()
    for name in question.names:
        rows = connection.execute(
            "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id"
            " WHERE (f.date = :name OR lower(f.path) = :name OR substr(lower(f.path), -length(:name) - 1) = '/' || :name)"
            f" {clauses} ORDER BY c.id LIMIT :count",
            {"name": name, "count": count, **bindings},
        )
        found.update(row[0] for row in rows)
    return found


def _best(by_text: Mapping[int, float], near: Mapping[int, float], weights: ranking.Weights) -> list[int]:
    """Chunk ids of both sides, best first by the two together."""
    ids = list({**by_text, **near})
    floor = min(near.values(), default=0.0)
    texts = ranking.scaled([by_text.get(chunk_id, 0.0) for chunk_id in ids])
    cosines = ranking.spread([near.get(chunk_id, floor) for chunk_id in ids])
    fused = {
        chunk_id: bool(weights.text) * text + bool(weights.vector) * cosine
        for chunk_id, text, cosine in zip(ids, texts, cosines, strict=True)
    }
    return sorted(ids, key=lambda chunk_id: -fused[chunk_id])


def _load(connection: Connection, ids: Sequence[int], named: set[int]) -> list[Candidate]:
    rows = connection.execute(
        "SELECT c.id, f.path, f.source, f.date, c.start_line, c.context, c.text, c.units, c.tokens FROM chunks c"
        f" JOIN files f ON f.id = c.file_id WHERE c.id IN ({','.join(map(str, ids))}) AND length(c.units)"
    )
    return [
        Candidate(
            chunk_id, path, source, date, start, context, text, unpack_units(units), tokens, chunk_id in named
        )
        for chunk_id, path, source, date, start, context, text, units, tokens in rows
    ]  # fmt: skip
