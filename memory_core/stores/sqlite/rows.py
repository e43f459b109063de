"""Rows of files, chunks and windows: how a prepared file is written to them and loaded from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

from memory_core.records import Chunk, FileStamp, MemoryFile, Window
from memory_core.stores.sqlite import Connection, word_forms
from memory_core.stores.sqlite.encoding import pack_lines, pack_units, unpack_lines, unpack_units
from memory_core.stores.values import IndexedFile, PreparedChunk, PreparedFile, digest, slice_units
from memory_core.text.markdown import may_hold_links
from memory_core.text.messages import replace_surrogates
from memory_core.text.terms import cut_cjk

_STEP = 1000  # chunks whose texts are in memory together
_GIVEN = "(SELECT value FROM json_each(?))"
_INDEXED_FILE = "SELECT id, source, path, hash, error, size, mtime_ns, ctime_ns, inode FROM files"


class FileRows:
    """Writes files with their chunks and windows, inside one write transaction.

    Args:
        connection: Inside the transaction.
        prefix: Before the names of the tables: "" for those that serve, `staging.PREFIX` for those of a rebuild.
        seen: Words that the tables hold already, see `word_forms.put`; None if nobody knows.
    """

    def __init__(self, connection: Connection, prefix: str = "", seen: word_forms.Seen | None = None) -> None:
        self._db = connection
        self._prefix = prefix
        self._seen = {} if seen is None else seen

    def put(self, *prepared: PreparedFile) -> dict[int, PreparedChunk]:
        """Make the rows of different files equal to what was prepared; equal chunks keep their rows.

        Returns:
            The chunks that were inserted, by id.
        """
        inserted: dict[int, PreparedChunk] = {}
        unused: list[int] = []
        for each in prepared:
            new, old = self._put_chunks(self._put_file(each), each.chunks)
            inserted |= new
            unused += old
        texts = (_searched_text(item.chunk.context, item.chunk.text) for item in inserted.values())
        word_forms.put(self._db, texts, self._prefix, self._seen)
        self._delete_chunks(unused)
        return inserted

    def drop(self, *file_ids: int) -> None:
        """Remove files with their chunks and windows; embeddings stay."""
        given = json.dumps(file_ids)
        chunks = self._db.execute(f"SELECT id FROM {self._prefix}chunks WHERE file_id IN {_GIVEN}", (given,)).fetchall()
        self._delete_chunks([row[0] for row in cast("list[tuple[int]]", chunks)])
        self._db.execute(f"DELETE FROM {self._prefix}files WHERE id IN {_GIVEN}", (given,))

    def touch(self, file_id: int, stamp: FileStamp) -> None:
        """Record the new stamp of a file whose content is the same, and that it could be read."""
        self._db.execute(
            f"UPDATE {self._prefix}files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, error = NULL WHERE id = ?",
            (*stamp, file_id),
        )

    def set_error(self, file: MemoryFile, reason: str) -> None:
        """Record why a file could not be read; its rows go on serving."""
        self._db.execute(
            f"INSERT INTO {self._prefix}files (source, path, hash, mtime_ns, size, error) VALUES (?, ?, x'', 0, 0, ?)"
            " ON CONFLICT (source, path) DO UPDATE SET error = excluded.error",
            (file.source, file.path, reason),
        )

    def _put_file(self, prepared: PreparedFile) -> int:
        file = prepared.file
        self._db.execute(
            f"INSERT INTO {self._prefix}files (source, path, hash, size, mtime_ns, ctime_ns, inode, date, lines, error)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (source, path) DO UPDATE SET hash = excluded.hash,"
            " size = excluded.size, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, inode = excluded.inode,"
            " date = excluded.date, lines = excluded.lines, error = NULL",
            (
                file.source,
                file.path,
                prepared.hash,
                *prepared.stamp,
                prepared.date,
                pack_lines(prepared.lines),
            ),
        )
        return int(
            self._db.execute(
                f"SELECT id FROM {self._prefix}files WHERE source = ? AND path = ?", (file.source, file.path)
            ).get
        )

    def _put_chunks(self, file_id: int, chunks: Iterable[PreparedChunk]) -> tuple[dict[int, PreparedChunk], list[int]]:
        """Insert those chunks of a file that it has not yet; return them by id, and the ids of its others."""
        old: dict[bytes, list[tuple[int, int, int]]] = {}
        rows = self._db.execute(
            f"SELECT hash, id, start_line, end_line FROM {self._prefix}chunks WHERE file_id = ? ORDER BY id DESC",
            (file_id,),
        )
        for chunk_hash, chunk_id, start, end in rows:
            old.setdefault(chunk_hash, []).append((chunk_id, start, end))
        inserted = {}
        for item in chunks:
            key = item.hash
            if kept := old.get(key):
                self._move_chunk(*kept.pop(), item.chunk)
            else:
                inserted[self._insert_chunk(file_id, key, item)] = item
        return inserted, [chunk_id for unused in old.values() for chunk_id, _, _ in unused]

    def _move_chunk(self, chunk_id: int, start: int, end: int, chunk: Chunk) -> None:
        if (start, end) != (chunk.start_line, chunk.end_line):
            self._db.execute(
                f"UPDATE {self._prefix}chunks SET start_line = ?, end_line = ? WHERE id = ?",
                (chunk.start_line, chunk.end_line, chunk_id),
            )

    def _insert_chunk(self, file_id: int, key: bytes, item: PreparedChunk) -> int:
        chunk = item.chunk
        text = replace_surrogates(chunk.text)
        self._db.execute(
            f"INSERT INTO {self._prefix}chunks (file_id, start_line, end_line, hash, context, units, text, links)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                file_id,
                chunk.start_line,
                chunk.end_line,
                key,
                chunk.context,
                pack_units(item.units),
                text,
                may_hold_links(text),
            ),
        )
        chunk_id = self._db.last_insert_rowid()
        self._db.execute(
            f"INSERT INTO {self._prefix}chunks_fts (rowid, context, text) VALUES (?, ?, ?)",
            (chunk_id, cut_cjk(chunk.context), cut_cjk(text)),
        )
        self._db.executemany(
            f"INSERT INTO {self._prefix}windows VALUES (?, ?, ?, ?)",
            [(chunk_id, window.first, window.last, digest(window.text)) for window in item.windows],
        )
        return chunk_id

    def _delete_chunks(self, ids: Sequence[int]) -> None:
        """Delete chunks with their windows, and the forms of words that no other holds."""
        for first in range(0, len(ids), _STEP):
            self._delete_some(ids[first : first + _STEP])
        if ids:
            self._seen.clear()

    def _delete_some(self, ids: Sequence[int]) -> None:
        given = json.dumps(ids)
        rows = self._db.execute(f"SELECT context, text FROM {self._prefix}chunks WHERE id IN {_GIVEN}", (given,))
        texts = [_searched_text(context, text) for context, text in rows]
        # One statement: FTS5 writes what it has gathered before each, which takes six times as long as the deletes.
        self._db.execute(f"DELETE FROM {self._prefix}chunks_fts WHERE rowid IN {_GIVEN}", (given,))
        self._db.execute(f"DELETE FROM {self._prefix}chunks WHERE id IN {_GIVEN}", (given,))
        if not self._prefix:  # a rebuild drops them with its tables
            word_forms.drop_unused(self._db, texts)


def _searched_text(context: str, text: str) -> str:
    """Return all text of a chunk that the keyword index holds."""
    return f"{context}\n{text}"


def read_files(connection: Connection) -> list[IndexedFile]:
    """Return all files."""
    return [_to_indexed(row) for row in connection.execute(_INDEXED_FILE)]


def read_stamps(connection: Connection) -> dict[tuple[str, str], tuple[int, int, int, int] | None]:
    """Return the stamps of all files by (source, path); None where a file has an error."""
    found = connection.execute("SELECT source, path, error, size, mtime_ns, ctime_ns, inode FROM files")
    return {
        (source, path): (size, mtime, ctime, inode) if error is None else None
        for source, path, error, size, mtime, ctime, inode in cast(
            "Iterable[tuple[str, str, str | None, int, int, int, int]]", found
        )
    }


def find_file(connection: Connection, source: str, path: str) -> IndexedFile | None:
    """Return one file; None when the index has never met it."""
    row = connection.execute(f"{_INDEXED_FILE} WHERE source = ? AND path = ?", (source, path)).fetchone()
    return None if row is None else _to_indexed(row)


def _to_indexed(row: tuple[Any, ...]) -> IndexedFile:
    file_id, source, path, content, error, *stamp = row
    return IndexedFile(file_id, source, path, content, FileStamp(*stamp), error)


def load_file(connection: Connection, file: MemoryFile) -> PreparedFile | None:
    """Return a file's text as the index holds it; None when it was never read."""
    row = connection.execute(
        "SELECT id, hash, size, mtime_ns, ctime_ns, inode, date, lines FROM files WHERE source = ? AND path = ? AND hash <> x''",
        (file.source, file.path),
    ).fetchone()
    if row is None:
        return None
    file_id, content, *stamp, day, lines = row
    rows = connection.execute(
        "SELECT id, start_line, end_line, context, text, units FROM chunks WHERE file_id = ? ORDER BY start_line, id",
        (file_id,),
    ).fetchall()
    return PreparedFile(
        file=file,
        hash=content,
        stamp=FileStamp(*stamp),
        date=day,
        chunks=tuple(_load_chunk(connection, chunk) for chunk in rows),
        lines=unpack_lines(lines),
    )


def _load_chunk(connection: Connection, row: tuple[Any, ...]) -> PreparedChunk:
    chunk_id, start, end, context, text, blob = row
    own = unpack_units(blob)
    windows = connection.execute("SELECT first, last FROM windows WHERE chunk_id = ? ORDER BY first", (chunk_id,))
    return PreparedChunk(
        Chunk(start, end, 0, context, text),
        tuple(own),
        tuple(Window(first, last, "\n".join(slice_units(text, own[first : last + 1]))) for first, last in windows),
    )
