"""A backend whose index is one JSON file of all lines, searched from the first to the last."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from memory_core import BackendContext, BackendPlugin, Hit, Probe, Query, SearchResult, Status, SyncReport, hookimpl
from memory_core.hookspecs import (
    NOTHING_INDEXED,
    STRICT,
    Document,
    NotIndexed,
    ProgressCallback,
    StoreReadOnly,
    find_note_day,
    get_document,
    list_files,
    read_note,
)

_WORD = re.compile(r"[\w-]+")
Notes = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class ScanSettings:
    """The section `memory.scan`.

    Attributes:
        min_word_chars: Shorter words of a question are not looked for.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    min_word_chars: Annotated[int, Ge(1)] = 4


class ScanBackend:
    """Implements `memory_core.MemoryBackend`."""

    def __init__(self, context: BackendContext) -> None:
        self._config = context.config
        self._settings: ScanSettings = context.settings
        self._writable = context.access == "rw"
        self._lock = threading.Lock()
        self._index = context.config.state_dir / f"scan-{context.config.agent}.json"

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Lines that hold many of the question's words, or words that begin with them."""
        notes = self._level()
        words = [word for word in _words(query.text) if len(word) >= self._settings.min_word_chars]
        hits = [hit for path, note in notes.items() for hit in _hits(path, note, words, query)] if words else []
        hits.sort(key=lambda hit: -hit.score)
        warning = None if notes else NOTHING_INDEXED
        found = tuple(hits[: query.max_results])
        return SearchResult(hits=found, provider="none", model=None, mode="keyword", backend="scan", warning=warning)

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Lines of a note."""
        return get_document(self._config, path, from_line=from_line, lines=lines)

    @hookimpl
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """Read all notes anew."""
        if not self._writable:
            raise StoreReadOnly(self._index, "this session may not write the index")
        with self._lock:
            before, notes = self._read() or {}, self._notes()
            self._index.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._index.with_suffix(".new")
            fresh.write_text(json.dumps(notes), encoding="utf-8")
            fresh.replace(self._index)
        changed = sum(before[path] != notes[path] for path in notes.keys() & before.keys())
        return SyncReport(
            files=len(notes),
            chunks=_lines(notes),
            added=len(notes.keys() - before.keys()),
            removed=len(before.keys() - notes.keys()),
            changed=changed,
            unchanged=len(notes.keys() & before.keys()) - changed,
            reindexed=force,
        )

    @hookimpl
    def memory_sync_soon(self) -> bool:
        """A scan is quick enough to be done at once."""
        if self._writable:
            self.memory_sync(False, None)
        return True

    @hookimpl
    def memory_status(self) -> Status:
        """Report the notes that are indexed."""
        notes, config = self._read(), self._config
        return Status(
            backend="scan",
            agent=config.agent,
            workspace=config.workspace,
            store=self._index,
            indexed=notes is not None,
            files=len(notes or {}),
            chunks=_lines(notes or {}),
            dirty=None if notes is None else notes != self._notes(),
            last_sync=None if notes is None else self._index.stat().st_mtime,
        )

    @hookimpl
    def memory_probe(self) -> Probe:
        """It needs nothing."""
        started = time.monotonic()
        return Probe(ok=True, provider="none", seconds=time.monotonic() - started)

    @hookimpl
    def memory_start(self) -> bool:
        """Nothing runs."""
        return True

    @hookimpl
    def memory_close(self) -> bool:
        """Nothing is open."""
        return True

    def _level(self) -> Notes:
        if self._writable:
            self.memory_sync(False, None)
        notes = self._read()
        if notes is None:
            raise NotIndexed("nothing is indexed yet, and this session may not")
        return notes

    def _read(self) -> Notes | None:
        try:
            notes: Notes = json.loads(self._index.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return notes

    def _notes(self) -> Notes:
        notes = [(file, read_note(file).text) for file in list_files(self._config).files]
        zone = self._config.search.time_zone
        return {
            file.path: {
                "source": file.source,
                "day": find_note_day(file, text, zone).isoformat(),
                "lines": text.split("\n"),
            }
            for file, text in notes
        }


def _hits(path: str, note: Mapping[str, Any], words: list[str], query: Query) -> Iterator[Hit]:
    day = date.fromisoformat(note["day"])
    if (query.after and day < query.after) or (query.before and day > query.before):
        return
    for number, line in enumerate(note["lines"], start=1):
        there = _words(line)
        score = sum(any(each.startswith(word) for each in there) for word in words) / len(words)
        if score and score >= query.min_score:
            yield Hit(
                path=path,
                source=note["source"],
                start_line=number,
                end_line=number,
                score=score,
                text_score=score,
                snippet=line[: query.max_snippet_chars],
            )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _lines(notes: Notes) -> int:
    return sum(len(note["lines"]) for note in notes.values())


PLUGIN = BackendPlugin(open=ScanBackend, settings=lambda: ScanSettings)
