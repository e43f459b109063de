"""Google's ADK: a memory service, whose memories are notes.

runner = Runner(agent=agent, app_name="app", session_service=sessions, memory_service=NotesMemoryService(slot))

Agents find the notes by ADK's own tools `load_memory` and `preload_memory`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_core.completions import split_turns
from memory_core.errors import MemoryCoreError
from memory_core.hosts import check_parts, needing
from memory_core.hosts.messages.adk import to_openai
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext

with needing("adk", "Google's ADK: pip install google-adk"):
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part

Describe = Callable[[str, str, str], CallContext]
"""Returns the context of a session by the names of the app, the user and the session."""


def describe_session(app_name: str, user_id: str, session_id: str) -> CallContext:  # noqa: ARG001
    """Return the context of a session: the main private session of the one user."""
    return CallContext.local(session_id)


class NotesMemoryService(BaseMemoryService):  # type: ignore[misc]  # untyped where ADK is not installed
    """The notes of a slot as ADK's memory.

    Args:
        slot: The memory; whoever made it closes it.
        context: Describes a session; a program that serves several people gives one.
        max_results: The most notes that a search returns.
    """

    def __init__(self, slot: MemorySlot, *, context: Describe = describe_session, max_results: int = 6) -> None:
        check_parts(slot, context)
        self._slot = slot
        self._describe = context
        self._max_results = max_results
        self._added: dict[tuple[str, str, str], str] = {}  # the last event of each session that was added

    async def add_session_to_memory(self, session: Any) -> None:
        """Report the turns of a session that are not added yet, so that items are learned and turns kept where that is on."""
        key = (session.app_name, session.user_id, session.id)
        known = [number for number, event in enumerate(session.events, 1) if event.id == self._added.get(key)]
        events = session.events[known[-1] if known else 0 :]
        if events:
            self._added[key] = events[-1].id
            await self._report(self._describe(*key), events)

    async def add_events_to_memory(
        self, *, app_name: str, user_id: str, events: Sequence[Any], session_id: str | None = None, **_: Any
    ) -> None:
        """Report events, as `add_session_to_memory` does."""
        await self._report(self._describe(app_name, user_id, session_id or "main"), events)

    async def _report(self, context: CallContext, events: Sequence[Any]) -> None:
        for turn in split_turns(to_openai(event.content for event in events if event.content)):
            await asyncio.to_thread(self._slot.turn_ended, context, turn, host="adk")

    async def add_memory(self, *, app_name: str, user_id: str, memories: Sequence[MemoryEntry], **_: Any) -> None:
        """Append memories to the note of the day.

        Raises:
            MemoryCoreError: One cannot be written.
        """
        context = self._describe(app_name, user_id, "main")
        for memory in memories:
            text = "\n\n".join(part.text for part in memory.content.parts or [] if part.text)
            done = await self._slot.acall_tool("memory_append", {"text": text}, context)
            if "error" in done:
                raise MemoryCoreError(done["error"], action=done.get("action", ""))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the passages of notes that answer a question; none while memory is off."""
        asked = {"query": query, "maxResults": self._max_results}
        found = await self._slot.acall_tool("memory_search", asked, self._describe(app_name, user_id, "main"))
        return SearchMemoryResponse(memories=[_to_entry(hit) for hit in found.get("results", ())])


def _to_entry(hit: Mapping[str, Any]) -> MemoryEntry:
    place = hit.get("citation", hit["path"])
    text = f"{hit['snippet']}\n\nSource: {place}"
    return MemoryEntry(content=Content(role="user", parts=[Part(text=text)]), id=place, author=hit["origin"]["by"])
