"""Recall for the sessions of one agent: within a deadline, and nothing twice in a history."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from memory_core.config.agent import AgentConfig
from memory_core.plugin.activity import record
from memory_core.plugin.calls import shape_found, widen_query
from memory_core.plugin.open_items import OpenItems
from memory_core.records import AUTHORS, Author, CallContext, Query, SearchResult
from memory_core.sources.journal import holds_session
from memory_core.sources.roots import LONGTERM_NAMES
from memory_core.threads import NoAnswer, start_call, wait_for
from memory_core.tools import prompts, scope
from memory_core.tools.shown import Shown

if TYPE_CHECKING:
    from memory_core.items.recall import Recall

# Whose word is recalled, by `memorySearch.recall.trust`.
TRUST: Mapping[str, Sequence[Author]] = {
    "user": ("user",),
    "agent": ("user", "agent", "import"),
    "all": AUTHORS,
}

log = logging.getLogger(__name__)

MOST_ITEMS = 5  # for one message: it should read a few lines, not a report
MOST_CHARS = 1500  # for one message, framing included: about 400 tokens of every turn
MOST_RUNNING = 8  # at once: each has a thread, which a provider that hangs does not give back


def recall_nothing() -> Recall:
    """Return the answer of a memory that cannot be read."""
    from memory_core.items.recall import Recall

    return Recall(warning="memory cannot be read; the log says why")


class SessionRecall:
    """Recalls for the sessions of one agent. All methods may be called from several threads.

    Args:
        items: The agent's items.
        shown: Learns what sessions have been shown, so that it is not stored as if it were new.
    """

    def __init__(self, items: OpenItems, shown: Shown) -> None:
        self._items = items
        self._shown = shown
        self._recalled = Shown()  # by recall, and kept in the session's history
        self._recorded = Shown()  # in the activity log
        self._standing = Shown()  # preferences, where the session's notes were quoted last
        self._lock = threading.Lock()
        self._running: dict[Future[Recall], tuple[str | None, float]] = {}  # with their sessions and deadlines

    def recall(
        self,
        config: AgentConfig,
        message: str,
        context: CallContext,
        search: Callable[[Query], SearchResult],
        shown_elsewhere: frozenset[str] = frozenset(),
        *,
        kept: bool = True,
    ) -> Recall:
        """Return what is worth putting in front of a message, and remember that the session has been shown it.

        The caller has checked that memory is on and that its scope lets this chat see it. Unlike the tools, recall puts
        MEMORY.md and items into main private sessions only, as nobody has asked for them.

        Args:
            config: The agent's, with the layers that this session sees.
            message: As the user wrote it.
            context: The session.
            search: Asks the agent's backends.
            shown_elsewhere: Fingerprints of what other processes have shown in the session.
            kept: The host leaves the text in the session's history, so that nothing comes twice in it.

        Raises:
            MemoryCoreError: Memory cannot be read.
        """
        from memory_core.items.recall import Recall, recall
        from memory_core.text.paragraphs import is_recalled

        settings, begun = config.search.recall, time.monotonic()
        if not settings.enabled:
            return Recall()
        main = scope.is_main(context, config.agent)
        key = context.session_key
        shown = self._standing.of(key) | shown_elsewhere | (self._recalled.of(key) if kept else frozenset())
        items = self._items.get(config, context.access)

        def search_others(query: Query) -> SearchResult:
            """Search as this session may, and leave out what it says itself."""
            found = shape_found(search(widen_query(query, config, context)), query, config, context)
            return replace(found, hits=tuple(hit for hit in found.hits if not (key and holds_session(hit.path, key))))

        deadline = begun + settings.timeout_ms / 1000

        def work() -> Recall:
            return recall(
                items, search_others, message, recalls_items=main, limit=MOST_ITEMS, deadline=deadline,
                is_shown=lambda text: is_recalled(text, shown),
            )  # fmt: skip

        with self._lock:
            self._running = {each: told for each, told in self._running.items() if not each.done()}
            if any(session == key and until < begun for session, until in self._running.values()):
                return self._report_late(begun, "an earlier message takes longer than memorySearch.recall.timeoutMs")
            if len(self._running) >= MOST_RUNNING:
                return self._report_late(begun, f"{MOST_RUNNING} others are still running")
            future = start_call(work, name="memory-core-recall")
            self._running[future] = key, deadline
        try:
            found = wait_for(future, max(deadline - time.monotonic(), 0.0))
        except NoAnswer:
            return self._report_late(begun, "it took longer than memorySearch.recall.timeoutMs")
        trusted = TRUST[settings.trust]
        pieces = [
            piece
            for piece in found.pieces
            if (main or config.find_layer(piece.place)[1] not in LONGTERM_NAMES) and piece.by in trusted
        ]
        text, framed = prompts.frame(pieces, MOST_CHARS)
        texts = [piece.text for piece in framed]
        recorded = self._recorded.of(key)
        fresh = [piece for piece in framed if not is_recalled(piece.text, recorded)]
        for told in (self._shown, self._recorded, *([self._recalled] if kept else [])):
            told.add(key, texts)
        if fresh:
            record(config, "recalled", "recall", key, [piece.place for piece in fresh])
        ids = [piece.place for piece in fresh if piece.source == "item"]
        if ids:  # the answer does not wait for the disk
            start_call(lambda: items.mark_recalled(ids), name="memory-core-recall-mark")
        log.info("recalled %d pieces, strategy: %s, %.0f ms", len(framed), found.strategy, 1000 * found.seconds)
        return replace(found, pieces=framed, text=text)

    def quote_context(self, config: AgentConfig, context: CallContext, today: date, *, budget_chars: int) -> str:
        """Return what is worth seeing when a session starts, as quoted data: notes, and more in main private sessions.

        Those have standing preferences before the notes, where recall is on, and behind them, at most once a day, that
        proposals wait.
        """
        standing = told = ""
        if scope.is_main(context, config.agent):
            if config.tidy_path.exists() and context.access == "rw":
                from memory_core.plugin.reviewing import tell_of_proposals

                told = tell_of_proposals(config)
            if config.search.recall.enabled:
                preferences = self._items.get(config, context.access).list_standing(limit=20)
                standing, kept = prompts.frame_standing(preferences)
                self._standing.forget(context.session_key)
                self._standing.add(context.session_key, [item.content for item in kept])
        if len(standing) + len(told) + 2 * bool(standing and told) > budget_chars:
            standing = ""
        room = max(budget_chars - sum(len(each) + 2 for each in (standing, told) if each), 0)
        notes = prompts.quote_notes(config, context, today, budget_chars=room)
        return "\n\n".join(filter(None, (standing, notes, told)))

    def forget_session(self, session_key: str | None) -> None:
        """Let a session be shown again what it was shown before, since its context was compacted."""
        for told in (self._recalled, self._recorded, self._standing):
            told.forget(session_key)

    def warm(self, config: AgentConfig) -> None:
        """Load in the background what the first message would wait for."""
        if config.search.recall.enabled:
            items = self._items.get(config)
            start_call(lambda: items.words, name="memory-core-recall-warm")

    def _report_late(self, begun: float, why: str) -> Recall:
        from memory_core.items.recall import Recall

        seconds = time.monotonic() - begun
        log.info("recalled nothing after %.0f ms: %s", 1000 * seconds, why)
        return Recall(late=True, seconds=seconds, warning=f"nothing is recalled: {why}")
