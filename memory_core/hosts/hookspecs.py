"""Hooks that a host calls in the course of a session; the slot implements them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memory_core.hookspecs import hookspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_core.completions import AsyncComplete, Complete, Message
    from memory_core.flush.policy import FlushTurn, Session
    from memory_core.records import CallContext


class HostHooks(Protocol):
    """Hooks of a host's session. A host with a pluggy manager of its own adds these, and registers the slot:

    manager = pluggy.PluginManager("memory_core")
    manager.add_hookspecs(HostHooks)
    manager.register(MemorySlot(config))
    turn = manager.hook.before_compaction(session=session, compacting=False)
    """

    @hookspec
    def session_started(self, context: CallContext) -> None:
        """Sync in the background when a session begins, so that its first search finds what is new."""
        raise NotImplementedError

    @hookspec
    def session_updated(self, session_key: str, agent: str) -> None:
        """Index a session's transcript once it has grown enough."""
        raise NotImplementedError

    @hookspec
    def turn_ended(
        self, context: CallContext, messages: Sequence[Message], complete: Complete | AsyncComplete | None
    ) -> None:
        """Learn items from what the user said in a turn, in the background, where capture is on."""
        raise NotImplementedError

    @hookspec
    def session_ended(self, context: CallContext) -> None:
        """Learn from the turns of a session that have not been read yet, since it is over."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def before_compaction(self, session: Session | CallContext, compacting: bool) -> FlushTurn | None:
        """Return the silent turn to run before the session is compacted; None when none is due."""
        raise NotImplementedError

    @hookspec
    def compacted(self, context: CallContext) -> None:
        """Count a compaction, for hosts that keep no `compactionCount`, so that the session is asked again in its next cycle."""
        raise NotImplementedError
