"""Strands Agents: a memory store, whose entries are notes.

agent = Agent(model, memory_manager=MemoryManager(stores=[NotesMemoryStore(slot)], add_tool_config=True))

The manager puts what a message calls to mind before it, and gives the agent tools to search and to add.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from memory_core.completions import split_turns
from memory_core.errors import MemoryCoreError
from memory_core.hosts import needing
from memory_core.hosts.messages.strands import to_openai
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext

with needing("strands", "Strands Agents: pip install strands-agents"):
    from strands.memory import MemoryEntry, MemoryStore


class NotesMemoryStore(MemoryStore):  # type: ignore[misc]  # untyped where Strands is not installed
    """The notes of a slot as a store of Strands' `MemoryManager`.

    Args:
        slot: The memory; whoever made it closes it.
        context: The session; None is the main private session of the one user.
        name: The name of the store, which the manager's tools say.
        extraction: True, or Strands' configuration of it, reports the turns to the slot, so that items are learned and turns kept
            where that is on.
        max_search_results: The most notes that a search returns, unless it says so itself.
    """

    def __init__(
        self,
        slot: MemorySlot,
        context: CallContext | None = None,
        *,
        name: str = "notes",
        extraction: Any = False,
        max_search_results: int = 6,
    ) -> None:
        self._slot = slot
        self._context = context or CallContext.local("main")
        self.name = name
        self.description = "Notes in Markdown: earlier work, decisions, dates, people, preferences and todos."
        self.max_search_results = max_search_results
        self.writable = True
        self.extraction = extraction

    async def search(self, query: str, options: Mapping[str, Any] | None = None) -> list[MemoryEntry]:
        """Return the passages of notes that answer a question, best first; none while memory is off."""
        most = (options or {}).get("max_search_results") or self.max_search_results
        found = await self._slot.acall_tool("memory_search", {"query": query, "maxResults": most}, self._context)
        return [
            MemoryEntry(
                content=hit["snippet"], metadata={key: hit[key] for key in ("path", "citation", "score") if key in hit}
            )
            for hit in found.get("results", ())
        ]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Append a text to the note of the day; what it holds already is skipped.

        Raises:
            MemoryCoreError: It cannot be written.
        """
        done = await self._slot.acall_tool("memory_append", {"text": content}, self._context)
        if "error" in done:
            raise MemoryCoreError(done["error"], action=done.get("action", ""))

    async def add_messages(self, messages: list[Any], context: Any = None) -> None:  # noqa: ARG002
        """Report turns, so that items are learned and turns kept where that is on."""
        for turn in split_turns(to_openai(messages)):
            await asyncio.to_thread(self._slot.turn_ended, self._context, turn, host="strands")
