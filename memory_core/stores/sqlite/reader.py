"""The questions of a search and of a sync as SQL, on one connection."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import date, timedelta
from itertools import starmap
from typing import TYPE_CHECKING, Any

from memory_core.records import Calibration, Space
from memory_core.stores.interface import Pending, Place, best_of
from memory_core.stores.sqlite.connections import Connection, load_tokenizer
from memory_core.stores.sqlite.encoding import (
    check_chunk,
    check_window,
    decode,
    read_json,
    unpack_units,
)
from memory_core.stores.sqlite.vectors import VectorIndex, load_layout, load_tokens
from memory_core.stores.values import (
    ChunkText,
    DateRange,
    IndexedChunk,
    IndexedFile,
    PendingWindow,
    ServingSpace,
    SyncState,
    Term,
    WindowCosine,
    WindowTokens,
    count_rarest,
    pair_forms,
    recall_state,
    slice_units,
    spell,
    to_indexed,
    to_serving,
)
from memory_core.text.dates import begin_day
from memory_core.text.folding import fold_words
from memory_core.text.languages import Relation, stem_words
from memory_core.text.terms import is_single_cjk, write_index

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row, Rows

# Windows looked at for each chunk asked for: some are of one chunk, or of files with excluded dates.
_WINDOWS, _WINDOWS_OF_DATES = 2, 8
_FIRST_DAY, _LAST_DAY = date(1678, 1, 1), date(2262, 4, 1)  # whose nanoseconds fit into 64 bits
_INDEXED_FILE = "SELECT id, source, path, hash, error, size, mtime_ns, ctime_ns, inode FROM files"

# The embeddings as e; with tokens, those only that have embeddings of their tokens.
_EMBEDDINGS = ("embedding_cache e", "embedding_cache e JOIN token_bits t ON t.embedding_id = e.id")


class SqliteReader:
    """Implements `stores.interface.SyncReader`.

    Args:
        connection: Inside a read transaction.
        vectors: Finds nearest windows.
        timezone: In which a file without a date has the day of its last change; see `get_today`.
    """

    def __init__(self, connection: Connection, vectors: VectorIndex, timezone: str | None = None) -> None:
        self.db = connection
        self._vectors = vectors
        self._timezone = timezone
        self._tokenize = load_tokenizer(connection)
        self._chunks: int | None = None  # their number, once it was counted
        self._units: dict[int, int] = {}  # the number of units of each chunk that was loaded

    def holds_notes(self) -> bool:
        """See `Reader`."""
        return bool(
            self.db.execute(
                "SELECT EXISTS (SELECT 1 FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.source <> 'sessions')"
            ).get
        )

    def count_chunks(self) -> int:
        """See `Reader`."""
        if self._chunks is None:
            self._chunks = int(self.db.execute("SELECT count(*) FROM chunks").get)
        return self._chunks

    def load_workspace(self) -> str | None:
        """See `Reader`."""
        workspace: str | None = read_json(self._ask("SELECT value FROM meta WHERE key = 'workspace'").get or "null")
        return workspace

    def load_serving_space(self) -> ServingSpace | None:
        """See `Reader`."""
        found = self._ask(
            "SELECT s.id, s.provider, s.model, s.endpoint, s.input_type, s.dimensions, s.floor, s.span FROM spaces s"
            " JOIN meta m ON m.key = 'serving' AND s.id = CAST(m.value AS INTEGER)"
        )
        return to_serving(found.fetchone())

    def stem(self, text: str) -> list[str]:
        """See `Reader`."""
        return self._tokenize(write_index(text).encode())

    def count_by_stem(self, stems: Collection[str]) -> dict[str, int]:
        """See `Reader`."""
        query = "SELECT term, doc FROM chunks_terms WHERE term IN (SELECT value FROM json_each(?))"
        return dict(self._ask(query, (json.dumps(list(stems)),)))

    def find_forms(self, words: Collection[str], languages: Sequence[Relation]) -> dict[str, list[str]]:
        """See `Reader`."""
        held = self._list(
            "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM word_forms WHERE language = value)",
            (json.dumps([*languages]),),
        )
        asked = [each for language in held for each in stem_words(words, language)]
        stored = self._ask(
            "SELECT f.language, f.stem, f.word FROM json_each(?) AS asked JOIN word_forms f"
            " ON f.language = asked.value ->> 0 AND f.stem = asked.value ->> 1",
            (json.dumps(sorted({(language, stem) for language, stem, _ in asked})),),
        )
        return pair_forms(asked, stored)

    def find_spelt(self, begin: str, end: str, lengths: tuple[int, int]) -> list[str]:
        """See `Reader`."""
        return self._list(
            " UNION ".join(
                f"SELECT word FROM word_forms WHERE language = '{kept}' AND stem >= :{part} AND stem < :{part} || char(1114111)"
                " AND length(stem) BETWEEN :shortest AND :longest"
                for kept, part in (("spelt", "begin"), ("mirrored", "end"))
            ),
            {"begin": begin, "end": end[::-1], "shortest": lengths[0], "longest": lengths[1]},
        )

    def count_by_prefix(self, prefixes: Collection[str]) -> dict[str, int]:
        """See `Reader`."""
        if not prefixes:
            return {}
        rows = self._ask(
            "SELECT value, (SELECT max(doc) FROM chunks_terms WHERE term >= value AND term < value || char(1114111)) AS most"
            " FROM json_each(?) WHERE most",
            (json.dumps(list(prefixes)),),
        )
        return dict(rows)

    def count_phrase(self, phrase: str) -> int:
        """See `Reader`."""
        match = match_expression([phrase])
        return int(self.db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (match,)).get)

    def find_by_keyword(self, terms: Sequence[Term], dates: DateRange, depth: int) -> dict[int, float]:
        """See `Reader`."""
        clauses, bindings = self._limit(dates)
        if clauses:
            match = match_expression(spell(terms))
        else:
            match = _match_rarest(_leave_out_weightless(terms, depth, self.count_chunks()), depth)
        joined = "JOIN chunks c ON c.id = chunks_fts.rowid JOIN files f ON f.id = c.file_id" if clauses else ""
        scored = (
            f"SELECT chunks_fts.rowid AS id, -bm25(chunks_fts) AS score FROM chunks_fts {joined}"
            f" WHERE chunks_fts MATCH :match {clauses}"
        )
        best = f"{scored} ORDER BY score DESC LIMIT :depth"
        rows = self._ask(best, bindings | {"match": match, "depth": depth + 1}).fetchall()
        if len(rows) > depth and rows[depth - 1][1] == rows[depth][1]:  # equals that the limit would part by their ids
            equals = f"SELECT * FROM ({scored}) WHERE score >= :least"
            rows = self._ask(equals, bindings | {"match": match, "least": rows[depth][1]})
        return best_of(self, dict(rows), depth)

    def find_nearest(self, space_id: int, vector: Row, dates: DateRange, depth: int) -> dict[int, float]:
        """See `Reader`."""
        clauses, bindings = self._limit(dates)
        count = depth * (_WINDOWS_OF_DATES if clauses else _WINDOWS)
        near = self._vectors.find_nearest(self.db, space_id, vector, count)
        cosines = dict(near)
        rows = self._ask(
            "SELECT w.hash, w.chunk_id FROM windows w"
            + (" CROSS JOIN chunks c ON c.id = w.chunk_id CROSS JOIN files f ON f.id = c.file_id" if clauses else "")
            + f" WHERE w.hash IN ({','.join('?' * len(cosines))}) {clauses}",
            (*cosines, *bindings.values()),
        )
        found: dict[int, float] = {}
        for key, chunk_id in rows:
            found[chunk_id] = max(found.get(chunk_id, -1.0), cosines[key])
        return best_of(self, found, depth)

    def find_by_name(self, name: str, dates: DateRange, limit: int) -> list[int]:
        """See `Reader`."""
        clauses, bindings = self._limit(dates)
        return self._list(
            "SELECT c.id FROM files f JOIN chunks c ON c.file_id = f.id"
            " WHERE (f.date = :name OR lower(f.path) = :name OR substr(lower(f.path), -length(:name) - 1) = '/' || :name)"
            f" {clauses} ORDER BY f.source, f.path, c.start_line LIMIT :count",
            {"name": name, "count": limit, **bindings},
        )

    def find_dated(self, first: date, last: date, limit: int) -> list[int]:
        """See `Reader`."""
        return self._list(
            "SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id IN ("
            "SELECT id FROM chunks WHERE day BETWEEN :first AND :last UNION ALL SELECT u.id FROM files n"
            " JOIN chunks u ON u.file_id = n.id AND u.day IS NULL WHERE n.date BETWEEN :first AND :last)"
            " ORDER BY coalesce(c.day, f.date), f.source, f.path, c.start_line LIMIT :count",
            {"first": first.isoformat(), "last": last.isoformat(), "count": limit},
        )

    def sort_equals(self, ids: Collection[int]) -> list[int]:
        """See `Reader`."""
        return self._list(
            "SELECT c.id FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.id IN (SELECT value FROM json_each(?))"
            " ORDER BY coalesce(c.day, f.date) IS NOT NULL, coalesce(c.day, f.date) DESC, f.source, f.path, c.start_line",
            (json.dumps(list(ids)),),
        )

    def load_chunks(self, ids: Collection[int]) -> list[IndexedChunk]:
        """See `Reader`."""
        rows = self._ask(
            "SELECT c.id, c.hash, f.path, f.source, coalesce(c.day, f.date), c.start_line, c.context, c.text, c.units"
            " FROM chunks c JOIN files f ON f.id = c.file_id"
            " WHERE c.id IN (SELECT value FROM json_each(?)) AND c.units <> '[]'",
            (json.dumps(list(ids)),),
        )
        chunks: list[IndexedChunk] = []
        for chunk_id, key, path, source, day, start, context, text, blob in rows.fetchall():
            units = unpack_units(blob)
            check_chunk(key, context, text, units)
            self._units[chunk_id] = len(units)
            chunks.append(IndexedChunk(chunk_id, path, source, day, start, context, text, units))
        return chunks

    def find_phrases(self, phrases: Sequence[str], dates: DateRange) -> list[int]:
        """See `Reader`."""
        clauses, bindings = self._limit(dates)
        return self._list(
            "SELECT chunks_fts.rowid FROM chunks_fts"
            + (" JOIN chunks c ON c.id = chunks_fts.rowid JOIN files f ON f.id = c.file_id" if clauses else "")
            + f" WHERE chunks_fts MATCH :match {clauses}",
            bindings | {"match": match_expression(phrases)},
        )

    def find_beginnings(self) -> list[int]:
        """See `Reader`."""
        return self._list(
            "SELECT c.id, min(c.start_line) FROM files f JOIN chunks c ON c.file_id = f.id WHERE f.source <> 'sessions'"
            " GROUP BY f.id"
        )

    def find_linking(self) -> list[int]:
        """See `Reader`."""
        return self._list("SELECT id FROM chunks WHERE links")

    def load_texts(self, ids: Collection[int], *, whole: bool) -> list[ChunkText]:
        """See `Reader`."""
        given = "SELECT value FROM json_each(?)"
        wanted = f"c.file_id IN (SELECT file_id FROM chunks WHERE id IN ({given}))" if whole else f"c.id IN ({given})"
        rows = self._ask(
            "SELECT c.id, f.path, f.source, f.date, c.start_line, c.text FROM chunks c JOIN files f ON f.id = c.file_id"
            f" WHERE {wanted} AND f.source <> 'sessions' ORDER BY f.source, f.path, c.start_line, c.id",
            (json.dumps(list(ids)),),
        )
        return [*starmap(ChunkText, rows)]

    def compare_windows(self, space_id: int, vector: Row, chunk_ids: Collection[int]) -> list[WindowCosine]:
        """See `Reader`."""
        windows = self._vectors.compare(self.db, space_id, vector, chunk_ids)
        self._check_windows(windows)
        return windows

    def load_tokens(self, space_id: int, chunk_ids: Collection[int]) -> list[WindowTokens] | None:
        """See `Reader`."""
        windows = load_tokens(self.db, space_id, chunk_ids)
        self._check_windows((w.chunk_id, w.first, w.first + len(w.counts) - 1) for w in windows or ())
        return windows

    def load_log_lines(self, source: str, path: str) -> Sequence[int]:
        """See `Reader`."""
        lines: Sequence[int] = read_json(
            self._ask("SELECT lines FROM files WHERE source = ? AND path = ?", (source, path)).get or "[]"
        )
        return lines

    def list_files(self) -> list[IndexedFile]:
        """See `Reader`."""
        return [to_indexed(row) for row in self.db.execute(_INDEXED_FILE)]

    def find_file(self, source: str, path: str) -> IndexedFile | None:
        """See `Reader`."""
        row = self.db.execute(f"{_INDEXED_FILE} WHERE source = ? AND path = ?", (source, path)).fetchone()
        return None if row is None else to_indexed(row)

    def find_paths(self, hashes: Sequence[bytes]) -> tuple[str, ...]:
        """See `Reader`."""
        found = self._list(
            "SELECT DISTINCT f.path FROM windows w JOIN chunks c ON c.id = w.chunk_id JOIN files f ON f.id = c.file_id"
            f" WHERE w.hash IN ({', '.join('?' * len(hashes))}) ORDER BY f.path",
            hashes,
        )
        return tuple(found)

    def count_indexed(self) -> tuple[int, int]:
        """See `Reader`."""
        counts = "SELECT (SELECT count(*) FROM files WHERE hash <> x''), (SELECT count(*) FROM chunks)"
        files, chunks = self.db.execute(counts).get
        return int(files), int(chunks)

    def load_state(self) -> SyncState:
        """See `Reader`."""
        held = self._load_meta()
        return recall_state(held, generation=held.get("generation", 0), workspace=held.get("workspace"))

    def list_spaces(self) -> dict[Space, int]:
        """See `Reader`."""
        rows = self._ask("SELECT id, provider, model, endpoint, input_type, dimensions FROM spaces ORDER BY id")
        return {Space(*about): number for number, *about in rows}

    def find_pending(self, space_id: int | None, after: Place, limit: int, *, tokens: bool = False) -> Pending:
        """See `Reader`."""
        rows = self._ask(
            "SELECT w.chunk_id, w.first, w.last, w.hash, c.text, c.units FROM windows w"
            " CROSS JOIN chunks c ON c.id = w.chunk_id"  # CROSS: in the order of the first table, without a sort
            " WHERE (w.chunk_id, w.first) > (?, ?)"
            f" AND NOT EXISTS (SELECT 1 FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash = w.hash)"
            " ORDER BY w.chunk_id, w.first LIMIT ?",
            (*after, space_id, limit),
        )
        found: dict[bytes, PendingWindow] = {}
        held, units, count = -1, [], 0
        for chunk_id, first, last, key, text, blob in rows:
            if chunk_id != held:
                held, units = chunk_id, unpack_units(blob)
            after, count = (chunk_id, first), count + 1
            found.setdefault(key, PendingWindow(key, slice_units(text, units[first : last + 1])))
        return Pending(list(found.values()), after if count == limit else None)

    def count_pending(self, space_id: int | None, *, since: int = 0, tokens: bool = False) -> int:
        """See `Reader`."""
        found = self._ask(
            "SELECT count(DISTINCT hash) FROM windows w WHERE w.chunk_id >= ?"
            f" AND NOT EXISTS (SELECT 1 FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash = w.hash)",
            (since, space_id),
        )
        return int(found.get)

    def count_windows(self, *, since: int = 0, distinct: bool = False) -> int:
        """See `Reader`."""
        counted = "DISTINCT hash" if distinct else "*"
        return int(self.db.execute(f"SELECT count({counted}) FROM windows WHERE chunk_id >= ?", (since,)).get)

    def describe_vectors(self, space_id: int | None) -> tuple[str, str | None]:
        """See `Reader`."""
        return self._vectors.describe(self.db, space_id)

    def find_embedded(self, space_id: int, hashes: Collection[bytes], *, tokens: bool = False) -> set[bytes]:
        """See `Reader`."""
        found = self._list(
            f"SELECT e.hash FROM {_EMBEDDINGS[tokens]}"
            " WHERE e.space_id = ? AND e.hash IN (SELECT unhex(value) FROM json_each(?))",
            (space_id, json.dumps([key.hex() for key in hashes])),
        )
        return {*found}

    def load_calibration(self, space_id: int) -> tuple[Calibration, int] | None:
        """See `Reader`."""
        query = "SELECT floor, span, judged FROM spaces WHERE id = ? AND floor IS NOT NULL"
        row = self._ask(query, (space_id,)).fetchone()
        return (Calibration(floor=row[0], span=row[1]), row[2]) if row else None

    def sample_embeddings(self, space_id: int, limit: int) -> Rows:
        """See `Reader`. They are the first by hash, which is as good as chance."""
        rows = self.db.execute(
            "SELECT embedding FROM embedding_cache e WHERE space_id = ?"
            " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash) ORDER BY hash LIMIT ?",
            (space_id, limit),
        )
        layout = load_layout(self.db, space_id)
        return decode([row[0] for row in rows], layout.encoding, layout.dimensions)

    def _load_meta(self) -> dict[str, Any]:
        """Return the values that the index holds once, by their names; each is a row of `meta`, as JSON."""
        return {name: read_json(value) for name, value in self._ask("SELECT key, value FROM meta")}

    def _list(self, query: str, values: Any = ()) -> list[Any]:
        """Return the first column of what a query finds."""
        return [row[0] for row in self.db.execute(query, values)]

    def _ask(self, query: str, values: Any = ()) -> Any:
        """Return what a query finds, which only the query knows the types of."""
        return self.db.execute(query, values)

    def _limit(self, dates: DateRange) -> tuple[str, dict[str, str | int]]:
        """Return the dates as SQL clauses on chunks `c` of files `f`, with their bindings in the order of the clauses."""
        clauses, bindings, day = "", dict[str, str | int](), "coalesce(c.day, f.date)"
        if dates.first is not None:
            clauses += f" AND CASE WHEN {day} IS NULL THEN f.mtime_ns >= :begin ELSE {day} >= :first END"
            bindings |= {"begin": self._begin_ns(dates.first), "first": dates.first.isoformat()}
        if dates.last is not None:
            clauses += f" AND CASE WHEN {day} IS NULL THEN f.mtime_ns < :end ELSE {day} <= :last END"
            end = self._begin_ns(min(dates.last, _LAST_DAY) + timedelta(days=1))
            bindings |= {"end": end, "last": dates.last.isoformat()}
        return clauses, bindings

    def _begin_ns(self, day: date) -> int:
        """Return when a day begins, in Unix nanoseconds."""
        return round(begin_day(self._timezone, min(max(day, _FIRST_DAY), _LAST_DAY)).timestamp()) * 1_000_000_000

    def _check_windows(self, windows: Iterable[tuple[int, int, int, *tuple[object, ...]]]) -> None:
        """Check windows, each given as (chunk id, first unit, last unit, ...), of chunks that were loaded."""
        for chunk_id, first, last, *_ in windows:
            if chunk_id in self._units:
                check_window(first, last, self._units[chunk_id])


def match_expression(words: Iterable[str]) -> str:
    """Build the FTS5 query for any of the words; "" for none.

    Every word is quoted, so that nothing in it is read as syntax (https://www.sqlite.org/fts5.html#full_text_query_syntax).
    """
    return " OR ".join(f'"{word}"*' if is_single_cjk(word) else f'"{fold_words(word)}"' for word in words)


def _leave_out_weightless(terms: Sequence[Term], depth: int, chunks: int) -> Sequence[Term]:
    """Return the terms without those that half of the chunks hold, if another one finds more than `depth` chunks by itself.

    bm25() gives them next to no weight (a millionth: fts5_aux.c of SQLite), yet most of its time goes into chunks that hold
    nothing else.
    """
    kept = [term for term in terms if not _is_counted(term) or 2 * term.documents < chunks]
    return kept if any(_is_counted(term) and term.documents > depth for term in kept) else terms


def _is_counted(term: Term) -> bool:
    """Return True if the number of documents is that of the term's rows, of which bm25() makes its weight."""
    return not (term.forms or term.prefix)


def _match_rarest(terms: Sequence[Term], depth: int) -> str:
    """Build the FTS5 query for terms, the rarest first, that finds `depth` chunks if there are as many.

    bm25() reads the length of every chunk that matches, most of which hold one common word. So where they are many, a chunk
    must hold one of the rarer terms for the common ones to be looked at.
    """
    count = count_rarest(terms, depth)
    rare = match_expression(spell(terms[:count]))
    common = match_expression(spell(terms[count:]))
    return f"({rare}) AND ({rare} OR {common})" if common else rare
