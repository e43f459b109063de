"""Who said what a search finds, and what the origin of an item names.

What agents append to notes is recorded beside the lock of the notes, in a file of JSON lines: who wrote it, and a hash of each
line. A line that a person changes, or moves to another note, is the person's from then on. Other lines of notes are the user's.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memory_core.as_json import to_json
from memory_core.atomic import append_bytes
from memory_core.config.agent import AgentConfig
from memory_core.records import AUTHORS, OUTSIDERS, Hit, Origin
from memory_core.sources import notes, pages
from memory_core.sources.journal import Journal, JournalSession, Line
from memory_core.sources.session_logs import SOURCE
from memory_core.sources.transcripts import SHOWN

IMPORTS = "memory/imports/"  # where `adopt` puts its copies
USERS = Origin(by="user")
log = logging.getLogger(__name__)


def find_record(workspace: Path, state_dir: Path) -> Path:
    """Return the path of the record of what agents have written into the notes of a workspace."""
    return notes.find_intent(workspace, state_dir).with_suffix(".written")


def record_written(path: str, paragraphs: Iterable[str], origin: Origin, record: Path) -> None:
    """Record who has appended paragraphs to a note; they stand there already, so that a failure is only logged."""
    lines = [_digest(path, line) for text in paragraphs for line in text.split("\n") if line.strip()]
    at = datetime.now().astimezone().isoformat(timespec="seconds")
    entry = {"path": path, "lines": lines, "origin": to_json(replace(origin, at=at), brief=True)}
    try:
        append_bytes(
            record, b"\n" + json.dumps(entry).encode()
        )  # a line end first, so that a torn entry harms no other
    except OSError as error:
        log.warning("%s: what was appended will count as the user's own: %s", record, error)


def pick_written(data: bytes, paths: Collection[str]) -> bytes:
    """Return those lines of a record that are about some notes; b"" if there are none."""
    lines = data.split(b"\n")
    return b"\n".join(line for line in lines if (entry := _parse_entry(line)) and entry[0] in paths)


def find_origins(config: AgentConfig, hits: Sequence[Hit]) -> list[Hit]:
    """Return hits with their origins; of those with equal scores, what tools and pages say comes last.

    An origin that the backend names is kept: it knows of notes that are not on this machine.
    """
    found = {number: hit.origin for number, hit in enumerate(hits) if hit.origin is not None}
    find = cache(find_record)  # of each layer once
    for path in dict.fromkeys(hit.path for hit in hits if hit.origin is None):
        numbers = [number for number, hit in enumerate(hits) if hit.path == path]
        among = [hits[number] for number in numbers]
        if among[0].source == SOURCE:
            places = [(hit.start_line, hit.end_line) for hit in among]
            session, said = Journal(config.journal_dir).find_said(path, places)
            origins = [_tell_origin(session, each) for each in said]
        else:
            layer, within = config.find_layer(path)
            origins = _find_in_note(layer, within, among, find(layer.workspace, layer.state_dir))
        found |= zip(numbers, origins, strict=True)
    order = sorted(found, key=lambda number: (-hits[number].score, found[number].by in OUTSIDERS, number))
    return [replace(hits[number], origin=found[number]) for number in order]


def _tell_origin(session: JournalSession | None, said: Sequence[Line]) -> Origin:
    if session is None or not said:  # a log of the host's own: the agent has its part in it
        return Origin(by="agent")
    return Origin(
        by="user" if all(line["role"] == "user" for line in said) else "agent", session=session.key, host=session.host,
        project=session.project or None, at=str(said[0].get("timestamp") or "") or None,
    )  # fmt: skip


def _find_in_note(config: AgentConfig, path: str, hits: Sequence[Hit], record: Path) -> list[Origin]:
    if path.startswith(IMPORTS):
        return [Origin(by="import")] * len(hits)
    written = _load_written(record).get(path, {})
    lines = _read_lines(config, path) if written else []
    found = []
    for hit in hits:
        held = [*lines[hit.start_line - 1 : hit.end_line], *hit.snippet.split("\n")] if written else []
        origins = [written[digest] for line in held if (digest := _digest(path, line)) in written]
        found.append(max(origins, key=lambda origin: AUTHORS.index(origin.by), default=USERS))
    return found


def load_sources(config: AgentConfig, origins: Sequence[Origin]) -> list[str | None]:
    """Return the text that each of some items was learned from; None if nobody knows, or if it does not stand there any more."""
    wanted: defaultdict[str, set[int]] = defaultdict(set)
    for origin in origins:
        if origin.path and origin.line:
            wanted[origin.path].add(origin.line)
    texts: dict[tuple[str | None, int | None], str] = {}
    for path, numbers in wanted.items():
        if path.startswith(SHOWN):
            _, said = Journal(config.journal_dir).find_said(path, ((number, number) for number in numbers))
            found = {number: str(each[0]["content"]) for number, each in zip(numbers, said, strict=True) if each}
        else:
            found = {at: line for at, line in enumerate(_read_lines(config, path), 1) if at in numbers}
        texts |= {(path, number): text for number, text in found.items()}
    return [texts.get((origin.path, origin.line)) for origin in origins]


def cite_origin(origin: Origin) -> str | None:
    """Return the place that an origin names, as a citation."""
    return f"{origin.path}#L{origin.line}" if origin.path and origin.line else origin.path


def _read_lines(config: AgentConfig, path: str) -> list[str]:
    text = pages.find_text(config, path)
    return [] if text is None else text.split("\n")  # it has gone since it was indexed


def _load_written(record: Path) -> dict[str, dict[str, Origin]]:
    """Return by the path of a note and the hash of a line who wrote it."""
    try:
        info = record.stat()
    except FileNotFoundError:
        return {}
    return _parse_written(record, info.st_size, info.st_mtime_ns)


@lru_cache(maxsize=4)
def _parse_written(record: Path, _size: int, _mtime_ns: int) -> dict[str, dict[str, Origin]]:
    found: dict[str, dict[str, Origin]] = {}
    for raw in record.read_bytes().split(b"\n"):
        if (entry := _parse_entry(raw)) is not None:
            path, lines, origin = entry
            found.setdefault(path, {}).update(dict.fromkeys(lines, origin))
    return found


def _parse_entry(raw: bytes) -> tuple[str, list[str], Origin] | None:
    """Return what a line of a record says; None for a blank one, and for one that a kill has torn."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        entry = json.loads(raw)
        told: dict[str, Any] = {name: str(value) for name, value in entry["origin"].items()}
        if told["by"] in AUTHORS:
            return str(entry["path"]), [*map(str, entry["lines"])], Origin(**told)
    return None


def _digest(path: str, line: str) -> str:
    return blake2b(f"{path}\0{' '.join(line.split())}".encode("utf-8", "replace"), digest_size=8).hexdigest()
