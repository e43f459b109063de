"""The items of one agent as its sessions use them: opened when they are first needed, anew for another configuration."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memory_core.concurrency import forks
from memory_core.config.agent import AgentConfig
from memory_core.errors import MemoryClosed
from memory_core.records import Access, CallContext, KeySources
from memory_core.tools import items as tool
from memory_core.tools import results, scope
from memory_core.tools.recalled import Recalled

if TYPE_CHECKING:
    from memory_core.items.items import Items


class AgentItems:
    """Opens the items of one agent. All methods may be called from several threads."""

    def __init__(self, keys: KeySources, recalled: Recalled) -> None:
        self._keys = keys
        self._recalled = recalled
        self._lock = threading.Lock()
        self._open: dict[Access, tuple[AgentConfig, Items]] = {}
        self._given: weakref.WeakSet[Items] = weakref.WeakSet()
        self._closed = False
        forks.renew_in_children(self, AgentItems._renew)

    def get(self, config: AgentConfig, access: Access = "rw") -> Items:
        """Return the items for this access, opened anew when the configuration has changed.

        Raises:
            MemoryClosed: After `close`.
        """
        from memory_core.items.items import Items

        with self._lock:
            if self._closed:
                raise MemoryClosed
            held = self._open.get(access)
            if held is not None and held[0] == config:
                return held[1]
            items = Items(config, keys=self._keys, access=access)
            self._open[access] = (config, items)
            self._given.add(items)
        if held is not None:
            held[1].release()
        return items

    def call_tool(
        self, config: AgentConfig, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Run one of the tools for items, whose arguments are checked; what a session is shown is remembered.

        Raises:
            MemoryCoreError: It cannot be done.
        """
        if not config.search.items.enabled:
            return results.shape_disabled(tool.OFF, tool.SWITCH_ON)
        if not scope.is_main(context, config.agent):
            return results.shape_denied(tool.NOT_HERE, tool.TALK_ELSEWHERE)
        recalled = self._recalled.of(context.session_key)
        result = tool.run(name, self.get(config, context.access), arguments, context, recalled=recalled)
        self._recalled.add(context.session_key, [hit["text"] for hit in result.get("results", ())])
        return result

    def start(self, config: AgentConfig) -> None:
        """Embed in the background what has no embedding yet, where items are on."""
        if config.search.items.enabled:
            self.get(config).start()

    def close(self) -> tuple[str, ...]:
        """Close the files, for good; may be called twice.

        Returns:
            See `release`.
        """
        with self._lock:
            self._closed = True
            given, self._given = list(self._given), weakref.WeakSet()
        running = self.release()
        for items in given:  # also those that a script has kept
            items.close()
        return running

    def release(self) -> tuple[str, ...]:
        """Close the files until they are needed again.

        Returns:
            A sentence if a request for embeddings is still running; it is left behind in a daemon thread.
        """
        with self._lock:
            opened, self._open = list(self._open.values()), {}
        ended = [items.release() for _, items in opened]
        return () if all(ended) else ("items did not close: a request for embeddings is still running",)

    def _renew(self) -> None:
        """Let go of the parent's files in a forked child, without closing them; a call opens its own."""
        self._lock = threading.Lock()
        if self._open:
            forks.abandon(self._open)
            self._open = {}
