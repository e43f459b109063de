"""What `status` tells of the builtin backend: read from the index file, nothing opened besides."""

from __future__ import annotations

from typing import cast

from memory_core import files
from memory_core.embeddings import registry
from memory_core.errors import NotIndexed
from memory_core.hookspecs import ResolveApiKey, Space
from memory_core.outage import explained, fingerprint, may_fall_back, read_outage
from memory_core.records import FileFailure, Status
from memory_core.settings import AgentConfig
from memory_core.store import Store
from memory_core.store.connection import Connection
from memory_core.store.rows import count_owed
from memory_core.store.spaces import serving_space
from memory_core.store.vectors import VectorIndex


def status(
    config: AgentConfig, store: Store, index: VectorIndex, resolve_api_key: ResolveApiKey | None, *, writable: bool
) -> Status:
    """Counts and states of one index.

    Raises:
        StoreError: The file is there but cannot be used.
    """
    choice = registry.choose(config, resolve_api_key)
    blank = Status(
        backend="builtin", agent=config.agent, workspace=config.workspace, store=config.store_path,
        provider=choice.provider, model=config.search.model, warnings=config.warnings,
        details={"provider reason": choice.reason, "access": "rw" if writable else "ro"},
    )  # fmt: skip
    try:
        with store.read() as connection:
            return _with_outage(_filled(blank, config, connection, index), config, connection)
    except NotIndexed:
        return blank


def _filled(blank: Status, config: AgentConfig, connection: Connection, index: VectorIndex) -> Status:
    from dataclasses import replace

    serving = serving_space(connection)
    rows = connection.execute("SELECT source, count(*) FROM files WHERE hash <> x'' GROUP BY source ORDER BY source")
    by_source = {str(source): cast("int", count) for source, count in rows}
    reason = index.unavailable_reason(connection) if blank.provider != "none" else None
    last_sync = cast("str | None", connection.execute("SELECT value FROM meta WHERE key = 'last_sync'").get)
    rows = connection.execute("SELECT path, error FROM files WHERE error IS NOT NULL ORDER BY path")
    because, wanted = (
        connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        for key in ("owed_because", "wanted_space")
    )
    moving = serving is not None and (serving[1].provider != blank.provider or wanted is not None)
    return replace(
        blank,
        details=_details(blank, serving[1] if serving and moving else None, because),
        indexed=True,
        store_bytes=sum(path.stat().st_size for path in (config.store_path,) if path.exists()),
        files=sum(by_source.values()),
        chunks=int(connection.execute("SELECT count(*) FROM chunks").get),
        embeddings=_count_embeddings(connection, serving[0]) if serving else 0,
        owed=_count_owed(connection, wanted, serving[0] if serving else None) if blank.provider != "none" else 0,
        sources=by_source,
        dirty=_dirty(config, connection),
        model=serving[1].model if serving and not moving else blank.model,
        vector="off" if blank.provider == "none" else "vec0" if reason is None else "exact",
        vector_reason=reason,
        failures=tuple(FileFailure(path=path, reason=error) for path, error in rows),
        last_sync=None if last_sync is None else float(last_sync),
    )


def _details(blank: Status, serving: Space | None, because: object) -> dict[str, str | int | float | bool | None]:
    """What stands beside the counts: who serves while the configured model cannot, and why texts wait."""
    told = dict(blank.details)
    if serving is not None:
        told["serving"] = f"{serving.provider} {serving.model}"
    if because is not None:
        told["owed because"] = str(because)
    return told


def _with_outage(status: Status, config: AgentConfig, connection: Connection) -> Status:
    """Whether the provider is out, as far as is known, and whether another one serves in its place."""
    from dataclasses import replace

    outage, serving = read_outage(connection), serving_space(connection)
    if outage is not None and outage.settings != fingerprint(status.provider, config):
        outage = None
    details = status.details if outage is None else {**status.details, "provider out": outage.told}
    space = None if serving is None else serving[1]
    if space is None or space.provider != config.search.fallback or not may_fall_back(status.provider, config.search):
        return replace(status, details=details)
    fallback = explained(outage, status.provider, config.search)
    details = {name: value for name, value in details.items() if name != "serving"}  # it is the status's provider now
    return replace(status, provider=space.provider, model=space.model, fallback=fallback, details=details)


def _count_embeddings(connection: Connection, space_id: int) -> int:
    return int(
        connection.execute(
            "SELECT count(*) FROM embedding_cache e WHERE space_id = ?"
            " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)",
            (space_id,),
        ).get
    )


def _count_owed(connection: Connection, wanted: object, serving: int | None) -> int:
    """What waits for an embedding: in the space that a sync works towards, where that is not the one that serves."""
    if wanted is None:
        return count_owed(connection, serving)
    return count_owed(connection, int(str(wanted)) if wanted else None)


def _dirty(config: AgentConfig, connection: Connection) -> bool:
    """Whether any file differs from what was indexed, by size and time."""
    rows = connection.execute(
        "SELECT source, path, mtime_ns, size FROM files WHERE path NOT LIKE '%.jsonl' AND error IS NULL"
    )
    held = {(source, path): (mtime_ns, size) for source, path, mtime_ns, size in rows}
    seen = {(file.source, file.path): (file.mtime_ns, file.size_bytes) for file in files.list_files(config).files}
    return held != seen
