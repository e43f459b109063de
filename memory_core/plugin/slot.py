"""The slot that a host loads, configures and calls. Once it is made, nothing in here raises into the host.

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
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

from memory_core.concurrency import forks
from memory_core.config.agent import AgentConfig
from memory_core.config.names import DEFAULT_AGENT
from memory_core.config.normal_form import normalize_agent_id
from memory_core.config.source import ConfigSource, Origin
from memory_core.errors import MemoryClosed, MemoryCoreError
from memory_core.flush import cycles, policy, sessions
from memory_core.flush.policy import Decision, FlushTurn, Session
from memory_core.hookspecs import hookimpl
from memory_core.plugin.agent import AgentMemory
from memory_core.plugin.agent_recall import recall_nothing
from memory_core.plugin.boundary import check_choice, check_context, check_kind, never_raises, read_agent
from memory_core.records import CallContext, KeySources, ResolveApiKey, Status
from memory_core.tools import prompts, results, schemas

if TYPE_CHECKING:
    from memory_core.flush.completions import AsyncComplete, Complete, Message
    from memory_core.flush.runner import FlushOutcome, FlushStatus, ToolFunction
    from memory_core.items.recall import Recall

log = logging.getLogger(__name__)


class MemorySlot:
    """The memory of all agents of one host. Making one starts nothing; all methods may be called from several threads.

    Each call resolves the configuration once, when it begins, and works with that to its end. After `close` every call
    answers that memory is unavailable, and nothing is opened again.

    Args:
        config: A file (read again when it changes), a mapping, or a callable (called once at every call).
        workspace: Overrides the configuration's, for every agent.
        state_dir: The host's state directory; overrides MEMORY_CORE_STATE_DIR and the default.
        other_slots: Ids of memory plugins that the host knows besides ours.
        today: Returns the date for daily notes: the host's clock in the user's timezone.
        resolve_api_key: Returns the host's own key for a provider id; asked after the configuration and before the
            environment. The provider "auto" takes no key from the environment in a host: name the provider, or offer one here.
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
        self._keys = KeySources(resolve=resolve_api_key)
        self._lock = threading.Lock()
        self._memories: dict[str, AgentMemory] = {}
        self._greeted: set[str] = set()
        self._started = False
        self._closed = False
        forks.renew_in_children(self, MemorySlot._renew)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def manifest(self) -> dict[str, Any]:
        """Return `plugin.json` as it ships: id, kind, tools, hooks, the JSON Schema of the configuration."""
        from memory_core.plugin.manifest import make_plugin_json

        return make_plugin_json()

    @never_raises(lambda _: [])
    def tool_schemas(self, context: CallContext | None = None, *, form: schemas.Form = "bare") -> list[dict[str, Any]]:
        """Return the tools that an agent may be given; empty when memory is off or its configuration cannot be used.

        Args:
            context: The agent's session; None is the agent "main".
            form: "bare" is OpenAI's function object, "openai" wraps it, "anthropic" and "mcp" are those hosts' own.
        """
        check_choice("form", form, get_args(schemas.Form))
        context = check_context(context)
        config = self._config_if_on(context)
        offered = [] if config is None else schemas.list_tools(config, context.access)
        return [schemas.to_form(schema, form) for schema in offered]

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run one tool for one session. Whatever goes wrong is in the result; nothing is raised.

        Slot, switch and scope are resolved now, not when the tools were handed out.
        """

        def run() -> dict[str, Any]:
            checked = check_context(context)
            memory, config = self._resolve(read_agent(checked))
            return memory.call_tool(config, name, arguments, checked)

        return results.catch_errors(name, run)

    async def acall_tool(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> dict[str, Any]:
        """Run `call_tool` in a thread, for asynchronous hosts."""
        try:
            return await asyncio.to_thread(self.call_tool, name, arguments, context)
        except RuntimeError as error:  # the host's loop starts no thread any more
            return results.shape_error(results.explain_defect(error, "acall_tool"))

    @never_raises(lambda _: "")
    def prompt_section(self, context: CallContext | None = None) -> str:
        """Return what the system prompt says about memory; "" when memory is off."""
        context = check_context(context)
        config = self._config_if_on(context)
        return "" if config is None else _explain_memory(config, context)

    @never_raises(lambda _: "")
    def session_context(self, context: CallContext | None = None, *, budget_chars: int = prompts.CONTEXT_CHARS) -> str:
        """Return the notes worth seeing at the start of a session, as quoted data within a budget.

        "" when there are none, when memory is off, or when its scope lets this chat see none.
        """
        check_kind("budget_chars", budget_chars, int)
        context = check_context(context)
        config = self._config_if_on(context, readable=True)
        if config is None:
            return ""
        return self._memory(config).recall.quote_context(config, context, self._today(), budget_chars=budget_chars)

    @never_raises(lambda _: recall_nothing())
    def recall_for_message(self, message: str, context: CallContext | None = None) -> Recall:
        """Return what is worth putting in front of a message, where `recall.enabled` is on; nothing twice in a session."""
        check_kind("message", message, str)
        memory, config = self._resolve(read_agent(context := check_context(context)))
        return memory.recall_for_message(config, message, context)

    @never_raises(lambda _: "")
    def system_text(self, context: CallContext | None = None) -> str:
        """Return all that the system prompt of a session says of memory: `prompt_section`, then `session_context`."""
        memory, config = self._resolve(read_agent(context := check_context(context)))
        if not config.enabled or context.access == "none":
            return ""
        readable = memory.allows(config, context)
        quoted = memory.recall.quote_context(config, context, self._today()) if readable else ""
        return "\n\n".join(filter(None, [_explain_memory(config, context), quoted]))

    @never_raises(lambda _: "")
    def recall(self, context: CallContext | None, text: str, *, max_results: int = 3) -> str:
        """Return the passages of notes that a message calls to mind, or the text of `recall_for_message` where that is on.

        Args:
            context: The session in which the message came; the scope of memory decides what may be shown there.
            text: The message.
            max_results: The most passages.
        """
        check_kind("text", text, str)
        memory, config = self._resolve(read_agent(context := check_context(context)))
        return memory.quote_recalled(config, text, context, max_results=max_results)

    @never_raises(lambda _: None)
    def session_started(self, context: CallContext | None = None) -> None:
        """Sync in the background, once for each session key, where `sync.onSessionStart` says so."""
        context = check_context(context)
        memory, config = self._resolve(read_agent(context))
        if not config.enabled or not config.search.sync.on_session_start or context.access != "rw":
            return
        key = f"{config.agent}\0{context.session_key or ''}"
        with self._lock:
            if key in self._greeted:
                return
            self._greeted.add(key)
        memory.sync_soon(config)

    @never_raises(lambda _: None)
    def session_updated(self, session_key: str, agent: str = DEFAULT_AGENT) -> None:
        """Index a session's transcript in the background once it has grown enough, where sessions are indexed."""
        memory, config = self._resolve(normalize_agent_id(agent))
        check_kind("session_key", session_key, str)
        memory.session_updated(config, session_key)

    # The flush before compaction.

    @never_raises(lambda _: Session(agent=DEFAULT_AGENT, key=""))
    def session(self, context: CallContext, key: str, **facts: Any) -> Session:
        """Describe a session before compaction: what the host's `sessions.json` says, and what the host knows better.

        Args:
            context: The session, as for a tool call.
            key: Its session key.
            facts: Attributes of `flush.policy.Session`, such as `total_tokens` and `context_window`.
        """
        context = check_context(context)
        check_kind("key", key, str)
        try:
            _, config = self._resolve(read_agent(context))
        except MemoryCoreError as error:
            log.warning("%s", error)
            return sessions.describe(context, None, key, **facts)
        return sessions.describe(context, config, key, **facts)

    @never_raises(lambda error: Decision(False, str(error), "disabled"))
    def should_flush(self, session: Session | CallContext, *, compacting: bool = False) -> Decision:
        """Decide whether a flush turn is due now, and say why or why not; for hosts that poll. Never raises.

        Args:
            session: As `session` describes it; of a `CallContext` only what the host's `sessions.json` says is known.
            compacting: See `before_compaction`.
        """
        described, config = self._find_session(session)
        return policy.should_flush(described, config, compacting=compacting)

    @never_raises(lambda _: None)
    def before_compaction(self, session: Session | CallContext, *, compacting: bool = False) -> FlushTurn | None:
        """Return the silent turn to run now, before the session is compacted; None when none is due. Never raises.

        A host calls it after every turn, and once more with `compacting` when it compacts whatever the session's size.

        Args:
            session: See `should_flush`.
            compacting: Decide whatever the session's size.
        """
        described, config = self._find_session(session)
        return policy.plan_flush(described, config, compacting=compacting)

    @never_raises(lambda error: _fail_flush(str(error)))
    def compact(
        self, context: CallContext | None, history: Sequence[Message], complete: Complete, **facts: Any
    ) -> FlushOutcome | None:
        """Run the turn that is due before a compaction, and count the compaction. Never raises.

        A host calls it right before it shortens a session. It plans the turn, runs it, records how it went, and ends the cycle.

        Args:
            context: The session, as for a tool call.
            history: The messages so far, in OpenAI's form; see `memory_core.hosts.messages` for those of other frameworks.
            complete: Asks the model once; see `completions.Complete`.
            facts: See `session`.

        Returns:
            The outcome; None if no turn was due.
        """
        context = check_context(context)
        memory, config = self._resolve(read_agent(context))
        described = cycles.count(sessions.describe(context, config, **facts), config)
        turn = policy.plan_flush(described, config, compacting=True)
        outcome = None if turn is None else _run_flush(memory, config, turn, complete, history=history)
        cycles.end(described.key, config)
        return outcome

    async def acompact(
        self, context: CallContext | None, history: Sequence[Message], complete: AsyncComplete, **facts: Any
    ) -> FlushOutcome | None:
        """Run `compact` in a thread, for asynchronous hosts; `complete` is awaited in the loop of the caller."""
        from memory_core.flush.completions import call_in_loop

        ask = call_in_loop(asyncio.get_running_loop(), complete)
        return await asyncio.to_thread(self.compact, context, history, ask, **facts)

    @never_raises(lambda _: None)
    def compacted(self, context: CallContext | None = None) -> None:
        """Count a compaction, so that the session is asked again in its next cycle. Never raises.

        For hosts that keep no `compactionCount` in a `sessions.json`; where there is one, nothing happens.
        """
        context = check_context(context)
        memory, config = self._resolve(read_agent(context))
        memory.recall.forget_session(context.session_key)
        cycles.end(sessions.read_key(context), config)

    @never_raises(lambda error: _fail_flush(str(error)))
    def run_flush(self, turn: FlushTurn, complete: Complete, **limits: Any) -> FlushOutcome:
        """Run a flush turn for a host that cannot run a nested one, and record how it went. Never raises.

        Args:
            turn: As `before_compaction` made it.
            complete: Asks the model once; see `completions.Complete`.
            limits: `history`, `max_steps`, `max_seconds`, `max_tokens` of `runner.run_flush`.
        """
        check_kind("turn", turn, FlushTurn)
        memory, config = self._resolve(normalize_agent_id(turn.agent))
        return _run_flush(memory, config, turn, complete, **limits)

    @never_raises(lambda _: {})
    def flush_handlers(self, turn: FlushTurn) -> dict[str, ToolFunction]:
        """Return the handlers of a turn's tools by name, for a host that runs the turn itself; errors are results.

        They write the note of the turn only, and take the arguments as the model gave them. Empty when memory cannot be used.
        """
        from memory_core.flush import runner

        check_kind("turn", turn, FlushTurn)
        memory, config = self._resolve(normalize_agent_id(turn.agent))
        handlers = runner.make_flush_tools(turn, config, recalled=memory.recalled(turn.session_key))
        return {name: _catch(name, handler) for name, handler in handlers.items()}

    @never_raises(lambda _: False)
    def record_flush(self, turn: FlushTurn, outcome: FlushOutcome | FlushStatus) -> bool:
        """Record how a turn went that the host ran itself, so that the session is asked once in a cycle. Never raises.

        Args:
            turn: As `before_compaction` made it.
            outcome: "stored", "nothing" to store, or "failed"; or an outcome of `run_flush`.

        Returns:
            False, with a warning, if it cannot be recorded: then the turn comes again.
        """
        from memory_core.flush import runner

        check_kind("turn", turn, FlushTurn)
        _, config = self._resolve(normalize_agent_id(turn.agent))
        if not isinstance(outcome, runner.FlushOutcome):
            check_choice("outcome", outcome, get_args(runner.FlushStatus))
            outcome = runner.FlushOutcome(status=outcome, reason="as the host says")
        return cycles.record(turn, outcome, config)

    # The slot itself.

    @never_raises(lambda error: _report_nothing(DEFAULT_AGENT, error))
    def status(self, agent: str = DEFAULT_AGENT) -> Status:
        """Return a cheap status of one agent's memory; a slot that is off, or a wrong configuration, is a warning in it."""
        try:
            memory, config = self._resolve(normalize_agent_id(agent))
            return memory.status(config)
        except MemoryCoreError as error:
            return _report_nothing(str(agent), error)

    @never_raises(lambda _: None)
    def start(self) -> None:
        """Start watching and syncing in the background, for every agent that is configured or called, now and later."""
        with self._lock:
            self._refuse_closed()
            self._started = True
            called = list(self._memories)
        config = self._source.current()
        for agent in dict.fromkeys((*config.agents, *called)):
            self._memory(config.agent(agent), start=True)

    def close(self) -> tuple[str, ...]:
        """End background work and close all files, for good; may be called twice.

        Returns:
            A sentence about each backend that is still running; it is left behind in a daemon thread.
        """
        with self._lock:
            self._closed = True
            memories, self._memories = list(self._memories.values()), {}
        return tuple(problem for memory in memories for problem in _close(memory))

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise MemoryClosed

    def _resolve(self, agent: str) -> tuple[AgentMemory, AgentConfig]:
        """Return an agent's memory and its configuration as it is now; every public method calls this once at most.

        Raises:
            MemoryClosed: After `close`.
            ConfigError: The configuration cannot be used.
        """
        self._refuse_closed()
        config = self._source.current().agent(agent)
        return self._memory(config), config

    def _memory(self, config: AgentConfig, *, start: bool = False) -> AgentMemory:
        with self._lock:
            self._refuse_closed()
            memory = self._memories.get(config.agent)
            if memory is None:
                memory = AgentMemory(today=self._today, keys=self._keys)
                self._memories[config.agent] = memory
                start = start or self._started
        if start:
            memory.start(config)
        return memory

    def _find_session(self, session: Session | CallContext) -> tuple[Session, AgentConfig]:
        """Return a session before compaction, and its agent's configuration."""
        if isinstance(session, Session):
            _, config = self._resolve(normalize_agent_id(session.agent))
        else:
            context = check_context(session)
            _, config = self._resolve(read_agent(context))
            session = sessions.describe(context, config)
        return cycles.count(session, config), config

    def _config_if_on(self, context: CallContext, *, readable: bool = False) -> AgentConfig | None:
        """Return the agent's configuration; None when memory is off for this session.

        With `readable` also None when the scope lets this chat see no notes.

        Raises:
            MemoryCoreError: Memory cannot be used.
        """
        memory, config = self._resolve(read_agent(context))
        if readable and not memory.allows(config, context):
            return None
        return config if config.enabled and context.access != "none" else None

    # The hooks for hosts with a pluggy manager of their own. pluggy passes no argument that has a default.

    @hookimpl(specname="session_started")
    def _on_session_started(self, context: CallContext) -> None:
        self.session_started(context)

    @hookimpl(specname="session_updated")
    def _on_session_updated(self, session_key: str, agent: str) -> None:
        self.session_updated(session_key, agent)

    @hookimpl(specname="compacted")
    def _on_compacted(self, context: CallContext) -> None:
        self.compacted(context)

    @hookimpl(specname="before_compaction")
    def _on_before_compaction(self, session: Session | CallContext, compacting: bool) -> FlushTurn | None:
        return self.before_compaction(session, compacting=compacting)


@never_raises(lambda error: (str(error),))
def _close(memory: AgentMemory) -> tuple[str, ...]:
    return memory.close()


def _catch(name: str, handler: ToolFunction) -> ToolFunction:
    return lambda arguments: results.catch_errors(name, lambda: handler(arguments))


def _run_flush(
    memory: AgentMemory, config: AgentConfig, turn: FlushTurn, complete: Complete, **limits: Any
) -> FlushOutcome:
    from memory_core.flush import runner

    handlers = runner.make_flush_tools(turn, config, recalled=memory.recalled(turn.session_key))
    outcome = runner.run_flush(turn, complete, handlers, **limits)
    cycles.record(turn, outcome, config)
    return outcome


def _explain_memory(config: AgentConfig, context: CallContext) -> str:
    """Return the paragraph of the system prompt, with the tools' names as they are offered."""
    offered = {
        schemas.ALIASES.get(schema["name"], schema["name"]): schema["name"]
        for schema in schemas.list_tools(config, context.access)
    }
    return prompts.explain_memory(config, context, search=offered["memory_search"], get=offered["memory_get"])


def _fail_flush(reason: str) -> FlushOutcome:
    from memory_core.flush.runner import FlushOutcome

    return FlushOutcome(status="failed", reason=reason)


def _report_nothing(agent: str, error: MemoryCoreError) -> Status:
    return Status(backend="none", agent=agent, workspace=Path(), warnings=(str(error),))
