"""The index on the server as sync writes it: implements `memory_core.stores.interface`, one transaction a command.

A sync takes a lease on its tenant, whose number comes from the server and goes up with every lease. Every push writes the row of
the tenant first, and is refused under an older lease, however late it comes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.outage import Outage
from memory_core.errors import StoreReadOnly, SyncBusy
from memory_core.records import Calibration, FileStamp, MemoryFile, Space
from memory_core.stores.postgres import rows, tenants, vectors
from memory_core.stores.postgres.reader import unpack_units
from memory_core.stores.postgres.rows import NoteRows
from memory_core.stores.postgres.staged import StagedNotes
from memory_core.stores.postgres.store import PostgresStore
from memory_core.stores.postgres.tenants import LEASE_SECONDS, Cursor, Tenant
from memory_core.stores.values import (
    EmbeddedWindows,
    IndexedFile,
    PendingWindow,
    PreparedChunk,
    PreparedFile,
    SyncState,
    TargetSpace,
    slice_units,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POLL_SECONDS = 0.2
_SPACE = ("provider", "model", "endpoint", "input_type", "dimensions")


class PostgresWriter:
    """Implements `SyncStore` on the first tenant of a store."""

    def __init__(self, store: PostgresStore, workspace: str) -> None:
        self._store = store
        self._workspace = workspace
        self._tenant = 0  # its id, once a sync has begun
        self._lease = 0  # none is held

    @contextlib.contextmanager
    def lock(self, *, wait_seconds: float = 0.0) -> Iterator[None]:
        """See `SyncStore`."""
        until = time.monotonic() + wait_seconds
        holder = tenants.name_holder()
        tenants.held_here.add(
            holder
        )  # before the row names it: no other thread must take it for one that was left behind
        try:
            while (taken := self._take_lease(holder)) is None:
                if time.monotonic() >= until:
                    raise SyncBusy(f"{self._store.path}: another process is syncing it", action="try again in a moment")
                time.sleep(_POLL_SECONDS)
            self._tenant, self._lease = taken
            try:
                yield
            finally:
                self._lease = 0
                with contextlib.suppress(Exception), self._store.write() as cursor:  # it ends by itself
                    tenants.end_lease(cursor, *taken)
        finally:
            tenants.held_here.discard(holder)

    def _take_lease(self, holder: str) -> tuple[int, int] | None:
        """Return the tenant's id and the number of the lease; None while another sync holds it."""
        with self._store.write() as cursor:
            tenant = self._store.load_own(cursor)
            lease = tenants.take_lease(cursor, tenant, holder)
            if lease is None and not tenants.may_write(cursor, tenant.id):
                reason, action = "this role may only read the tenant", tenants.explain_grant(tenant.name)
                raise StoreReadOnly(self._store.path, reason, action=action)
        return None if lease is None else (tenant.id, lease)

    @contextlib.contextmanager
    def _push(self, *, content: bool = True) -> Iterator[Cursor]:
        """Yield a cursor inside a transaction that holds the row of the tenant, under this sync's lease.

        Raises:
            SyncBusy: Another sync has begun since.
        """
        with self._store.write() as cursor:
            cursor.execute(
                "UPDATE tenants SET generation = generation + %s, lease_until = now() + %s * interval '1 second'"
                " WHERE id = %s AND lease = %s",
                (int(content), LEASE_SECONDS, self._tenant, self._lease),
            )
            if not cursor.rowcount:
                raise SyncBusy(f"{self._store.path}: another process has begun to sync it", action="sync again")
            yield cursor

    def _push_or_write(self) -> contextlib.AbstractContextManager[Cursor]:
        """Return a push inside a sync, else a plain transaction: searches record outages and dimensions, too."""
        return self._push(content=False) if self._lease else self._store.write()

    @contextlib.contextmanager
    def _notes(self, *, content: bool = True) -> Iterator[NoteRows]:
        with self._push(content=content) as cursor:
            notes = NoteRows(cursor, self._tenant)
            yield notes
            if notes.added_chunks or notes.added_words:
                cursor.execute(
                    "UPDATE tenants SET chunks = chunks + %s, words = words + %s WHERE id = %s",
                    (notes.added_chunks, notes.added_words, self._tenant),
                )

    @contextlib.contextmanager
    def _read(self) -> Iterator[tuple[Cursor, Tenant]]:
        with self._store.read() as (cursor, several):
            yield cursor, several[0]

    def prepare(self) -> None:
        """See `SyncStore`. Refuse a tenant that holds the notes of another workspace, which this one would drop."""
        with self._read() as (cursor, tenant):
            held = tenant.workspace
            if held in (None, self._workspace) or not rows.list_files(cursor, tenant.id):
                return
        raise StoreReadOnly(
            self._store.path,
            f"it holds the notes of {held}, not of {self._workspace}",
            action="give this workspace a tenant of its own: memory.postgres.tenant",
        )

    # What is remembered.

    def load_state(self) -> SyncState:
        """See `SyncStore`."""
        return tenants.read_state(self._store.read_own())

    def read_generation(self) -> str:
        """See `SyncStore`."""
        return str(self._store.read_own().generation)

    def set_identity(self, identity: str) -> None:
        """See `SyncStore`."""
        self._set({tenants.IDENTITY: identity})

    def take_over(self, workspace: str) -> None:
        """See `SyncStore`."""
        with self._notes() as notes:
            notes.drop([row.id for row in rows.list_files(notes.cursor, self._tenant)])
            notes.added_chunks = notes.added_words = 0
            notes.cursor.execute(
                "UPDATE tenants SET workspace = %s, chunks = 0, words = 0 WHERE id = %s", (workspace, self._tenant)
            )

    def set_target(self, target: TargetSpace) -> None:
        """See `SyncStore`."""
        self._set({tenants.TARGET: target})

    def record_destination(self, destination: str) -> bool:
        """See `SyncStore`."""
        known = self._store.read_own().meta.get(tenants.DESTINATIONS) or []
        if destination in known:
            return False
        self._set({tenants.DESTINATIONS: [*known, destination]})
        return True

    def set_pending_reason(self, reason: str) -> None:
        """See `SyncStore`."""
        self._set({tenants.PENDING_REASON: reason})

    def record_sync(self, at: float, *, digest: str | None) -> None:
        """See `SyncStore`."""
        generation = self._store.read_own().generation
        listed = None if digest is None else [generation, digest]
        self._set({tenants.LAST_SYNC: at, tenants.TIDIED: generation, tenants.LISTED: listed})

    def list_files(self) -> list[IndexedFile]:
        """See `SyncStore`."""
        with self._read() as (cursor, tenant):
            return rows.list_files(cursor, tenant.id)

    def list_stamps(self) -> dict[tuple[str, str], tuple[int, int, int, int] | None]:
        """See `SyncStore`."""
        with self._read() as (cursor, tenant):
            return rows.list_stamps(cursor, tenant.id)

    def find_file(self, source: str, path: str) -> IndexedFile | None:
        """See `SyncStore`."""
        with self._read() as (cursor, tenant):
            return rows.find_file(cursor, tenant.id, source, path)

    def load_file(self, file: MemoryFile) -> PreparedFile | None:
        """See `SyncStore`."""
        with self._read() as (cursor, tenant):
            return rows.load_file(cursor, tenant.id, file)

    def put_files(self, prepared: Sequence[PreparedFile]) -> dict[int, PreparedChunk]:
        """See `SyncStore`."""
        with self._notes() as notes:
            return notes.put(prepared)

    def drop_files(self, ids: Iterable[int]) -> None:
        """See `SyncStore`."""
        with self._notes() as notes:
            notes.drop(ids)

    def touch_file(self, file_id: int, stamp: FileStamp) -> None:
        """See `SyncStore`."""
        with self._notes(content=False) as notes:
            notes.touch(file_id, stamp)

    def set_file_error(self, file: MemoryFile, reason: str) -> None:
        """See `SyncStore`."""
        with self._notes(content=False) as notes:
            notes.set_error(file, reason)

    def begin_rebuild(self) -> StagedNotes:
        """See `SyncStore`."""
        return StagedNotes(self)

    def replace_all(
        self,
        files: Sequence[PreparedFile],
        errors: Sequence[tuple[MemoryFile, str]],
        *,
        identity: str,
    ) -> None:
        """Let files take the place of all that the tenant holds, in one transaction.

        Args:
            files: As they were cut.
            errors: Files that could not be read, and why.
            identity: What they were cut with.
        """
        with self._notes() as notes:
            cursor = notes.cursor
            cursor.execute("SELECT delete_word_forms(%s)", (self._tenant,))
            notes.drop([row.id for row in rows.list_files(cursor, self._tenant)])
            notes.put(files)
            for file, reason in errors:
                notes.set_error(file, reason)
            tenants.set_meta(cursor, self._tenant, {tenants.IDENTITY: identity})

    # Texts that wait for what is computed from them.

    def find_pending_windows(
        self, space_id: int | None, *, step: int, tokens: bool = False
    ) -> Iterator[Sequence[PendingWindow]]:
        """See `IndexedText`."""
        after = (-1, -1)
        while True:
            with self._read() as (cursor, tenant):
                found = cursor.execute(
                    "SELECT w.chunk_id, w.first, w.last, w.hash, c.units, c.text FROM windows w JOIN chunks c"
                    " ON c.tenant_id = w.tenant_id AND c.id = w.chunk_id WHERE w.tenant_id = %(tenant)s"
                    f" AND (w.chunk_id, w.first) > (%(chunk)s, %(first)s) AND {rows.find_missing(tokens=tokens)}"
                    " ORDER BY w.chunk_id, w.first LIMIT %(step)s",
                    {"tenant": tenant.id, "space": space_id, "chunk": after[0], "first": after[1], "step": step},
                ).fetchall()
            if not found:
                return
            after = found[-1][:2]
            texts = {
                key: slice_units(text, unpack_units(units)[first : last + 1])
                for _, first, last, key, units, text in found
            }
            yield [PendingWindow(*each) for each in texts.items()]

    def count_pending(self, space_id: int | None, *, tokens: bool = False) -> int:
        """See `IndexedText`."""
        return self._count(
            f"SELECT count(DISTINCT hash) FROM windows w WHERE tenant_id = %(tenant)s AND {rows.find_missing(tokens=tokens)}",
            space=space_id,
        )

    # Spaces and embeddings.

    def add_space(self, space: Space) -> int:
        """See `SyncStore`."""
        key = tuple(getattr(space, name) for name in _SPACE)
        number = int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "big", signed=True)
        with self._read() as (cursor, tenant):
            if tenants.load_space(cursor, tenant.id, number) is not None:
                return number
        with self._push_or_write() as cursor:
            cursor.execute(
                "INSERT INTO spaces (tenant_id, id, provider, model, endpoint, input_type, dimensions)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (tenant.id, number, *key),
            )
        return number

    def find_space_like(self, space: Space) -> Space | None:
        """See `SyncStore`."""
        with self._read() as (cursor, tenant):
            row = cursor.execute(
                "SELECT id FROM spaces WHERE tenant_id = %s AND provider = %s AND model = %s AND endpoint = %s"
                " AND input_type = %s ORDER BY made DESC LIMIT 1",
                (tenant.id, *(getattr(space, name) for name in _SPACE[:4])),
            ).fetchone()
            found = tenants.load_space(cursor, tenant.id, row[0]) if row else None
        return found.space if found else None

    def serve(self, space_id: int, *, complete: bool) -> None:
        """See `SyncStore`."""
        generation = self._store.read_own().generation
        values: dict[str, Any] = {tenants.SERVING: space_id, tenants.TARGET: None}
        values[tenants.COMPLETE] = [generation, space_id] if complete else None
        if complete:
            values[tenants.PENDING_REASON] = None
        self._set(values)
        if complete:
            self._sign_vectors(space_id)

    def _sign_vectors(self, space_id: int) -> None:
        """Keep the signs of all vectors once the tenant is large, in steps that are each a push; see vectors.py."""
        with self._read() as (cursor, tenant):
            center = vectors.find_center(cursor, tenant, space_id)
        after: bytes | None = None if center is None else b""
        while center is not None and after is not None:
            with self._push(content=False) as cursor:
                after = vectors.sign(cursor, self._tenant, space_id, center, after)

    def stop_serving(self) -> None:
        """See `SyncStore`."""
        self._set(dict.fromkeys((tenants.SERVING, tenants.COMPLETE, tenants.TARGET, tenants.PENDING_REASON)))

    def find_embedded(self, space_id: int, hashes: Collection[bytes], *, tokens: bool = False) -> set[bytes]:
        """See `SyncStore`."""
        with self._read() as (cursor, tenant):
            found = cursor.execute(
                "SELECT hash FROM embeddings WHERE tenant_id = %s AND space_id = %s AND hash = ANY (%s)"
                f"{' AND bits IS NOT NULL' if tokens else ''}",
                (tenant.id, space_id, list(hashes)),
            ).fetchall()
        return {row[0] for row in found}

    def put_embeddings(self, space_id: int, windows: EmbeddedWindows, *, serve: bool) -> None:
        """See `SyncStore`."""
        with self._push() as cursor:
            half = self._store.settings.vectors == "halfvec"
            vectors.insert(cursor, self._tenant, space_id, windows, half=half)
            if serve:
                tenants.set_meta(cursor, self._tenant, {tenants.SERVING: space_id})

    def load_calibration(self, space_id: int) -> tuple[Calibration, int] | None:
        """See `SyncStore`."""
        with self._read() as (cursor, tenant):
            row = cursor.execute(
                "SELECT floor, span, judged FROM spaces WHERE tenant_id = %s AND id = %s AND floor IS NOT NULL",
                (tenant.id, space_id),
            ).fetchone()
        return (Calibration(floor=row[0], span=row[1]), row[2]) if row else None

    def put_calibration(self, space_id: int, calibration: Calibration, *, windows: int) -> None:
        """See `SyncStore`."""
        with self._push(content=False) as cursor:
            cursor.execute(
                "UPDATE spaces SET floor = %s, span = %s, judged = %s WHERE tenant_id = %s AND id = %s",
                (calibration.floor, calibration.span, windows, self._tenant, space_id),
            )

    def sample_embeddings(self, space_id: int, limit: int) -> NDArray[np.float32]:
        """See `SyncStore`."""
        import numpy as np

        with self._read() as (cursor, tenant):
            found = cursor.execute(
                "SELECT coalesce(v::real[], h::vector::real[]) FROM embeddings e WHERE tenant_id = %s AND space_id = %s"
                " AND EXISTS (SELECT 1 FROM windows w WHERE w.tenant_id = e.tenant_id AND w.hash = e.hash)"
                " ORDER BY hash LIMIT %s",
                (tenant.id, space_id, limit),
            ).fetchall()
        return np.array([row[0] for row in found], dtype=np.float32)

    # Counts.

    def count_files(self) -> int:
        """See `SyncStore`."""
        return self._count("SELECT count(*) FROM notes WHERE tenant_id = %(tenant)s AND hash <> ''")

    def count_chunks(self) -> int:
        """See `SyncStore`."""
        return self._store.read_own().chunks

    def count_windows(self, *, distinct: bool = False) -> int:
        """See `SyncStore`."""
        return self._count(
            f"SELECT count({'DISTINCT hash' if distinct else '*'}) FROM windows WHERE tenant_id = %(tenant)s"
        )

    # Maintenance.

    def evict_embeddings(self, *, keep: int) -> None:
        """See `SyncStore`."""
        with self._push(content=False) as cursor:
            cursor.execute("SELECT evict_embeddings(%s, %s)", (self._tenant, keep))

    def merge_keywords(self, *, whole: bool) -> Iterator[None]:  # noqa: ARG002
        """Do nothing: autovacuum merges what waits in the keyword index."""
        return iter(())

    def give_back_space(self) -> None:
        """Do nothing: autovacuum does."""

    # The outage of the provider.

    @property
    def writable(self) -> bool:
        """See `OutageLog`."""
        return self._store.writable

    def load_outage(self) -> str | None:
        """Return the record of the provider's outage."""
        return self._store.read_own().meta.get(tenants.OUTAGE)

    def set_outage(self, record: str | None) -> None:
        """Replace or remove the record of the provider's outage."""
        self._set({tenants.OUTAGE: record})

    def _set(self, values: Mapping[str, Any]) -> None:
        tenant = self._store.read_own()
        if all(tenant.meta.get(key) == value for key, value in values.items()):
            return  # most syncs before a search write nothing
        with self._push_or_write() as cursor:
            tenants.set_meta(cursor, tenant.id, values)

    def _count(self, query: str, **values: object) -> int:
        with self._read() as (cursor, tenant):
            row = cursor.execute(query.encode(), {"tenant": tenant.id, **values}).fetchone()
        return int(row[0]) if row else 0


class TenantOutage:
    """Implements `OutageLog` on the row of the tenant."""

    def __init__(self, writer: PostgresWriter) -> None:
        self._writer = writer

    @property
    def writable(self) -> bool:
        """See `OutageLog`."""
        return self._writer.writable

    def read(self) -> Outage | None:
        """See `OutageLog`."""
        record = self._writer.load_outage()
        return None if record is None else Outage.from_json(record)

    def write(self, outage: Outage | None) -> None:
        """See `OutageLog`."""
        self._writer.set_outage(None if outage is None else outage.to_json())
