"""Rows that the operator of a benchmark loads: copies of tenants, and one large tenant of distinct chunks."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import psycopg

from memory_core.stores.postgres.stems import make_vector
from memory_core.stores.postgres.vectors import write_vector
from memory_core.stores.values import digest
from tests.benchmarks.daily_notes import Vocabulary
from tests.servers.postgres import Database, RealServer

_FIRST_ID = 10**12  # of loaded notes and chunks: each copy of a tenant has a range of ids of its own
_IDS = 10**6
_NOTE_CHUNKS = 50
_STEP = 2000  # chunks that are embedded and copied at a time

# In the order in which tenants that work at the same time write them: the rows of one are spread over the pages of all.
_COPY = """
INSERT INTO notes (tenant_id, id, source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines)
  OVERRIDING SYSTEM VALUE SELECT k.id, n.id + k.shift, source, path, hash, size, mtime_ns, ctime_ns, inode, date, day, lines
  FROM copies k JOIN notes n ON n.tenant_id = k.origin ORDER BY n.id, k.id;
INSERT INTO chunks (tenant_id, id, note_id, start_line, end_line, hash, words, context, text, links, units, tsv)
  OVERRIDING SYSTEM VALUE SELECT k.id, c.id + k.shift, c.note_id + k.shift, start_line, end_line, hash, words, context, text,
  links, units, tsv FROM copies k JOIN chunks c ON c.tenant_id = k.origin ORDER BY c.note_id, k.id, c.id;
INSERT INTO windows SELECT k.id, w.chunk_id + k.shift, first, last, hash FROM copies k JOIN windows w ON w.tenant_id = k.origin
  ORDER BY w.chunk_id, k.id, first;
INSERT INTO embeddings (tenant_id, space_id, hash, v, h, bits) SELECT k.id, space_id, hash, v, h, bits
  FROM copies k JOIN embeddings e ON e.tenant_id = k.origin ORDER BY e.made, k.id;
INSERT INTO spaces SELECT k.id, s.id, provider, model, endpoint, input_type, dimensions, floor, span, judged
  FROM copies k JOIN spaces s ON s.tenant_id = k.origin;
INSERT INTO word_forms SELECT k.id, language, stem, word FROM copies k JOIN word_forms f ON f.tenant_id = k.origin
  ORDER BY stem, k.id;
"""
_MADE = """
CREATE TEMP TABLE copies ON COMMIT DROP AS
  WITH origins AS (SELECT *, row_number() OVER (ORDER BY id) - 1 AS place, count(*) OVER () AS several
    FROM tenants WHERE name LIKE 'agent%%'),
  made AS (INSERT INTO tenants (name, generation, chunks, words, workspace, meta)
    SELECT 'copy' || t.held + n || '-' || substr(o.name, 6), generation, chunks, words, workspace, meta
    FROM generate_series(1, %s) n, (SELECT count(*) AS held FROM tenants) t, origins o WHERE o.place = n %% o.several
    RETURNING id, name)
  SELECT made.id, o.id AS origin, %s + made.id::bigint * %s AS shift
  FROM made JOIN origins o ON o.name = 'agent' || split_part(made.name, '-', 2)
"""
_INDEXES = (  # which only make searches faster: those that keep rows apart stay
    "SELECT c.relname, replace(pg_get_indexdef(c.oid), ' ON ONLY ', ' ON ') FROM pg_class c"
    " JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'I' AND NOT i.indisunique"
)
_SETTINGS = {  # as an operator of a server with 8 GB would choose them, and connections for the simulation
    "shared_buffers": "2GB", "max_wal_size": "4GB", "max_connections": "2500", "checkpoint_timeout": "15min",
}  # fmt: skip
_BATCH = 250  # tenants that one transaction makes


def configure(server: RealServer) -> None:
    """Give an empty server the memory that one for many agents has."""
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        for name, value in _SETTINGS.items():
            admin.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        admin.execute("CHECKPOINT")
    server.kill()
    server.start()


def _connect(database: Database) -> psycopg.Connection[tuple[Any, ...]]:
    connection = psycopg.connect(database.admin_dsn, autocommit=True)
    connection.execute(
        f'SET search_path = "{database.schema}"; SET session_replication_role = replica;'
        " SET maintenance_work_mem = '1GB'; SET work_mem = '256MB'; SET synchronous_commit = off".encode()
    )
    return connection


def multiply_tenants(database: Database, chunks: int) -> None:
    """Copy the tenants `agent0`, `agent1` and so on until all tenants together hold a number of chunks."""
    with _connect(database) as admin:
        (held, mean), *_ = admin.execute(
            "SELECT sum(chunks), avg(chunks) FILTER (WHERE name LIKE 'agent%') FROM tenants"
        ).fetchall()
        count = round((chunks - held) / mean)
        if count <= 0:
            return
        indexes = admin.execute(_INDEXES, (f'"{database.schema}"',)).fetchall()
        for name, _ in indexes:
            admin.execute(f'DROP INDEX "{name}"'.encode())
        for first in range(0, count, _BATCH):
            with admin.transaction():
                admin.execute(_MADE.encode(), (min(_BATCH, count - first), _FIRST_ID, _IDS))
                admin.execute(_COPY.encode())
        for _, definition in indexes:
            admin.execute(definition.encode())
        admin.execute("VACUUM ANALYZE")
        admin.execute("CHECKPOINT")


def load_large_tenant(database: Database, name: str, chunks: int, provider: Any, space: int) -> None:
    """Fill a tenant with distinct chunks of four lines and three windows each, whose vectors a provider makes."""
    words = Vocabulary(77)
    with _connect(database) as admin:
        ((tenant,),) = admin.execute("SELECT id FROM tenants WHERE name = %s", (name,)).fetchall()
        total = 0
        for first in range(0, chunks, _STEP):
            numbers = range(first, min(first + _STEP, chunks))
            lines = {number: [f"- {words.text(18)}" for _ in range(4)] for number in numbers}
            windows = [
                (number, at, f"{lines[number][at]}\n{lines[number][at + 1]}") for number in numbers for at in range(3)
            ]
            with admin.transaction(), admin.cursor() as cursor:
                _copy(cursor, "notes (tenant_id, id, source, path, hash, size, mtime_ns, ctime_ns, inode, day)", (
                    (tenant, _FIRST_ID + number, "memory", f"memory/loaded-{number}.md", b"x", 0, 0, 0, 0, "2020-01-01")
                    for number in numbers if number % _NOTE_CHUNKS == 0
                ))  # fmt: skip
                rows = []
                for number in numbers:
                    text = "\n".join(lines[number])
                    vector, count = make_vector("", text)
                    total += count
                    at, units = 0, []
                    for place, line in enumerate(lines[number]):
                        units += [at, at + len(line), place + 1, place + 1]
                        at += len(line) + 1
                    rows.append((
                        tenant, _FIRST_ID + number, _FIRST_ID + number - number % _NOTE_CHUNKS, 1, 4, digest(text), count,
                        "", text, False, units, vector,
                    ))  # fmt: skip
                _copy(
                    cursor,
                    "chunks (tenant_id, id, note_id, start_line, end_line, hash, words, context, text, links,"
                    " units, tsv)",
                    rows,
                )
                _copy(cursor, "windows", (
                    (tenant, _FIRST_ID + number, at, at + 1, digest(text)) for number, at, text in windows
                ))  # fmt: skip
                found = sorted(provider.embed_documents([text for *_, text in windows]), key=itemgetter(0))
                embedded = np.concatenate([several for _, several in found])
                _copy_vectors(cursor, tenant, space, [digest(text) for *_, text in windows], embedded)
        admin.execute(
            "UPDATE tenants SET chunks = chunks + %s, words = words + %s, generation = generation + 1 WHERE id = %s",
            (chunks, total, tenant),
        )
        admin.execute("VACUUM ANALYZE")


def _copy(cursor: psycopg.Cursor[Any], table: str, rows: Any) -> None:
    with cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)


def _copy_vectors(cursor: psycopg.Cursor[Any], tenant: int, space: int, hashes: list[bytes], rows: Any) -> None:
    _copy(cursor, "embeddings (tenant_id, space_id, hash, h)", (
        (tenant, space, key, write_vector(row)) for key, row in zip(hashes, rows, strict=True)
    ))  # fmt: skip
