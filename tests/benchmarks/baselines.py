"""The usual ways to search, over the same index: BM25 with OR, vectors alone, RRF, and the pipeline usual in agent memories.

Each gives chunks, best first. As an agent would see them, a hit's snippet is the first 700 characters of its chunk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from memory_core.embeddings.static import StaticProvider
from memory_core.records import Hit, Query
from memory_core.stores.sqlite.connections import Connection, open_reader
from memory_core.text.terms import cut_cjk

DEPTH = 100
RRF_K = 60  # Cormack, Clarke and Buettcher, SIGIR 2009
Ranked = list[tuple[int, float]]


class Baselines:
    """The baselines over one index file that was made with the static model."""

    def __init__(self, path: Path) -> None:
        self._db: Connection = open_reader(path)
        self._chunks = {
            chunk_id: (path, start, end, text)
            for chunk_id, path, start, end, text in self._db.execute(
                "SELECT c.id, f.path, c.start_line, c.end_line, c.text FROM chunks c JOIN files f ON f.id = c.file_id"
            )
        }
        self._model = StaticProvider()
        self._ids = list(self._chunks)
        texts = [self._chunks[chunk_id][3] for chunk_id in self._ids]
        self._rows = np.concatenate([rows for _, rows in self._model.embed_documents(texts)])

    def close(self) -> None:
        self._db.close()
        self._model.close()

    def searches(self) -> dict[str, Callable[[Query], list[Hit]]]:
        """By name, in the order in which they are printed."""
        return {
            "literal": lambda query: self._hits(query, self._literal(query), gate=query.min_score),
            "vector only": lambda query: self._hits(query, self._vector(query)),
            "BM25 OR": lambda query: self._hits(query, self._bm25(query, " OR ")),
            "RRF k=60": lambda query: self._hits(query, self._rrf(query)),
        }

    def _bm25(self, query: Query, joint: str) -> Ranked:
        match = joint.join(f'"{word}"' for word in re.findall(r"\w+", cut_cjk(query.text)))
        rows = self._db.execute(
            "SELECT rowid, -bm25(chunks_fts) AS score FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY score DESC LIMIT ?",
            (match, DEPTH),
        )
        return [(row[0], row[1]) for row in rows] if match else []

    def _vector(self, query: Query) -> Ranked:
        cosines = self._rows @ self._model.embed_query(query.text)
        order = np.argsort(-cosines)[:DEPTH].tolist()
        return [(self._ids[place], float(cosines[place])) for place in order]

    def _rrf(self, query: Query) -> Ranked:
        fused: dict[int, float] = {}
        for leg in (self._bm25(query, " OR "), self._vector(query)):
            for rank, (chunk_id, _) in enumerate(leg, start=1):
                fused[chunk_id] = fused.get(chunk_id, 0.0) + 1 / (RRF_K + rank)
        return sorted(fused.items(), key=lambda item: -item[1])

    def _literal(self, query: Query) -> Ranked:
        """All words joined by AND, 0.7 cosine + 0.3 / (1 + max(0, rank)): FTS5 ranks are negative, so the latter is 0.3."""
        fused = {chunk_id: 0.7 * cosine for chunk_id, cosine in self._vector(query)}
        for chunk_id, score in self._bm25(query, " AND "):
            fused[chunk_id] = fused.get(chunk_id, 0.0) + 0.3 / (1 + max(0.0, -score))
        return sorted(fused.items(), key=lambda item: -item[1])

    def _hits(self, query: Query, ranked: Sequence[tuple[int, float]], *, gate: float = 0.0) -> list[Hit]:
        hits = []
        for chunk_id, score in ranked[: query.max_results]:
            path, start, end, text = self._chunks[chunk_id]
            if score >= gate:
                shown = text[: query.max_snippet_chars]
                hits.append(Hit(path=path, source="memory", start_line=start, end_line=end, score=score, snippet=shown))
        return hits
