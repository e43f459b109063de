"""The index file as a sync reads and writes it, inside one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Unpack, cast

from memory_core.embeddings.vectors import pack_signs
from memory_core.records import Calibration, FileStamp, MemoryFile, Space
from memory_core.stores.sqlite import upkeep, vectors
from memory_core.stores.sqlite.connections import Connection
from memory_core.stores.sqlite.database import set_meta
from memory_core.stores.sqlite.encoding import choose_encoding, encode, pack_units
from memory_core.stores.sqlite.reader import SqliteReader
from memory_core.stores.sqlite.vectors import VectorIndex
from memory_core.stores.values import (
    ChunkRow,
    EmbeddedWindows,
    PreparedChunk,
    PreparedFile,
    StateValues,
    digest,
    pair_chunks,
    remember,
)
from memory_core.text.folding import fold_words
from memory_core.text.languages import Relation, relate_words
from memory_core.text.markdown import may_hold_links
from memory_core.text.messages import replace_surrogates
from memory_core.text.terms import write_index

LONGEST_STEP = 10_000
# Readers see by it that what they keep in memory is out of date. A new file does not count from where an older one did, and an
# older state of a file, which somebody has put back, goes on by other steps than the state that it replaced.
_BUMP_GENERATION = (
    "INSERT INTO meta VALUES ('generation', CAST(abs(random() % 1000000000000000) AS TEXT))"
    f" ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1 + abs(random() % {LONGEST_STEP})"
)
_STEP = 1000  # chunks whose texts are in memory together
_GIVEN = "(SELECT value FROM json_each(?))"


class SqliteWriter(SqliteReader):
    """Implements `stores.interface.Writer` on a connection inside a write transaction."""

    def __init__(self, connection: Connection, vectors: VectorIndex, timezone: str | None) -> None:
        super().__init__(connection, vectors, timezone)
        self._seen: dict[Relation, set[str]] = {}  # words that are in the table, most of which come again
        self._has_changed = False

    def save_state(self, **values: Unpack[StateValues]) -> None:
        """See `Writer`."""
        if (serving := values.get("serving")) is not None:
            self._vectors.add_signs(self.db, serving)
        held = self._load_meta()
        kept = remember(held, values, generation=held.get("generation", 0))
        for name in values:
            if kept.get(name) != held.get(name):
                set_meta(self.db, name, json.dumps(kept[name]) if name in kept else None)

    def put_files(self, prepared: Sequence[PreparedFile]) -> int | None:
        """See `Writer`."""
        self._change_content()
        inserted: dict[int, PreparedChunk] = {}
        unused: list[int] = []
        for each in prepared:
            new, old = self._put_chunks(self._put_file(each), each.chunks)
            inserted |= new
            unused += old
        texts = (_searched_text(item.chunk.context, item.chunk.text) for item in inserted.values())
        forms = [each for text in texts for each in relate_words(text, self._seen)]
        self.db.executemany("INSERT INTO word_forms VALUES (?, ?, ?) ON CONFLICT DO NOTHING", forms)
        self._delete_chunks(unused)
        return min(inserted, default=None)

    def drop_files(self, ids: Iterable[int]) -> None:
        """See `Writer`."""
        self._change_content()
        given = json.dumps([*ids])
        chunks = self.db.execute(f"SELECT id FROM chunks WHERE file_id IN {_GIVEN}", (given,)).fetchall()
        self._delete_chunks([row[0] for row in cast("list[tuple[int]]", chunks)])
        self.db.execute(f"DELETE FROM files WHERE id IN {_GIVEN}", (given,))

    def touch_file(self, file_id: int, stamp: FileStamp) -> None:
        """See `Writer`."""
        self.db.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, error = NULL WHERE id = ?",
            (*stamp, file_id),
        )

    def set_file_error(self, file: MemoryFile, reason: str) -> None:
        """See `Writer`."""
        self.db.execute(
            "INSERT INTO files (source, path, hash, mtime_ns, size, error) VALUES (?, ?, x'', 0, 0, ?)"
            " ON CONFLICT (source, path) DO UPDATE SET error = excluded.error",
            (file.source, file.path, reason),
        )

    def add_space(self, space: Space) -> int:
        """See `Writer`."""
        found = self.list_spaces().get(space)
        if found is not None:
            return found
        self.db.execute(
            "INSERT INTO spaces (provider, model, endpoint, input_type, dimensions, encoding) VALUES (?, ?, ?, ?, ?, ?)",
            (space.provider, space.model, space.endpoint, space.input_type, space.dimensions, choose_encoding(space)),
        )
        return self.db.last_insert_rowid()

    def put_embeddings(self, space_id: int, windows: EmbeddedWindows) -> None:
        """See `Writer`."""
        self._change_content()
        packed = encode(windows.rows, vectors.load_layout(self.db, space_id).encoding)
        self.db.executemany(
            "INSERT INTO embedding_cache (space_id, hash, embedding) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            ((space_id, key, row) for key, row in zip(windows.hashes, packed, strict=True)),
        )
        self._vectors.add_signs(self.db, space_id)
        self.put_tokens(space_id, zip(windows.hashes, map(pack_signs, windows.tokens), strict=False))

    def put_tokens(self, space_id: int, tokens: Iterable[tuple[bytes, bytes]]) -> None:
        """Store the signs of the tokens of texts that have an embedding, each behind the digest of its text."""
        self.db.executemany(
            "INSERT INTO token_bits SELECT id, ? FROM embedding_cache WHERE space_id = ? AND hash = ?"
            " ON CONFLICT DO NOTHING",
            ((bits, space_id, key) for key, bits in tokens),
        )

    def put_calibration(self, space_id: int, calibration: Calibration, *, windows: int) -> None:
        """See `Writer`."""
        self.db.execute(
            "UPDATE spaces SET floor = ?, span = ?, judged = ? WHERE id = ?",
            (calibration.floor, calibration.span, windows, space_id),
        )

    def tidy(self, *, keep: int) -> None:
        """See `Writer`."""
        upkeep.evict_embeddings(self.db, keep=keep)
        upkeep.merge_few_keywords(self.db)

    def _change_content(self) -> None:
        """Count a new generation, once for this transaction: what is remembered of the content holds no longer."""
        if not self._has_changed:
            self._has_changed = True
            self.db.execute(_BUMP_GENERATION)

    def _put_file(self, prepared: PreparedFile) -> int:
        file = prepared.file
        row = self.db.execute(
            "INSERT INTO files (source, path, hash, size, mtime_ns, ctime_ns, inode, date, lines, error)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (source, path) DO UPDATE SET hash = excluded.hash,"
            " size = excluded.size, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, inode = excluded.inode,"
            " date = excluded.date, lines = excluded.lines, error = NULL RETURNING id",
            (
                file.source,
                file.path,
                prepared.hash,
                *prepared.stamp,
                prepared.date,
                json.dumps([*prepared.lines]) if prepared.lines else None,
            ),
        )
        return int(row.get)

    def _put_chunks(self, file_id: int, chunks: Iterable[PreparedChunk]) -> tuple[dict[int, PreparedChunk], list[int]]:
        """Insert those chunks of a file that it has not yet; return them by id, and the ids of its others."""
        rows = self.db.execute("SELECT hash, id, start_line, end_line FROM chunks WHERE file_id = ?", (file_id,))
        stored = cast("list[tuple[bytes, int, int, int]]", rows.fetchall())
        changes = pair_chunks(chunks, ((key, ChunkRow(*row)) for key, *row in stored))
        self.db.executemany(
            "UPDATE chunks SET start_line = ?, end_line = ? WHERE id = ?",
            [(row.start, row.end, row.id) for row in changes.moved],
        )
        return {self._insert_chunk(file_id, item): item for item in changes.new}, changes.unused

    def _insert_chunk(self, file_id: int, item: PreparedChunk) -> int:
        chunk = item.chunk
        text = replace_surrogates(chunk.text)
        self.db.execute(
            "INSERT INTO chunks (file_id, start_line, end_line, hash, context, units, text, links, day)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                file_id,
                chunk.start_line,
                chunk.end_line,
                item.hash,
                chunk.context,
                pack_units(item.units),
                text,
                may_hold_links(text),
                chunk.day,
            ),
        )
        chunk_id = self.db.last_insert_rowid()
        self.db.execute(
            "INSERT INTO chunks_fts (rowid, context, text) VALUES (?, ?, ?)",
            (chunk_id, write_index(chunk.context), write_index(text)),
        )
        self.db.executemany(
            "INSERT INTO windows VALUES (?, ?, ?, ?)",
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
        rows = self.db.execute(f"SELECT context, text FROM chunks WHERE id IN {_GIVEN}", (given,))
        texts = [_searched_text(context, text) for context, text in rows]
        # One statement: FTS5 writes what it has gathered before each, which takes six times as long as the deletes.
        self.db.execute(f"DELETE FROM chunks_fts WHERE rowid IN {_GIVEN}", (given,))
        self.db.execute(f"DELETE FROM chunks WHERE id IN {_GIVEN}", (given,))
        self._drop_forms(texts)

    def _drop_forms(self, texts: Iterable[str]) -> None:
        """Drop the words of texts that no chunk holds any more."""
        if not self.db.execute("SELECT EXISTS (SELECT 1 FROM word_forms)").get:
            return
        found = sorted({each for text in texts for each in relate_words(text)})
        stems = {each.word: self._tokenize(fold_words(each.word).encode()) for each in found}
        held = self.count_by_stem([stem for several in stems.values() for stem in several])
        self.db.executemany(
            "DELETE FROM word_forms WHERE language = ? AND stem = ? AND word = ?",
            [each for each in found if held.keys().isdisjoint(stems[each.word])],
        )


def _searched_text(context: str, text: str) -> str:
    """Return all text of a chunk that the keyword index holds."""
    return f"{context}\n{text}"
