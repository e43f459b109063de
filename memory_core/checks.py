"""What may be wrong around the builtin backend, looked at for real: notes, index, vectors, provider, file events."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memory_core import files
from memory_core.errors import NotIndexed, StoreError
from memory_core.records import Finding, Probe
from memory_core.roots import watched_paths
from memory_core.settings import AgentConfig
from memory_core.store import Store
from memory_core.store.connection import Connection
from memory_core.store.vectors import VectorIndex
from memory_core.watch import Watcher

_MORE_WATCHES = "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances, or have fewer folders"


def findings(config: AgentConfig, probe: Probe) -> Iterator[Finding]:
    """One finding on each thing, one more for every warning on the configuration; writes nothing.

    Args:
        config: The agent's.
        probe: How an embedding could be had just now.
    """
    if not config.enabled:
        action = 'set plugins.slots.memory to "memory-core" and memorySearch.enabled to true'
        yield Finding(subject="config", level="warn", message="memory is off for this agent", action=action)
    for warning in config.warnings:
        yield Finding(subject="config", level="warn", message=warning)
    yield _workspace(config)
    yield _index(config.store_path)
    yield _vectors(config)
    yield _provider(probe, config.search.fallback)
    yield _events(config)


def _workspace(config: AgentConfig) -> Finding:
    if not config.workspace.is_dir():
        message = f"{config.workspace} is no folder"
        return Finding(subject="workspace", level="fail", message=message, action="make it, or set --workspace")
    listing = files.list_files(config)
    message = f"{len(listing.files)} notes in {config.workspace}"
    if listing.failures:
        first, more = listing.failures[0], len(listing.failures) - 1
        message += f", but {first.path}: {first.reason}" + (f", and {more} more" if more else "")
        return Finding(subject="workspace", level="warn", message=message, action="put right what is named")
    if not listing.files:
        return Finding(subject="workspace", level="warn", message=message, action="write MEMORY.md there")
    return Finding(subject="workspace", level="ok", message=message)


def _index(path: Path) -> Finding:
    store = Store(path, writable=False)
    try:
        with store.read() as connection:
            problem = str(connection.execute("PRAGMA quick_check(1)").get)
            indexed = int(connection.execute("SELECT count(*) FROM files WHERE hash <> x''").get)
    except NotIndexed:
        return _no_index(path)
    except StoreError as error:
        return Finding(subject="index", level="fail", message=str(error), action=error.action)
    finally:
        store.close()
    if problem != "ok":
        message, action = f"{path} is damaged: {problem}", "run: memory-core index --force"
        return Finding(subject="index", level="fail", message=message, action=action)
    message = f"{indexed} files in {path}, {path.stat().st_size / 1e6:.1f} MB"
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        message += "; it cannot be written, so it stays as it is"
        return Finding(subject="index", level="warn", message=message, action="make file and folder writable")
    return Finding(subject="index", level="ok", message=message)


def _no_index(path: Path) -> Finding:
    above = next(folder for folder in path.parents if folder.exists())
    if above.is_dir() and os.access(above, os.W_OK):
        return Finding(subject="index", level="ok", message=f"none yet; the first sync makes {path}")
    message, action = f"{path} cannot be made: {above} is not writable", "set memorySearch.store.path or --state-dir"
    return Finding(subject="index", level="fail", message=message, action=action)


def _vectors(config: AgentConfig) -> Finding:
    vector = config.search.store.vector
    connection = Connection(":memory:")
    try:
        reason = VectorIndex(vector).unavailable_reason(connection)
    finally:
        connection.close()
    if reason is None:
        return Finding(subject="vectors", level="ok", message="sqlite-vec can be loaded")
    message = f"every vector is looked at, which is slow in large indexes: {reason}"
    return Finding(subject="vectors", level="warn" if vector.enabled else "ok", message=message)


def _provider(probe: Probe, fallback: str) -> Finding:
    if not probe.ok:
        others = "" if fallback == "none" else f", and {fallback} takes over when that lasts"
        message = f"{probe.provider} makes no embeddings, so keywords answer alone{others}: {probe.error}"
        return Finding(subject="provider", level="fail", message=message, action=probe.action or "")
    if probe.provider == "none":
        return Finding(subject="provider", level="ok", message="none is configured: keywords answer alone")
    message = f"{probe.provider} {probe.model}, {probe.dimensions} dimensions, in {probe.seconds:.2f} s"
    return Finding(subject="provider", level="ok", message=message)


def _events(config: AgentConfig) -> Finding:
    if not config.search.sync.watch:
        return Finding(subject="events", level="ok", message="notes are not watched: memorySearch.sync.watch is false")
    refusals: list[str] = []
    watcher = Watcher(watched_paths(config), changed=lambda: None, refused=refusals.append)
    refused = watcher.start()
    watcher.close()
    if refused is None and not refusals:
        return Finding(subject="events", level="ok", message="notes can be watched")
    message = f"notes are looked at every few seconds instead of watched: {refused or refusals[0]}"
    return Finding(subject="events", level="warn", message=message, action=_MORE_WATCHES)
