"""The status of a backend, read from its index without a model; and the doctor of builtin, which tries all that it needs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from memory_core.backends.syncing import refuse_other_workspace
from memory_core.config.agent import AgentConfig, explain_off
from memory_core.config.settings import BUILTIN
from memory_core.embeddings.outage import Outage, explain_fallback, fingerprint_settings, may_fall_back
from memory_core.embeddings.registry import choose_provider
from memory_core.errors import NotIndexed, OtherWorkspace, StoreError
from memory_core.history.history import History
from memory_core.records import FileFailure, FileKey, FileStamp, Finding, KeySources, Probe, Space, Status
from memory_core.sources import files, session_logs
from memory_core.sources.roots import WHOLE, advise_workspace, explain_no_workspace
from memory_core.stores.interface import Store, SyncReader
from memory_core.stores.sqlite.encoding import find_problem
from memory_core.stores.sqlite.store import SqliteStore
from memory_core.stores.values import IndexedFile, SyncState, list_refused
from memory_core.sync.watcher import Watcher


def report_status(name: str, config: AgentConfig, store: Store, file: Path | None, keys: KeySources) -> Status:
    """Report counts and states of one index.

    Args:
        name: The backend's.
        config: The agent's.
        store: The index.
        file: Its file; None if it is no file.
        keys: The sources of keys for remote providers.

    Raises:
        StoreError: The index exists but cannot be used.
    """
    choice = choose_provider(config, keys)
    blank = Status(
        backend=name, agent=config.agent, workspace=config.workspace, store=file,
        provider=choice.provider, model=choice.model,
        warnings=(*config.warnings, *([choice.missing] if choice.missing else [])),
        vector_reason=None if choice.provider == "none" else "there are no embeddings yet",
        details={"provider reason": choice.reason, "access": "rw" if store.writable else "ro"},
    )  # fmt: skip
    try:
        with store.read() as reader:
            held, rows = reader.load_state(), reader.list_files()
            if any(row.hash for row in rows):
                refuse_other_workspace(config, held.workspace, store)
            elif held.workspace is None:
                return _add_failures(blank, config, files.survey(config))
            spaces = {number: space for space, number in reader.list_spaces().items()}
            status = _fill(blank, reader, held, rows, spaces)
    except OtherWorkspace as error:
        return replace(blank, warnings=(*blank.warnings, f"{error}; {error.action}"))
    except NotIndexed:
        return _add_failures(blank, config, files.survey(config))
    size = 0
    with suppress(OSError):  # it may go at any moment
        size = file.stat().st_size if file else 0
    found = files.survey(config)
    dirty = _has_changed(found, rows, held.last_sync)
    extra = found.count_extra({row.key for row in rows if row.hash})
    status = replace(_add_failures(status, config, found), store_bytes=size, dirty=dirty, extra=extra)
    serving = spaces[held.serving] if held.serving is not None else None
    return _add_outage(status, config, serving, Outage.from_json(held.outage))


def _add_failures(status: Status, config: AgentConfig, found: files.Survey) -> Status:
    """Add what is left out as it is found now."""
    failures = {failure.path: failure for failure in (*found.failures, *status.failures)}
    if explain_no_workspace(config):  # which whoever shows the status tells
        failures.pop(WHOLE, None)
    return replace(status, failures=tuple(failures.values()))


def _fill(
    blank: Status, reader: SyncReader, held: SyncState, rows: Sequence[IndexedFile], spaces: Mapping[int, Space]
) -> Status:
    """Add what the index holds."""
    wants_vectors = blank.provider != "none"
    serving = spaces[held.serving] if held.serving is not None else None
    target = spaces[held.target] if isinstance(held.target, int) else None
    moving = serving is not None and (serving.provider != blank.provider or held.target is not None)
    space = held.serving if held.target is None else held.target
    pending = reader.count_pending(space if isinstance(space, int) else None)  # all of a space that is not known yet
    lacking = pending if space == held.serving else reader.count_pending(held.serving)
    embedded = reader.count_windows(distinct=True) - lacking if held.serving is not None else 0
    vector, reason = reader.describe_vectors(held.serving)
    details, warnings = dict(blank.details), blank.warnings
    if serving is not None and moving:
        details["serving"] = f"{serving.provider} {serving.model}"
    if serving and target and serving.dimensions and serving == replace(target, dimensions=serving.dimensions):
        warnings = (*warnings, serving.explain_change(target.dimensions))
    if held.pending_reason is not None and pending and wants_vectors:
        details["pending because"] = held.pending_reason
    refused = reader.find_paths(list_refused(held))
    if refused and wants_vectors:
        shown = ", ".join(refused[:REFUSED_SHOWN])
        more = len(refused) - REFUSED_SHOWN
        details["refused by the provider"] = f"a text of {shown}" + (f" and {more} more" if more > 0 else "")
    sources = Counter(row.source for row in rows if row.hash)
    return replace(
        blank,
        details=details,
        warnings=warnings,
        indexed=True,
        files=sources.total(),
        chunks=reader.count_indexed()[1],
        embeddings=embedded,
        pending=pending if wants_vectors else 0,
        sources=dict(sorted(sources.items())),
        model=serving.model if serving is not None and not moving else blank.model,
        vector=vector if wants_vectors else "off",
        vector_reason=reason if wants_vectors else None,
        failures=list_failures(rows),
        last_sync=held.last_sync,
    )


def list_failures(rows: Iterable[IndexedFile]) -> tuple[FileFailure, ...]:
    """Return the files that the last sync left as they were, sorted."""
    failed = ((row.path, row.error) for row in rows if row.error is not None)
    return tuple(FileFailure(path=path, reason=reason) for path, reason in sorted(failed))


def _add_outage(status: Status, config: AgentConfig, serving: Space | None, outage: Outage | None) -> Status:
    """Add the outage of the configured provider, if one is known, and the provider that serves in its place."""
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


def _has_changed(found: files.Survey, rows: Iterable[IndexedFile], last_sync: float | None) -> bool:
    """Return True if any note differs from what was indexed, by its stamp; of one left out, if it has changed since."""
    notes = [row for row in rows if row.source != session_logs.SOURCE]
    left_out = {row.key for row in notes if row.error is not None}
    stamps: dict[FileKey, FileStamp | None] = {row.key: row.stamp for row in notes if row.hash and row.error is None}
    changed, synced_ns = found.take_changed(stamps), (last_sync or 0.0) * 1e9
    newer = (max(each.stamp.mtime_ns, each.stamp.ctime_ns) > synced_ns for each in changed if each.key in left_out)
    return bool(stamps) or any(each.key not in left_out for each in changed) or any(newer)


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
        yield Finding("config", "warn", "memory is off for this agent", off.action if off else "")
    for warning in config.warnings:
        yield Finding("config", "warn", warning, "correct that in the configuration")
    yield _check_workspace(config)
    index, chosen = _check_index(config), config.memory.backend
    takes_over = "" if chosen == BUILTIN else f"of {BUILTIN}, which takes over while {chosen} fails: "
    yield replace(index, message=takes_over + index.message)
    with closing(History(config, writable=False)) as history:
        for problem, action in history.list_problems():
            yield Finding("history", "warn", problem, action)
    yield _check_vectors(config)
    yield _judge_provider(probe, config.search.fallback)
    yield _check_events(config)


def _check_workspace(config: AgentConfig) -> Finding:
    if problem := explain_no_workspace(config):
        action, others = advise_workspace(config.workspace), config.search.extra_paths
        return Finding("workspace", "warn" if others else "fail", problem, action)
    found = files.survey(config)
    extra = found.count_extra()
    own = len(found) - sum(extra.values())
    message = f"{own} {'note' if own == 1 else 'notes'} in {config.workspace}"
    message += "".join(f", {number} in {path}" for path, number in extra.items())
    if found.failures:
        message += f", but {_name_first(found.failures)}"
        return Finding("workspace", "warn", message, "correct what the message names")
    if not len(found):
        return Finding("workspace", "warn", message, "write one: memory-core add TEXT")
    return Finding("workspace", "ok", message)


def _name_first(failures: Sequence[FileFailure]) -> str:
    first, more = failures[0], len(failures) - 1
    return f"{first.path}: {first.reason}" + (f", and {more} more" if more else "")


def _check_index(config: AgentConfig) -> Finding:
    path = config.store_path
    try:
        with (
            closing(SqliteStore(path, writable=False, in_own_folder=config.has_own_store)) as store,
            store.read() as reader,
        ):
            problem = store.verify(reader)
            held, rows = (SyncState(), []) if problem else (reader.load_state(), reader.list_files())
        if any(row.hash for row in rows):
            refuse_other_workspace(config, held.workspace, store)
    except OtherWorkspace as error:
        return Finding("index", "warn", str(error), error.action)
    except NotIndexed:
        return _explain_no_index(path)
    except StoreError as error:
        return Finding("index", "fail", str(error), error.action)
    if problem is not None:
        message, action = f"{path} is damaged: {problem}", "run: memory-core index"
        return Finding("index", "fail", message, action)
    return _judge_content(path, rows)


def _judge_content(path: Path, rows: Sequence[IndexedFile]) -> Finding:
    """Return the finding on an index that is sound."""
    count = sum(bool(row.hash) for row in rows)
    message = f"{count} {'file' if count == 1 else 'files'} in {path}, {path.stat().st_size / 1e6:.1f} MB"
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        message += "; it cannot be written, so changed notes are not indexed"
        return Finding("index", "warn", message, "make the file and its folder writable")
    if failures := list_failures(rows):
        message += f"; it lacks {_name_first(failures)}"
        return Finding("index", "warn", message, "correct or remove what `memory-core status` names as left out")
    return Finding("index", "ok", message)


def _explain_no_index(path: Path) -> Finding:
    above = next(folder for folder in path.parents if folder.exists())
    if above.is_dir() and os.access(above, os.W_OK):
        return Finding("index", "ok", f"none yet; the first sync makes {path}")
    message, action = f"{path} cannot be made: {above} is not writable", "set memorySearch.store.path or --state-dir"
    return Finding("index", "fail", message, action)


def _check_vectors(config: AgentConfig) -> Finding:
    vector = config.search.store.vector
    reason = find_problem(vector)
    if reason is None:
        return Finding("vectors", "ok", "sqlite-vec can be loaded")
    slow = "Python compares vectors, which takes several times as long"
    if not vector.enabled:
        return Finding("vectors", "ok", f"{slow}: {reason}")
    why, _, action = reason.rpartition(": ")
    return Finding("vectors", "warn", f"{slow}: {why}", action)


def _judge_provider(probe: Probe, fallback: str) -> Finding:
    if not probe.ok:
        others = "" if fallback == "none" else f"; {fallback} takes over if that lasts"
        until = "until it does, keywords answer, with the embeddings of an earlier provider if the index has them"
        why = (probe.error or "").removeprefix(f"{probe.provider}: ")
        message = f"{probe.provider} makes no embeddings; {until}{others}: {why}"
        return Finding("provider", "fail", message, probe.action or "")
    if probe.provider == "none":
        return Finding("provider", "ok", "none is configured: keywords answer alone")
    message = f"{probe.provider} {probe.model}, {probe.dimensions} dimensions, in {probe.seconds:.2f} s"
    if probe.warning:
        message += f", but {probe.warning}"
        return Finding("provider", "warn", message, probe.action or "")
    return Finding("provider", "ok", message)


def _check_events(config: AgentConfig) -> Finding:
    if not config.search.sync.watch:
        return Finding("events", "ok", "notes are not watched: memorySearch.sync.watch is false")
    watcher = Watcher(config)
    watcher.watch()
    state = watcher.state
    watcher.close()
    if state == "events":
        return Finding("events", "ok", "notes can be watched")
    message = f"notes are compared every few seconds instead of watched: {state.removeprefix('polling: ')}"
    return Finding("events", "warn", message, _MORE_WATCHES)
