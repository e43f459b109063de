"""memory-core: a memory slot for agents. Markdown notes are the truth; this finds them again.

>>> import memory_core
>>> with memory_core.open_memory(workspace="~/clawd") as memory:  # doctest: +SKIP
...     memory.call_tool("memory_search", {"query": "when does the lease end?"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_core.config import load_config
    from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError
    from memory_core.hookspecs import BackendContext, BackendPlugin, EmbeddingProvider, MemoryBackend, hookimpl
    from memory_core.memory import Memory, open_memory
    from memory_core.records import CallContext, Hit, Probe, Progress, Query, SearchResult, Status, SyncReport

__version__ = "0.1.0"

# Where each public name lives; modules are imported when a name is first used (PEP 562), so that importing the package
# costs a few milliseconds and loads nothing heavy.
_HOMES = {
    "BackendContext": "hookspecs",
    "BackendPlugin": "hookspecs",
    "CallContext": "records",
    "ConfigError": "errors",
    "EmbeddingProvider": "hookspecs",
    "Hit": "records",
    "InvalidArgument": "errors",
    "Memory": "memory",
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
    "open_memory": "memory",
}

__all__ = [
    "BackendContext",
    "BackendPlugin",
    "CallContext",
    "ConfigError",
    "EmbeddingProvider",
    "Hit",
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
