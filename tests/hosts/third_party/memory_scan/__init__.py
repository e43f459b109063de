"""A backend that keeps no index: it reads the notes anew at every search."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge

from memory_core import BackendContext, BackendPlugin, Hit, Probe, Query, SearchResult, Status, SyncReport, hookimpl
from memory_core.files import list_files, note_date, read_note
from memory_core.hookspecs import ProgressCallback
from memory_core.reading import get
from memory_core.records import Document, MemoryFile
from memory_core.settings import STRICT

_WORD = re.compile(r"\w+")


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

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Lines that hold many of the question's words."""
        words = {word for word in _words(query.text) if len(word) >= self._settings.min_word_chars}
        hits = [hit for file in self._files() for hit in _hits(file, words, query)] if words else []
        hits.sort(key=lambda hit: -hit.score)
        empty = None if self._files() else "No memories indexed yet"
        return SearchResult(
            hits=tuple(hits[: query.max_results]),
            provider="none",
            model=None,
            mode="keyword",
            backend="scan",
            warning=empty,
        )

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Lines of a note."""
        return get(self._config, path, from_line=from_line, lines=lines)

    @hookimpl
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """There is nothing to bring level."""
        return SyncReport(files=len(self._files()), reindexed=force)

    @hookimpl
    def memory_sync_soon(self) -> bool:
        """The same."""
        return True

    @hookimpl
    def memory_status(self) -> Status:
        """What there is to be searched."""
        config = self._config
        files = len(self._files())
        return Status(
            backend="scan", agent=config.agent, workspace=config.workspace, indexed=True, files=files,
            dirty=False, last_sync=time.time(),
        )  # fmt: skip

    @hookimpl
    def memory_probe(self) -> Probe:
        """It needs nothing."""
        return Probe(ok=True, provider="none")

    @hookimpl
    def memory_start(self) -> bool:
        """Nothing runs."""
        return True

    @hookimpl
    def memory_close(self) -> bool:
        """Nothing is open."""
        return True

    def _files(self) -> tuple[MemoryFile, ...]:
        return list_files(self._config).files


def _hits(file: MemoryFile, words: set[str], query: Query) -> Iterator[Hit]:
    text = read_note(file).text
    day = note_date(file.path, text)
    if (query.after and not (day and day >= query.after.isoformat())) or (
        query.before and not (day and day <= query.before.isoformat())
    ):
        return
    for number, line in enumerate(text.split("\n"), start=1):
        score = len(words & set(_words(line))) / len(words)
        if score and score >= query.min_score:
            snippet = line[: query.max_snippet_chars]
            yield Hit(
                path=file.path,
                source=file.source,
                start_line=number,
                end_line=number,
                score=score,
                text_score=score,
                snippet=snippet,
            )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


PLUGIN = BackendPlugin(open=ScanBackend, settings=lambda: ScanSettings)
