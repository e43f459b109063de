"""The items of one agent as its sessions use them: opened when first needed, and anew when the configuration has changed."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from memory_core.config.agent import AgentConfig
from memory_core.errors import MemoryClosed
from memory_core.records import Access, KeySources

if TYPE_CHECKING:
    from memory_core.items.items import Items


class OpenItems:
    """Opens the items of one agent. All methods may be called from several threads."""

    def __init__(self, keys: KeySources) -> None:
        self._keys = keys
        self._lock = threading.Lock()
        self._open: dict[Access, tuple[AgentConfig, Items]] = {}
        self._given: weakref.WeakSet[Items] = weakref.WeakSet()
        self._closed = False

    def get(self, config: AgentConfig, access: Access = "rw") -> Items:
        """Return the items for this access, opened anew when the configuration has changed.

        Raises:
            MemoryClosed: After `close`.
        """
        from memory_core.items.layered import open_items

        with self._lock:
            if self._closed:
                raise MemoryClosed
            held = self._open.get(access)
            if held is not None and held[0] == config:
                return held[1]
            items = open_items(config, keys=self._keys, access=access)
            self._open[access] = (config, items)
            self._given.add(items)
        if held is not None:
            held[1].release()
        return items

    def start(self, config: AgentConfig) -> None:
        """Embed in the background what has no embedding yet, where items are on."""
        if config.search.items.enabled:
            self.get(config).start()

    def rest(self) -> None:
        """Let the open items let go of what they can read again."""
        with self._lock:
            opened = [items for _, items in self._open.values()]
        for items in opened:
            items.rest()

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
