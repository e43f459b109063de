"""Selection of the backend that answers: the one that `memory.backend` names, and builtin while that one fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from memory_core.backends import breaker
from memory_core.backends.breaker import GuardedBackend
from memory_core.backends.loader import RegisteredBackend, find_plugin, read_section, register_backend
from memory_core.config.agent import AgentConfig, NamedFolder
from memory_core.config.settings import BUILTIN, Scope
from memory_core.errors import BackendError, BackendUnavailable, ConfigError, MemoryCoreError, PathRefused
from memory_core.explanations import Explanation, NotePlace
from memory_core.hookspecs import BackendContext, BackendPlugin
from memory_core.records import (
    Access,
    Document,
    Fallback,
    Finding,
    KeySources,
    Probe,
    ProgressCallback,
    Query,
    Related,
    RelatedQuery,
    SearchResult,
    Status,
    SyncReport,
)
from memory_core.sources.refusals import OUTSIDE
from memory_core.text.messages import quote_safely
from memory_core.threads import Clock, make_fork_lock, start_call, wait_for

log = logging.getLogger(__name__)
outages = logging.getLogger(f"{__name__}.outages")  # one record when an outage begins, and one when it ends

Answer = TypeVar("Answer", SearchResult, Document, Explanation, Related, SyncReport, Status, Probe, bool)

# Time for builtin's answer after the chosen backend's deadline: too short to wait for a sync besides.
GRACE_SECONDS = 0.4
FINISH_POLL_SECONDS = 0.05
# Some 600 words; nobody asks more in one question, and a longer one costs time and finds no more.
MAX_QUERY_CHARS = 4000

REPORT = "report it to the authors of that backend, or choose another: memory.backend"
MEMORY_SCOPE = "memory.scope"
# The scope while a backend's own cannot be read: nobody but this machine's user may search.
CLOSED = Scope(default="deny")
_OF_NOTES = frozenset({"snippet", "text", "name", "aliases"})  # fields of answers that hold texts of notes


class _Loaded(NamedTuple):
    """The plugin of a backend, and the context with which it is opened."""

    name: str
    plugin: BackendPlugin
    context: BackendContext


class Selector:
    """The backends of one agent. Making one opens nothing; `close` ends what was opened.

    Attributes:
        scope: The chats in which memory may be searched; the chosen backend's own scope, if it has one, governs fallbacks too.
        scope_setting: The setting that holds this scope; None while it cannot be read.
    """

    def __init__(
        self,
        config: AgentConfig,
        *,
        access: Access = "rw",
        keys: KeySources | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._config = config
        self._access = access
        self._keys = keys or KeySources()
        self.scope = config.memory.scope
        self.scope_setting: str | None = MEMORY_SCOPE
        self._folders: tuple[NamedFolder, ...] = ()
        self._search_seconds: float | None = None
        self._chosen: _Loaded | None = None  # the backend besides builtin, once its plugin is loaded
        self._primary: GuardedBackend | None = None  # that backend, once it is open
        self._problem: Exception | None = None  # why the chosen backend is left out
        self._is_out = False  # builtin answered the last search in its place
        if config.memory.backend != BUILTIN:
            self._register_primary(config.memory.backend, clock)
        known = replace(config, folders=self._folders)
        context = replace(self._make_context(None), config=known, standby=self._primary is not None)
        self._own = context
        self._opening = make_fork_lock()
        self._opened: RegisteredBackend | None = None  # builtin, from its first use on
        self._closed = False

    @property
    def _builtin(self) -> RegisteredBackend:
        """The backend builtin, which its first use opens; after `close` it is closed at once."""
        with self._opening:
            if self._opened is None:
                self._opened = register_backend(BUILTIN, find_plugin(BUILTIN), self._own)
                if self._closed:
                    self._opened.memory_close()
            return self._opened

    def search(self, query: Query) -> SearchResult:
        """Return the chosen backend's answer, or builtin's with `backend_fallback` set.

        Of a longer question the first `MAX_QUERY_CHARS` characters are searched for, and the answer says so.
        """
        if len(query.text) > MAX_QUERY_CHARS:
            found = self.search(replace(query, text=query.text[:MAX_QUERY_CHARS]))
            cut = (
                f"The question is {len(query.text):,} characters long; its first {MAX_QUERY_CHARS:,} were searched for."
            )
            warning = " ".join(filter(None, (cut, found.warning)))
            return replace(found, warning=warning, action=found.action or "ask with fewer words")
        hurried = query
        if self._primary is not None and self._search_seconds is not None:
            # builtin answers in the chosen backend's place soon after that one's deadline.
            deadline = time.monotonic() + self._search_seconds + GRACE_SECONDS
            hurried = replace(query, deadline=deadline if query.deadline is None else min(deadline, query.deadline))
        answer, reason = self._ask(lambda backend: backend.memory_search(query))
        self._log_outage(reason)
        if answer is not None:
            safe: SearchResult = _quote(replace(answer, backend_fallback=None))
            return safe
        result: SearchResult = _quote(self._builtin.memory_search(hurried))
        if reason is None:
            return result
        hint = result.hint and f"{self._config.memory.backend} could not be asked, see backendFallback"
        return replace(result, backend_fallback=self._make_fallback(reason), hint=hint)

    def explain(self, query: Query, place: NotePlace | None) -> Explanation:
        """Return the explanation of the backend that answers this query; a warning names the one that could not."""
        query = replace(query, text=query.text[:MAX_QUERY_CHARS])
        answer, reason = self._ask(lambda backend: backend.memory_explain(query, place), long=True)
        if answer is not None:
            return _quote_passages(answer)
        found = _quote_passages(self._builtin.memory_explain(query, place))
        if reason is None:
            return found
        why = f"{BUILTIN} answers instead of {self._config.memory.backend}: {reason}"
        return replace(found, warning="; ".join(filter(None, (why, found.warning))))

    def relate(self, query: RelatedQuery) -> Related:
        """Return what is related to a name, from the chosen backend or else from builtin."""
        answer, _ = self._ask(lambda backend: backend.memory_related(query), long=True)
        quoted: Related = _quote(self._builtin.memory_related(query) if answer is None else answer)
        return quoted

    def get(self, path: str, from_line: int, lines: int) -> Document:
        """Return lines of a note, from the chosen backend or else from builtin.

        Raises:
            BackendUnavailable: The chosen backend fails, and builtin does not know the path, which may be one of its own.
        """
        answer, reason = self._ask(lambda backend: backend.memory_get(path, from_line, lines))
        if answer is not None:
            return answer
        try:
            return self._builtin.memory_get(path, from_line, lines)
        except PathRefused as error:
            is_indexed = self._chosen is not None and self._chosen.plugin.folders is not None  # by builtin, too
            if reason is None or error.reason != OUTSIDE or is_indexed:
                raise
            raise BackendUnavailable(self._config.memory.backend, reason) from None

    def sync(self, *, force: bool = False, progress: ProgressCallback | None = None) -> SyncReport:
        """Sync the chosen backend, and builtin first, so that builtin can answer at once when it must."""
        report = self._builtin.memory_sync(force, progress)
        answer, reason = self._ask(lambda backend: backend.memory_sync(force, progress), long=True)
        if answer is not None or reason is None:
            return answer or report
        warning = f"backend {self._config.memory.backend!r} is not synced: {reason}"
        return replace(report, warnings=(*report.warnings, warning), backend_fallback=self._make_fallback(reason))

    def finish_sync(self, backend: str, *, progress: ProgressCallback | None = None) -> bool:
        """Finish the sync that a search has left to the background; return True if it is done.

        builtin's is waited for to its end, that of another backend no longer than a search of it may take.

        Args:
            backend: The one that answered the search.
            progress: Called with how far builtin's sync is.
        """
        if backend == BUILTIN:
            self._builtin.memory_sync(False, progress)
            return True
        self._ask(lambda chosen: chosen.memory_sync_soon())
        until = time.monotonic() + (self._search_seconds or 0.0)
        while True:
            status, _ = self._ask(lambda chosen: chosen.memory_status(), counted=False)
            if status is None or not status.dirty or time.monotonic() >= until:
                return status is not None and not status.dirty
            time.sleep(FINISH_POLL_SECONDS)

    def sync_soon(self) -> None:
        """Ask for a sync in the background."""
        self._tell_both(lambda backend: backend.memory_sync_soon())

    def session_updated(self, session_key: str) -> None:
        """Tell both backends that a session's log has grown."""
        self._tell_both(lambda backend: backend.memory_session_updated(session_key))

    def status(self) -> Status:
        """Return the serving backend's status, why it serves, and when the chosen one is tried again."""
        if self._primary is None:
            status = self._builtin.memory_status()
            if self._problem is None:
                return status
            return self._add_fallback(status, breaker.explain_error(self._problem), None)
        look = self._primary.breaker.read_state()
        answer, reason = None, None
        if look.state != "open":
            answer, reason = self._ask(lambda backend: backend.memory_status(), counted=False)
        if answer is not None and not look.reason:
            return answer
        reason = look.reason or reason or "it does not answer"
        return self._add_fallback(self._builtin.memory_status(), reason, look)

    def probe(self) -> Probe:
        """Try the chosen backend for real."""
        answer, reason = self._ask(lambda backend: backend.memory_probe(), long=True, counted=False)
        if answer is not None:
            return answer
        if reason is None:
            return self._builtin.memory_probe()
        return Probe(ok=False, provider=self._config.memory.backend, error=reason, action="run: memory-core doctor")

    def diagnose(self) -> list[Finding]:
        """Check for real what builtin needs, then what the chosen backend needs, also while that one is paused."""
        own = _Loaded(BUILTIN, find_plugin(BUILTIN), self._own)
        found = [finding for loaded in (own, self._chosen) if loaded for finding in _diagnose(*loaded)]
        name = self._config.memory.backend
        if self._problem is not None:
            action = self._problem.action if isinstance(self._problem, MemoryCoreError) else ""
            reason = self._problem.reason if isinstance(self._problem, BackendError) else None
            found.append(Finding(name, "fail", reason or breaker.explain_error(self._problem), action or REPORT))
        elif self._chosen is not None and self._chosen.plugin.diagnose is None:
            answer, reason = self._ask(lambda backend: backend.memory_probe(), long=True, counted=False)
            probe = answer or Probe(ok=False, provider=name, error=reason)
            message = "it answers" if probe.ok else probe.error or "it does not answer"
            found.append(Finding(name, "ok" if probe.ok else "fail", message, probe.action or ""))
        return found

    def start(self) -> None:
        """Start background work."""
        self._tell_both(lambda backend: backend.memory_start())

    def rest(self) -> None:
        """Let both backends let go of what they can read again."""
        if self._opened is not None or self._primary is not None:
            self._tell_both(lambda backend: backend.memory_rest(), counted=False)

    def close(self) -> tuple[str, ...]:
        """End everything; a backend that hangs is reported, not waited for.

        Returns:
            A sentence about each backend that did not close.
        """
        hanging = () if self._primary is None else self._primary.close()
        with self._opening:
            self._closed, opened = True, self._opened
        if opened is None or opened.memory_close():
            return hanging
        return (*hanging, "backend 'builtin' did not close: a sync is still running")

    def _register_primary(self, name: str, clock: Clock) -> None:
        """Load the chosen backend; if it cannot be loaded, builtin serves, and the reason is kept.

        Raises:
            ConfigError: Its section is wrong.
        """
        if "scope" in self._config.backend_sections.get(name, {}):
            self._close_scope()  # until its plugin has read it
        try:
            plugin = find_plugin(name)
            if plugin.scope is not None:
                self._close_scope()
            context = self._make_context(plugin)
            self.scope = self._config.memory.scope if plugin.scope is None else plugin.scope(context.settings)
            self.scope_setting = MEMORY_SCOPE if plugin.scope is None else f"memory.{name}.scope"
            self._folders = () if plugin.folders is None else tuple(plugin.folders(context))
            self._chosen = _Loaded(name, plugin, context)
            known = plugin.search_seconds
            self._search_seconds = plugin.timeout_seconds if known is None else known(context.settings)
            open_it, seconds = partial(register_backend, *self._chosen), plugin.timeout_seconds
            opened = (
                open_it() if seconds is None else wait_for(start_call(open_it, name=f"memory-{name}-open"), seconds)
            )
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 -- a plugin's code may raise anything; builtin answers, the reason is shown
            self._problem = error
            breaker.log_error(log, name, "is left out", error)
            return
        self._primary = GuardedBackend(opened, plugin, breaker.Breaker(clock=clock))

    def _close_scope(self) -> None:
        self.scope, self.scope_setting = CLOSED, None

    def _make_context(self, plugin: BackendPlugin | None) -> BackendContext:
        settings = None if plugin is None else read_section(self._config, self._config.memory.backend, plugin)
        return BackendContext(config=self._config, settings=settings, access=self._access, keys=self._keys)

    def _tell_both(self, work: Callable[[RegisteredBackend], bool], *, counted: bool = True) -> None:
        work(self._builtin)
        self._ask(work, counted=counted)

    def _ask(
        self, work: Callable[[RegisteredBackend], Answer], *, long: bool = False, counted: bool = True
    ) -> tuple[Answer | None, str | None]:
        """Return the chosen backend's answer, or None and the reason why it gave none; (None, None) when builtin is chosen."""
        if self._primary is None:
            return None, None if self._problem is None else breaker.explain_error(self._problem)
        try:
            return self._primary.call(work, long=long, counted=counted), None
        except breaker.Refused as error:
            return None, str(error)
        except breaker.NOT_FAILURES:
            raise
        except Exception as error:  # noqa: BLE001 -- a plugin's code may raise anything; builtin answers, the reason is shown
            breaker.log_error(log, self._config.memory.backend, "failed, builtin answers", error)
            return None, breaker.explain_error(error)

    def _log_outage(self, reason: str | None) -> None:
        """Log that searches begin to be answered by builtin, or that the chosen backend answers them again."""
        was_out, self._is_out = self._is_out, reason is not None
        if reason is not None and not was_out:
            outages.warning("backend %r is out, builtin answers: %s", self._config.memory.backend, reason)
        elif reason is None and was_out:
            outages.warning("backend %r answers again", self._config.memory.backend)

    def _make_fallback(self, reason: str) -> Fallback:
        return Fallback(origin=self._config.memory.backend, to=BUILTIN, reason=reason)

    def _add_fallback(self, status: Status, reason: str, look: breaker.BreakerState | None) -> Status:
        details = dict(status.details)
        if look is not None and look.state != "closed":  # which it always is where another process serves
            details["breaker"] = look.state
            details["next retry in seconds"] = round(look.retry_in_seconds, 1)
        return replace(status, backend_fallback=self._make_fallback(reason), details=details)


def _quote(value: Any, *, of_notes: bool = False) -> Any:
    """Return a record, or several, in which all fields that hold texts of notes are safe to show."""
    if isinstance(value, str):
        return quote_safely(value) if of_notes else value
    if isinstance(value, tuple | list):
        return tuple(_quote(each, of_notes=of_notes) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    names = [each.name for each in fields(value)]
    return replace(value, **{name: _quote(getattr(value, name), of_notes=name in _OF_NOTES) for name in names})


def _quote_passages(found: Explanation) -> Explanation:
    """Return an explanation whose texts of notes are safe to show."""
    return replace(found, passages=_quote(found.passages), place=_quote(found.place))


def _diagnose(name: str, plugin: BackendPlugin, context: BackendContext) -> list[Finding]:
    """Return what a backend's plugin finds; subjects begin with the backend's name unless that is builtin."""
    if plugin.diagnose is None:
        return []
    try:
        found = list(plugin.diagnose(context))
    except Exception as error:  # noqa: BLE001 -- a plugin's code may raise anything; the others go on
        breaker.log_error(log, name, "cannot be checked", error)
        found = [Finding("doctor", "fail", f"its check failed: {breaker.explain_error(error)}", REPORT)]
    return found if name == BUILTIN else [replace(each, subject=f"{name} {each.subject}") for each in found]
