"""Capture for the sessions of one agent: turns are gathered, and read in the background once they are enough."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from memory_core.completions import AsyncComplete, Complete, Message, join_text, split_turns
from memory_core.config.agent import AgentConfig
from memory_core.errors import LoggedProblems, expect
from memory_core.plugin.activity import record
from memory_core.plugin.open_items import OpenItems
from memory_core.sources.journal import Journal, JournalSession, OffTheRecord
from memory_core.sources.transcripts import SHOWN, SPEAKERS, Said
from memory_core.text.tokens import estimate_tokens
from memory_core.threads import start_call
from memory_core.tools.arguments import check_messages
from memory_core.tools.shown import Shown

log = logging.getLogger(__name__)

MAX_SESSIONS = 64  # that wait to be read; of more, the one that waits longest is read at once
KEPT_CHARS = 20_000  # of one message
CONTEXT_MESSAGES = 4  # that were read before and are given again, so that "no, the blue one" can be understood
MODEL_SECONDS = 60.0
PROGRAM_SECONDS = 180.0  # a host's program starts, and asks its model
PROMPT_TOKENS = 2000  # of one call of the model: what we tell it, and its answer
CATCH_UP_SECONDS = 60.0  # of one sync for transcripts that the journal has missed something of
# A session is read by rules after as many turns, and by rules or a model when nobody has said anything for as long: a model is
# asked for a conversation, not for every message.
READ_AFTER_TURNS = 5
READ_AFTER_SECONDS = 300.0
JOURNAL_IDLE_SECONDS = 2 * READ_AFTER_SECONDS  # until then the process in which a session runs may learn from it itself
# A host that closes waits so long for what is still to be read, and its model gets less of that, so that rules can still answer.
CLOSE_SECONDS, LAST_MODEL_SECONDS = 10.0, 7.0


@dataclass(slots=True)
class _Waiting:
    """The turns of one session that have not been read yet.

    Attributes:
        config: Of the last turn.
        context: Messages that were read before.
        messages: Those that were not.
        tokens, turns: Their size.
        last: `time.monotonic()` of the last turn.
        complete: The host's model, as the last turn offered it.
        ended: The session is over.
        calls: Of the model, in this session.
        host: The name of the host, for the journal; "" for what comes from there.
        journal_id: Of the last message that the journal keeps of them; "" if it keeps none.
        shown_elsewhere: Fingerprints of what other processes have shown in the session.
    """

    config: AgentConfig
    context: list[Message] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    tokens: int = 0
    turns: int = 0
    last: float = 0.0
    complete: Complete | AsyncComplete | None = None
    ended: bool = False
    calls: int = 0
    host: str = ""
    journal_id: str = ""
    shown_elsewhere: frozenset[str] = frozenset()

    @property
    def calls_left(self) -> int:
        """The number of calls of the model that are left."""
        capture = self.config.search.items.capture
        return max(capture.model_calls - self.calls, 0) if self.complete is not None and capture.use_model else 0

    @property
    def size(self) -> int:
        """The most tokens that are read at once: by the model, or by rules."""
        capture = self.config.search.items.capture
        return capture.model_tokens - PROMPT_TOKENS if self.calls_left else capture.max_tokens

    @property
    def due_at(self) -> float:
        """The `time.monotonic()` from which it is to be read; infinite without anything to read."""
        if not self.turns:
            return float("inf")
        if self.ended or self.tokens >= self.size or (self.turns >= READ_AFTER_TURNS and not self.calls_left):
            return 0.0
        return self.last + READ_AFTER_SECONDS


class SessionCapture:
    """Learns items from the sessions of one agent. All methods may be called from several threads; none waits for a model.

    One thread reads one session after the other. It runs while turns wait, and ends by itself.

    Args:
        items: The agent's items.
        shown: What sessions have been shown, which is not learned again.
        today: Returns the date for daily notes.
    """

    def __init__(self, items: OpenItems, shown: Shown, today: Callable[[AgentConfig], date]) -> None:
        self._items = items
        self._shown = shown
        self._today = today
        self._changed = threading.Condition()
        self._sessions: dict[str | None, _Waiting] = {}
        self._running: Future[None] | None = None
        self._reading: Future[list[str]] | None = None  # of notes
        self._closed = False

    def add(
        self,
        config: AgentConfig,
        session_key: str | None,
        messages: Sequence[Mapping[str, Any]],
        complete: Complete | AsyncComplete | None,
        *,
        host: str = "host",
    ) -> None:
        """Take the turn that has ended, and keep it in the journal; the caller has checked that this session may be learned from.

        Args:
            config: The agent's.
            session_key: The session.
            messages: In OpenAI's form: those of the turn, or all of the session, of which the last turn is taken.
            complete: The host's model; None leaves it to rules.
            host: The name of the host, for the journal.

        Raises:
            InvalidArgument: A message is no object.
        """
        check_messages(messages)
        capture, journal_id = config.search.items.capture, ""
        (said,) = split_turns(messages)[-1:] or [[]]
        if not any(message.get("role") == "user" for message in said):
            said = []
        if capture.journal:
            project = "" if config.project is None else str(config.project.folder)
            said, journal_id = _keep_in_journal(config, JournalSession(host, session_key or "main", project), said)
        if not capture.enabled or Journal(config.journal_dir).is_paused:
            return
        off_the_record = OffTheRecord()
        kept = [
            message for message in said if not off_the_record.leaves_out(str(message.get("role")), join_text(message))
        ]
        turn = [_keep(message, capture.max_tokens) for message in kept]
        if not turn:
            return
        with self._changed:
            if self._closed:
                return
            waiting = self._sessions.setdefault(session_key, _Waiting(config))
            waiting.config, waiting.complete, waiting.ended, waiting.host = config, complete, False, host
            waiting.messages += turn
            waiting.tokens += sum(estimate_tokens(message["content"]) for message in turn)
            waiting.turns += 1
            waiting.journal_id = journal_id or waiting.journal_id
            waiting.last = time.monotonic()
            self._shrink()
            self._wake()

    def end_session(self, session_key: str | None) -> None:
        """Have the turns of a session read that still wait, since it is over.

        Raises:
            InvalidArgument: The session's key is none.
        """
        expect(isinstance(session_key, str | None), "session_key", "a session key or None", session_key)
        with self._changed:
            waiting = self._sessions.get(session_key)
            if waiting is not None:
                waiting.ended = True
                self._wake()

    def close(self) -> tuple[str, ...]:
        """Have all turns read that still wait, and take no more; may be called twice.

        Returns:
            A sentence if that takes longer than `CLOSE_SECONDS`; it is left behind in a daemon thread.
        """
        with self._changed:
            self._closed = True
            for waiting in self._sessions.values():
                waiting.ended = True
            self._wake()
            running: list[Future[Any]] = [future for future in (self._reading, self._running) if future is not None]
        _, unfinished = wait(running, timeout=CLOSE_SECONDS)
        return ("capture did not end: what the last turns said may not be kept",) if unfinished else ()

    def _wake(self) -> None:
        """Start the thread, or let it look again; the lock is held."""
        if (self._running is None or self._running.done()) and any(
            waiting.turns for waiting in self._sessions.values()
        ):
            self._running = start_call(self._work, name="memory-core-capture")
        self._changed.notify_all()

    def _shrink(self) -> None:
        """Keep the sessions used last: of the others, what waits is read at once; the lock is held."""
        newest = sorted(self._sessions.items(), key=lambda each: -each[1].last)
        for key, waiting in newest[MAX_SESSIONS:]:
            if waiting.turns:
                waiting.ended = True
            else:
                del self._sessions[key]

    def _work(self) -> None:
        while True:
            with self._changed:
                key = min(self._sessions, key=lambda each: self._sessions[each].due_at, default=None)
                waiting = self._sessions.get(key)
                if waiting is None or not waiting.turns:
                    self._running = None
                    return
                left = waiting.due_at - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                    continue
                batch = replace(waiting)
                waiting.context = [*waiting.context, *waiting.messages][-CONTEXT_MESSAGES:]
                waiting.messages, waiting.tokens, waiting.turns, waiting.journal_id = [], 0, 0, ""
                if waiting.ended:
                    del self._sessions[key]
            self._read(key, batch)
            waiting.calls = batch.calls

    def _read(self, key: str | None, batch: _Waiting) -> bool:
        """Turn a batch into items; what goes wrong is logged, and harms nobody. Return True if nothing did."""
        from memory_core.embeddings.protocols import Limits, pack

        new, left, size, before, is_read = 0, batch.calls_left, batch.size, batch.context, False
        self.read_notes(batch.config)
        with _log_all(f"{batch.turns} turns could not be learned from"):
            limits = Limits(len(batch.messages), size)
            pieces = list(pack(batch.messages, limits, lambda message: estimate_tokens(message["content"])))
            for number, piece in enumerate(pieces, start=1):
                asks = number > len(pieces) - left  # the last ones, since what was said last holds
                batch.calls += asks
                new += self._memorize(key, batch, before, piece, size, asks=asks)
                before = [*before, *piece][-CONTEXT_MESSAGES:]
            is_read = True
            log.info("capture: %d turns read, %d items are new", batch.turns, new)
            if batch.journal_id:
                with suppress(OSError):
                    session = JournalSession(batch.host, key or "main")
                    Journal(batch.config.journal_dir).mark_learned(session, batch.journal_id)
        return is_read

    def read_notes_soon(self, config: AgentConfig) -> None:
        """Do as `read_notes` does in the background, unless that runs already."""
        with self._changed:
            if not self._closed and (self._reading is None or self._reading.done()):
                self._reading = start_call(lambda: self.read_notes(config), name="memory-core-mirror")

    def read_notes(self, config: AgentConfig) -> list[str]:
        """Change items as a person has changed the notes that mirror them, where notes do; what goes wrong is logged.

        Return what the person should know, in sentences.
        """
        capture = config.search.items.capture
        if capture.enabled and capture.notes:
            with _log_all("the notes that mirror items are not read"):
                return self._items.get(config).mirror.take_over(self._today(config))
        return []

    def catch_up(self, config: AgentConfig) -> None:
        """Keep what the journal has missed of transcripts, drop what is too old, and learn from sessions that are over or idle.

        What goes wrong is for `doctor` to tell.
        """
        capture = config.search.items.capture
        if capture.journal:
            journal = Journal(config.journal_dir)
            try:
                journal.catch_up(seconds=CATCH_UP_SECONDS)
                journal.prune(capture.retention_days)
                if capture.enabled:
                    self._learn_from(journal, config)
            except OSError as error:
                journal.record_problem(str(error))

    def _learn_from(self, journal: Journal, config: AgentConfig) -> None:
        """Learn from the sessions of the journal that are over or idle, each part of them once.

        The host's program is asked where that is configured, and rules else.
        """
        from memory_core.config.resolution import belongs
        from memory_core.plugin.programs import open_program

        capture = config.search.items.capture
        for session, before, new in journal.list_unlearned(idle_seconds=JOURNAL_IDLE_SECONDS):
            if not belongs(config, session.project, os.environ):
                continue
            context, messages = (
                [_keep_line(config, session, line) for line in part] for part in (before[-CONTEXT_MESSAGES:], new)
            )
            elsewhere = Shown(config.shown_dir).of(session.key)
            batch = _Waiting(config, context, messages, turns=len(messages), shown_elsewhere=elsewhere)
            complete = open_program(session.host) if capture.use_program and capture.use_model else None
            if complete is not None and journal.take_call(session, capture.model_calls):
                batch.complete, batch.calls = complete, capture.model_calls - 1
            if self._read(session.key, batch):
                journal.mark_learned(session, str(new[-1]["id"]))

    def _memorize(
        self, key: str | None, batch: _Waiting, before: list[Message], piece: list[Message], size: int, *, asks: bool
    ) -> int:
        """Turn some messages into items, and return how many are new; `asks` lets the model find them."""
        settings, items = batch.config.search.items.capture, self._items.get(batch.config)
        learned = items.memorize(
            [*before, *piece],
            batch.complete if asks else None,
            session=key,
            recalled=self._shown.of(key) | batch.shown_elsewhere,
            first=len(before),
            max_tokens=size,
            max_seconds=PROGRAM_SECONDS if not batch.host else LAST_MODEL_SECONDS if self._closed else MODEL_SECONDS,
        )
        if learned.written or learned.tokens:
            outcome = f"{learned.tokens:,} tokens of a model" if learned.tokens else ""
            ids = [written.item.id for written in learned.written]
            record(batch.config, "stored", "capture", key, ids, outcome=outcome)
        if settings.notes:
            with LoggedProblems(log, "capture: what was learned is not in the daily note"):  # the items are kept
                items.mirror.append([written.item for written in learned.written], self._today(batch.config))
        return len(learned.stored)


@contextmanager
def _log_all(what: str) -> Iterator[None]:
    """Log whatever the block raises: a defect of ours must not end a thread that others wait for."""
    try:
        with LoggedProblems(log, f"capture: {what}"):
            yield
    except Exception:
        log.exception("capture: %s", what)


def _keep_line(config: AgentConfig, session: JournalSession, line: Mapping[str, Any]) -> Message:
    kept = {**line, "time": line.get("timestamp"), "place": _place(session, line["line"])}
    return _keep(kept, config.search.items.capture.max_tokens)


def _place(session: JournalSession, line: int) -> dict[str, Any]:
    """Return the place of a message of the journal; see `items.capture.exchange.Turn`."""
    return {"host": session.host, "path": SHOWN + session.file_name, "line": line}


def _keep_in_journal(
    config: AgentConfig, session: JournalSession, turn: list[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], str]:
    """Keep a turn in the journal; a host does not notice if that fails.

    Returns:
        The turn with the places of its messages, and the id of the last one that is kept; "" if none is.
    """
    journal = Journal(config.journal_dir)
    said: dict[int, Said] = {}
    for number, message in enumerate(turn):
        role, text = message.get("role"), join_text(message).strip()
        if role in SPEAKERS and text and message.get("recalled") is not True:
            said[number] = Said(str(role), text)
    session = session._replace(is_left_out=journal.is_paused)
    try:
        known = zip(said, journal.add(session, said.values()), strict=True)
    except TimeoutError:  # another process holds the lock
        journal.record_missed(session, [*said.values()])
        return turn, ""
    except OSError as error:
        log.warning("capture: a turn is not in the journal: %s", error)
        journal.record_problem(f"session {session.key} of {session.host}: {error}")
        return turn, ""
    kept = {number: line for number, line in known if line}
    placed = [
        {**message, "place": _place(session, kept[number]["line"])} if number in kept else message
        for number, message in enumerate(turn)
    ]
    return placed, kept[max(kept)]["id"] if kept else ""


def _keep(message: Mapping[str, Any], max_tokens: int) -> Message:
    """Return what is kept of a message, as plain values: its role, its text up to half of the tokens, and its time."""
    text = join_text(message)[:KEPT_CHARS]
    tokens, most = estimate_tokens(text), max_tokens // 2
    stamp = message.get("time", message.get("timestamp"))
    return {
        "role": message.get("role"),
        "content": text if tokens <= most else text[: len(text) * most // tokens],
        "time": stamp if isinstance(stamp, (str, int, float)) else time.time(),
        "recalled": message.get("recalled") is True,
        "place": message.get("place"),
    }
