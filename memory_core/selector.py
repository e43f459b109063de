"""memory.backend -> the backend that answers; builtin answers instead while the chosen one fails, until it recovers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from memory_core.backends import RegisteredBackend, add_backend, build_manager, find_plugin, read_section
from memory_core.errors import BackendError, BackendUnavailable, ConfigError, InvalidArgument, NotIndexed, PathRefused
from memory_core.guard import Breaker, BreakerState, Clock, Refused, Worker
from memory_core.hookspecs import BackendContext, BackendPlugin, ProgressCallback, ResolveApiKey
from memory_core.records import Access, Document, Fallback, Finding, Probe, Query, SearchResult, Status, SyncReport
from memory_core.settings import AgentConfig, NamedFolder, Scope

log = logging.getLogger(__name__)

BUILTIN = "builtin"
Answer = TypeVar("Answer", SearchResult, Document, SyncReport, Status, Probe, bool)

# Errors that say nothing about a backend's health: the caller is at fault, or was refused.
NOT_FAILURES = (InvalidArgument, PathRefused, NotIndexed)

# Builtin does not begin to wait for a sync where the chosen backend has used up the time of the call.
GRACE_SECONDS = 0.4

# What holds while the scope of a backend's own cannot be known: nobody but this machine's user may search.
CLOSED = Scope(default="deny")


class Selector:
    """The backends of one agent. Making one opens nothing; `close` ends what was opened."""

    def __init__(
        self,
        config: AgentConfig,
        *,
        access: Access = "rw",
        resolve_api_key: ResolveApiKey | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._config = config
        self._access = access
        self._resolve_api_key = resolve_api_key
        self._manager = build_manager()
        self._scope = config.memory.scope
        self._folders: tuple[NamedFolder, ...] = ()
        self._search_seconds: float | None = None
        self._opened_with: list[tuple[str, BackendPlugin, BackendContext]] = []
        self._primary: _Guarded | None = None
        self._problem: str | None = None
        if config.memory.backend != BUILTIN:
            self._register_primary(config.memory.backend, clock)
        plugin = find_plugin(BUILTIN)
        noted = replace(config, folders=self._folders)
        context = replace(self._context(None), config=noted, standby=self._primary is not None)
        self._builtin = add_backend(self._manager, BUILTIN, plugin, context)
        self._opened_with.insert(0, (BUILTIN, plugin, context))

    @property
    def scope(self) -> Scope:
        """In which chats memory may be searched: the chosen backend's own scope, if it has one, governs fallbacks too."""
        return self._scope

    def search(self, query: Query) -> SearchResult:
        """The chosen backend's answer, or builtin's with `backend_fallback` set."""
        hurried = self._hurried(query)
        answer, reason = self._ask(lambda backend: backend.memory_search(query))
        if answer is not None:
            return replace(answer, backend_fallback=None)
        result = self._builtin.memory_search(hurried)
        return result if reason is None else replace(result, backend_fallback=self._fallback(reason))

    def get(self, path: str, from_line: int, lines: int) -> Document:
        """Lines of a note, from the chosen backend or else from builtin."""
        answer, _ = self._ask(lambda backend: backend.memory_get(path, from_line, lines))
        return self._builtin.memory_get(path, from_line, lines) if answer is None else answer

    def sync(self, *, force: bool = False, progress: ProgressCallback | None = None) -> SyncReport:
        """Bring the chosen backend level, and builtin with it, so that it can answer at once when it must."""
        report = self._builtin.memory_sync(force, progress)
        if self._primary is None:
            return report
        answer, reason = self._ask(lambda backend: backend.memory_sync(force, progress), long=True)
        if answer is not None:
            return answer
        return replace(report, warnings=(*report.warnings, self._sentence(reason or "")))

    def sync_soon(self) -> None:
        """Ask for a sync in the background."""
        self._builtin.memory_sync_soon()
        self._ask(lambda backend: backend.memory_sync_soon())

    def session_updated(self, session_key: str) -> None:
        """A session's log has grown."""
        self._builtin.memory_session_updated(session_key)
        self._ask(lambda backend: backend.memory_session_updated(session_key))

    def status(self) -> Status:
        """The serving backend's status; which one serves, why, and when the chosen one is tried again."""
        if self._primary is None:
            status = self._builtin.memory_status()
            return status if self._problem is None else self._with_fallback(status, self._problem, None)
        look = self._primary.breaker.look()
        answer = None
        if look.state != "open":
            answer, _ = self._ask(lambda backend: backend.memory_status(), counted=False)
        if answer is not None and not look.reason:
            return answer
        return self._with_fallback(self._builtin.memory_status(), look.reason or "it does not answer", look)

    def probe(self) -> Probe:
        """Try the chosen backend for real."""
        answer, reason = self._ask(lambda backend: backend.memory_probe(), long=True, counted=False)
        if answer is not None:
            return answer
        if reason is None:
            return self._builtin.memory_probe()
        return Probe(ok=False, provider=self._config.memory.backend, error=reason, action="run: memory-core status")

    def diagnose(self) -> list[Finding]:
        """What builtin needs, then what the chosen backend needs; looked at for real, also while that one is paused."""
        found = [finding for known in self._opened_with for finding in _diagnosed(*known)]
        if self._problem is not None:
            found.append(Finding(subject=self._config.memory.backend, level="fail", message=self._problem))
        return found

    def start(self) -> None:
        """Begin what runs in the background."""
        self._builtin.memory_start()
        self._ask(lambda backend: backend.memory_start())

    def close(self) -> tuple[str, ...]:
        """End everything; a backend that hangs is reported, not waited for.

        Returns:
            What did not end, one sentence each.
        """
        hanging = () if self._primary is None else self._primary.close()
        self._builtin.memory_close()
        return hanging

    def _register_primary(self, name: str, clock: Clock) -> None:
        """Load the chosen backend; one that cannot be loaded is reported by name, and builtin serves.

        Raises:
            ConfigError: Its section is wrong: the user must know.
        """
        if "scope" in self._config.backend_sections.get(name, {}):
            self._scope = CLOSED  # until its plugin has read it
        try:
            plugin = find_plugin(name)
            if plugin.scope is not None:
                self._scope = CLOSED
            context = self._context(plugin)
            self._scope = self._config.memory.scope if plugin.scope is None else plugin.scope(context.settings)
            self._folders = () if plugin.folders is None else tuple(plugin.folders(context))
            self._opened_with.append((name, plugin, context))
            known = plugin.search_seconds
            self._search_seconds = plugin.timeout_seconds if known is None else known(context.settings)
            registered = self._opened(name, plugin, context)
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 -- a stranger's code may raise anything; builtin answers, the reason is shown
            named = error if isinstance(error, BackendError) else BackendError(name, str(error) or type(error).__name__)
            self._problem = _reason(named)
            log.warning("backend %r is left out: %s", name, self._problem)
            return
        self._primary = _Guarded(registered, plugin, Breaker(clock=clock))

    def _opened(self, name: str, plugin: BackendPlugin, context: BackendContext) -> RegisteredBackend:
        """The backend, opened and registered within the deadline of its calls."""
        if plugin.timeout_seconds is None:
            return add_backend(self._manager, name, plugin, context)
        opener: Worker[RegisteredBackend] = Worker(f"{name}-open")
        return opener.call(lambda: add_backend(self._manager, name, plugin, context), plugin.timeout_seconds)

    def _hurried(self, query: Query) -> Query:
        """The query as builtin gets it in the chosen backend's place: it must be done soon after that one's deadline."""
        if self._primary is None or self._search_seconds is None:
            return query
        deadline = time.monotonic() + self._search_seconds + GRACE_SECONDS
        return replace(query, deadline=deadline if query.deadline is None else min(deadline, query.deadline))

    def _context(self, plugin: BackendPlugin | None) -> BackendContext:
        settings = None if plugin is None else read_section(self._config, self._config.memory.backend, plugin)
        return BackendContext(
            config=self._config, settings=settings, access=self._access, resolve_api_key=self._resolve_api_key
        )

    def _ask(
        self, work: Callable[[RegisteredBackend], Answer], *, long: bool = False, counted: bool = True
    ) -> tuple[Answer | None, str | None]:
        """The chosen backend's answer; or None and why there is none (None also when builtin is the chosen one)."""
        if self._primary is None:
            return None, self._problem
        try:
            return self._primary.call(work, long=long, counted=counted), None
        except Refused as error:
            return None, str(error)
        except NOT_FAILURES:
            raise
        except Exception as error:  # noqa: BLE001 -- a stranger's code may raise anything; builtin answers, the reason is shown
            reason = _reason(error)
            log.warning("backend %r failed, builtin answers: %s", self._config.memory.backend, reason)
            return None, reason

    def _fallback(self, reason: str) -> Fallback:
        return Fallback(origin=self._config.memory.backend, to=BUILTIN, reason=reason)

    def _sentence(self, reason: str) -> str:
        return f"backend {self._config.memory.backend!r} was not brought level: {reason}"

    def _with_fallback(self, status: Status, reason: str, look: BreakerState | None) -> Status:
        details = dict(status.details)
        if look is not None:
            details["breaker"] = look.state
            details["next retry in seconds"] = round(look.retry_in_seconds, 1)
        return replace(status, backend_fallback=self._fallback(reason), details=details)


def _diagnosed(name: str, plugin: BackendPlugin, context: BackendContext) -> list[Finding]:
    """What a backend's plugin finds, each subject with the name of the backend in front unless that is builtin."""
    if plugin.diagnose is None:
        return []
    try:
        found = list(plugin.diagnose(context))
    except Exception as error:  # noqa: BLE001 -- a stranger's code may raise anything; the others go on
        message = f"it cannot be looked at: {str(error) or type(error).__name__}"
        found = [Finding(subject="doctor", level="fail", message=message)]
    return found if name == BUILTIN else [replace(each, subject=f"{name} {each.subject}") for each in found]


class _Guarded:
    """A backend that is not trusted to return: deadline, breaker, one abandoned worker at most."""

    def __init__(self, backend: RegisteredBackend, plugin: BackendPlugin, breaker: Breaker) -> None:
        self.breaker = breaker
        self._backend = backend
        self._plugin = plugin
        self._worker: Worker[object] = Worker(backend.name)

    def call(self, work: Callable[[RegisteredBackend], Answer], *, long: bool, counted: bool) -> Answer:
        """One call, timed and counted.

        Raises:
            Refused: The breaker is open, or an earlier call hangs.
            Exception: Whatever the backend raised, or TimeoutError.
        """
        if counted:
            self.breaker.admit()
        try:
            answer = self._timed(work, self._plugin.sync_timeout_seconds if long else self._plugin.timeout_seconds)
        except BaseException as error:
            if counted:
                self._count(error)
            raise
        if counted:
            self.breaker.succeeded()
        return answer

    def close(self) -> tuple[str, ...]:
        """Close the backend in its deadline; a sentence on what kept it from closing."""
        try:
            self._timed(lambda backend: backend.memory_close(), self._plugin.timeout_seconds)
        except Exception as error:  # noqa: BLE001 -- closing goes on with the others
            problem = f"backend {self._backend.name!r} did not close: {str(error) or type(error).__name__}"
            log.warning("%s", problem)
            return (problem,)
        return ()

    def _timed(self, work: Callable[[RegisteredBackend], Answer], timeout_seconds: float | None) -> Answer:
        if timeout_seconds is None:
            return work(self._backend)
        answer: Answer = self._worker.call(lambda: work(self._backend), timeout_seconds)  # type: ignore[assignment]
        return answer

    def _count(self, error: BaseException) -> None:
        if isinstance(error, NOT_FAILURES) or (isinstance(error, BackendUnavailable) and not error.counts_as_failure):
            self.breaker.abstained()
        else:
            self.breaker.failed(_reason(error))


def _reason(error: BaseException) -> str:
    """Why a backend does not answer and what to do about it; which one stands beside it wherever this is shown."""
    if isinstance(error, BackendError):
        return f"{error.reason}; {error.action}" if error.action else error.reason
    return str(error) or type(error).__name__
