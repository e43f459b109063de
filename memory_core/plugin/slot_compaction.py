"""The part of the slot that saves a session before the host compacts it: when a flush turn is due, how it runs, how it went."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from memory_core.config.agent import AgentConfig
from memory_core.config.names import DEFAULT_AGENT
from memory_core.config.normal_form import normalize_agent_id
from memory_core.errors import MemoryCoreError
from memory_core.hookspecs import hookimpl
from memory_core.plugin.agent import AgentMemory
from memory_core.plugin.agent_activity import record_flush
from memory_core.plugin.agents import AgentMemories
from memory_core.plugin.boundary import check_choice, check_context, check_kind, never_raises, read_agent
from memory_core.plugin.flush import cycles, policy, sessions
from memory_core.plugin.flush.policy import Decision, FlushTurn, Session
from memory_core.records import CallContext
from memory_core.tools import results

if TYPE_CHECKING:
    from memory_core.completions import AsyncComplete, Complete, Message
    from memory_core.plugin.flush.runner import FlushOutcome, FlushStatus, ToolFunction

log = logging.getLogger(__name__)


class SlotCompaction:
    """The methods of `MemorySlot` for the flush before compaction, and their hooks. None of them raises."""

    _agents: AgentMemories

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
            _, config = self._agents.resolve(read_agent(context))
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
        memory, config = self._agents.resolve(read_agent(context))
        described = cycles.count(sessions.describe(context, config, **facts), config)
        turn = policy.plan_flush(described, config, compacting=True)
        outcome = None if turn is None else _run_flush(memory, config, turn, complete, history=history)
        memory.recall.forget_session(context.session_key)
        cycles.end(described.key, config)
        return outcome

    async def acompact(
        self, context: CallContext | None, history: Sequence[Message], complete: AsyncComplete, **facts: Any
    ) -> FlushOutcome | None:
        """Run `compact` in a thread, for asynchronous hosts; `complete` is awaited in the loop of the caller."""
        from memory_core.completions import call_in_loop

        ask = call_in_loop(asyncio.get_running_loop(), complete)
        return await asyncio.to_thread(self.compact, context, history, ask, **facts)

    @never_raises(lambda _: None)
    def compacted(self, context: CallContext | None = None) -> None:
        """Count a compaction, so that the session is asked again in its next cycle. Never raises.

        For hosts that keep no `compactionCount` in a `sessions.json`; where there is one, nothing happens.
        """
        context = check_context(context)
        memory, config = self._agents.resolve(read_agent(context))
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
        memory, config = self._agents.resolve(normalize_agent_id(turn.agent))
        return _run_flush(memory, config, turn, complete, **limits)

    @never_raises(lambda _: {})
    def flush_handlers(self, turn: FlushTurn) -> dict[str, ToolFunction]:
        """Return the handlers of a turn's tools by name, for a host that runs the turn itself; errors are results.

        They write the note of the turn only, and take the arguments as the model gave them. Empty when memory cannot be used.
        """
        from memory_core.plugin.flush import runner

        check_kind("turn", turn, FlushTurn)
        memory, config = self._agents.resolve(normalize_agent_id(turn.agent))
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
        from memory_core.plugin.flush import runner

        check_kind("turn", turn, FlushTurn)
        memory, config = self._agents.resolve(normalize_agent_id(turn.agent))
        if not isinstance(outcome, runner.FlushOutcome):
            check_choice("outcome", outcome, get_args(runner.FlushStatus))
            outcome = runner.FlushOutcome(status=outcome, reason="as the host says")
        _log_flush(memory, config, turn, outcome)
        return cycles.record(turn, outcome, config)

    def _find_session(self, session: Session | CallContext) -> tuple[Session, AgentConfig]:
        """Return a session before compaction, and its agent's configuration."""
        if isinstance(session, Session):
            _, config = self._agents.resolve(normalize_agent_id(session.agent))
        else:
            context = check_context(session)
            _, config = self._agents.resolve(read_agent(context))
            session = sessions.describe(context, config)
        return cycles.count(session, config), config

    # The hooks for hosts with a pluggy manager of their own. pluggy passes no argument that has a default.

    @hookimpl(specname="compacted")
    def _on_compacted(self, context: CallContext) -> None:
        self.compacted(context)

    @hookimpl(specname="before_compaction")
    def _on_before_compaction(self, session: Session | CallContext, compacting: bool) -> FlushTurn | None:
        return self.before_compaction(session, compacting=compacting)


def _run_flush(
    memory: AgentMemory, config: AgentConfig, turn: FlushTurn, complete: Complete, **limits: Any
) -> FlushOutcome:
    from memory_core.plugin.flush import runner

    handlers = runner.make_flush_tools(turn, config, recalled=memory.recalled(turn.session_key))
    outcome = runner.run_flush(turn, complete, handlers, **limits)
    _log_flush(memory, config, turn, outcome)
    cycles.record(turn, outcome, config)
    return outcome


def _log_flush(memory: AgentMemory, config: AgentConfig, turn: FlushTurn, outcome: FlushOutcome) -> None:
    """Record in the activity log how a turn went, where the scope lets its session see notes."""
    context = CallContext(
        agent=turn.agent, session_key=turn.session_key, chat_type=turn.chat_type or None, channel=turn.channel or None
    )
    try:
        if memory.allows(config, context):
            record_flush(config, turn, outcome)
    except MemoryCoreError as error:
        log.warning("the flush of %s is not in the activity log: %s", turn.session_key, error)


def _catch(name: str, handler: ToolFunction) -> ToolFunction:
    return lambda arguments: results.catch_errors(name, lambda: handler(arguments))


def _fail_flush(reason: str) -> FlushOutcome:
    from memory_core.plugin.flush.runner import FlushOutcome

    return FlushOutcome(status="failed", reason=reason)
