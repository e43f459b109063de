"""The status of a backend, read from its index without a model; and the doctor of builtin, which tries all that it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from memory_core.backends.syncing import refuse_other_workspace
from memory_core.config.agent import AgentConfig, explain_off
from memory_core.config.settings import BUILTIN
from memory_core.embeddings.outage import explain_fallback, fingerprint_settings, may_fall_back
from memory_core.embeddings.registry import choose_provider
from memory_core.errors import NotIndexed, OtherWorkspace, StoreError
from memory_core.history.history import History
from memory_core.records import FileFailure, Finding, KeySources, Probe, Status
from memory_core.sources import files
from memory_core.sources.roots import MAKE_IT, explain_no_workspace
from memory_core.stores.sqlite.encoding import find_problem
from memory_core.stores.sqlite.upkeep import IndexDatabase, Integrity
from memory_core.stores.values import IndexSummary
from memory_core.sync.watcher import Watcher


def report_status(
    name: str,
    config: AgentConfig,
    store: Path | None,
    summarise: Callable[[], IndexSummary],
    keys: KeySources,
    *,
    writable: bool,
) -> Status:
    """Report counts and states of one index.

    Args:
        name: The backend's.
        config: The agent's.
        store: The index file; None if it is no file.
        summarise: Summarises the index; raises NotIndexed where there is none.
        keys: The sources of keys for remote providers.
        writable: This session may write the index.

    Raises:
        StoreError: The index exists but cannot be used.
    """
    choice = choose_provider(config, keys)
    blank = Status(
        backend=name, agent=config.agent, workspace=config.workspace, store=store,
        provider=choice.provider, model=choice.model,
        warnings=(*config.warnings, *([choice.missing] if choice.missing else [])),
        vector_reason=None if choice.provider == "none" else "there are no embeddings yet",
        details={"provider reason": choice.reason, "access": "rw" if writable else "ro"},
    )  # fmt: skip
    try:
        summary = summarise()
        if summary.files:
            refuse_other_workspace(config, summary.workspace)
    except OtherWorkspace as error:
        return replace(blank, warnings=(*blank.warnings, f"{error}; {error.action}"))
    except NotIndexed:
        return blank
    return _add_outage(_fill(blank, config, summary), config, summary)


def _fill(blank: Status, config: AgentConfig, summary: IndexSummary) -> Status:
    """Add what the index holds."""
    serving, wants_vectors = summary.serving, blank.provider != "none"
    moving = serving is not None and (serving.provider != blank.provider or summary.is_moving)
    details = dict(blank.details)
    if serving is not None and moving:
        details["serving"] = f"{serving.provider} {serving.model}"
    warnings, target = blank.warnings, summary.target
    if serving and target and serving.dimensions and serving == replace(target, dimensions=serving.dimensions):
        warnings = (*warnings, serving.explain_change(target.dimensions))
    if summary.pending_reason is not None and summary.pending and wants_vectors:
        details["pending because"] = summary.pending_reason
    if summary.refused and wants_vectors:
        shown = ", ".join(summary.refused[:REFUSED_SHOWN])
        more = len(summary.refused) - REFUSED_SHOWN
        details["refused by the provider"] = f"a text of {shown}" + (f" and {more} more" if more > 0 else "")
    listing = files.list_files(config)
    failures = {failure.path: failure for failure in (*listing.failures, *summary.failures)}
    return replace(
        blank,
        details=details,
        warnings=warnings,
        indexed=True,
        store_bytes=summary.store_bytes,
        files=sum(summary.files.values()),
        chunks=summary.chunks,
        embeddings=summary.embeddings,
        pending=summary.pending if wants_vectors else 0,
        sources=summary.files,
        dirty=_has_changed(listing, summary),
        model=serving.model if serving is not None and not moving else blank.model,
        vector=summary.vector if wants_vectors else "off",
        vector_reason=summary.vector_reason if wants_vectors else None,
        failures=tuple(failures.values()),
        last_sync=summary.last_sync,
    )


def _add_outage(status: Status, config: AgentConfig, summary: IndexSummary) -> Status:
    """Add the outage of the configured provider, if one is known, and the provider that serves in its place."""
    outage, serving = summary.outage, summary.serving
    if outage is not None and outage.settings != fingerprint_settings(status.provider, config):
        outage = None
    details = status.details if outage is None else {**status.details, "provider out": outage.description}
    if (
        serving is None
        or serving.provider != config.search.fallback
        or not may_fall_back(status.provider, config.search)
    ):
        return replace(status, details=details)
    fallback = explain_fallback(outage, status.provider, config.search)
    details = {name: value for name, value in details.items() if name != "serving"}  # it is the status's provider now
    return replace(status, provider=serving.provider, model=serving.model, fallback=fallback, details=details)


def _has_changed(listing: files.Listing, summary: IndexSummary) -> bool:
    """Return True if any note differs from what was indexed, by its stamp; of one left out, if it has changed since."""
    left_out = {failure.path for failure in summary.failures}
    synced_ns = (summary.last_sync or 0.0) * 1e9
    seen = {
        (file.source, file.path): file.stamp
        for file in listing.files
        if file.path not in left_out or max(file.stamp.mtime_ns, file.stamp.ctime_ns) > synced_ns
    }
    return summary.stamps != seen


REFUSED_SHOWN = 5  # notes with a text that the provider refuses
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
    index, chosen = _check_index(config), config.memory.backend
    takes_over = "" if chosen == BUILTIN else f"of {BUILTIN}, which takes over while {chosen} fails: "
    yield replace(index, message=takes_over + index.message)
    with closing(History(config, writable=False)) as history:
        for problem, action in history.list_problems():
            yield Finding(subject="history", level="warn", message=problem, action=action)
    yield _check_vectors(config)
    yield _judge_provider(probe, config.search.fallback)
    yield _check_events(config)


def _check_workspace(config: AgentConfig) -> Finding:
    if problem := explain_no_workspace(config):
        return Finding(subject="workspace", level="fail", message=problem, action=MAKE_IT)
    listing = files.list_files(config)
    message = f"{len(listing.files)} {'note' if len(listing.files) == 1 else 'notes'} in {config.workspace}"
    if listing.failures:
        message += f", but {_name_first(listing.failures)}"
        return Finding(subject="workspace", level="warn", message=message, action="correct what the message names")
    if not listing.files:
        return Finding(subject="workspace", level="warn", message=message, action="write one: memory-core add TEXT")
    return Finding(subject="workspace", level="ok", message=message)


def _name_first(failures: Sequence[FileFailure]) -> str:
    first, more = failures[0], len(failures) - 1
    return f"{first.path}: {first.reason}" + (f", and {more} more" if more else "")


def _check_index(config: AgentConfig) -> Finding:
    path = config.store_path
    try:
        with closing(IndexDatabase(path, writable=False)) as database:
            check = database.verify()
        if check.files and check.problem is None:
            refuse_other_workspace(config, check.workspace)
    except OtherWorkspace as error:
        return Finding(subject="index", level="warn", message=str(error), action=error.action)
    except NotIndexed:
        return _explain_no_index(path)
    except StoreError as error:
        return Finding(subject="index", level="fail", message=str(error), action=error.action)
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
        message += f"; it lacks {_name_first(check.failures)}"
        action = "correct or remove what `memory-core status` names as left out"
        return Finding(subject="index", level="warn", message=message, action=action)
    return Finding(subject="index", level="ok", message=message)


def _explain_no_index(path: Path) -> Finding:
    above = next(folder for folder in path.parents if folder.exists())
    if above.is_dir() and os.access(above, os.W_OK):
        return Finding(subject="index", level="ok", message=f"none yet; the first sync makes {path}")
    message, action = f"{path} cannot be made: {above} is not writable", "set memorySearch.store.path or --state-dir"
    return Finding(subject="index", level="fail", message=message, action=action)


def _check_vectors(config: AgentConfig) -> Finding:
    vector = config.search.store.vector
    reason = find_problem(vector)
    if reason is None:
        return Finding(subject="vectors", level="ok", message="sqlite-vec can be loaded")
    slow = "Python compares vectors, which takes several times as long"
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
