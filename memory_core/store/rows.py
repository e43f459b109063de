"""What goes into the index: prepared values, and the writes of one transaction."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from memory_core.hookspecs import Calibration, Space
from memory_core.records import Chunk, MemoryFile, Unit, Window
from memory_core.store.connection import Connection
from memory_core.store.spaces import find_space, space_key
from memory_core.terms import cut_cjk

NEXT = "next_"  # before the names of the tables that a rebuild fills
END_OF_UNIT = 0xFFFF  # between token ids; no model in use has so large a vocabulary


def digest(text: str) -> bytes:
    """blake2b-16 of the text; lone surrogates, which some transcripts hold, do not stop it."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """A chunk with what is derived from it, ready to be written."""

    chunk: Chunk
    units: tuple[Unit, ...]
    windows: tuple[Window, ...]

    @property
    def hash(self) -> bytes:
        """Equal hashes are equal keyword rows: context, overlap and text."""
        return digest(f"{self.chunk.context}\0{self.chunk.overlap_lines}\0{self.chunk.text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFile:
    """A file as it is to stand in the index.

    Attributes:
        lines: For every line of the text that was cut the line of the file, where those differ; empty where they don't.
    """

    file: MemoryFile
    hash: bytes
    size_bytes: int
    mtime_ns: int
    date: str | None
    chunks: tuple[PreparedChunk, ...]
    lines: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class FileRow:
    """What the index knows of a file."""

    id: int
    source: str
    path: str
    hash: bytes
    mtime_ns: int
    size_bytes: int
    error: str | None


@dataclass(frozen=True, slots=True)
class OwedWindow:
    """A window without an embedding in one space: the texts of its units."""

    hash: bytes
    units: tuple[str, ...]

    @property
    def text(self) -> str:
        """What is embedded."""
        return "\n".join(self.units)

    @property
    def parts(self) -> list[str]:
        """One for each unit; joined, they are the text."""
        return [self.units[0], *("\n" + unit for unit in self.units[1:])]


def pack_units(units: Iterable[Unit]) -> bytes:
    """Units as int32 quadruples."""
    return array("i", [n for u in units for n in (u.start, u.end, u.first_line, u.last_line)]).tobytes()


def unpack_units(blob: bytes) -> list[Unit]:
    """The inverse of `pack_units`."""
    numbers = iter(array("i", blob))
    return [*map(Unit._make, zip(numbers, numbers, numbers, numbers, strict=True))]


def texts_of(text: str, units: Iterable[Unit]) -> tuple[str, ...]:
    """The texts of a chunk's units."""
    return tuple(text[unit.start : unit.end] for unit in units)


# What holds embeddings as e, and those only that have vectors of tokens.
_EMBEDDINGS = ("embedding_cache e", "embedding_cache e JOIN token_bits t ON t.embedding_id = e.id")


class Writer:
    """The writes of one transaction. `Store.write()` makes it; it must not outlive the block.

    Args:
        connection: Inside an immediate transaction.
        prefix: Before the names of the tables of files, chunks and windows: "" for those that serve, `NEXT` for those of a
            rebuild.
    """

    def __init__(self, connection: Connection, prefix: str = "") -> None:
        self._db = connection
        self._prefix = prefix

    def building(self) -> Writer:
        """The same transaction, writing to the tables of a rebuild."""
        return Writer(self._db, NEXT)

    @property
    def connection(self) -> Connection:
        """The connection inside the transaction, for what another room of the store writes."""
        return self._db

    def serving_space(self) -> int | None:
        """The id of the space whose vectors answer; None when none does."""
        value = self._db.execute("SELECT value FROM meta WHERE key = 'serving_space'").get
        return None if value is None else int(value)

    def set_meta(self, values: Mapping[str, str | None]) -> None:
        """Set keys; None removes one."""
        for key, value in values.items():
            if value is None:
                self._db.execute("DELETE FROM meta WHERE key = ?", (key,))
            else:
                self._db.execute(
                    "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (key, value)
                )

    def put_file(self, prepared: PreparedFile) -> dict[int, PreparedChunk]:
        """Make the file's rows equal to what was prepared; chunks that stand already keep their rows.

        Returns:
            The chunks that were inserted, by id.
        """
        file_id = self._put_file_row(prepared)
        old: dict[bytes, list[tuple[int, int, int]]] = {}
        rows = self._db.execute(
            f"SELECT hash, id, start_line, end_line FROM {self._prefix}chunks WHERE file_id = ? ORDER BY id DESC",
            (file_id,),
        )
        for chunk_hash, chunk_id, start, end in rows:
            old.setdefault(chunk_hash, []).append((chunk_id, start, end))
        inserted = {}
        for item in prepared.chunks:
            key = item.hash
            if kept := old.get(key):
                self._move_chunk(*kept.pop(), item.chunk)
            else:
                inserted[self._insert_chunk(file_id, key, item)] = item
        self._delete_chunks(chunk_id for rest in old.values() for chunk_id, _, _ in rest)
        return inserted

    def drop_files(self, ids: Iterable[int]) -> None:
        """Remove files with all that hangs on them, except embeddings."""
        for file_id in ids:
            self._delete_chunks(
                [
                    row[0]
                    for row in self._db.execute(f"SELECT id FROM {self._prefix}chunks WHERE file_id = ?", (file_id,))
                ]
            )
            self._db.execute(f"DELETE FROM {self._prefix}files WHERE id = ?", (file_id,))

    def touch_file(self, file_id: int, *, mtime_ns: int, size_bytes: int) -> None:
        """Note that a file with the same content has other times."""
        self._db.execute(
            f"UPDATE {self._prefix}files SET mtime_ns = ?, size = ?, error = NULL WHERE id = ?",
            (mtime_ns, size_bytes, file_id),
        )

    def set_file_error(self, file: MemoryFile, reason: str) -> None:
        """Note why a file stays as it was; its old rows keep serving."""
        self._db.execute(
            f"INSERT INTO {self._prefix}files (source, path, hash, mtime_ns, size, error) VALUES (?, ?, x'', 0, 0, ?)"
            " ON CONFLICT (source, path) DO UPDATE SET error = excluded.error",
            (file.source, file.path, reason),
        )

    def space_id(self, space: Space) -> int:
        """The id of a space, made when it is new."""
        self._db.execute(
            "INSERT INTO spaces (provider, model, endpoint, input_type, dimensions) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            space_key(space),
        )
        found = find_space(self._db, space)
        assert found is not None
        return found

    def put_calibration(self, space_id: int, calibration: Calibration, *, windows: int) -> None:
        """Store what cosines of a space are worth, as estimated when the index held so many windows."""
        self._db.execute(
            "UPDATE spaces SET floor = ?, span = ?, judged = ? WHERE id = ?",
            (calibration.floor, calibration.span, windows, space_id),
        )

    def put_embeddings(self, space_id: int, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Store (text hash, float32 bytes); what is there already stays."""
        now = int(time.time())
        self._db.executemany(
            "INSERT INTO embedding_cache (space_id, hash, embedding, updated_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            ((space_id, key, blob, now) for key, blob in rows),
        )

    def put_tokens(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Store (chunk id, token ids of its units)."""
        self._db.executemany(
            f"UPDATE {self._prefix}chunks SET tokens = ? WHERE id = ?", ((blob, chunk_id) for chunk_id, blob in rows)
        )

    def evict_embeddings(self, *, keep: int) -> list[int]:
        """Drop the oldest embeddings that no window refers to, beyond `keep`; the ids of those that went."""
        rows = self._db.execute(
            "DELETE FROM embedding_cache WHERE id IN (SELECT e.id FROM embedding_cache e"
            " WHERE NOT EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)"
            " ORDER BY e.updated_at DESC, e.id DESC LIMIT -1 OFFSET ?) RETURNING id",
            (keep,),
        )
        return [row[0] for row in rows]

    def _put_file_row(self, prepared: PreparedFile) -> int:
        file = prepared.file
        self._db.execute(
            f"INSERT INTO {self._prefix}files (source, path, hash, mtime_ns, size, date, lines, error)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (source, path) DO UPDATE SET hash = excluded.hash,"
            " mtime_ns = excluded.mtime_ns, size = excluded.size, date = excluded.date, lines = excluded.lines, error = NULL",
            (
                file.source,
                file.path,
                prepared.hash,
                prepared.mtime_ns,
                prepared.size_bytes,
                prepared.date,
                array("I", prepared.lines).tobytes() or None,
            ),
        )
        return int(
            self._db.execute(
                f"SELECT id FROM {self._prefix}files WHERE source = ? AND path = ?", (file.source, file.path)
            ).get
        )

    def _move_chunk(self, chunk_id: int, start: int, end: int, chunk: Chunk) -> None:
        if (start, end) != (chunk.start_line, chunk.end_line):
            self._db.execute(
                f"UPDATE {self._prefix}chunks SET start_line = ?, end_line = ? WHERE id = ?",
                (chunk.start_line, chunk.end_line, chunk_id),
            )

    def _insert_chunk(self, file_id: int, key: bytes, item: PreparedChunk) -> int:
        chunk = item.chunk
        text = _storable(chunk.text)
        self._db.execute(
            f"INSERT INTO {self._prefix}chunks (file_id, start_line, end_line, hash, context, text, units)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (file_id, chunk.start_line, chunk.end_line, key, chunk.context, text, pack_units(item.units)),
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

    def _delete_chunks(self, ids: Iterable[int]) -> None:
        for chunk_id in ids:
            self._db.execute(f"DELETE FROM {self._prefix}chunks_fts WHERE rowid = ?", (chunk_id,))
            self._db.execute(f"DELETE FROM {self._prefix}chunks WHERE id = ?", (chunk_id,))


def _storable(text: str) -> str:
    """SQLite takes no lone surrogates; they become U+FFFD, one for one, so that offsets stay right."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def owed_windows(
    connection: Connection, space_id: int | None, prefix: str = "", *, tokens: bool = False
) -> Iterator[OwedWindow]:
    """Windows whose embedding is missing in a space, each text once, in file order; all of them for None.

    Args:
        prefix: Before the names of the tables, `NEXT` for those of a rebuild.
        tokens: Also those whose vectors of tokens are missing.
    """
    rows = connection.execute(
        f"SELECT w.hash, w.first, w.last, c.text, c.units FROM {prefix}windows w JOIN {prefix}chunks c ON c.id = w.chunk_id"
        f" WHERE NOT EXISTS (SELECT 1 FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash = w.hash)"
        " ORDER BY c.file_id, c.start_line, w.first",
        (space_id,),
    )
    seen: set[bytes] = set()
    for key, first, last, text, blob in rows:
        if key not in seen:
            seen.add(key)
            yield OwedWindow(key, texts_of(text, unpack_units(blob)[first : last + 1]))


def chunks_without_tokens(connection: Connection, prefix: str = "") -> Iterator[tuple[int, Sequence[str]]]:
    """Chunks whose units' token ids are missing: (chunk id, texts of its units)."""
    for chunk_id, text, blob in connection.execute(
        f"SELECT id, text, units FROM {prefix}chunks WHERE tokens IS NULL ORDER BY id"
    ):
        yield chunk_id, texts_of(text, unpack_units(blob))


def count_owed(connection: Connection, space_id: int | None) -> int:
    """How many texts have no embedding in a space; all of them for None."""
    return int(
        connection.execute(
            "SELECT count(DISTINCT hash) FROM windows w"
            " WHERE NOT EXISTS (SELECT 1 FROM embedding_cache e WHERE e.space_id = ? AND e.hash = w.hash)",
            (space_id,),
        ).get
    )


def embedded(connection: Connection, space_id: int, hashes: Iterable[bytes], *, tokens: bool = False) -> set[bytes]:
    """Which of some texts have an embedding in a space, and with `tokens` also vectors of their tokens."""
    query = f"SELECT 1 FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash = ?"
    return {key for key in hashes if connection.execute(query, (space_id, key)).get}


def prepared_from_index(connection: Connection, file: MemoryFile) -> PreparedFile | None:
    """A file as the index holds it, for one that cannot be read now; None when the index does not hold it."""
    row = connection.execute(
        "SELECT id, hash, size, mtime_ns, date, lines FROM files WHERE source = ? AND path = ? AND hash <> x''",
        (file.source, file.path),
    ).fetchone()
    if row is None:
        return None
    file_id, content, size, mtime_ns, day, lines = row
    rows = connection.execute(
        "SELECT id, start_line, end_line, context, text, units FROM chunks WHERE file_id = ? ORDER BY start_line, id",
        (file_id,),
    ).fetchall()
    held = tuple(_chunk_from_index(connection, chunk) for chunk in rows)
    return PreparedFile(
        file=file,
        hash=content,
        size_bytes=size,
        mtime_ns=mtime_ns,
        date=day,
        chunks=held,
        lines=array("I", lines or b""),
    )


def log_lines(connection: Connection, source: str, path: str) -> Sequence[int]:
    """For every line of a file's text the line of the file; empty where they are the same, or the index has no such file."""
    blob = connection.execute("SELECT lines FROM files WHERE source = ? AND path = ?", (source, path)).get
    return array("I", blob or b"")


def _chunk_from_index(connection: Connection, row: tuple[Any, ...]) -> PreparedChunk:
    chunk_id, start, end, context, text, blob = row
    own = unpack_units(blob)
    windows = connection.execute("SELECT first, last FROM windows WHERE chunk_id = ? ORDER BY first", (chunk_id,))
    return PreparedChunk(
        Chunk(start, end, 0, context, text),
        tuple(own),
        tuple(Window(first, last, "\n".join(texts_of(text, own[first : last + 1]))) for first, last in windows),
    )
