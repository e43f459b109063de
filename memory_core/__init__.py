"""memory-core: a memory slot for AI agents that indexes and searches plain Markdown notes.

>>> import memory_core
>>> with memory_core.open_memory(workspace="~/clawd") as memory:  # doctest: +SKIP
...     memory.call_tool("memory_search", {"query": "when does the lease end?"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_core.__about__ import __version__ as __version__

if TYPE_CHECKING:
    from memory_core.config.load import load_config
    from memory_core.embeddings.protocols import EmbeddingProvider
    from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError
    from memory_core.hookspecs import BackendContext, BackendPlugin, HostHooks, MemoryBackend, hookimpl
    from memory_core.plugin.memory import Memory, open_memory
    from memory_core.records import CallContext, Hit, Probe, Progress, Query, SearchResult, Status, SyncReport

# The modules that hold the public names, the cheapest first. They are imported when such a name is first used (PEP 562), so that
# importing the package takes a few milliseconds and loads nothing heavy.
_HOMES = ("errors", "records", "hookspecs", "config.load", "plugin.memory")

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
    if name in __all__:
        from importlib import import_module

        for home in _HOMES:
            module = import_module(f"{__name__}.{home}")
            if hasattr(module, name):
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
