"""A tenant whose writer put anything into its rows: who searches it besides finds the notes of others as before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memory_core.backends.postgres import PostgresBackend
from memory_core.records import Query
from tests.postgres.agents import open_agent
from tests.servers.postgres import make_database

ROWS = {
    "a date that is none": "UPDATE notes SET date = 'yesterday', day = 'yesterday'",
    "a day that does not exist": "UPDATE notes SET date = '2026-02-31', day = '2026-02-31'",
    "a year without century": "UPDATE notes SET date = '1-1-1', day = ''",
    "offsets behind the text": "UPDATE {chunk} units = '{5, 99999, 1, 1}'",
    "offsets before the text": "UPDATE {chunk} units = '{-9, -3, 1, 1}'",
    "offsets that run backwards": "UPDATE {chunk} units = '{9, 2, 7, 1}'",
    "lines before the first": "UPDATE {chunk} units = '{0, 5, -4, -2}'",
    "a chunk before the first line": "UPDATE chunks SET start_line = -7",
    "no units": "UPDATE {chunk} units = '{}'",
    "signs of another length": "UPDATE embeddings SET signs = '101', bits = 'x'",
    "a center of other dimensions": "UPDATE embeddings SET signs = '101'; UPDATE spaces SET center = '[1,2]'",
    "a center, and no signs": "UPDATE spaces SET center = array_fill(.5::real, ARRAY[dimensions])::vector",
    "dimensions that its vectors do not have": "UPDATE spaces SET center = '[1]', floor = -3, span = 0",
    "windows that nothing has": "INSERT INTO windows SELECT tenant_id, chunk_id, 300, 400, hash FROM windows",
    "lines of the log": "UPDATE notes SET lines = '{-1, NULL}'",
    "a tenant that has no chunks": "UPDATE tenants SET chunks = -5, words = -5",
    "what a sync remembers": """UPDATE tenants SET meta = '{"serving": "x", "outage": 5}'""",
}
COPY = (
    "WITH new AS (INSERT INTO chunks (tenant_id, note_id, start_line, end_line,"
    " hash, words, context, text, units, links, tsv) SELECT tenant_id, note_id, start_line, end_line, hash, words, context, text,"
    " '%s', links, tsv FROM chunks RETURNING tenant_id, id) INSERT INTO windows SELECT tenant_id, id, 0, 0, h.hash FROM new,"
    " (SELECT hash FROM embeddings LIMIT 1) h"
)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[PostgresBackend, str, str]]:
    """The backend of bob, who searches mal's tenant too, and mal's own connection string and schema."""
    database = make_database()
    mal = database.add_role("mal", writes=("mal",))
    bob = database.add_role("bob", writes=("bob",), reads=("mal",))
    for name, dsn, tenants in (("mal", mal, ()), ("bob", bob, ("mal",))):
        backend = open_agent(tmp_path, name, dsn, database.schema, tenants=tenants)
        (tmp_path / name / "notes/MEMORY.md").write_text(f"The harbour of {name} is green. It has a crane.\n")
        backend.memory_sync(False, None)
        if name == "mal":
            backend.memory_close()
    yield backend, mal, database.schema
    backend.memory_close()


@pytest.mark.parametrize("what", ROWS)
def test_rows_of_another_tenant_break_no_search(pair: tuple[PostgresBackend, str, str], what: str) -> None:
    backend, dsn, schema = pair
    statement = ROWS[what]
    if "{chunk}" in statement:
        statement = COPY % statement.partition("'")[2].rstrip("'")
    with psycopg.connect(dsn) as mal:
        mal.execute(f'SET search_path = "{schema}"'.encode())
        mal.execute(statement.encode())
        mal.execute("UPDATE tenants SET generation = generation + 1")
    for text in ("Where is the harbour?", "harbour", "What happened yesterday at the harbour?", "crane 2026-02-31"):
        found = backend.memory_search(Query(text=text, min_score=0.0))
        assert "MEMORY.md" in {hit.path for hit in found.hits} or text.startswith(("crane", "What happened"))
        assert all(hit.start_line >= 1 and hit.end_line >= hit.start_line for hit in found.hits)
        backend.memory_explain(Query(text=text, min_score=0.0), None)
    backend.memory_get("postgres/mal/MEMORY.md", 1, 5)
