"""The backend "qmd": drives the QMD command line (npm `@tobilu/qmd`) as a child process.

It joins memory_core like any backend, by the entry point that names `PLUGIN`; memory_core does not know it. Importing this
package loads nothing heavy.

    backend -> updates -> indexing -> client -> process, home
            -> search -> client, warm_server -> queries
            -> hits -> collections, queries, database
"""

from __future__ import annotations

from typing import Any

from memory_core.config.agent import NamedFolder
from memory_core.hookspecs import BackendContext, BackendPlugin, MemoryBackend
from memory_core.records import Finding


def open_backend(context: BackendContext) -> MemoryBackend:
    """Make the QMD backend of one agent; starts nothing."""
    from memory_qmd.backend import QmdBackend

    return QmdBackend(context)


def settings() -> type[Any]:
    """Return the model of the section `memory.qmd`."""
    from memory_qmd.config import QmdConfig

    return QmdConfig


def folders(context: BackendContext) -> tuple[NamedFolder, ...]:
    """List `memory.qmd.paths` and the exported sessions, under the names that hits show."""
    from memory_qmd.collections import Collections
    from memory_qmd.home import QmdHome

    return Collections(context.config, context.settings, QmdHome.of(context.config)).folders


def diagnose(context: BackendContext) -> list[Finding]:
    """Check everything that QMD needs."""
    from memory_qmd import doctor

    return doctor.diagnose(context)


# Callers need no timeout: every child has a deadline of its own, at which it is killed.
PLUGIN = BackendPlugin(
    open=open_backend,
    settings=settings,
    scope=lambda section: section.scope,
    folders=folders,
    diagnose=diagnose,
    timeout_seconds=None,
    search_seconds=lambda section: section.limits.timeout_ms / 1000,
    sync_timeout_seconds=None,
)
