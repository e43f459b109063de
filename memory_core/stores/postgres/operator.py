"""The operator's commands on the server: make the schema, grant and revoke rights to tenants, look at all of it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from psycopg import sql

from memory_core.config.fields import Secret
from memory_core.errors import BackendError, InvalidArgument, StoreError, StoreReadOnly
from memory_core.stores.postgres import NAME, check_tenant
from memory_core.stores.postgres.connections import INIT, WRITE, Connections
from memory_core.stores.postgres.tenants import Cursor, fetch_value

VERSION = 8  # of the schema; `migrations` holds that of the server's
LOCK_SECONDS = 10  # that a command waits for agents
# A member of one of these sees, writes or stops every tenant.
POWERFUL = (
    "pg_read_all_data", "pg_write_all_data", "pg_maintain", "pg_read_server_files", "pg_write_server_files",
    "pg_execute_server_program",
)  # fmt: skip
EXTENSIONS = ("vector", "btree_gin")
_EXTEND = f"let a superuser run in this database: {'; '.join(f'CREATE EXTENSION {each}' for each in EXTENSIONS)}"
_MADE = re.compile(r"^CREATE (?:TABLE|INDEX) (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)
_RESTORE = "run DROP SCHEMA {} CASCADE, make the extensions as docs/postgres.md says at Backup, and restore again"
_INSTALL = "install pgvector and PostgreSQL's contrib modules on the server"
_OPERATOR = "name the DSN of the role that ran init: --dsn; it needs CREATEROLE, and CREATE on the database"


@dataclass(frozen=True, slots=True)
class TenantSummary:
    """One tenant as its operator sees it.

    Attributes:
        name: The tenant's.
        notes, chunks: Counts.
        workspace: Whose notes it holds; None before the first sync.
        readers, writers: Roles.
    """

    name: str
    notes: int
    chunks: int
    workspace: str | None
    readers: tuple[str, ...]
    writers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerSummary:
    """A schema as its operator sees it.

    Attributes:
        server: Version of PostgreSQL.
        schema: Its name.
        version: Of the schema.
        size_bytes: Of all its tables with their indexes.
        tenants: In the order of their names.
    """

    server: str
    schema: str
    version: int
    size_bytes: int
    tenants: tuple[TenantSummary, ...]


class Operator:
    """Commands of one operator, whose role may make roles and schemas. Making one connects to nothing.

    Args:
        dsn: Of the operator, see `read_dsn`.
        schema: The schema of memory-core.
        setting: Where the DSN was found, as messages name it.
    """

    def __init__(self, dsn: Secret | None, schema: str, setting: str = "--dsn") -> None:
        self._schema = schema
        self._owner = f"{schema}_owner"
        self._agent = f"{schema}_agent"
        self._connections = Connections(dsn, schema=schema, limit_seconds=None, most=1, setting=setting)

    def close(self) -> None:
        """End the connection."""
        self._connections.close()

    def init(self) -> int:
        """Make the roles, the schema and its tables; return 1, or 0 if they are those of this version already.

        Of a schema of an older version, tenants, members and embeddings stay; the rest is made of the notes at the next syncs.

        Raises:
            BackendError: A newer memory-core made it, it lacks tables or an extension, or anybody may put functions beside one.
        """
        with self._begin() as cursor:
            for role in (self._owner, self._agent):
                if not cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
                    self._run(cursor, "CREATE ROLE {} NOLOGIN", role)
            self._run(cursor, "CREATE SCHEMA IF NOT EXISTS {}", self._schema)
            for extension in EXTENSIONS:
                if not cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = %s", (extension,)).fetchone():
                    raise BackendError(NAME, f"the server lacks the extension {extension}", action=_INSTALL)
                self._run(cursor, "CREATE EXTENSION IF NOT EXISTS {} SCHEMA {}", extension, self._schema)
            self._check_extensions(cursor)
            self._run(cursor, "GRANT {} TO CURRENT_USER", self._owner)
            self._run(cursor, "ALTER SCHEMA {} OWNER TO {}", self._schema, self._owner)
            self._run(cursor, "SET LOCAL ROLE {}", self._owner)
            self._set_path(cursor)
            cursor.execute(
                "CREATE TABLE IF NOT EXISTS migrations (number int PRIMARY KEY, done timestamptz NOT NULL DEFAULT now())"
            )
            # Which no agent may lock: others may hold any advisory key.
            cursor.execute("LOCK TABLE migrations IN EXCLUSIVE MODE")
            held = fetch_value(cursor, "SELECT coalesce(max(number), 0) FROM migrations")
            if held > VERSION:
                raise BackendError(NAME, f"{self._schema} was made by a newer memory-core", action="update memory-core")
            if held == VERSION:
                names = _MADE.findall(read_script("schema.sql"))
                query = "SELECT name FROM unnest(%s::text[]) name WHERE to_regclass(name) IS NULL"
                if missing := [name for (name,) in cursor.execute(query, (names,)).fetchall()]:
                    reason = (
                        f"the schema {self._schema} lacks {', '.join(missing)}, as after a restore without extensions"
                    )
                    raise BackendError(NAME, reason, action=_RESTORE.format(self._schema))
                return 0
            for name in ["discard.sql", "schema.sql"] if held else ["schema.sql"]:
                script = (
                    read_script(name).replace("{schema}", f'"{self._schema}"').replace("{agent}", f'"{self._agent}"')
                )
                cursor.connection.execute(script.encode(), prepare=False)  # in text: several statements
            cursor.execute("INSERT INTO migrations VALUES (%s)", (VERSION,))
            return 1

    def grant(self, role: str, tenant: str, *, write: bool) -> bool:
        """Make a login role a member of a tenant, which is made when it is new; return True if it was.

        Raises:
            InvalidArgument: There is no such role, or it is one that could see everything; or no tenant may be named so.
        """
        check_tenant(tenant)
        with self._as_owner() as cursor:
            known = cursor.execute(
                "SELECT a.oid, EXISTS (SELECT 1 FROM pg_roles r WHERE pg_has_role(a.oid, r.oid, 'MEMBER')"
                " AND (r.rolsuper OR r.rolbypassrls OR r.rolname = ANY (%s))) FROM pg_roles a WHERE a.rolname = %s",
                ([self._owner, *POWERFUL], role),
            ).fetchone()
            if known is None:
                raise InvalidArgument(
                    "role", f"there is no role {role!r}", action=f"make it: CREATE ROLE {role} LOGIN PASSWORD '...'"
                )
            number, is_powerful = known
            if is_powerful:
                raise InvalidArgument(
                    "role",
                    f"{role!r} sees every tenant, as a superuser, an owner or a member of such a role;"
                    " give each agent a role of its own",
                )
            cursor.execute("DELETE FROM members WHERE role NOT IN (SELECT oid FROM pg_roles)")  # of dropped roles
            cursor.execute("INSERT INTO tenants (name) VALUES (%s) ON CONFLICT DO NOTHING", (tenant,))
            is_new = cursor.rowcount > 0
            cursor.execute(
                "INSERT INTO members SELECT %s, id, %s FROM tenants WHERE name = %s"
                " ON CONFLICT (role, tenant_id) DO UPDATE SET may_write = excluded.may_write",
                (number, write, tenant),
            )
            cursor.execute("RESET ROLE")
            self._run(cursor, "GRANT {} TO {}", self._agent, role)
            return is_new

    def revoke(self, role: str, tenant: str) -> bool:
        """End a role's membership; return False if there was none."""
        with self._as_owner() as cursor:
            cursor.execute(
                "DELETE FROM members USING tenants WHERE tenant_id = id AND name = %s"
                " AND role = (SELECT oid FROM pg_roles WHERE rolname = %s)",
                (tenant, role),
            )
            return cursor.rowcount > 0

    def summarise(self) -> ServerSummary:
        """Count what the schema holds."""
        with self._as_owner() as cursor:
            head = cursor.execute(
                "SELECT current_setting('server_version'), (SELECT max(number) FROM migrations), (SELECT"
                " sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relnamespace = %s::regnamespace"
                " AND relkind = 'r')",
                (f'"{self._schema}"',),
            ).fetchone()
            rows = cursor.execute(
                "SELECT name, (SELECT count(*) FROM notes n WHERE n.tenant_id = t.id), chunks, workspace,"
                " ARRAY(SELECT rolname::text FROM members m JOIN pg_roles r ON r.oid = m.role WHERE m.tenant_id = t.id"
                " AND NOT may_write ORDER BY 1),"
                " ARRAY(SELECT rolname::text FROM members m JOIN pg_roles r ON r.oid = m.role WHERE m.tenant_id = t.id"
                " AND may_write ORDER BY 1)"
                " FROM tenants t ORDER BY name"
            ).fetchall()
        server, version, size = head or ("?", 0, 0)
        tenants = (
            TenantSummary(name, notes, chunks, workspace, tuple(readers), tuple(writers))
            for name, notes, chunks, workspace, readers, writers in rows
        )
        return ServerSummary(server, self._schema, version, size or 0, tuple(tenants))

    @contextlib.contextmanager
    def _begin(self) -> Iterator[Cursor]:
        try:
            with self._connections.transaction(WRITE) as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'".encode())
                yield cursor
        except StoreReadOnly as error:
            action = _EXTEND if "extension" in error.reason else _OPERATOR
            raise BackendError(NAME, f"{error.reason}, to {self._connections.whose}", action=action) from None
        except StoreError as error:
            if "lock timeout" not in str(error):
                raise
            raise BackendError(
                NAME,
                f"waited {LOCK_SECONDS} s for {self._name_blockers()}",
                action="try again, or end it: SELECT pg_terminate_backend(PROCESS)",
            ) from None

    def _name_blockers(self) -> str:
        """Return the roles and processes that hold locks on our tables."""
        with self._connections.transaction(WRITE) as cursor:
            rows = cursor.execute(
                "SELECT DISTINCT a.usename::text, a.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation"
                " JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_stat_activity a ON a.pid = l.pid"
                " WHERE n.nspname = %s AND l.granted AND a.pid <> pg_backend_pid() ORDER BY 1, 2",
                (self._schema,),
            ).fetchall()
        return ", ".join(f"{role} (process {number})" for role, number in rows) or "a lock that is free again now"

    @contextlib.contextmanager
    def _as_owner(self) -> Iterator[Cursor]:
        with self._begin() as cursor:
            if not cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (self._owner,)).fetchone():
                reason = f"the schema {self._schema} is not set up on this server, asked as {self._connections.whose}"
                raise BackendError(NAME, reason, action=INIT)
            self._run(cursor, "SET LOCAL ROLE {}", self._owner)
            self._set_path(cursor)
            yield cursor

    def _check_extensions(self, cursor: Cursor) -> None:
        row = cursor.execute(
            "SELECT e.extname, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
            " WHERE e.extname = ANY (%s) AND has_schema_privilege('public', n.oid, 'CREATE')",
            (list(EXTENSIONS),),
        ).fetchone()
        if row is not None:
            raise BackendError(
                NAME,
                f"the extension {row[0]} lies in the schema {row[1]}, in which every role may make functions",
                action=f"run: REVOKE CREATE ON SCHEMA {row[1]} FROM PUBLIC",
            )

    def _set_path(self, cursor: Cursor) -> None:
        cursor.execute(
            "SELECT set_config('search_path', string_agg(DISTINCT quote_ident(name), ','), true) FROM (SELECT %s AS name"
            " UNION SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
            " WHERE e.extname = ANY (%s)) named",
            (self._schema, list(EXTENSIONS)),
        )

    def _run(self, cursor: Cursor, statement: str, *names: str) -> None:
        cursor.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def read_script(name: str) -> str:
    """Return a script of SQL; `{schema}` and `{agent}` stand for quoted names."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
