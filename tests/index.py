"""One workspace with its index, as tests of the store's rooms need it: write notes, sync, compare what is held."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import apsw

from memory_core.backends.doctor import report_status
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Chunking, SearchSettings
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.records import Hit, KeySources, Query, Status, SyncReport
from memory_core.search.pipeline import search
from memory_core.stores.sqlite.encoding import unpack_units
from memory_core.stores.sqlite.store import SqliteStore
from memory_core.stores.sqlite.vectors import VectorIndex
from memory_core.sync.context import SyncContext
from memory_core.sync.syncer import Syncer


@dataclass
class Index:
    """Notes and their index, without a backend around them.

    Attributes:
        workspace: Where the notes are; made when it is missing.
        state: Where the index file is put.
        search: What is configured; see `set`.
        vectors: Shared by all syncs, as in a backend; None makes one for each.
        file: The index file; None is `main.sqlite` in the state folder.
    """

    workspace: Path
    state: Path
    search: SearchSettings = field(default_factory=lambda: SearchSettings(chunking=Chunking(tokens=60, overlap=12)))
    vectors: VectorIndex | None = None
    file: Path | None = None

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.store = SqliteStore(self.config.store_path)

    @property
    def config(self) -> AgentConfig:
        return AgentConfig(
            agent="main",
            workspace=self.workspace,
            state_dir=self.state,
            store_path=self.file or self.state / "main.sqlite",
            search=self.search,
        )

    def note(self, path: str, text: str | bytes) -> Path:
        """Write a note."""
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def sync(self, provider: EmbeddingProvider | None = None, *, force: bool = False, **options: Any) -> SyncReport:
        """One sync, as the builtin backend makes it."""
        self.store.vectors = self.vectors or VectorIndex(self.search.store.vector)
        with self.store.lock():
            context = SyncContext(config=self.config, store=self.store, provider=provider, **options)
            return Syncer(context).run(force=force)

    def find(self, text: str, today: date, **limits: Any) -> tuple[Hit, ...]:
        """Sync, and return the hits by keyword alone, best first."""
        self.sync()
        with self.store.read() as reader:
            return search(reader, Query(text=text, today=today, **limits), self.search.query.hybrid, vectors=None).hits

    def report_status(self) -> Status:
        """The status, as the builtin backend reports it."""
        return report_status("builtin", self.config, self.store, self.config.store_path, KeySources())

    def set(self, **search: Any) -> None:
        """Configure something else."""
        self.search = replace(self.search, **search)

    def content(self, provider: EmbeddingProvider | None = None) -> dict[str, Any]:
        """Return the content of the index, without what depends on the order of events: row ids and times of embedding.

        With a provider also which texts have an embedding in its space.
        """
        with self.store.read() as reader:
            space_id = None if provider is None else reader.list_spaces().get(provider.space)
        return held(self.config.store_path, space_id)

    def close(self) -> None:
        self.store.close()


def make_filled(folder: Path) -> Index:
    """Make an index of twelve notes that say nothing of what is asked, so that the words of others are rare."""
    made = Index(folder / "notes", folder / "state")
    for number in range(12):
        made.note(f"memory/filler-{number}.md", f"Walked along the canal, lap {number}, then soup.\n")
    return made


def held(path: Path, space_id: int | None = None) -> dict[str, Any]:
    """The content of an index file, comparable between files; see `Index.content`."""
    db = apsw.Connection(str(path))
    try:
        chunk = "f.source, f.path, c.start_line, c.end_line"
        db.execute("CREATE VIRTUAL TABLE temp.postings USING fts5vocab (main, chunks_fts, instance)")
        return {
            "files": db.execute(
                "SELECT source, path, hash, mtime_ns, size, date, error FROM files ORDER BY 1, 2"
            ).fetchall(),
            "chunks": [
                (*row, unpack_units(units))
                for *row, units in db.execute(
                    f"SELECT {chunk}, c.hash, c.context, c.links, c.text, c.units"
                    " FROM chunks c JOIN files f ON f.id = c.file_id ORDER BY 1, 2, 3, 4, 5"
                )
            ],
            "windows": db.execute(
                f"SELECT {chunk}, w.first, w.last, w.hash FROM windows w JOIN chunks c ON c.id = w.chunk_id"
                " JOIN files f ON f.id = c.file_id ORDER BY 1, 2, 3, 4, 5"
            ).fetchall(),
            "postings": db.execute(
                f"SELECT {chunk}, p.term, p.col, p.offset FROM postings p LEFT JOIN chunks c ON c.id = p.doc"
                " LEFT JOIN files f ON f.id = c.file_id ORDER BY 1, 2, 3, 4, 5, 6, 7"
            ).fetchall(),
            "strays": db.execute(
                "SELECT (SELECT count(*) FROM windows WHERE chunk_id NOT IN (SELECT id FROM chunks)),"
                " (SELECT count(*) FROM chunks WHERE file_id NOT IN (SELECT id FROM files)),"
                " (SELECT count(*) FROM chunks_fts) - (SELECT count(*) FROM chunks)"
            ).fetchall(),
            "embedded": db.execute(
                "SELECT DISTINCT e.hash, e.embedding FROM embedding_cache e JOIN windows w ON w.hash = e.hash"
                " WHERE e.space_id = ? ORDER BY 1",
                (space_id,),
            ).fetchall(),
            "token_bits": db.execute(
                "SELECT e.hash, t.bits FROM token_bits t JOIN embedding_cache e ON e.id = t.embedding_id ORDER BY 1, 2"
            ).fetchall(),
            "identity": db.execute("SELECT value FROM meta WHERE key = 'identity'").fetchall(),
        }
    finally:
        db.close()


def make_older(path: Path, version: int) -> None:
    """Take from an index file what its first versions did not have."""
    db = apsw.Connection(str(path))
    try:
        db.execute("DROP TABLE token_bits; DROP TABLE signs; DROP TABLE word_forms")
        for column in ("encoding", "mean", "floor", "span", "judged"):
            db.execute(f"ALTER TABLE spaces DROP COLUMN {column}")
        db.pragma("user_version", version)
    finally:
        db.close()


def changes(path: Path) -> dict[str, Any]:
    """Return values that tell if an index file was written to at all, but for the time of the last sync."""
    db = apsw.Connection(str(path))
    try:
        return {
            "meta": db.execute("SELECT key, value FROM meta WHERE key <> 'last_sync' ORDER BY key").fetchall(),
            "chunks": db.execute("SELECT id, start_line FROM chunks ORDER BY id").fetchall(),
            "embeddings": db.execute("SELECT id, hash FROM embedding_cache ORDER BY id").fetchall(),
        }
    finally:
        db.close()
