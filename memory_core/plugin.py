"""The slot: what a host loads, configures and calls. Nothing in here raises into the host once it is made.

from memory_core.plugin import MemorySlot

slot = MemorySlot("host.json5")
slot.start()
tools = slot.tool_schemas()
answer = slot.call_tool("memory_search", {"query": "what did we decide about the cache?"})
slot.close()
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memory_core import flush, prompts, session_store, tools
from memory_core.errors import ConfigError, MemoryCoreError
from memory_core.flush import Decision, FlushTurn, Session
from memory_core.hookspecs import ResolveApiKey, hookimpl
from memory_core.memory import Memory
from memory_core.records import CallContext, Status
from memory_core.settings import AgentConfig
from memory_core.sources import ConfigSource, Origin

if TYPE_CHECKING:
    from memory_core.completions import Complete
    from memory_core.flush_run import FlushOutcome

log = logging.getLogger(__name__)

SLOT_ID = "memory-core"
DEFAULT_AGENT = "main"


class MemorySlot:
    """The memory of all agents of one host. Making one starts nothing; all methods may be called from several threads.

    Args:
        config: A file (read again when it changes), a mapping, or a callable (asked at every call).
        workspace: Beats the configuration's, for every agent.
        state_dir: The host's state directory; beats MEMORY_CORE_STATE_DIR and the default.
        other_slots: Ids of memory plugins that the host knows besides ours.
        today: The date for daily notes; the host's clock in the user's timezone.
        resolve_api_key: The host's own keys by provider id, asked after the configuration and before the environment.
    """

    def __init__(
        self,
        config: Origin = None,
        *,
        workspace: str | Path | None = None,
        state_dir: str | Path | None = None,
        other_slots: Collection[str] = (),
        today: Callable[[], date] = date.today,
        resolve_api_key: ResolveApiKey | None = None,
    ) -> None:
        self._source = ConfigSource(config, workspace=workspace, state_dir=state_dir, other_slots=other_slots)
        self._today = today
        self._resolve_api_key = resolve_api_key
        self._lock = threading.Lock()
        self._memories: dict[str, Memory] = {}
        self._greeted: set[str] = set()
        self._started = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def manifest(self) -> dict[str, Any]:
        """`plugin.json` as it ships: id, kind, tools, hooks, the JSON Schema of the configuration."""
        from memory_core.manifest import plugin_json

        return plugin_json()

    def tool_schemas(self, context: CallContext | None = None, *, form: tools.Form = "bare") -> list[dict[str, Any]]:
        """The tools an agent may be given; empty when memory is off or its configuration cannot be used.

        Args:
            context: Whose session; None is the agent "main".
            form: "bare" is OpenAI's function object, "openai" wraps it, "anthropic" and "mcp" are those hosts' own.
        """
        context = context or CallContext()
        config = self._config_if_on(context)
        schemas = [] if config is None else tools.schemas(config, context.access)
        return [tools.in_form(schema, form) for schema in schemas]

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run one tool for one session. Whatever goes wrong is in the result; nothing is raised.

        Slot, switch and scope are resolved now, not when the tools were handed out.
        """
        context = context or CallContext()
        try:
            memory = self._memory(context)
        except MemoryCoreError as error:
            return {"error": str(error), "code": "invalid_agent"}
        return memory.call_tool(name, arguments, context)

    async def acall_tool(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> dict[str, Any]:
        """The same for asynchronous hosts: the work is done in a thread."""
        return await asyncio.to_thread(self.call_tool, name, arguments, context)

    def prompt_section(self, context: CallContext | None = None) -> str:
        """What the system prompt says about memory; "" when memory is off."""
        context = context or CallContext()
        config = self._config_if_on(context)
        if config is None:
            return ""
        offered = {
            tools.ALIASES.get(schema["name"], schema["name"]): schema["name"]
            for schema in tools.schemas(config, context.access)
        }
        return prompts.section(config, context, search=offered["memory_search"], get=offered["memory_get"])

    def session_context(self, context: CallContext | None = None, *, budget_chars: int = prompts.CONTEXT_CHARS) -> str:
        """The notes worth seeing at the start of a session, as quoted data within a budget.

        "" when there are none, memory is off, or its scope lets this chat see none.
        """
        context = context or CallContext()
        config = self._config_if_on(context, readable=True)
        return (
            "" if config is None else prompts.session_notes(config, context, self._today(), budget_chars=budget_chars)
        )

    def session_started(self, context: CallContext | None = None) -> None:
        """Bring the index level in the background, once a session key, where `sync.onSessionStart` says so."""
        context = context or CallContext()
        config = self._config_if_on(context)
        if config is None or not config.search.sync.on_session_start or context.access != "rw":
            return
        key = f"{config.agent}\0{context.session_key or ''}"
        with self._lock:
            if key in self._greeted:
                return
            self._greeted.add(key)
        self._memory(context).sync_soon()

    def session_updated(self, session_key: str, agent: str = DEFAULT_AGENT) -> None:
        """A session's transcript has grown; once it has grown enough, it is indexed in the background."""
        try:
            self._memory(CallContext(agent=agent)).session_updated(session_key)
        except MemoryCoreError as error:
            log.warning("session %s is not indexed: %s", session_key, error)

    # The flush before compaction.

    def session(self, context: CallContext, key: str, **facts: Any) -> Session:
        """What the slot is told of a session before compaction: the host's `sessions.json`, and what the host knows better.

        Args:
            context: The session, as for a tool call.
            key: Its session key.
            facts: Attributes of `flush.Session`, such as `total_tokens` and `context_window`.
        """
        agent = context.agent or DEFAULT_AGENT
        told = {"access": context.access, "chat_type": context.chat_type or "", "channel": context.channel or ""}
        try:
            entry = session_store.read_entry(self._sessions_file(agent), key)
        except MemoryCoreError as error:
            log.warning("%s", error)
            entry = {}
        return Session.from_entry(agent, key, entry, **(told | facts))

    def should_flush(self, session: Session, *, compacting: bool = False) -> Decision:
        """Whether a flush turn is due now, and why or why not; for hosts that poll."""
        try:
            config = self._memory(CallContext(agent=session.agent)).config()
        except MemoryCoreError as error:
            return Decision(False, str(error), "disabled")
        return flush.should_flush(session, config, compacting=compacting)

    def before_compaction(self, session: Session, *, compacting: bool = False) -> FlushTurn | None:
        """The silent turn to run now, before the session is compacted; None when none is due. Never raises.

        A host calls it after every turn, and once more with `compacting` when it compacts whatever the session's size.
        """
        try:
            config = self._memory(CallContext(agent=session.agent)).config()
        except MemoryCoreError as error:
            log.warning("no memory flush: %s", error)
            return None
        return flush.plan_flush(session, config, compacting=compacting)

    def run_flush(self, turn: FlushTurn, complete: Complete, **limits: Any) -> FlushOutcome:
        """Run a flush turn for a host that cannot run a nested one, and record how it went. Never raises.

        Args:
            turn: As `before_compaction` made it.
            complete: Asks the model once; see `completions.Complete`.
            limits: `history`, `max_steps`, `max_seconds`, `max_tokens` of `flush_run.run_flush`.
        """
        from memory_core import flush_run

        try:
            memory = self._memory(CallContext(agent=turn.agent))
            config = memory.config()
        except MemoryCoreError as error:
            return flush_run.FlushOutcome(status="failed", reason=str(error))
        handlers = flush_run.flush_tools(turn, config, recalled=memory.recalled(turn.session_key))
        outcome = flush_run.run_flush(turn, complete, handlers, **limits)
        flush_run.record_outcome(turn, outcome, config.sessions_dir / session_store.FILE_NAME)
        return outcome

    def _sessions_file(self, agent: str) -> Path:
        return self._memory(CallContext(agent=agent)).config().sessions_dir / session_store.FILE_NAME

    # The slot itself.

    def status(self, agent: str = DEFAULT_AGENT) -> Status:
        """One cheap look at one agent's memory; a slot that is off, or a wrong configuration, is a warning in it."""
        try:
            memory = self._memory(CallContext(agent=agent))
            config = memory.config()
            if config.enabled:
                return memory.status()
        except MemoryCoreError as error:
            return Status(backend="none", agent=agent, workspace=Path(), warnings=(str(error),))
        return Status(
            backend="none", agent=config.agent, workspace=config.workspace, warnings=("memory is off for this agent",)
        )

    def start(self) -> None:
        """Begin to watch and to keep level, for every agent that is configured and every one that is called later."""
        with self._lock:
            self._started = True
        try:
            agents = self._source.current().agents
        except ConfigError as error:
            log.warning("memory does not start: %s", error)
            return
        for agent in agents:
            self._memory(CallContext(agent=agent))

    def close(self) -> tuple[str, ...]:
        """End all that runs and close all files; may be called twice.

        Returns:
            What did not end, such as a backend that hangs, one sentence each; it is left behind in a daemon thread.
        """
        with self._lock:
            memories, self._memories = list(self._memories.values()), {}
            self._started = False
        return tuple(problem for memory in memories for problem in memory.close())

    def _memory(self, context: CallContext) -> Memory:
        """The memory of the agent whose session calls.

        Raises:
            InvalidArgument: The agent's id is none.
        """
        from memory_core.config import agent_key

        agent = agent_key(context.agent or DEFAULT_AGENT)
        with self._lock:
            memory = self._memories.get(agent)
            if memory is not None:
                return memory
            memory = self._memories[agent] = Memory(
                self._source, agent=agent, today=self._today, resolve_api_key=self._resolve_api_key
            )
            started = self._started
        if started:
            memory.start()
        return memory

    def _config_if_on(self, context: CallContext, *, readable: bool = False) -> AgentConfig | None:
        """The agent's configuration; None when memory is off for this session, or cannot be configured.

        With `readable` also None when the scope lets this chat see no notes.
        """
        try:
            memory = self._memory(context)
            config = memory.config()
            if readable and not memory.allows(context):
                return None
        except MemoryCoreError as error:
            log.warning("memory is off: %s", error)
            return None
        return config if config.enabled and context.access != "none" else None

    # The hooks for hosts with a pluggy manager of their own. pluggy passes no argument that has a default.

    @hookimpl(specname="session_started")
    def _on_session_started(self, context: CallContext) -> None:
        self.session_started(context)

    @hookimpl(specname="session_updated")
    def _on_session_updated(self, session_key: str, agent: str) -> None:
        self.session_updated(session_key, agent)

    @hookimpl(specname="before_compaction")
    def _on_before_compaction(self, session: Session, compacting: bool) -> FlushTurn | None:
        return self.before_compaction(session, compacting=compacting)
