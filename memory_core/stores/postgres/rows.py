"""Rows of notes, chunks and windows of one tenant: how a prepared file is written to them and loaded from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from memory_core.records import Chunk, FileStamp, MemoryFile
from memory_core.stores.postgres.connections import renew
from memory_core.stores.postgres.reader import unpack_units
from memory_core.stores.postgres.stems import clean, make_vector
from memory_core.stores.postgres.tenants import Cursor
from memory_core.stores.values import (
    ChunkRow,
    IndexedFile,
    PreparedChunk,
    PreparedFile,
    digest,
    pair_chunks,
    restore_chunk,
)
from memory_core.text.languages import stem_text
from memory_core.text.markdown import may_hold_links

_STEP = 50  # notes that one statement writes
_CHUNK_STEP = 500
_INDEXED = "SELECT id, source, path, hash, error, size, mtime_ns, ctime_ns, inode FROM notes WHERE tenant_id = %s"
_MISSING = "NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.tenant_id = w.tenant_id AND e.space_id = %(space)s AND e.hash = w.hash"


class NoteRows:
    """Writes notes with their chunks and windows, inside a write transaction that holds the row of the tenant.

    Attributes:
        cursor: Inside the transaction.
        added_chunks, added_words: Changes of the tenant's counters, to be written before the commit.
    """

    def __init__(self, cursor: Cursor, tenant: int) -> None:
        self.cursor = self._db = cursor
        self._tenant = tenant
        self.added_chunks = 0
        self.added_words = 0

    def put(self, several: Sequence[PreparedFile]) -> dict[int, PreparedChunk]:
        """Make the rows of notes equal to what was prepared; equal chunks keep theirs. Return those inserted, by id."""
        inserted: dict[int, PreparedChunk] = {}
        for first in range(0, len(several), _STEP):
            renew(self._db)
            inserted |= self._put(several[first : first + _STEP])
        return inserted

    def _put(self, several: Sequence[PreparedFile]) -> dict[int, PreparedChunk]:
        notes = self._put_notes(several)
        rows = self._db.execute(
            "SELECT note_id, hash, id, start_line, end_line FROM chunks WHERE tenant_id = %s AND note_id = ANY (%s)",
            (self._tenant, list(notes)),
        ).fetchall()
        stored: dict[int, list[tuple[bytes, ChunkRow]]] = {}
        for note, key, *row in rows:
            stored.setdefault(note, []).append((key, ChunkRow(*row)))
        new: list[tuple[int, PreparedChunk]] = []
        moved: list[ChunkRow] = []
        unused: list[int] = []
        for note, prepared in notes.items():
            changes = pair_chunks(prepared.chunks, stored.get(note, ()))
            new += [(note, item) for item in changes.new]
            moved += changes.moved
            unused += changes.unused
        if moved:
            self._db.execute(
                "UPDATE chunks c SET start_line = m.first, end_line = m.last FROM unnest(%s::bigint[], %s::int[], %s::int[])"
                " m (id, first, last) WHERE c.tenant_id = %s AND c.id = m.id",
                (*_turn(moved, 3), self._tenant),
            )
        self._delete_chunks(unused)
        return self._insert_chunks(new)

    def drop(self, notes: Iterable[int]) -> None:
        """Remove notes with their chunks and windows; embeddings stay."""
        ids = list(notes)
        for first in range(0, len(ids), _STEP):
            some = ids[first : first + _STEP]
            renew(self._db)
            rows = self._db.execute(
                "SELECT id FROM chunks WHERE tenant_id = %s AND note_id = ANY (%s)", (self._tenant, some)
            ).fetchall()
            self._delete_chunks([row[0] for row in rows])
            self._db.execute("SELECT delete_notes(%s, %s)", (self._tenant, some))

    def touch(self, note: int, stamp: FileStamp) -> None:
        """Record the new stamp of a note whose content is the same, and that it could be read."""
        self._db.execute(
            "UPDATE notes SET size = %s, mtime_ns = %s, ctime_ns = %s, inode = %s, day = coalesce(date, %s), error = NULL"
            " WHERE tenant_id = %s AND id = %s",
            (*stamp, _find_day(stamp), self._tenant, note),
        )

    def set_error(self, file: MemoryFile, reason: str) -> None:
        """Record why a note could not be read; its rows go on serving."""
        self._db.execute(
            "INSERT INTO notes (tenant_id, source, path, hash, size, mtime_ns, ctime_ns, inode, day, error)"
            " VALUES (%s, %s, %s, '', 0, 0, 0, 0, '', %s) ON CONFLICT (tenant_id, source, path)"
            " DO UPDATE SET error = excluded.error",
            (self._tenant, file.source, file.path, clean(reason)),
        )

    def _put_notes(self, several: Sequence[PreparedFile]) -> dict[int, PreparedFile]:
        """Write the rows of notes; return the notes by id."""
        files = {(prepared.file.source, prepared.file.path): prepared for prepared in several}
        columns = _turn(
            [
                (
                    *key, prepared.hash, *prepared.stamp, prepared.date, prepared.date or _find_day(prepared.stamp),
                    _write_numbers(prepared.lines) if prepared.lines else None,
                )
                for key, prepared in files.items()
            ],
            10,
        )  # fmt: skip
        rows = self._db.execute(
            "INSERT INTO notes (tenant_id, source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines, error)"
            " SELECT %s, source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines::int[], NULL"
            " FROM unnest(%s::text[], %s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],"
            " %s::text[], %s::text[], %s::text[])"
            " n (source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines)"
            " ON CONFLICT (tenant_id, source, path)"
            " DO UPDATE SET hash = excluded.hash, size = excluded.size, mtime_ns = excluded.mtime_ns,"
            " ctime_ns = excluded.ctime_ns, inode = excluded.inode, date = excluded.date, day = excluded.day,"
            " lines = excluded.lines, error = NULL RETURNING id, source, path",
            (self._tenant, *columns),
        ).fetchall()
        return {number: files[source, path] for number, source, path in rows}

    def _insert_chunks(self, items: Sequence[tuple[int, PreparedChunk]]) -> dict[int, PreparedChunk]:
        inserted: dict[int, PreparedChunk] = {}
        for first in range(0, len(items), _CHUNK_STEP):
            inserted |= self._insert_some(items[first : first + _CHUNK_STEP])
        return inserted

    def _insert_some(self, items: Sequence[tuple[int, PreparedChunk]]) -> dict[int, PreparedChunk]:
        rows, forms = [], set()
        waiting: dict[tuple[int, int, bytes], list[PreparedChunk]] = {}
        for note, item in items:
            context, text = clean(item.chunk.context), clean(item.chunk.text)
            vector, words = make_vector(context, text)
            self.added_words += words
            units = _write_numbers(number for unit in item.units for number in unit)
            start = item.chunk.start_line
            rows.append(
                (note, start, item.chunk.end_line, item.hash, words, context, text, may_hold_links(text), units, vector)
            )
            waiting.setdefault((note, start, item.hash), []).append(item)
            forms |= {*stem_text(f"{context}\n{text}")}
        self.added_chunks += len(rows)
        numbered = self._db.execute(
            "INSERT INTO chunks (tenant_id, note_id, start_line, end_line, hash, words, context, text, links, units, tsv)"
            " SELECT %s, note_id, start_line, end_line, hash, words, context, text, links, units::int[], tsv::tsvector"
            " FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::bytea[], %s::int[], %s::text[], %s::text[], %s::boolean[],"
            " %s::text[], %s::text[]) WITH ORDINALITY"
            " c (note_id, start_line, end_line, hash, words, context, text, links, units, tsv, place) ORDER BY place"
            " RETURNING id, note_id, start_line, hash",
            (self._tenant, *_turn(rows, 10)),
        ).fetchall()
        inserted = {number: waiting[note, start, key].pop(0) for number, note, start, key in numbered}
        windows = [
            (chunk_id, window.first, window.last, digest(window.text))
            for chunk_id, item in inserted.items()
            for window in item.windows
        ]
        self._db.execute(
            "INSERT INTO windows (tenant_id, chunk_id, first, last, hash) SELECT %s, w.*"
            " FROM unnest(%s::bigint[], %s::smallint[], %s::smallint[], %s::bytea[]) w",
            (self._tenant, *_turn(windows, 4)),
        )
        self._db.execute(
            "INSERT INTO word_forms (tenant_id, language, stem, word) SELECT %s, f.*"
            " FROM unnest(%s::text[], %s::text[], %s::text[]) f"
            " ON CONFLICT DO NOTHING",
            (self._tenant, *_turn(sorted(forms), 3)),
        )
        return inserted

    def _delete_chunks(self, ids: Sequence[int]) -> None:
        if ids:
            query = "SELECT deleted, words FROM delete_chunks(%s, %s)"
            ((deleted, words),) = self._db.execute(query, (self._tenant, list(ids))).fetchall()
            self.added_chunks -= deleted
            self.added_words -= words


def list_files(cursor: Cursor, tenant: int) -> list[IndexedFile]:
    """Return all notes of a tenant."""
    return [_to_indexed(row) for row in cursor.execute(_INDEXED, (tenant,)).fetchall()]


def list_stamps(cursor: Cursor, tenant: int) -> dict[tuple[str, str], tuple[int, int, int, int] | None]:
    """Return the stamps of all notes of a tenant by (source, path); None where a note has an error."""
    query = "SELECT source, path, error, size, mtime_ns, ctime_ns, inode FROM notes WHERE tenant_id = %s"
    return {
        (source, path): (size, mtime, ctime, inode) if error is None else None
        for source, path, error, size, mtime, ctime, inode in cursor.execute(query, (tenant,)).fetchall()
    }


def find_file(cursor: Cursor, tenant: int, source: str, path: str) -> IndexedFile | None:
    """Return one note; None when the index has never met it."""
    row = cursor.execute(f"{_INDEXED} AND source = %s AND path = %s", (tenant, source, path)).fetchone()
    return None if row is None else _to_indexed(row)


def load_file(cursor: Cursor, tenant: int, file: MemoryFile) -> PreparedFile | None:
    """Return a note's text as the index holds it; None when it was never read."""
    row = cursor.execute(
        "SELECT id, hash, size, mtime_ns, ctime_ns, inode, date, lines FROM notes"
        " WHERE tenant_id = %s AND source = %s AND path = %s AND hash <> ''",
        (tenant, file.source, file.path),
    ).fetchone()
    if row is None:
        return None
    note, content, *stamp, day, lines = row
    chunks = cursor.execute(
        "SELECT start_line, end_line, context, text, units, ARRAY(SELECT ARRAY[first, last] FROM windows w"
        " WHERE w.tenant_id = c.tenant_id AND w.chunk_id = c.id ORDER BY first) FROM chunks c"
        " WHERE tenant_id = %s AND note_id = %s ORDER BY start_line, id",
        (tenant, note),
    ).fetchall()
    return PreparedFile(
        file=file, hash=content, stamp=FileStamp(*stamp), date=day, lines=lines or (),
        chunks=tuple(
            restore_chunk(Chunk(start, end, 0, context, text), unpack_units(units), windows)
            for start, end, context, text, units, windows in chunks
        ),
    )  # fmt: skip


def _to_indexed(row: tuple[Any, ...]) -> IndexedFile:
    number, source, path, content, error, *stamp = row
    return IndexedFile(number, source, path, content, FileStamp(*stamp), error)


def _turn(rows: Sequence[Sequence[Any]], count: int) -> list[list[Any]]:
    """Return the columns of rows, each an array of a statement."""
    return [[row[at] for row in rows] for at in range(count)]


def _write_numbers(numbers: Iterable[int]) -> str:
    """Write an array of numbers as PostgreSQL reads it: arrays of arrays would have to be equally long."""
    return f"{{{','.join(map(str, numbers))}}}"


def _find_day(stamp: FileStamp) -> str:
    """Return the local day on which a file was last changed."""
    return datetime.fromtimestamp(stamp.mtime_ns / 1e9).astimezone().date().isoformat()


def find_missing(*, tokens: bool) -> str:
    """Return the SQL condition of a window `w` without an embedding, or without those of its tokens, in a space."""
    return f"{_MISSING}{' AND e.bits IS NOT NULL' if tokens else ''})"
