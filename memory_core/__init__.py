"""memory-core: a memory slot for AI agents that indexes and searches plain Markdown notes.

>>> import memory_core
>>> with memory_core.open_memory(workspace="~/clawd") as memory:  # doctest: +SKIP
...     memory.call_tool("memory_search", {"query": "when does the lease end?"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_core.__about__ import __version__ as __version__

if TYPE_CHECKING:
    from memory_core.config import load_config
    from memory_core.embeddings.protocols import EmbeddingProvider
    from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError
    from memory_core.hookspecs import BackendContext, BackendPlugin, HostHooks, MemoryBackend, hookimpl
    from memory_core.plugin.memory import Memory, open_memory
    from memory_core.records import CallContext, Hit, Probe, Progress, Query, SearchResult, Status, SyncReport

# The module of each public name. It is imported when the name is first used (PEP 562), so that importing the package takes
# a few milliseconds and loads nothing heavy.
_HOMES = {
    "BackendContext": "hookspecs",
    "BackendPlugin": "hookspecs",
    "CallContext": "records",
    "ConfigError": "errors",
    "EmbeddingProvider": "embeddings.protocols",
    "Hit": "records",
    "HostHooks": "hookspecs",
    "InvalidArgument": "errors",
    "Memory": "plugin.memory",
    "MemoryBackend": "hookspecs",
    "MemoryCoreError": "errors",
    "Probe": "records",
    "Progress": "records",
    "Query": "records",
    "SearchResult": "records",
    "Status": "records",
    "SyncReport": "records",
    "hookimpl": "hookspecs",
    "load_config": "config",
    "open_memory": "plugin.memory",
}

__all__ = [
    "BackendContext",
    "BackendPlugin",
    "CallContext",
    "ConfigError",
    "EmbeddingProvider",
    "Hit",
    "HostHooks",
    "InvalidArgument",
    "Memory",
    "MemoryBackend",
    "MemoryCoreError",
    "Probe",
    "Progress",
    "Query",
    "SearchResult",
    "Status",
    "SyncReport",
    "hookimpl",
    "load_config",
    "open_memory",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
