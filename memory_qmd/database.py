"""QMD's index file, read only. This is the store of the backend, and its only module with SQL.

It is read because QMD prints `[]` also when it has no index, an empty one, or no vectors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memory_core.errors import MemoryCoreError, StoreCorrupt, StoreError
from memory_core.text.terms import cut_cjk, write_index

if TYPE_CHECKING:
    from memory_core.stores.sqlite.connections import Connection

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

VECTORS = "vectors_vec"  # QMD's vec0 table
_BUSY_TIMEOUT_MS = 500  # readers of a WAL database wait for nobody, except while it is recovered


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The size of an index.

    Attributes:
        documents: Number of files, by collection.
        embedded: Number of files that have embeddings.
        size_bytes: Of the text of all files.
        has_vectors: There is a table of vectors, by which QMD searches.
    """

    documents: Mapping[str, int]
    embedded: int
    size_bytes: int
    has_vectors: bool = False

    @property
    def total(self) -> int:
        """Number of files in all collections."""
        return sum(self.documents.values())

    @property
    def without_embeddings(self) -> int:
        """Number of files that have no embeddings yet."""
        return max(self.total - self.embedded, 0)


NOTHING = Contents(documents={}, embedded=0, size_bytes=0)


@dataclass(frozen=True, slots=True)
class QmdFile:
    """QMD's index file."""

    path: Path

    def read_contents(self) -> Contents:
        """Count the index; `NOTHING` if it does not exist or has no tables yet.

        Raises:
            StoreCorrupt: It is damaged or no database.
        """
        return self._ask("documents", _read_contents, NOTHING)

    def count_documents(self, words: Sequence[str]) -> dict[str, int]:
        """Count the documents that hold each word, by QMD's own stemmer; empty if there is no index.

        A run of CJK characters is looked up as QMD 2.2 and newer index it: character by character.
        """
        query = "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?"

        def count(connection: Connection) -> dict[str, int]:
            return {word: int(connection.execute(query, (_quote(word),)).get) for word in words}

        return self._ask("documents_fts", count, {})

    def find_words(
        self, words: Sequence[str], files: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], frozenset[str]]:
        """Find the words that each file holds.

        Args:
            words: As in `count_documents`.
            files: Collection and path.

        Returns:
            An entry for every file that is in the index.
        """

        def find(connection: Connection) -> dict[tuple[str, str], frozenset[str]]:
            query = "SELECT id FROM documents WHERE collection = ? AND path = ? AND active = 1"
            found = {file: connection.execute(query, file).get for file in files}
            ids = {int(row): file for file, row in found.items() if row is not None}
            held: dict[tuple[str, str], set[str]] = {file: set() for file in ids.values()}
            among = f"rowid IN ({','.join(map(str, ids))})"  # numbers of the database's own
            for word in words if ids else ():
                query = f"SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? AND {among}"  # noqa: S608
                for (row,) in connection.execute(query, (_quote(word),)):
                    held[ids[int(str(row))]].add(word)
            return {file: frozenset(held_words) for file, held_words in held.items()}

        return self._ask("documents_fts", find, {})

    def read_hashes(self, collection: str) -> dict[str, str]:
        """Read the SHA-256 of the texts that were indexed, by path in the collection."""
        query = "SELECT path, hash FROM documents WHERE collection = ? AND active = 1"

        def read(connection: Connection) -> dict[str, str]:
            return {str(path): str(hash_) for path, hash_ in connection.execute(query, (collection,))}

        return self._ask("documents", read, {})

    def count_vectors(self) -> int:
        """Count the embeddings; a long file has several."""
        query = "SELECT count(*) FROM content_vectors"
        return self._ask("content_vectors", lambda connection: int(connection.execute(query).get), 0)

    def sample_vectors(self, limit: int, extension_path: str | None) -> list[bytes]:
        """Read up to `limit` embeddings, float32; none if sqlite-vec cannot be loaded."""
        from memory_core.stores.sqlite.connections import load_vec0

        def read(connection: Connection) -> list[bytes]:
            if load_vec0(connection, extension_path):
                return []
            rows = connection.execute(f"SELECT embedding FROM {VECTORS} LIMIT ?", (limit,))  # noqa: S608 - our own word
            return [bytes(row[0]) for row in rows]

        return self._ask(VECTORS, read, [])

    def is_damaged(self) -> bool:
        """Return True if the file must be deleted; one that cannot be read for another reason is not damaged."""
        try:
            self.read_contents()
        except StoreError as error:
            return isinstance(error, StoreCorrupt)
        return False

    def delete(self) -> None:
        """Remove the file with its -wal and -shm, so that QMD builds a new one."""
        from memory_core.stores.sqlite.files import delete_files

        delete_files(self.path)

    def _ask(self, table: str, question: Callable[[Connection], T], otherwise: T) -> T:
        """Return the answer to a question; another one if there is no index, or no table of this name in it."""
        from memory_core.stores.sqlite.connections import open_reader, translate_errors

        if not self.path.exists():
            return otherwise
        with contextlib.closing(open_reader(self.path)) as connection, translate_errors(self.path):
            connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
            return question(connection) if _has_table(connection, table) else otherwise


def answer_or_nothing(question: Callable[[], dict[K, V]]) -> dict[K, V]:
    """Return the answer to a question to the index; an empty one if it cannot be read just now."""
    try:
        return question()
    except MemoryCoreError:
        return {}


def make_stemmer() -> Callable[[str], list[str]]:
    """Make a function from a text to its stems, in order: the stemmer of SQLite, which QMD's index uses."""
    from memory_core.stores.sqlite.connections import Connection, load_tokenizer

    tokenize = load_tokenizer(Connection(":memory:"))
    return lambda text: tokenize(write_index(text).encode(errors="replace"))


def _has_table(connection: Connection, table: str) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (table,)).get)


def _read_contents(connection: Connection) -> Contents:
    # octet_length reads no overflow pages: 10,000 notes take 10 ms
    rows = connection.execute(
        "SELECT collection, count(*), sum(octet_length(doc)) FROM documents JOIN content USING (hash)"
        " WHERE active = 1 GROUP BY collection"
    ).fetchall()
    # Those whose first piece has an embedding.
    embedded = (
        "SELECT count(*) FROM documents d JOIN content_vectors v ON v.hash = d.hash AND v.seq = 0 WHERE d.active = 1"
    )
    return Contents(
        documents={str(name): int(str(count)) for name, count, _ in rows},
        embedded=int(connection.execute(embedded).get) if _has_table(connection, "content_vectors") else 0,
        size_bytes=sum(int(str(size)) for _, _, size in rows),
        has_vectors=_has_table(connection, VECTORS),
    )


def _quote(word: str) -> str:
    """Quote a word as a phrase of FTS5, CJK characters one by one."""
    in_characters = word if cut_cjk(word) == word else " ".join(word)
    return f'"{in_characters}"'
