"""Who said what a search finds, and what the origin of an item names.

What agents append to notes is recorded beside the lock of the notes, in a file of JSON lines: who wrote it, and a hash of each
line. A line that a person changes, or moves to another note, is the person's from then on. Other lines of notes are the user's.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from memory_core.atomic import BINARY, CLOEXEC, NOFOLLOW
from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable, PathRefused
from memory_core.records import AUTHORS, OUTSIDERS, Hit, Origin
from memory_core.sources import notes, pages
from memory_core.sources.journal import Journal
from memory_core.sources.session_logs import SHOWN, SOURCE, SPEAKERS
from memory_core.sources.writer import journal_path

IMPORTS = "memory/imports/"  # where `adopt` puts its copies
USERS = Origin(by="user")
log = logging.getLogger(__name__)


def find_record(workspace: Path, state_dir: Path) -> Path:
    """Return the path of the record of what agents have written into the notes of a workspace."""
    return journal_path(workspace, state_dir).with_suffix(".written")


def record_written(path: str, paragraphs: Iterable[str], origin: Origin, record: Path) -> None:
    """Record who has appended paragraphs to a note; they stand there already, so that a failure is only logged."""
    lines = [_digest(path, line) for text in paragraphs for line in text.split("\n") if line.strip()]
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    entry = {"by": origin.by, "session": origin.session, "host": origin.host, "at": at, "path": path, "lines": lines}
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NOFOLLOW | BINARY | CLOEXEC
    try:
        descriptor = os.open(record, flags, 0o600)
        try:
            os.write(descriptor, b"\n" + json.dumps(entry).encode())  # so that a torn entry harms no other
        finally:
            os.close(descriptor)
    except OSError as error:
        log.warning("%s: what was appended will count as the user's own: %s", record, error)


def find_origins(config: AgentConfig, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with their origins; of those with equal scores, what tools and pages say comes last."""
    of_path: dict[str, list[int]] = {}
    for number, hit in enumerate(hits):
        of_path.setdefault(hit.path, []).append(number)
    record = find_record(config.workspace, config.state_dir)
    found: dict[int, Origin] = {}
    for path, numbers in of_path.items():
        among = [hits[number] for number in numbers]
        if among[0].source == SOURCE:
            origins = _find_in_session(config, path, among)
        else:
            origins = _find_in_note(config, path, among, record)
        found |= zip(numbers, origins, strict=True)
    order = sorted(found, key=lambda number: (-hits[number].score, found[number].by in OUTSIDERS, number))
    return [replace(hits[number], origin=found[number]) for number in order]


def _find_in_session(config: AgentConfig, path: str, hits: Sequence[Hit]) -> list[Origin]:
    kept = Journal(config.journal_dir).find_origins(path, [(hit.start_line, hit.end_line) for hit in hits])
    return [origin or _read_speakers(hit.snippet) for origin, hit in zip(kept, hits, strict=True)]


def _read_speakers(snippet: str) -> Origin:
    """Return the origin of a part of a session log that the host itself keeps."""
    is_users = snippet.startswith(f"{SPEAKERS['user']}:") and f"{SPEAKERS['assistant']}:" not in snippet
    return Origin(by="user" if is_users else "agent")


def _find_in_note(config: AgentConfig, path: str, hits: Sequence[Hit], record: Path) -> list[Origin]:
    if path.startswith(IMPORTS):
        return [Origin(by="import")] * len(hits)
    written = _load_written(record, path)
    lines = _read_lines(config, path) if written else []
    found = []
    for hit in hits:
        held = [*lines[hit.start_line - 1 : hit.end_line], *hit.snippet.split("\n")]
        origins = [written[digest] for line in held if (digest := _digest(path, line)) in written]
        found.append(max(origins, key=lambda origin: AUTHORS.index(origin.by), default=USERS))
    return found


def load_source(config: AgentConfig, origin: Origin) -> str | None:
    """Return the text that an item was learned from; None if nobody knows, or if it does not stand there any more."""
    if not (origin.path and origin.line):
        return None
    if origin.path.startswith(SHOWN):
        return Journal(config.journal_dir).load_message(origin.path, origin.line)
    return next(iter(_read_lines(config, origin.path)[origin.line - 1 :]), None)


def cite_origin(origin: Origin) -> str | None:
    """Return the place that an origin names, as a citation."""
    return f"{origin.path}#L{origin.line}" if origin.path and origin.line else origin.path


def _read_lines(config: AgentConfig, path: str) -> list[str]:
    try:
        file = pages.resolve(config, path)
        return [] if file is None else notes.read_note(file).text.split("\n")
    except (PathRefused, FileUnreadable):
        return []  # it has gone since it was indexed


def _load_written(record: Path, path: str) -> dict[str, Origin]:
    """Return by the hashes of lines who wrote them into a note."""
    try:
        info = record.stat()
    except FileNotFoundError:
        return {}
    return _parse_written(record, info.st_size, info.st_mtime_ns).get(path, {})


@lru_cache(maxsize=4)
def _parse_written(record: Path, _size: int, _mtime_ns: int) -> dict[str, dict[str, Origin]]:
    found: dict[str, dict[str, Origin]] = {}
    for raw in record.read_bytes().split(b"\n"):
        try:
            entry = json.loads(raw)
            origin = Origin(by=entry["by"], session=entry["session"], host=entry["host"], at=entry["at"])
            found.setdefault(entry["path"], {}).update(dict.fromkeys(entry["lines"], origin))
        except (ValueError, KeyError, TypeError):  # a blank line, or one that a kill has torn
            continue
    return found


def _digest(path: str, line: str) -> str:
    return blake2b(f"{path}\0{' '.join(line.split())}".encode("utf-8", "replace"), digest_size=8).hexdigest()
