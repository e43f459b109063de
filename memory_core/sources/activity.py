"""The activity log of one agent in one workspace: what was stored, recalled, flushed and forgotten, when, and from which session.

An entry names places and counts, and holds no text: what is deleted from notes and items does not live on in here. The log is two
files of JSON lines beside the index: entries are appended to the first, and once it is full it takes the place of the second.
What goes wrong out of sight has a file of its own.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from memory_core.atomic import append_bytes, locked, replace_file

Action = Literal["stored", "recalled", "flushed", "forgot"]

MAX_BYTES = 512 * 1024  # of both files together: the last 2,500 entries or more
FULL_BYTES = (
    MAX_BYTES // 2 - 16_384
)  # of the first: a last entry, and those of processes that write meanwhile, still fit
MAX_PLACES = 12  # of one entry that are named
MAX_CHARS = 200  # of a place, and of a session's key
LOCK_SECONDS = 1.0
_JSON = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One use of the memory.

    Attributes:
        at: Unix seconds.
        action: "stored", "recalled", "flushed" or "forgot".
        by: The tool, or "recall", "capture" or "flush", which hosts call.
        session: The key of the session; None outside of sessions, as at the command line.
        places: The first of the places: citations of notes, or ids of items.
        count: The number of places, those that are not named included.
        outcome: A word of ours on how it went, such as "reinforced" or "nothing new"; "" if there is nothing to tell.
    """

    at: float
    action: Action
    by: str
    session: str | None = None
    places: tuple[str, ...] = ()
    count: int = 0
    outcome: str = ""


def append_entry(path: Path, entry: Activity) -> None:
    """Append an entry to the log; several processes may at once.

    An entry is one write that begins with a line end, so that one which a kill or a power cut has torn harms no other.

    Raises:
        OSError: The file cannot be written.
    """
    shown = {
        "at": round(entry.at, 3), "action": entry.action, "by": entry.by, "session": _shorten(entry.session),
        "places": [_shorten(place) for place in entry.places[:MAX_PLACES]], "count": entry.count, "outcome": entry.outcome,
    }  # fmt: skip
    data = b"\n" + _JSON.encode(shown).encode("ascii")
    if append_bytes(path, data) > FULL_BYTES:
        _turn_over(path)


def load_entries(path: Path, *, limit: int, session: str | None = None) -> list[Activity]:
    """Return the last entries, the latest first; none without a log.

    Args:
        path: The log.
        limit: The most entries.
        session: Only those of this session; None is all.

    Raises:
        OSError: The log cannot be read.
    """
    found: list[Activity] = []
    for _, lines in _read_files(path):
        for line in reversed(lines):
            if len(found) == limit:
                return found
            found += [entry for entry in _parse(line) if session in (None, entry.session)]
    return found


def drop_entries(path: Path, holds: Callable[[str], bool]) -> None:
    """Write the log anew without the entries that name a place or a session which holds a text, and without torn ones.

    Raises:
        OSError: It cannot be read or written.
        TimeoutError: Another process holds its lock.
    """
    with locked(path.with_suffix(".lock"), timeout_seconds=LOCK_SECONDS):
        for file, lines in _read_files(path):
            kept = [b"", *(line for line in lines if any(not _names(entry, holds) for entry in _parse(line)))]
            if len(kept) < len(lines):
                replace_file(file, b"\n".join(kept))


def names_text(path: Path, holds: Callable[[str], bool]) -> bool:
    """Return True if an entry names a place or a session which holds a text, or a torn one holds it; False without a log.

    Raises:
        OSError: The log cannot be read.
    """
    for line in (each for _, lines in _read_files(path) for each in lines):
        entries = [*_parse(line)]
        if any(_names(entry, holds) for entry in entries) or (not entries and holds(line.decode(errors="replace"))):
            return True
    return False


def _names(entry: Activity, holds: Callable[[str], bool]) -> bool:
    return any(map(holds, (*entry.places, entry.session or "")))


def _turn_over(path: Path) -> None:
    """Let the full file take the place of the older one, unless another process has done so."""
    with (
        suppress(TimeoutError, FileNotFoundError),
        locked(path.with_suffix(".lock"), timeout_seconds=LOCK_SECONDS),
    ):
        if path.stat().st_size > FULL_BYTES:
            path.replace(_find_older(path))


def _read_files(path: Path) -> Iterator[tuple[Path, list[bytes]]]:
    """Yield both files of a log, as far as there are any, with their lines; the newer one first."""
    for file in (path, _find_older(path)):
        with suppress(FileNotFoundError):
            yield file, file.read_bytes().split(b"\n")


def _find_older(path: Path) -> Path:
    return path.with_suffix(".old.jsonl")


def _shorten(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"


def _parse(line: bytes) -> Iterator[Activity]:
    """Yield the entry of a line; nothing for an empty, torn or strange one."""
    if not line:
        return
    with suppress(ValueError, TypeError, KeyError):
        raw = json.loads(line)
        session = raw["session"]
        yield Activity(
            at=float(raw["at"]), action=raw["action"], by=str(raw["by"]), session=None if session is None else str(session),
            places=tuple(map(str, raw["places"])), count=int(raw["count"]), outcome=str(raw["outcome"]),
        )  # fmt: skip


def record_problem(path: Path, problem: str) -> None:
    """Keep what went wrong in a file, with the time; "" forgets what was kept."""
    if not problem:
        path.unlink(missing_ok=True)
        return
    at = datetime.now(UTC).isoformat(timespec="seconds")
    replace_file(path, f"{at}: {problem}".encode("utf-8", "replace"))


def find_problem(path: Path, *, seconds: float = math.inf) -> str:
    """Return what `record_problem` has kept in a file, and when; "" if nothing went wrong in so many seconds."""
    with suppress(OSError):
        if time.time() - path.stat().st_mtime < seconds:
            return path.read_text(encoding="utf-8", errors="replace")
    return ""
