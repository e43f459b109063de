"""The part of the slot to which a host reports what happens in its sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_core.config.names import DEFAULT_AGENT
from memory_core.config.normal_form import normalize_agent_id
from memory_core.errors import InvalidArgument
from memory_core.hookspecs import hookimpl
from memory_core.plugin.agents import AgentMemories
from memory_core.plugin.boundary import check_context, check_kind, never_raises, read_agent
from memory_core.records import CallContext

if TYPE_CHECKING:
    from memory_core.completions import AsyncComplete, Complete, Message


MAX_SESSIONS = 1024  # whose start is remembered; an older one that starts again costs one more sync


class SlotEvents:
    """The methods of `MemorySlot` that take events of sessions, and their hooks. None of them raises or waits for a sync."""

    _agents: AgentMemories
    _greeted: dict[str, None]  # sessions whose start has been reported, the last one last

    @never_raises(lambda _: None)
    def session_started(self, context: CallContext | None = None) -> None:
        """Sync in the background, once for each session key, where `sync.onSessionStart` says so."""
        context = check_context(context)
        memory, config = self._agents.resolve(read_agent(context))
        if not config.enabled or not config.search.sync.on_session_start or context.access != "rw":
            return
        key = f"{config.agent}\0{context.session_key or ''}"
        if key in self._greeted:
            return
        self._greeted[key] = None  # a second thread at this moment costs one more sync, which finds nothing to do
        for oldest in [*self._greeted][:-MAX_SESSIONS]:
            self._greeted.pop(oldest, None)
        memory.sync_soon(config)

    @never_raises(lambda _: None)
    def session_updated(self, session_key: str, agent: str = DEFAULT_AGENT) -> None:
        """Index a session's transcript in the background once it has grown enough, where sessions are indexed."""
        memory, config = self._agents.resolve(normalize_agent_id(agent))
        check_kind("session_key", session_key, str)
        memory.session_updated(config, session_key)

    @never_raises(lambda _: None)
    def turn_ended(
        self,
        context: CallContext | None,
        messages: Sequence[Message],
        complete: Complete | AsyncComplete | None = None,
    ) -> None:
        """Learn items from what the user said in a turn, in the background, where `memorySearch.items.capture` is on.

        A host calls it after every turn. Several turns of a session are read together: after `capture.turns` of them, when
        nobody has said anything for `capture.idleMinutes`, and when the session or the slot ends.

        Args:
            context: The session, as for a tool call.
            messages: In OpenAI's form: those of the turn, or all of the session, of which the last turn is taken.
            complete: Asks the host's model once; see `memory_core.completions`. None leaves it to rules.
        """
        check_kind("messages", messages, Sequence)
        if not (complete is None or callable(complete)):
            raise InvalidArgument("complete", f"expected a function or None, not {type(complete).__name__}")
        context = check_context(context)
        memory, config = self._agents.resolve(read_agent(context))
        memory.turn_ended(config, messages, complete, context)

    @never_raises(lambda _: None)
    def session_ended(self, context: CallContext | None = None) -> None:
        """Learn now, in the background, from the turns of a session that have not been read yet."""
        context = check_context(context)
        memory, _ = self._agents.resolve(read_agent(context))
        memory.capture.end_session(context.session_key)

    # The hooks for hosts with a pluggy manager of their own. pluggy passes no argument that has a default.

    @hookimpl(specname="session_started")
    def _on_session_started(self, context: CallContext) -> None:
        self.session_started(context)

    @hookimpl(specname="session_updated")
    def _on_session_updated(self, session_key: str, agent: str) -> None:
        self.session_updated(session_key, agent)

    @hookimpl(specname="turn_ended")
    def _on_turn_ended(
        self, context: CallContext, messages: Sequence[Message], complete: Complete | AsyncComplete | None
    ) -> None:
        self.turn_ended(context, messages, complete)

    @hookimpl(specname="session_ended")
    def _on_session_ended(self, context: CallContext) -> None:
        self.session_ended(context)
