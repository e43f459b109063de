"""The part of the slot to which a host reports what happens in its sessions."""

from __future__ import annotations

from memory_core.config.names import DEFAULT_AGENT
from memory_core.config.normal_form import normalize_agent_id
from memory_core.hookspecs import hookimpl
from memory_core.plugin.agents import AgentMemories
from memory_core.plugin.boundary import check_context, check_kind, never_raises, read_agent
from memory_core.records import CallContext


class SlotEvents:
    """The methods of `MemorySlot` that take events of sessions, and their hooks. None of them raises or waits for a sync."""

    _agents: AgentMemories
    _greeted: set[str]  # sessions whose start has been reported

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
        self._greeted.add(key)  # a second thread at this moment costs one more sync, which finds nothing to do
        memory.sync_soon(config)

    @never_raises(lambda _: None)
    def session_updated(self, session_key: str, agent: str = DEFAULT_AGENT) -> None:
        """Index a session's transcript in the background once it has grown enough, where sessions are indexed."""
        memory, config = self._agents.resolve(normalize_agent_id(agent))
        check_kind("session_key", session_key, str)
        memory.session_updated(config, session_key)

    # The hooks for hosts with a pluggy manager of their own. pluggy passes no argument that has a default.

    @hookimpl(specname="session_started")
    def _on_session_started(self, context: CallContext) -> None:
        self.session_started(context)

    @hookimpl(specname="session_updated")
    def _on_session_updated(self, session_key: str, agent: str) -> None:
        self.session_updated(session_key, agent)
