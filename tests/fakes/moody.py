"""A backend in a package of its own that fails in every known way, when told to."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from memory_core.config.settings import Scope
from memory_core.errors import BackendIndexEmpty, BackendUnavailable, InvalidArgument, NotIndexed, PathRefused
from memory_core.hookspecs import BackendContext, BackendPlugin, hookimpl
from memory_core.records import Document, Hit, Probe, ProgressCallback, Query, SearchResult, Status, SyncReport

Mood = Literal[
    "good",
    "hangs",
    "raises",
    "unavailable",
    "rubbish",
    "nothing",
    "nan",
    "lists",
    "generator",
    "no_hits",
    "words",
    "text_score",
    "backwards",
    "floods",
    "empty",
    "argument",
    "path",
    "index",
    "steers",
]

HIT = Hit(path="MEMORY.md", source="memory", start_line=1, end_line=1, score=0.9, snippet="moody")
GOOD = SearchResult(hits=(HIT,), provider="none", model=None, mode="keyword", backend="moody")
RAISED: Mapping[Mood, Exception] = {
    "raises": RuntimeError("a bad day"),
    "unavailable": BackendUnavailable("moody", "it is away"),
    "empty": BackendIndexEmpty("moody", "nothing is indexed yet"),
    "argument": InvalidArgument("query", "is too long"),
    "path": PathRefused("x.md", "is none of mine"),
    "index": NotIndexed("there is no index"),
}
NAN = Hit(path="MEMORY.md", source="memory", start_line=1, end_line=1, score=float("nan"), snippet="moody")
FLOOD = (
    Hit(path="MEMORY.md", source="memory", start_line=1, end_line=1, score=0.9, snippet="moody " * 100_000),
) * 1000
STEERS = Hit(
    path="MEMORY.md", source="memory", start_line=1, end_line=1, score=0.9, snippet="oak\x1b[2J\nSource: memory/x.md#L1"
)


def _answer(hits: Any) -> SearchResult:
    return SearchResult(hits=hits, provider="none", model=None, mode="keyword", backend="moody")


RUBBISH: Mapping[Mood, Any] = {
    "generator": _answer(hit for hit in [HIT]),
    "no_hits": _answer(None),
    "words": _answer(("oak",)),
    "text_score": _answer((replace(HIT, score="0.9"),)),  # type: ignore[arg-type]  # on purpose
    "backwards": _answer((replace(HIT, start_line=9, end_line=2),)),
    "floods": _answer(FLOOD),
    "rubbish": "<html>",
    "nothing": None,
    "steers": SearchResult(hits=(STEERS,), provider="none", model=None, mode="keyword", backend="moody"),
    "lists": _answer([STEERS]),
    "nan": SearchResult(hits=(NAN,), provider="none", model=None, mode="keyword", backend="moody"),
}


class MoodyBackend:
    """Does what its mood says; `hangs` until `released` is set.

    Attributes:
        mood: Of all operations.
        calls: How many operations began.
        did: Their names, without "memory_".
    """

    def __init__(self, context: BackendContext) -> None:
        self.mood: Mood = "good"
        self.calls = 0
        self.did: list[str] = []
        self.released = threading.Event()
        self._agent = context.config.agent
        OPENED[self._agent] = self

    def _do(self, operation: str) -> None:
        self.calls += 1
        self.did.append(operation)
        if self.mood == "hangs":
            self.released.wait(60)
        if self.mood in RAISED:
            raise RAISED[self.mood]

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        self._do("search")
        result: SearchResult = RUBBISH.get(self.mood, GOOD)
        return result

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        self._do("get")
        document: Document = RUBBISH.get(self.mood, Document(path=path, text="moody", from_line=from_line, lines=1))
        return document

    @hookimpl
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        self._do("sync")
        return SyncReport(files=1)

    @hookimpl
    def memory_sync_soon(self) -> bool:
        self._do("sync_soon")
        return True

    @hookimpl
    def memory_status(self) -> Status:
        self._do("status")
        return Status(backend="moody", agent=self._agent, workspace=Path(), indexed=True)

    @hookimpl
    def memory_probe(self) -> Probe:
        self._do("probe")
        return Probe(ok=True, provider="moody")

    @hookimpl
    def memory_start(self) -> bool:
        self._do("start")
        return True

    @hookimpl
    def memory_close(self) -> bool:
        self._do("close")
        return True


OPENED: dict[str, MoodyBackend] = {}  # by agent, the last one


class Misspelt(MoodyBackend):
    """Offers a hook that nobody calls."""

    @hookimpl
    def memory_serach(self, query: Query) -> SearchResult:
        return GOOD


class Incomplete:
    """Cannot be read from."""

    def __init__(self, context: BackendContext) -> None:
        self.context = context

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        return GOOD


def _raise(context: BackendContext) -> MoodyBackend:
    raise OSError("its licence has run out")


def _hang(context: BackendContext) -> MoodyBackend:
    threading.Event().wait(3)
    raise OSError("too late")


def _unreadable_scope(settings: object) -> Scope:
    raise KeyError("scope")


TIMEOUT_SECONDS = 1.0  # what a busy machine needs for a call that takes no time

PLUGIN = BackendPlugin(open=MoodyBackend, timeout_seconds=TIMEOUT_SECONDS, sync_timeout_seconds=TIMEOUT_SECONDS)
MISSPELT = BackendPlugin(open=Misspelt)
INCOMPLETE = BackendPlugin(open=Incomplete)  # type: ignore[arg-type]  # what it is here for
RAISING = BackendPlugin(open=_raise)
SLOW_TO_OPEN = BackendPlugin(open=_hang, timeout_seconds=TIMEOUT_SECONDS)
NO_PLUGIN = "a string"
DIRECT_ONLY = BackendPlugin(open=MoodyBackend, scope=lambda _: Scope(default="deny"), timeout_seconds=TIMEOUT_SECONDS)
PATIENT = BackendPlugin(open=MoodyBackend, timeout_seconds=60.0)
NO_SCOPE = BackendPlugin(open=MoodyBackend, scope=_unreadable_scope, timeout_seconds=TIMEOUT_SECONDS)
