"""The builtin backend: an index file of SQLite behind the hooks."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace

from memory_core.backends.engine import IndexBackend
from memory_core.backends.past import HistoryRecorder, IndexStates
from memory_core.config.settings import BUILTIN
from memory_core.history.history import History
from memory_core.hookspecs import BackendContext, BackendPlugin, hookimpl
from memory_core.records import Finding, Status
from memory_core.stores.sqlite.store import SqliteStore
from memory_core.stores.sqlite.vectors import VectorIndex
from memory_core.threads import Clock


class BuiltinBackend(IndexBackend):
    """Implements `MemoryBackend` on one SQLite file. The constructor opens nothing.

    Args:
        context: Whose memory.
        clock: Unix seconds, by which outages of the provider are measured.
    """

    def __init__(self, context: BackendContext, *, clock: Clock = time.time) -> None:
        config = context.config
        store = SqliteStore(
            config.store_path,
            writable=context.access == "rw",
            vectors=VectorIndex(config.search.store.vector),
            in_own_folder=config.has_own_store,
            timezone=config.search.time_zone,
        )
        history = History(config, writable=store.writable)
        super().__init__(
            BUILTIN,
            context,
            store,
            recorder=HistoryRecorder(store, history),
            past=IndexStates(config, store, history),
            file=config.store_path,
            others=[BuiltinBackend(replace(context, config=layer), clock=clock) for layer in config.layers],
            clock=clock,
        )

    @hookimpl
    def memory_status(self) -> Status:
        """Report counts and states of the index, and what is wrong with the history."""
        status = super().memory_status()
        with closing(History(self._config, writable=False)) as history:
            told = [f"{problem}; {action}".rstrip("; ") for problem, action in history.list_problems()]
        return replace(status, warnings=(*status.warnings, *told)) if told else status


def diagnose(context: BackendContext) -> list[Finding]:
    """Check all that an answer needs; opens the provider, writes nothing."""
    from memory_core.backends import doctor

    backend = BuiltinBackend(context)
    try:
        return list(doctor.examine(context.config, backend.memory_probe()))
    finally:
        backend.memory_close()


PLUGIN = BackendPlugin(open=BuiltinBackend, diagnose=diagnose, timeout_seconds=None)
