"""Checks of all that the builtin backend needs, tried for real: notes, index, vectors, provider, file events."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from memory_core.backends.ownership import refuse_other_workspace
from memory_core.config.agent import AgentConfig
from memory_core.config.switch import explain_off
from memory_core.errors import NotIndexed, OtherWorkspace, StoreError
from memory_core.history.history import History
from memory_core.records import Finding, Probe
from memory_core.sources import files
from memory_core.stores.sqlite.counts import Integrity, verify
from memory_core.stores.sqlite.store import Store
from memory_core.stores.sqlite.vectors import find_vec0_problem
from memory_core.sync.watcher import Watcher

_MORE_WATCHES = "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances, or have fewer folders"


def examine(config: AgentConfig, probe: Probe) -> Iterator[Finding]:
    """Yield a finding on each thing, and one for every warning on the configuration; nothing is written.

    Args:
        config: The agent's.
        probe: The result of embedding a word just now.
    """
    if not config.enabled:
        off = explain_off(config)
        action = off.action if off else ""
        yield Finding(subject="config", level="warn", message="memory is off for this agent", action=action)
    for warning in config.warnings:
        yield Finding(subject="config", level="warn", message=warning, action="correct that in the configuration")
    yield _check_workspace(config)
    yield _check_index(config)
    yield from _check_history(config)
    yield _check_vectors(config)
    yield _judge_provider(probe, config.search.fallback)
    yield _check_events(config)


def _check_workspace(config: AgentConfig) -> Finding:
    if not config.workspace.is_dir():
        message = f"{config.workspace} is not a folder"
        return Finding(subject="workspace", level="fail", message=message, action="create it, or set --workspace")
    listing = files.list_files(config)
    message = f"{len(listing.files)} notes in {config.workspace}"
    if listing.failures:
        first, more = listing.failures[0], len(listing.failures) - 1
        message += f", but {first.path}: {first.reason}" + (f", and {more} more" if more else "")
        return Finding(subject="workspace", level="warn", message=message, action="correct what the message names")
    if not listing.files:
        return Finding(subject="workspace", level="warn", message=message, action="write MEMORY.md there")
    return Finding(subject="workspace", level="ok", message=message)


def _check_index(config: AgentConfig) -> Finding:
    path = config.store_path
    store = Store(path, writable=False)
    try:
        check = verify(store)
        if check.files and check.problem is None:
            refuse_other_workspace(config, check.workspace)
    except OtherWorkspace as error:
        return Finding(subject="index", level="warn", message=str(error), action=error.action)
    except NotIndexed:
        return _explain_no_index(path)
    except StoreError as error:
        return Finding(subject="index", level="fail", message=str(error), action=error.action)
    finally:
        store.close()
    if check.problem is not None:
        message, action = f"{path} is damaged: {check.problem}", "run: memory-core index"
        return Finding(subject="index", level="fail", message=message, action=action)
    return _judge_content(path, check)


def _judge_content(path: Path, check: Integrity) -> Finding:
    """Return the finding on an index that is sound."""
    message = f"{check.files} files in {path}, {path.stat().st_size / 1e6:.1f} MB"
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        message += "; it cannot be written, so changed notes are not indexed"
        return Finding(subject="index", level="warn", message=message, action="make the file and its folder writable")
    if check.failures:
        first, more = check.failures[0], len(check.failures) - 1
        message += f"; it lacks {first.path}: {first.reason}" + (f", and {more} more" if more else "")
        action = "correct or remove what `memory-core status` names as left out"
        return Finding(subject="index", level="warn", message=message, action=action)
    return Finding(subject="index", level="ok", message=message)


def _check_history(config: AgentConfig) -> Iterator[Finding]:
    with closing(History(config, writable=False)) as history:
        for problem, action in history.list_problems():
            yield Finding(subject="history", level="warn", message=problem, action=action)


def _explain_no_index(path: Path) -> Finding:
    above = next(folder for folder in path.parents if folder.exists())
    if above.is_dir() and os.access(above, os.W_OK):
        return Finding(subject="index", level="ok", message=f"none yet; the first sync makes {path}")
    message, action = f"{path} cannot be made: {above} is not writable", "set memorySearch.store.path or --state-dir"
    return Finding(subject="index", level="fail", message=message, action=action)


def _check_vectors(config: AgentConfig) -> Finding:
    vector = config.search.store.vector
    reason = find_vec0_problem(vector)
    if reason is None:
        return Finding(subject="vectors", level="ok", message="sqlite-vec can be loaded")
    slow = "a search compares all vectors, which is slow in large indexes"
    if not vector.enabled:
        return Finding(subject="vectors", level="ok", message=f"{slow}: {reason}")
    why, _, action = reason.rpartition(": ")
    return Finding(subject="vectors", level="warn", message=f"{slow}: {why}", action=action)


def _judge_provider(probe: Probe, fallback: str) -> Finding:
    if not probe.ok:
        others = "" if fallback == "none" else f"; {fallback} takes over if that lasts"
        until = "until it does, keywords answer, with the embeddings of an earlier provider if the index has them"
        why = (probe.error or "").removeprefix(f"{probe.provider}: ")
        message = f"{probe.provider} makes no embeddings; {until}{others}: {why}"
        return Finding(subject="provider", level="fail", message=message, action=probe.action or "")
    if probe.provider == "none":
        return Finding(subject="provider", level="ok", message="none is configured: keywords answer alone")
    message = f"{probe.provider} {probe.model}, {probe.dimensions} dimensions, in {probe.seconds:.2f} s"
    if probe.warning:
        message += f", but {probe.warning}"
        return Finding(subject="provider", level="warn", message=message, action=probe.action or "")
    return Finding(subject="provider", level="ok", message=message)


def _check_events(config: AgentConfig) -> Finding:
    if not config.search.sync.watch:
        return Finding(subject="events", level="ok", message="notes are not watched: memorySearch.sync.watch is false")
    watcher = Watcher(config)
    watcher.watch()
    state = watcher.state
    watcher.close()
    if state == "events":
        return Finding(subject="events", level="ok", message="notes can be watched")
    message = f"notes are compared every few seconds instead of watched: {state.removeprefix('polling: ')}"
    return Finding(subject="events", level="warn", message=message, action=_MORE_WATCHES)
