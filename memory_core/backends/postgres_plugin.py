"""The entry point, which offers the backend "postgres"; imports nothing heavy, and psycopg only when it is opened."""

from __future__ import annotations

from importlib import util
from typing import Any

from memory_core.errors import BackendUnavailable
from memory_core.hookspecs import BackendContext, BackendPlugin, MemoryBackend
from memory_core.records import Finding
from memory_core.stores.postgres.settings import NAME, PostgresConfig

ANSWER_SECONDS = 2.5  # of a search besides its statements: for a sync before it, and the question's embedding


def check_driver() -> None:
    """Make sure that psycopg is installed.

    Raises:
        BackendUnavailable: It is not.
    """
    if util.find_spec("psycopg") is None:
        raise BackendUnavailable(NAME, "psycopg is not installed", action="run: pip install 'memory-core-py[postgres]'")


def open_backend(context: BackendContext) -> MemoryBackend:
    """Make the backend of one agent; connects to nothing.

    Raises:
        BackendUnavailable: psycopg is not installed.
    """
    check_driver()
    from memory_core.backends.postgres import PostgresBackend

    return PostgresBackend(context)


def read_settings() -> type[Any]:
    """Return the model of the section `memory.postgres`."""
    return PostgresConfig


def read_search_seconds(section: Any) -> float:
    """Return the seconds that one search may take."""
    return float(section.statement_seconds) + ANSWER_SECONDS


def diagnose(context: BackendContext) -> list[Finding]:
    """Check the driver, the server, the schema, and what this role may do."""
    try:
        check_driver()
    except BackendUnavailable as error:
        return [Finding(subject="driver", level="fail", message=error.reason, action=error.action)]
    from memory_core.backends.postgres_doctor import examine

    return examine(context)


# Callers need no timeout: every statement has a deadline of its own.
PLUGIN = BackendPlugin(
    open=open_backend,
    settings=read_settings,
    diagnose=diagnose,
    timeout_seconds=None,
    search_seconds=read_search_seconds,
    sync_timeout_seconds=None,
)
