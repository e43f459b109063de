"""One agent's memory, opened: its configuration resolved at every call, its backends behind the selector, its tools."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memory_core import scope, tools
from memory_core.append_tool import APPEND, Writing, memory_append
from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError, PathRefused
from memory_core.hookspecs import ProgressCallback, ResolveApiKey
from memory_core.recalled import Recalled
from memory_core.records import Access, CallContext, Finding, Probe, Status, SyncReport
from memory_core.selector import Selector
from memory_core.settings import AgentConfig
from memory_core.sources import ConfigSource, Origin

log = logging.getLogger(__name__)

_SWITCH_ON = 'set plugins.slots.memory to "memory-core" and memorySearch.enabled to true'


def open_memory(
    config: Origin = None,
    *,
    agent: str = "main",
    workspace: str | Path | None = None,
    state_dir: str | Path | None = None,
) -> Memory:
    """Open one agent's memory. Starts nothing and reads no note; close it, or use it as a context manager.

    Args:
        config: A JSON5 or TOML file, a mapping of the same shape, a callable that returns one, or None for the defaults.
        agent: Whose memory.
        workspace: Where the notes are; beats the configuration.
        state_dir: Where indexes are kept; beats the configuration.

    Raises:
        ConfigError: The configuration cannot be used; names every problem.
    """
    memory = Memory(ConfigSource(config, workspace=workspace, state_dir=state_dir), agent=agent)
    memory.check()
    return memory


class Memory:
    """One agent's memory. All methods may be called from several threads."""

    def __init__(
        self,
        source: ConfigSource,
        *,
        agent: str = "main",
        today: Callable[[], date] = date.today,
        resolve_api_key: ResolveApiKey | None = None,
    ) -> None:
        self._source = source
        self._resolve_api_key = resolve_api_key
        self._agent = agent
        self._today = today
        self._lock = threading.Lock()
        self._selectors: dict[Access, tuple[AgentConfig, Selector]] = {}
        self._started = False
        self._recalled = Recalled()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def config(self) -> AgentConfig:
        """What is configured for this agent now.

        Raises:
            ConfigError: It cannot be used.
        """
        return self._source.current().agent(self._agent)

    def check(self) -> None:
        """Find out whether the configuration can be used, the chosen backend's own section included; opens no index.

        Raises:
            ConfigError: It cannot.
        """
        if self.config().enabled:
            self._selector("rw")

    def tool_schemas(self, access: Access = "rw") -> list[dict[str, Any]]:
        """The tools in the bare function form; empty when memory is off or its configuration cannot be used.

        Args:
            access: What the session may do in the workspace; `memory_append` is offered to "rw" only.
        """
        try:
            config = self.config()
        except ConfigError as error:
            log.warning("no memory tools: %s", error)
            return []
        return tools.schemas(config, access) if config.enabled else []

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run one tool. Whatever goes wrong is in the result; nothing is raised.

        Args:
            name: `memory_search` or `memory_get`, or one of Orbit's names for them.
            arguments: As the model gave them.
            context: From which chat the call comes; None is this machine's own user.
        """
        context = context or CallContext()
        try:
            return self._call_tool(name, arguments, context)
        except InvalidArgument as error:
            return tools.bad_argument(error)
        except PathRefused as error:
            return tools.denied(str(error), error.action or "ask for a path that memory_search returned")
        except ConfigError as error:
            return tools.unavailable(str(error), error.action or "correct the configuration: memory-core config check")
        except MemoryCoreError as error:
            return tools.unavailable(str(error), error.action or "run: memory-core status")
        except Exception as error:  # a tool call must never bring the host down
            log.exception("memory tool %s failed", name)
            return tools.unavailable(f"{type(error).__name__}: {error}", "report this, with the log, as a defect")

    def sync(self, *, force: bool = False, progress: ProgressCallback | None = None) -> SyncReport:
        """Bring the index level with the files; `force` rebuilds it.

        Raises:
            MemoryCoreError: It cannot be done; what was committed stays good.
        """
        return self._selector("rw").sync(force=force, progress=progress)

    def sync_soon(self) -> None:
        """Ask for a sync in the background; returns at once. Nothing happens when memory cannot be used."""
        try:
            self._selector("rw").sync_soon()
        except MemoryCoreError as error:
            log.warning("no sync: %s", error)

    def session_updated(self, session_key: str) -> None:
        """A session's log has grown; where sessions are indexed, it is once it has grown enough, in the background."""
        try:
            if self.config().enabled:
                self._selector("rw").session_updated(session_key)
        except MemoryCoreError as error:
            log.warning("session %s is not indexed: %s", session_key, error)

    def start(self) -> None:
        """Begin to watch and to keep level in the background; `close` ends it. Nothing happens while memory is off."""
        with self._lock:
            self._started = True
        try:
            if self.config().enabled:
                self._selector("rw").start()  # it may have been opened before
        except MemoryCoreError as error:
            log.warning("memory does not start: %s", error)

    def status(self) -> Status:
        """One cheap look: no network, no model, nothing written.

        Raises:
            MemoryCoreError: The configuration or the index cannot be used.
        """
        return self._selector("rw").status()

    def probe(self) -> Probe:
        """Try for real whether embeddings can be had.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        return self._selector("rw").probe()

    def diagnose(self) -> list[Finding]:
        """Look for real at all that the configured backend needs; writes nothing, opens the provider.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        return self._selector("rw").diagnose()

    def allows(self, context: CallContext) -> bool:
        """Whether memory is on for this session and its scope lets this chat see notes.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        return (
            self.config().enabled
            and context.access != "none"
            and scope.allows(self._selector(context.access).scope, context)
        )

    def recalled(self, session_key: str | None) -> frozenset[str]:
        """Fingerprints of what memory_search has shown in a session; see `append_tool.Writing`."""
        return self._recalled.of(session_key)

    def close(self) -> tuple[str, ...]:
        """End what runs and close all files; may be called twice.

        Returns:
            What did not end, one sentence each; it is left behind in a daemon thread.
        """
        with self._lock:
            self._started = False
        return self._close_selectors()

    def _call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        config = self.config()
        if not config.enabled:
            self._close_selectors()  # no watcher and no open index stay behind
            return tools.disabled("memory is off for this agent", _SWITCH_ON)
        if context.access == "none":
            return tools.disabled(
                "this session has no access to the workspace", "use a session with workspaceAccess ro or rw"
            )
        handler = self._handlers().get(tools.ALIASES.get(name, name))
        if handler is None:
            raise InvalidArgument("name", f"there is no tool {name!r}", action="offer the tools of tool_schemas()")
        if not scope.allows(self._selector(context.access).scope, context):
            return tools.denied(
                "memory may not be searched in this chat", "ask in a direct chat, or change memory.scope"
            )
        return handler(config, arguments, context)

    def _handlers(self) -> Mapping[str, Callable[[AgentConfig, Mapping[str, Any], CallContext], dict[str, Any]]]:
        return {"memory_search": self._search, "memory_get": self._get, "memory_append": self._append}

    def _search(self, config: AgentConfig, arguments: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        query = tools.read_query(tools.check_arguments(tools.SEARCH, arguments), config.search.query)
        result = self._selector(context.access).search(query)
        self._recalled.add(context.session_key, [hit.snippet for hit in result.hits])
        citations = config.memory.citations
        return tools.search_result(result, cite=scope.cites(citations, context), citations=citations)

    def _get(self, config: AgentConfig, arguments: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        checked = tools.check_arguments(tools.GET, arguments)
        lines = checked.get("lines", tools.ORBIT_GET_LINES if config.dialect == "orbit" else tools.GET_LINES)
        return tools.document(
            self._selector(context.access).get(checked["path"], int(checked.get("from", 1)), int(lines))
        )

    def _close_selectors(self) -> tuple[str, ...]:
        with self._lock:
            selectors, self._selectors = list(self._selectors.values()), {}
        return tuple(problem for _, selector in selectors for problem in selector.close())

    def _append(self, config: AgentConfig, arguments: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        checked = tools.check_arguments(APPEND, arguments)
        writing = Writing(
            workspace=config.workspace,
            state_dir=config.state_dir,
            today=self._today(),
            access=context.access,
            longterm=scope.is_main(context),
            # What was found in a daily note may well be promoted to long-term memory, when the model says so.
            recalled=frozenset() if checked.get("target") == "longterm" else self.recalled(context.session_key),
        )
        return memory_append(checked, writing)

    def _selector(self, access: Access) -> Selector:
        """The backends for this access, opened anew when the configuration has changed."""
        config = self.config()
        with self._lock:
            held = self._selectors.get(access)
            if held is not None and held[0] == config:
                return held[1]
            selector = Selector(config, access=access, resolve_api_key=self._resolve_api_key)
            self._selectors[access] = (config, selector)
            started = self._started and access == "rw"
        if held is not None:
            held[1].close()
        if started:
            selector.start()
        return selector
