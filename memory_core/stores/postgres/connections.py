"""Connections to one server: few, reused, each statement within a deadline, and errors of the driver as ours."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors as refused

from memory_core.config.fields import Secret
from memory_core.errors import BackendUnavailable, StoreError, StoreFull, StoreReadOnly
from memory_core.stores.postgres import NAME, explain_grant, name_source, read_dsn
from memory_core.threads import Backoff, Cooldown, NoAnswer, start_call, wait_for

Row = tuple[Any, ...]

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# A host that falls asleep in the middle of a push lets go of the tenant after this, so that others can go on.
WRITE = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'"
# That alone does not end one that falls asleep between the parts of a message: the server does not call it idle. From this
# version on it ends every push after this time, which `renew` counts anew.
_HELD_SECONDS, _HELD_VERSION = 30, 170000
# After a server that did not answer: nobody waits for it again before this pause is over.
PAUSE = Backoff(first_seconds=2.0, longest_seconds=30.0)
INIT = "run: memory-core postgres init"
# The share of its time after which the server cancels a statement, which is no outage, before the client gives it up, which is.
SERVER_SHARE = 0.85
# How long a call waits for a thread that it begins, to try the server again after an outage; one that is well answers sooner.
TRIAL_SECONDS = 0.025
CONNECT_SECONDS = 10  # that this thread tries to connect
_REPLICA = (
    "this server takes no writes, as a replica: name the primary, too, and target_session_attrs=read-write, in the DSN"
)
_NO_DATABASE = re.compile(r'database "([^"]{1,63})" does not exist')


class TimedConnection(psycopg.Connection[Row]):
    """A connection on which each wait for the server ends after `limit_seconds`."""

    limit_seconds: float | None = None

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server; see `psycopg.Connection.wait`."""
        return super().wait(gen, interval, self.limit_seconds if timeout is None else timeout)


class Connections:
    """The connections of one process to one schema. Making one connects to nothing; used from several threads.

    Args:
        dsn: Leads to where the server is, see `read_dsn`; followed for each new connection, so that a corrected one holds.
        schema: The schema of memory-core there.
        limit_seconds: How long one statement may take; None for an operator's, which may take long.
        most: Connections at a time.
        tenant: The agent's own, as messages name it.
        setting: Where the DSN was found, as messages name it.
    """

    def __init__(
        self, dsn: Secret | None, *, schema: str, limit_seconds: float | None, most: int, tenant: str = "TENANT",
        setting: str = f"memory.{NAME}.dsn",
    ) -> None:  # fmt: skip
        self._setting = dsn
        self._dsn = Secret("")  # as it was read last
        self._schema = schema
        self._limit = limit_seconds
        self.path = Path(f"{NAME}:{schema}")  # as messages name it
        self._tenant = tenant
        self._source = name_source(dsn, setting)
        self._role, self._host, self._lacks_usage = "ROLE", "", False  # as the last connection has it
        self._places = threading.BoundedSemaphore(most)
        self._most = most
        self._lock = threading.Lock()
        self._idle: list[TimedConnection] = []
        self._process = os.getpid()
        self._pause = Cooldown(PAUSE)
        self._reason = ""  # of an outage that nothing has ended yet
        self._trial: Future[TimedConnection] | None = None

    @contextlib.contextmanager
    def transaction(self, begin: str) -> Iterator[psycopg.Cursor[Row]]:
        """Yield a cursor inside a transaction: committed after the block, rolled back by any error.

        Raises:
            BackendUnavailable: The server cannot be reached, or does not answer in time.
            StoreReadOnly, StoreFull, StoreError: It refuses.
        """
        with self._take_place():
            connection = self._begin(begin)
            try:
                with connection.cursor(binary=True) as cursor:
                    yield cursor
                connection.execute("COMMIT")
            except BaseException:
                self._roll_back(connection)
                raise
            self._put_back(connection)

    @property
    def whose(self) -> str:
        """The role and the host of the last connection, and where its DSN was found."""
        return f"the role {self._role!r} at {self._host}, by {self._source}"

    def close(self) -> None:
        """Close all idle connections; may be called twice."""
        with self._lock:
            idle, self._idle = self._idle, []
            trial, self._trial = self._trial, None
        for connection in idle:
            connection.close()
        if trial is not None:
            trial.add_done_callback(_close_late)

    @contextlib.contextmanager
    def _take_place(self) -> Iterator[None]:
        self._renew_after_fork()
        self._end_outage()
        if not self._places.acquire(timeout=self._limit or 60.0):
            raise BackendUnavailable(
                NAME, "all connections of the pool are in use", action="raise memory.postgres.pool"
            )
        try:
            with self._translate():
                yield
        finally:
            self._places.release()

    def _end_outage(self) -> None:
        """After an outage's pause, try the server in a thread: while it is out or hung, that costs a call next to nothing.

        Raises:
            BackendUnavailable: It is still out, or the trial is under way.
        """
        if self._pause.left_seconds > 0:
            raise BackendUnavailable(NAME, self._reason, action=self._explain_outage(self._reason))
        with self._lock:
            if not self._reason:
                return
            # Who begins a trial waits for it a little. The sync and the search of one call ask in turn: the second only looks.
            wait_seconds = 0.0
            if self._trial is None:
                self._trial, wait_seconds = start_call(self._open, name=f"memory-{NAME}-trial"), TRIAL_SECONDS
            trial = self._trial
        with self._translate():
            try:
                connection = wait_for(trial, wait_seconds)
            except NoAnswer:
                raise BackendUnavailable(NAME, self._reason, action=self._explain_outage(self._reason)) from None
            except Exception:
                with self._lock:
                    is_told = self._trial is not trial
                    self._trial = None
                if is_told:
                    raise BackendUnavailable(NAME, self._reason, action=self._explain_outage(self._reason)) from None
                raise
        with self._lock:
            if self._trial is trial:
                self._trial, self._reason = None, ""
                self._idle.append(connection)
        self._pause.record_success()

    def _renew_after_fork(self) -> None:
        if self._process != os.getpid():  # the parent's connections are the parent's: they are left open, and unused
            self._process, self._lock, self._idle, self._trial = os.getpid(), threading.Lock(), [], None
            self._places = threading.BoundedSemaphore(self._most)

    def _begin(self, begin: str) -> TimedConnection:
        """Return a connection inside a transaction."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = self._connect()
                self._start(connection, begin)
                return connection
            try:
                self._start(connection, begin)
            except psycopg.OperationalError as error:
                connection.close()  # the server was restarted since
                if isinstance(error, refused._WaitTimeout):
                    raise
            else:
                return connection

    def _start(self, connection: TimedConnection, begin: str) -> None:
        bounded = begin != READ and self._limit is not None and connection.info.server_version >= _HELD_VERSION
        connection.execute(f"{begin}{_write_bound() if bounded else ''}".encode())

    def _connect(self) -> TimedConnection:
        waiting = start_call(self._open, name=f"memory-{NAME}-connect")
        try:
            return wait_for(waiting, self._limit)
        except NoAnswer:
            waiting.add_done_callback(_close_late)
            raise

    def _open(self) -> TimedConnection:
        milliseconds = 0 if self._limit is None else int(self._limit * SERVER_SHARE * 1000)
        options = f"-c statement_timeout={milliseconds} -c plan_cache_mode=force_custom_plan -c client_encoding=UTF8"
        self._dsn = dsn = read_dsn(self._setting)
        check_dsn(dsn.reveal())
        connection = TimedConnection.connect(
            dsn.reveal(), autocommit=True, options=options, application_name="memory-core",
            connect_timeout=CONNECT_SECONDS,
        )  # fmt: skip
        connection.limit_seconds = self._limit
        # Names are looked up in our schema and in that of pgvector, nowhere else: others may not put theirs before ours.
        row = connection.execute(
            "SELECT set_config('search_path', quote_ident(%s) || coalesce((SELECT ',' || quote_ident(n.nspname)"
            " FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'), ''), false),"
            " EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = %s AND NOT has_schema_privilege(oid, 'USAGE'))",
            (self._schema, self._schema),
        ).fetchone()
        self._role, self._host, self._lacks_usage = connection.info.user, connection.info.host, bool(row and row[1])
        return connection

    def _roll_back(self, connection: TimedConnection) -> None:
        try:
            status = connection.info.transaction_status
            if connection.closed or status == psycopg.pq.TransactionStatus.ACTIVE:
                connection.close()
                return
            if status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
            return
        self._put_back(connection)

    def _put_back(self, connection: TimedConnection) -> None:
        with self._lock:
            if not connection.closed:
                self._idle.append(connection)

    @contextlib.contextmanager
    def _translate(self) -> Iterator[None]:
        # From None: the driver's own text may quote the connection string.
        try:
            yield
        except (refused._WaitTimeout, NoAnswer):
            raise self._record_outage(f"the server does not answer within {self._limit:g} s") from None
        except refused.QueryCanceled:
            raise BackendUnavailable(
                NAME, f"a statement took longer than {(self._limit or 0) * SERVER_SHARE:g} s"
            ) from None
        except refused.InsufficientPrivilege as error:
            raise StoreReadOnly(self.path, self._quote(error), action=explain_grant(self._role, self._tenant)) from None
        except refused.ReadOnlySqlTransaction as error:
            raise StoreReadOnly(self.path, self._quote(error), action=_REPLICA) from None
        except (
            refused.UndefinedTable, refused.UndefinedColumn, refused.UndefinedFunction, refused.InvalidSchemaName,
        ) as error:  # fmt: skip
            if self._lacks_usage:
                reason = f"the role {self._role!r} was granted no tenant in the schema {self._schema}"
                raise BackendUnavailable(NAME, reason, action=explain_grant(self._role, self._tenant)) from None
            reason = f"{self._schema} is not set up for this version: {self._quote(error)}"
            raise BackendUnavailable(NAME, reason, action=INIT) from None
        except refused.DiskFull:
            raise StoreFull(self.path, "the server has no space left") from None
        except (
            refused.LockNotAvailable,
            refused.TransactionRollback,
            refused.IdleInTransactionSessionTimeout,
            refused.TransactionTimeout,
        ) as error:
            # The server is well.
            raise StoreError(self.path, self._quote(error)) from None
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise self._record_outage(self._quote(error)) from None
        except psycopg.Error as error:
            raise StoreError(self.path, self._quote(error)) from None

    def _record_outage(self, reason: str) -> BackendUnavailable:
        self._reason = reason or "it does not answer"
        self._pause.record_failure()
        self.close()
        return BackendUnavailable(NAME, reason, action=self._explain_outage(reason))

    def _explain_outage(self, reason: str) -> str:
        if found := _NO_DATABASE.search(reason):
            return f"make it: createdb {found[1]}; or correct the DSN, that of {self._source}"
        return f"check the server and the DSN, that of {self._source}"

    def _quote(self, error: psycopg.Error) -> str:
        """Return the first line of an error, without the password."""
        text = (error.diag.message_primary or str(error)).strip().split("\n")[0]
        return redact(text, self._dsn.reveal())


def renew(cursor: psycopg.Cursor[Row]) -> None:
    """Give a push that goes on its whole time again. Nothing is done where the server bounds none."""
    if cursor.connection.info.server_version >= _HELD_VERSION:
        cursor.connection.execute(_write_bound().lstrip("; ").encode())


def _write_bound() -> str:
    # Zero first: a bound that counts already is not begun anew.
    return f"; SET LOCAL transaction_timeout = 0; SET LOCAL transaction_timeout = '{_HELD_SECONDS}s'"


def _close_late(waiting: Future[TimedConnection]) -> None:
    if waiting.exception() is None:
        waiting.result().close()


_URI = re.compile(r"(?<![a-z])[a-z]+://", re.IGNORECASE)
_WRITE = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
# What is no connection string at all, and what it is instead.
_MISTAKES = (
    (
        re.compile(r"[\r\n][ \t]{0,9}\w{1,20}(?:=['\"]?postgres(?:ql)?)?://"),
        "the DSN has more than one line",
        "leave one line there, the connection string alone",
    ),
    (
        re.compile(r"^(?:export )?\w{1,99}=['\"]?postgres(?:ql)?://"),
        "the DSN begins with the name of a variable",
        _WRITE,
    ),
    (re.compile(r"^(?!postgres(?:ql)?://)\w{1,20}://"), "the DSN does not begin with postgresql://", _WRITE),
)
_PARAMETER = re.compile(r'invalid URI query parameter: "\w{1,40}"')
_ENCODE = "write @ as %40, / as %2F, # as %23 and % as %25 in a password, or use host=... user=... password='...'"


def check_dsn(text: str) -> None:
    """Make sure that the driver reads a connection string as it was meant.

    Raises:
        BackendUnavailable: It does not; quotes nothing of it.
    """
    if start := _URI.match(text):
        address = text[start.end() :].split("?", 1)[0]
        authority = address.split("/", 1)[0]
        if address.count("@") > 1:
            raise BackendUnavailable(NAME, "the DSN has more than one @ before its parameters", action=_ENCODE)
        if ("@" in address and "@" not in authority) or "#" in authority:
            raise BackendUnavailable(NAME, "the DSN has a / or a # in its password", action=_ENCODE)
    for pattern, reason, action in _MISTAKES:
        if pattern.search(text):
            raise BackendUnavailable(NAME, reason, action=action)
    try:
        held = psycopg.conninfo.conninfo_to_dict(text)
    except psycopg.ProgrammingError as error:  # quotes the string
        found = _PARAMETER.search(str(error))
        address, _, parameters = text.partition("?")
        has_password = "@" in address or ":" not in address.partition("://")[2]  # before the parameters, if at all
        if found and has_password and "@" not in parameters:
            raise BackendUnavailable(NAME, f"the DSN cannot be read: {found[0]}", action=_WRITE) from None
        raise BackendUnavailable(NAME, "the DSN cannot be read: it is no connection string", action=_ENCODE) from None
    ports = str(held.get("port") or "").split(",")
    if not all(port == "" or port.isdecimal() for port in ports):
        raise BackendUnavailable(NAME, "the port in the DSN is no number", action=_WRITE)


def redact(message: str, dsn: str) -> str:
    """Return a message without the password of a connection string, and without those of URIs in it."""
    with contextlib.suppress(psycopg.Error):
        password = psycopg.conninfo.conninfo_to_dict(dsn).get("password")
        if password:
            message = message.replace(str(password), "***")
    if start := _URI.match(dsn):
        before, at, _ = dsn[start.end() :].rpartition("@")
        _, colon, password = before.partition(":")
        if at and colon and password:
            message = message.replace(password, "***")
    return re.sub(r"(://[^\s:/@]*):\S*@", r"\1:***@", message)
