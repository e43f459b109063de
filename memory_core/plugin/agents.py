"""The memories of all agents of a host: each opened when it is first called, and configured anew at every call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date

from memory_core.concurrency import forks
from memory_core.config.agent import AgentConfig
from memory_core.config.source import ConfigSource
from memory_core.errors import MemoryClosed
from memory_core.plugin.agent import AgentMemory
from memory_core.plugin.boundary import never_raises, read_agent
from memory_core.records import CallContext, KeySources


class AgentMemories:
    """The memory of each agent by its id. Making it starts nothing; all methods may be called from several threads.

    Args:
        source: The host's configuration.
        today: Returns the date for daily notes.
        keys: Where keys of providers come from.
    """

    def __init__(self, source: ConfigSource, *, today: Callable[[], date], keys: KeySources) -> None:
        self.today = today
        self._source = source
        self._keys = keys
        self._lock = threading.Lock()
        self._memories: dict[str, AgentMemory] = {}
        self._started = False
        self._closed = False
        forks.renew_in_children(self, AgentMemories._renew)

    def resolve(self, agent: str) -> tuple[AgentMemory, AgentConfig]:
        """Return an agent's memory and its configuration as it is now; a public method of the slot calls this once at most.

        Raises:
            MemoryClosed: After `close`.
            ConfigError: The configuration cannot be used.
        """
        self._refuse_closed()
        config = self._source.current().agent(agent)
        return self._open(config), config

    def resolve_if_on(self, context: CallContext, *, readable: bool = False) -> tuple[AgentMemory, AgentConfig] | None:
        """Return what `resolve` returns for the agent of a session; None when memory is off for that session.

        Args:
            context: The session, checked.
            readable: Return None also when the scope lets this chat see no notes.

        Raises:
            MemoryCoreError: Memory cannot be used.
        """
        memory, config = self.resolve(read_agent(context))
        on = memory.allows(config, context) if readable else config.enabled and context.access != "none"
        return (memory, config) if on else None

    def start(self) -> None:
        """Start background work for every agent that is configured or called, now and later.

        Raises:
            MemoryClosed: After `close`.
            ConfigError: The configuration cannot be used.
        """
        with self._lock:
            self._refuse_closed()
            self._started = True
            called = list(self._memories)
        config = self._source.current()
        for agent in dict.fromkeys((*config.agents, *called)):
            self._open(config.agent(agent), start=True)

    def close(self) -> tuple[str, ...]:
        """Close all memories, for good; may be called twice.

        Returns:
            A sentence about each backend that is still running.
        """
        with self._lock:
            self._closed = True
            memories, self._memories = list(self._memories.values()), {}
        return tuple(problem for memory in memories for problem in _close(memory))

    def _open(self, config: AgentConfig, *, start: bool = False) -> AgentMemory:
        with self._lock:
            self._refuse_closed()
            memory = self._memories.get(config.agent)
            if memory is None:
                memory = AgentMemory(today=self.today, keys=self._keys)
                self._memories[config.agent] = memory
                start = start or self._started
        if start:
            memory.start(config)
        return memory

    def _refuse_closed(self) -> None:
        if self._closed:
            raise MemoryClosed

    def _renew(self) -> None:
        self._lock = threading.Lock()


@never_raises(lambda error: (str(error),))
def _close(memory: AgentMemory) -> tuple[str, ...]:
    return memory.close()
