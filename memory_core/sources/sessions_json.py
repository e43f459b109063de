"""The host's `sessions.json`: the sessions of an agent, and when each was last flushed.

The file is the host's; `flush.cycles` keeps one of the same form for hosts that have none. It maps a session key to an
object. Whatever else it holds is preserved, in its order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from memory_core.atomic import locked, replace_file
from memory_core.errors import SessionsUnusable

FILE_NAME = "sessions.json"
FAILURES_PER_CYCLE = 3
LOCK_TIMEOUT_SECONDS = 10.0
ATTEMPTS = 5  # the host takes no lock of ours and may change the file at any moment

Entry = dict[str, Any]
Sessions = dict[str, Any]


def read(path: Path) -> Sessions:
    """Read all sessions, in the file's order; none if the file does not exist.

    Raises:
        SessionsUnusable: It cannot be read, or is no JSON object.
    """
    mend = "Repair it or move it away."
    try:
        sessions = json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=_refuse_constant)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SessionsUnusable(path, str(error.strerror or error), action="Check its permissions.") from error
    except UnicodeDecodeError as error:
        raise SessionsUnusable(path, "is no UTF-8 text", action=mend) from error
    except (ValueError, RecursionError) as error:
        raise SessionsUnusable(path, f"is no JSON: {error}", action=mend) from error
    if not isinstance(sessions, dict):
        raise SessionsUnusable(path, "holds no JSON object", action=mend)
    return sessions


def read_entry(path: Path, key: str) -> Entry:
    """Read the object of one session; empty if there is none.

    Raises:
        SessionsUnusable: See `read`; or the session's value is no object.
    """
    return _entry(path, read(path), key)


def update(
    path: Path,
    key: str,
    change: Callable[[Entry], None],
    *,
    keep: int | None = None,
    lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS,
) -> Entry:
    """Change the object of one session, created if missing; all else in the file is preserved.

    Readers see the old file or the new one. Processes that call this function wait for each other. If the host writes the
    file meanwhile, the change is made again on what it wrote.

    Args:
        path: The file; created with its folder if missing.
        key: The session key.
        change: Changes the given object; may be called more than once.
        keep: The most sessions of a file of our own; those that were updated first are dropped. None keeps all.
        lock_timeout_seconds: How long to wait for other processes.

    Returns:
        The object that the file now holds.

    Raises:
        SessionsUnusable: The file cannot be read or written, is no JSON object, or is locked too long; it is unchanged.
    """
    with _locked(path, lock_timeout_seconds) as real:
        for _ in range(ATTEMPTS):
            seen = _sign(real)
            sessions = read(real)
            entry = _entry(real, sessions, key)
            change(entry)
            sessions[key] = entry
            if keep is not None:
                sessions = _drop_oldest(sessions, keep)
            text = json.dumps(sessions, ensure_ascii=False, indent=2)
            if _sign(real) == seen:
                # A lone surrogate can stand in JSON, as an escape, but not in UTF-8.
                replace_file(real, f"{text}\n".encode("utf-8", "backslashreplace"), mode=seen[0] if seen else 0o600)
                return entry
    reason = f"was changed by another program during each of {ATTEMPTS} attempts"
    raise SessionsUnusable(path, reason, action="Try again.")


@contextmanager
def _locked(path: Path, timeout_seconds: float) -> Iterator[Path]:
    """Hold the lock of a file; yields its real path. Errors of the system become `SessionsUnusable`."""
    real = path.resolve()
    # Not `sessions.json.lock`, whose mere existence means "locked" to some hosts.
    lock = real.with_name(f".{real.name}.memory-core.lock")
    try:
        with locked(lock, timeout_seconds=timeout_seconds):
            yield real
    except OSError as error:
        raise SessionsUnusable(
            path, str(error.strerror or error), action="Check the disk and the permissions."
        ) from error


def set_aside_if_damaged(path: Path, key: str) -> Path | None:
    """Rename a file of our own that is no record of sessions, replacing the one that was set aside before.

    Args:
        path: The file; never the host's.
        key: The session whose object must be readable.

    Returns:
        The new name; None if the file is sound or missing.

    Raises:
        SessionsUnusable: It cannot be read or renamed.
    """
    if not _is_damaged(path, key):
        return None
    with _locked(path, LOCK_TIMEOUT_SECONDS) as real:
        if not _is_damaged(real, key):  # another process was faster
            return None
        return real.replace(real.with_name(f"{real.name}.damaged"))


def _is_damaged(path: Path, key: str) -> bool:
    """Return True for a file that can be read, but not as sessions. What cannot be read is not known to be damaged."""
    try:
        read_entry(path, key)
    except SessionsUnusable as error:
        return not isinstance(error.__cause__, OSError)
    return False


def record_flush(
    path: Path,
    key: str,
    *,
    compaction_count: int,
    at_ms: int,
    failed: bool = False,
    session_id: str = "",
    prepare: Callable[[Entry], None] | None = None,
    keep: int | None = None,
) -> int:
    """Record a session's flush turn; after `FAILURES_PER_CYCLE` that failed, the cycle counts as flushed.

    Args:
        path: The host's `sessions.json`.
        key: The session key.
        compaction_count: How often the session had been compacted when the turn was planned.
        at_ms: Unix milliseconds.
        failed: The turn failed.
        session_id: The host's id, for a session that the file does not hold yet.
        prepare: Changes the object first.
        keep: See `update`.

    Returns:
        The number of turns that failed in this cycle; 0 after one that did not.

    Raises:
        SessionsUnusable: See `update`.
    """

    def change(entry: Entry) -> None:
        if not entry:  # one of the host's own is not changed
            entry.update(sessionId=session_id, updatedAt=at_ms)
        if prepare is not None:
            prepare(entry)
        if failed:
            failures = count_failures(entry, compaction_count) + 1
            entry.update(memoryFlushFailureCount=failures, memoryFlushFailureCompactionCount=compaction_count)
            if failures >= FAILURES_PER_CYCLE:
                entry["memoryFlushCompactionCount"] = compaction_count
            return
        entry.update(memoryFlushAt=at_ms, memoryFlushCompactionCount=compaction_count)
        entry.pop("memoryFlushFailureCount", None)
        entry.pop("memoryFlushFailureCompactionCount", None)

    return count_failures(update(path, key, change, keep=keep), compaction_count)


def count_failures(entry: Mapping[str, Any], compaction_count: int) -> int:
    """Count the flush turns that failed in the cycle after the given compaction; 0 if none is recorded."""
    failures = entry.get("memoryFlushFailureCount")
    if entry.get("memoryFlushFailureCompactionCount") != compaction_count or not isinstance(failures, int):
        return 0
    return max(0, failures)


def _drop_oldest(sessions: Sessions, keep: int) -> Sessions:
    def age(item: tuple[str, Any]) -> float:
        updated = item[1].get("updatedAt") if isinstance(item[1], dict) else None
        return updated if isinstance(updated, int | float) else 0

    dropped = {key for key, _ in sorted(sessions.items(), key=age)[: max(0, len(sessions) - keep)]}
    return {key: entry for key, entry in sessions.items() if key not in dropped}


def _sign(path: Path) -> tuple[int, int, int, int] | None:
    """Return the mode of a file, and what tells it from another one; None without a file."""
    with suppress(FileNotFoundError):
        info = path.stat()
        return info.st_mode & 0o777, info.st_ino, info.st_size, info.st_mtime_ns
    return None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _entry(path: Path, sessions: Sessions, key: str) -> Entry:
    entry = sessions.get(key, {})
    if not isinstance(entry, dict):
        raise SessionsUnusable(path, f"holds no object under {key!r}", action="Repair it or move it away.")
    return entry
