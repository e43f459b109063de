"""A look into QMD's index, read only: QMD answers `[]` also when it has no index, an empty one, or no vectors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.errors import StoreCorrupt, StoreError
from memory_core.terms import cut_cjk

if TYPE_CHECKING:
    from memory_core.store.connection import Connection

VECTORS = "vectors_vec"  # QMD's vec0 table
_LOOK_TIMEOUT_MS = 500  # readers of a WAL database wait for nobody, except while it is recovered


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What an index holds.

    Attributes:
        documents: How many files, by collection.
        vectors: How many of them have embeddings.
        size_bytes: Of the text of all.
    """

    documents: Mapping[str, int]
    vectors: int
    size_bytes: int

    @property
    def total(self) -> int:
        """Files of all collections."""
        return sum(self.documents.values())


NOTHING = Contents(documents={}, vectors=0, size_bytes=0)


class Database:
    """QMD's index file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def contents(self) -> Contents:
        """What it holds; nothing when it does not exist or has no tables yet.

        Raises:
            StoreCorrupt: It is damaged or no database.
        """
        with self._reading() as connection:
            if connection is None or not _has(connection, "documents"):
                return NOTHING
            # octet_length reads no overflow pages: 10,000 notes take 10 ms
            rows = connection.execute(
                "SELECT collection, count(*), sum(octet_length(doc)) FROM documents JOIN content USING (hash)"
                " WHERE active = 1 GROUP BY collection"
            ).fetchall()
            return Contents(
                documents={str(name): int(str(count)) for name, count, _ in rows},
                vectors=_embedded(connection),
                size_bytes=sum(int(str(size)) for _, _, size in rows),
            )

    def frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """In how many documents each word stands, by QMD's own stemmer; empty when there is no index.

        A run of CJK characters counts as QMD 2.2 and newer index it: character by character.
        """
        with self._reading() as connection:
            if connection is None or not _has(connection, "documents_fts"):
                return {}
            query = "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?"
            return {word: int(connection.execute(query, (_phrase(word),)).get) for word in words}

    def holding(self, words: Sequence[str], files: Sequence[tuple[str, str]]) -> dict[tuple[str, str], frozenset[str]]:
        """Which of the words stand in which of the files.

        Args:
            words: As in `frequencies`.
            files: Collection and path.

        Returns:
            An entry for every file that is in the index.
        """
        with self._reading() as connection:
            if connection is None or not _has(connection, "documents_fts"):
                return {}
            query = "SELECT id FROM documents WHERE collection = ? AND path = ? AND active = 1"
            found = {file: connection.execute(query, file).get for file in files}
            ids = {int(row): file for file, row in found.items() if row is not None}
            held: dict[tuple[str, str], set[str]] = {file: set() for file in ids.values()}
            among = f"rowid IN ({','.join(map(str, ids))})"  # numbers of the database's own
            for word in words if ids else ():
                query = f"SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? AND {among}"  # noqa: S608
                for (row,) in connection.execute(query, (_phrase(word),)):
                    held[ids[int(str(row))]].add(word)
            return {file: frozenset(held_words) for file, held_words in held.items()}

    def hashes(self, collection: str) -> dict[str, str]:
        """SHA-256 of the text that was indexed, by path in the collection."""
        with self._reading() as connection:
            if connection is None or not _has(connection, "documents"):
                return {}
            query = "SELECT path, hash FROM documents WHERE collection = ? AND active = 1"
            return {str(path): str(hash_) for path, hash_ in connection.execute(query, (collection,))}

    def pieces(self) -> int:
        """How many pieces of documents have embeddings."""
        with self._reading() as connection:
            if connection is None or not _has(connection, "content_vectors"):
                return 0
            return int(connection.execute("SELECT count(*) FROM content_vectors").get)

    def sample(self, limit: int, extension_path: str | None) -> list[bytes]:
        """Embeddings of at most so many pieces, float32; none where sqlite-vec cannot be loaded."""
        from memory_core.store.connection import load_vec0

        with self._reading() as connection:
            if connection is None or not _has(connection, VECTORS) or load_vec0(connection, extension_path):
                return []
            rows = connection.execute(f"SELECT embedding FROM {VECTORS} LIMIT ?", (limit,))  # noqa: S608 - our own word
            return [bytes(row[0]) for row in rows]

    def delete(self) -> None:
        """Remove it with its -wal and -shm, so that QMD builds a new one."""
        from memory_core.store.connection import delete_files

        delete_files(self.path)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Connection | None]:
        from memory_core.store.connection import open_reader, translated

        if not self.path.exists():
            yield None
            return
        connection = open_reader(self.path)
        try:
            connection.set_busy_timeout(_LOOK_TIMEOUT_MS)
            with translated(self.path):
                yield connection
        finally:
            connection.close()


def is_damaged(database: Database) -> bool:
    """Whether the index has to be deleted; one that cannot be read for another reason is not damaged."""
    try:
        database.contents()
    except StoreCorrupt:
        return True
    except StoreError:
        return False
    return False


def _has(connection: Connection, table: str) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).get)


def _embedded(connection: Connection) -> int:
    """Documents of which the first piece has an embedding."""
    if not _has(connection, "content_vectors"):
        return 0
    query = (
        "SELECT count(*) FROM documents d JOIN content_vectors v ON v.hash = d.hash AND v.seq = 0 WHERE d.active = 1"
    )
    return int(connection.execute(query).get)


def _phrase(word: str) -> str:
    in_characters = word if cut_cjk(word) == word else " ".join(word)
    return f'"{in_characters}"'
