"""Counts and states of an index, as `status` and `doctor` report them; each taken at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from memory_core.records import FileFailure, FileStamp
from memory_core.stores.sqlite import Connection, meta
from memory_core.stores.sqlite.migrations import VERSION
from memory_core.stores.sqlite.outage_log import read_outage
from memory_core.stores.sqlite.pending import count_pending
from memory_core.stores.sqlite.repair import find_problem
from memory_core.stores.sqlite.spaces import load_serving_space, load_space
from memory_core.stores.sqlite.store import Store
from memory_core.stores.values import IndexSummary


@dataclass(frozen=True, slots=True)
class Integrity:
    """The health of an index file.

    Attributes:
        workspace: The real path of the folder whose notes it holds; None if it does not say.
        files: The number of indexed files.
        problem: How the file is damaged; None when it is sound.
        failures: Notes that the last sync left out.
    """

    workspace: str | None
    files: int
    problem: str | None
    failures: tuple[FileFailure, ...] = ()


def summarise(store: Store) -> IndexSummary:
    """Summarise an index at one moment.

    Raises:
        NotIndexed: There is no index yet.
        StoreError: It cannot be used.
    """
    with store.read() as connection:
        state, serving = meta.read_state(connection), load_serving_space(connection)
        vector, reason = store.vectors.describe(connection, serving.id if serving else None)
        return IndexSummary(
            workspace=state.workspace,
            files=_count_files(connection),
            chunks=int(connection.execute("SELECT count(*) FROM chunks").get),
            embeddings=_count_embeddings(connection, serving.id) if serving else 0,
            pending=_count_pending(connection, state.serving if state.target is None else state.target),
            pending_reason=state.pending_reason,
            serving=serving.space if serving else None,
            is_moving=state.target is not None,
            target=load_space(connection, state.target) if isinstance(state.target, int) else None,
            outage=read_outage(connection),
            failures=_read_failures(connection),
            last_sync=state.last_sync,
            stamps=_read_stamps(connection),
            vector=vector,
            vector_reason=reason,
            store_bytes=_measure(store.path),
        )


def verify(store: Store) -> Integrity:
    """Look for damage in an index file.

    Raises:
        NotIndexed: There is no index yet.
        StoreError: It cannot be used.
    """
    with store.read() as connection:
        files, failures = sum(_count_files(connection).values()), _read_failures(connection)
        return Integrity(meta.get_value(connection, meta.WORKSPACE), files, find_problem(connection, VERSION), failures)


def _measure(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # it may go at any moment
        return 0


def _read_failures(connection: Connection) -> tuple[FileFailure, ...]:
    failed = connection.execute("SELECT path, error FROM files WHERE error IS NOT NULL ORDER BY path")
    return tuple(FileFailure(path=path, reason=error) for path, error in failed)


def _count_files(connection: Connection) -> dict[str, int]:
    rows = connection.execute("SELECT source, count(*) FROM files WHERE hash <> x'' GROUP BY source ORDER BY source")
    return {str(source): cast("int", count) for source, count in rows}


def _count_embeddings(connection: Connection, space_id: int) -> int:
    return int(
        connection.execute(
            "SELECT count(*) FROM embedding_cache e WHERE space_id = ?"
            " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)",
            (space_id,),
        ).get
    )


def _count_pending(connection: Connection, space: int | str | None) -> int:
    """Count the texts without an embedding; all texts for a space that is not known yet."""
    return count_pending(connection, space if isinstance(space, int) else None)


def _read_stamps(connection: Connection) -> dict[tuple[str, str], FileStamp]:
    rows = connection.execute(
        "SELECT source, path, size, mtime_ns, ctime_ns, inode FROM files WHERE path NOT LIKE '%.jsonl' AND error IS NULL"
    )
    return {(source, path): FileStamp(*stamp) for source, path, *stamp in rows}
