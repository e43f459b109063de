"""Writes of a sync, and now and then of a search, to the agent's own tenant, inside one transaction that holds its row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from memory_core.records import Calibration, FileStamp, MemoryFile, Space
from memory_core.stores.postgres import vectors
from memory_core.stores.postgres.connections import renew
from memory_core.stores.postgres.reader import PostgresReader
from memory_core.stores.postgres.stems import clean, make_vector
from memory_core.stores.postgres.tenants import Cursor, Tenant, number_space, put_tenant
from memory_core.stores.values import (
    ChunkRow,
    EmbeddedWindows,
    PreparedChunk,
    PreparedFile,
    StateValues,
    digest,
    pair_chunks,
)
from memory_core.text.dates import get_day
from memory_core.text.languages import relate_words
from memory_core.text.markdown import may_hold_links

_STEP = 50  # notes that one statement writes
_CHUNK_STEP = 500


class PostgresWriter(PostgresReader):
    """Implements `stores.interface.Writer`.

    Args:
        cursor: Inside a write transaction that has locked the row of the tenant.
        tenant: The agent's own.
        workspace: The agent's, whose notes the tenant holds.
        half: Vectors are stored as float16.
        timezone: In which a note without a date has the day of its last change; see `get_today`.

    Attributes:
        unsigned: Id of a space in which all texts have embeddings of which some lack signs; None if there is none.
    """

    def __init__(self, cursor: Cursor, tenant: Tenant, workspace: str, *, half: bool, timezone: str | None) -> None:
        super().__init__(cursor, [tenant], workspace)
        self._timezone = timezone
        self._found = tenant
        self._half = half
        self.unsigned: int | None = None

    def commit_tenant(self, *, renew_lease: bool) -> None:
        """Write the row of the tenant as the last thing of the transaction, if anything of it has changed."""
        if self.own != self._found or renew_lease:
            put_tenant(self.db, self.own, renew_lease=renew_lease)

    def save_state(self, **values: Unpack[StateValues]) -> None:
        """See `Writer`."""
        self._set(self.own.remember(values))
        complete = values.get("complete")
        if complete is not None and complete not in self.own.signed and vectors.is_large(self.db, self.own.id):
            self.unsigned = complete

    def put_files(self, prepared: Sequence[PreparedFile]) -> int | None:
        """See `Writer`."""
        self._change_content()
        inserted: list[int] = []
        for first in range(0, len(prepared), _STEP):
            renew(self.db)
            inserted += self._put_files(prepared[first : first + _STEP])
        return min(inserted, default=None)

    def drop_files(self, ids: Iterable[int]) -> None:
        """See `Writer`. A tenant without chunks has no words either."""
        self._change_content()
        notes = list(ids)
        for first in range(0, len(notes), _STEP):
            some = notes[first : first + _STEP]
            renew(self.db)
            rows = self.db.execute(
                "SELECT id FROM chunks WHERE tenant_id = %s AND note_id = ANY (%s)", (self.own.id, some)
            ).fetchall()
            self._delete_chunks([row[0] for row in rows])
            self.db.execute("SELECT delete_notes(%s, %s)", (self.own.id, some))
        if self.own.chunks <= 0:
            self.db.execute("SELECT delete_word_forms(%s)", (self.own.id,))

    def touch_file(self, file_id: int, stamp: FileStamp) -> None:
        """See `Writer`."""
        self.db.execute(
            "UPDATE notes SET size = %s, mtime_ns = %s, ctime_ns = %s, inode = %s, day = coalesce(date, %s), error = NULL"
            " WHERE tenant_id = %s AND id = %s",
            (*stamp, self._find_day(stamp), self.own.id, file_id),
        )

    def set_file_error(self, file: MemoryFile, reason: str) -> None:
        """See `Writer`."""
        self.db.execute(
            "INSERT INTO notes (tenant_id, source, path, hash, size, mtime_ns, ctime_ns, inode, day, error)"
            " VALUES (%s, %s, %s, '', 0, 0, 0, 0, '', %s) ON CONFLICT (tenant_id, source, path)"
            " DO UPDATE SET error = excluded.error",
            (self.own.id, file.source, file.path, clean(reason)),
        )

    def add_space(self, space: Space) -> int:
        """See `Writer`."""
        number = number_space(space)
        self.db.execute(
            "INSERT INTO spaces (tenant_id, id, provider, model, endpoint, input_type, dimensions)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (
                self.own.id, number, space.provider, space.model, space.endpoint, space.input_type, space.dimensions,
            ),
        )  # fmt: skip
        return number

    def put_embeddings(self, space_id: int, windows: EmbeddedWindows) -> None:
        """See `Writer`."""
        self._change_content()
        vectors.insert(self.db, self.own.id, space_id, windows, half=self._half)

    def put_calibration(self, space_id: int, calibration: Calibration, *, windows: int) -> None:
        """See `Writer`."""
        self.db.execute(
            "UPDATE spaces SET floor = %s, span = %s, judged = %s WHERE tenant_id = %s AND id = %s",
            (calibration.floor, calibration.span, windows, self.own.id, space_id),
        )

    def tidy(self, *, keep: int) -> None:
        """See `Writer`. Autovacuum merges what waits in the keyword index."""
        self.db.execute("SELECT evict_embeddings(%s, %s)", (self.own.id, keep))

    def _change_content(self) -> None:
        """Count a new generation, once for this transaction: what is remembered of the content holds no longer."""
        self._set(replace(self.own, generation=self._found.generation + 1))

    def _put_files(self, several: Sequence[PreparedFile]) -> list[int]:
        """Write some notes; chunks that are there already keep their rows. Return the ids of those inserted."""
        notes = self._put_notes(several)
        rows = self.db.execute(
            "SELECT note_id, hash, id, start_line, end_line FROM chunks WHERE tenant_id = %s AND note_id = ANY (%s)",
            (self.own.id, list(notes)),
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
            self.db.execute(
                "UPDATE chunks c SET start_line = m.first, end_line = m.last FROM unnest(%s::bigint[], %s::int[], %s::int[])"
                " m (id, first, last) WHERE c.tenant_id = %s AND c.id = m.id",
                (*_turn(moved, 3), self.own.id),
            )
        self._delete_chunks(unused)
        inserted: list[int] = []
        for first in range(0, len(new), _CHUNK_STEP):
            inserted += self._insert_chunks(new[first : first + _CHUNK_STEP])
        return inserted

    def _put_notes(self, several: Sequence[PreparedFile]) -> dict[int, PreparedFile]:
        """Write the rows of notes; return the notes by id."""
        files = {(prepared.file.source, prepared.file.path): prepared for prepared in several}
        columns = _turn(
            [
                (
                    *key, prepared.hash, *prepared.stamp, prepared.date, prepared.date or self._find_day(prepared.stamp),
                    _write_numbers(prepared.lines) if prepared.lines else None,
                )
                for key, prepared in files.items()
            ],
            10,
        )  # fmt: skip
        rows = self.db.execute(
            "INSERT INTO notes (tenant_id, source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines, error)"
            " SELECT %s, source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines::int[], NULL"
            " FROM unnest(%s::text[], %s::text[], %s::bytea[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],"
            " %s::text[], %s::text[], %s::text[])"
            " n (source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines)"
            " ON CONFLICT (tenant_id, source, path)"
            " DO UPDATE SET hash = excluded.hash, size = excluded.size, mtime_ns = excluded.mtime_ns,"
            " ctime_ns = excluded.ctime_ns, inode = excluded.inode, date = excluded.date, day = excluded.day,"
            " lines = excluded.lines, error = NULL RETURNING id, source, path",
            (self.own.id, *columns),
        ).fetchall()
        return {number: files[source, path] for number, source, path in rows}

    def _insert_chunks(self, items: Sequence[tuple[int, PreparedChunk]]) -> list[int]:
        """Insert chunks, each given with the id of its note, with their windows and the forms of their words."""
        rows, forms = [], set()
        added_words = 0
        waiting: dict[tuple[int, int, bytes], list[PreparedChunk]] = {}
        for note, item in items:
            context, text = clean(item.chunk.context), clean(item.chunk.text)
            vector, words = make_vector(context, text)
            added_words += words
            units = _write_numbers(number for unit in item.units for number in unit)
            start = item.chunk.start_line
            rows.append(
                (note, start, item.chunk.end_line, item.hash, words, context, text, may_hold_links(text), units, vector,
                 item.chunk.day)
            )  # fmt: skip
            waiting.setdefault((note, start, item.hash), []).append(item)
            forms |= {*relate_words(f"{context}\n{text}")}
        self._count_chunks(len(rows), added_words)
        numbered = self.db.execute(
            "INSERT INTO chunks"
            " (tenant_id, note_id, start_line, end_line, hash, words, context, text, links, units, tsv, day)"
            " SELECT %s, note_id, start_line, end_line, hash, words, context, text, links, units::int[], tsv::tsvector, day"
            " FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::bytea[], %s::int[], %s::text[], %s::text[], %s::boolean[],"
            " %s::text[], %s::text[], %s::text[]) WITH ORDINALITY"
            " c (note_id, start_line, end_line, hash, words, context, text, links, units, tsv, day, place) ORDER BY place"
            " RETURNING id, note_id, start_line, hash",
            (self.own.id, *_turn(rows, 11)),
        ).fetchall()
        inserted = {number: waiting[note, start, key].pop(0) for number, note, start, key in numbered}
        windows = [
            (chunk_id, window.first, window.last, digest(window.text))
            for chunk_id, item in inserted.items()
            for window in item.windows
        ]
        self.db.execute(
            "INSERT INTO windows (tenant_id, chunk_id, first, last, hash) SELECT %s, w.*"
            " FROM unnest(%s::bigint[], %s::smallint[], %s::smallint[], %s::bytea[]) w",
            (self.own.id, *_turn(windows, 4)),
        )
        self.db.execute(
            "INSERT INTO word_forms (tenant_id, language, stem, word) SELECT %s, f.*"
            " FROM unnest(%s::text[], %s::text[], %s::text[]) f"
            " ON CONFLICT DO NOTHING",
            (self.own.id, *_turn(sorted(forms), 3)),
        )
        return list(inserted)

    def _delete_chunks(self, ids: Sequence[int]) -> None:
        if ids:
            query = "SELECT deleted, words FROM delete_chunks(%s, %s)"
            ((deleted, words),) = self.db.execute(query, (self.own.id, list(ids))).fetchall()
            self._count_chunks(-deleted, -words)

    def _count_chunks(self, chunks: int, words: int) -> None:
        """Keep what BM25 needs."""
        self._set(replace(self.own, chunks=self.own.chunks + chunks, words=self.own.words + words))

    def _find_day(self, stamp: FileStamp) -> str:
        """Return the day on which a file was last changed."""
        return get_day(self._timezone, stamp.mtime_ns / 1e9).isoformat()

    def _set(self, tenant: Tenant) -> None:
        self.own = tenant
        self._tenants = [tenant]


def _turn(rows: Sequence[Sequence[Any]], count: int) -> list[list[Any]]:
    """Return the columns of rows, each an array of a statement."""
    return [[row[at] for row in rows] for at in range(count)]


def _write_numbers(numbers: Iterable[int]) -> str:
    """Write an array of numbers as PostgreSQL reads it: arrays of arrays would have to be equally long."""
    return f"{{{','.join(map(str, numbers))}}}"
