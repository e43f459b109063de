"""The entry point: offers the backend "qmd"; imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_core.hookspecs import BackendContext, BackendPlugin, MemoryBackend
from memory_core.settings import Scope

if TYPE_CHECKING:
    from memory_core.files import Listing


def open_backend(context: BackendContext) -> MemoryBackend:
    """The QMD backend of one agent; starts nothing."""
    from memory_qmd.backend import QmdBackend

    return QmdBackend(context)


def settings() -> type[Any]:
    """The model of the section `memory.qmd`."""
    from memory_qmd.config import QmdConfig

    return QmdConfig


def scope(section: Any) -> Scope:
    """In which chats QMD may be asked: `memory.qmd.scope`."""
    found: Scope = section.scope
    return found


def extra_files(context: BackendContext) -> Listing:
    """The files besides the agent's own memory (`memory.qmd.paths`, exported sessions), under the paths that hits show.

    For whoever answers in QMD's place, and is to find the same notes under the same names.
    """
    from memory_qmd.collections import Collections
    from memory_qmd.config import QmdConfig
    from memory_qmd.home import QmdHome

    section = context.settings if isinstance(context.settings, QmdConfig) else QmdConfig()
    return Collections(context.config, section, QmdHome.of(context.config)).outside()


# No timeout by the caller: every child has its own deadline and is killed at it.
PLUGIN = BackendPlugin(
    open=open_backend, settings=settings, scope=scope, timeout_seconds=None, sync_timeout_seconds=None
)
