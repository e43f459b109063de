"""OpenAI Agents: the tools, the instructions, and a session that compacts another one.

agent = Agent(name="assistant", instructions=memory_instructions(slot, "Be brief."), tools=memory_tools(slot))
session = MemorySession(SQLiteSession("thread-7", "chats.db"), slot, "gpt-5.5", max_tokens=100_000)
await Runner.run(agent, "When does the lease end?", session=session)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from memory_core.completions import Message, parse_arguments
from memory_core.errors import InvalidArgument
from memory_core.hosts import check_parts, needing
from memory_core.hosts.messages.chat import split_system, write_json
from memory_core.hosts.messages.responses import from_openai, read_answer, to_openai
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from memory_core.text.tokens import estimate_tokens

with needing("openai_agents", "OpenAI Agents: pip install openai-agents"):
    from agents import FunctionTool, ModelSettings, ModelTracing, MultiProvider
    from agents.memory import SessionABC

Item = Mapping[str, Any]

# A session may have a limit of its own; what it keeps back must not be lost when the rest is shortened.
_ALL = 2**31 - 1


def memory_tools(slot: MemorySlot, context: CallContext | None = None) -> list[FunctionTool]:
    """Return the slot's tools; empty when memory is off.

    Args:
        slot: The memory; whether it is on, and what may be seen, is decided at every call.
        context: The session; None is that of this machine's own user.
    """
    return [_make_tool(slot, schema, context) for schema in slot.tool_schemas(context)]


def memory_instructions(
    slot: MemorySlot, instructions: str = "", context: CallContext | None = None, *, recall: bool = False
) -> Callable[[Any, Any], Awaitable[str]]:
    """Return instructions for an agent that end with what the system prompt says of memory at that time.

    Args:
        slot: The memory.
        instructions: The agent's own.
        context: See `memory_tools`.
        recall: Add passages of notes that the user's message calls to mind.
    """

    async def write(run: Any, _: Any) -> str:
        said = [message for message in to_openai(run.turn_input) if message["role"] == "user"] if recall else []
        text = await asyncio.to_thread(slot.system_text, context, said[-1]["content"] if said else "")
        return "\n\n".join(filter(None, [instructions, text]))

    return write


class MemorySession(SessionABC):  # type: ignore[misc]  # untyped where OpenAI Agents is not installed
    """A session around another one that is shortened at the start of a run once it is long, after a flush turn.

    What is removed is gone from the session: the agent saves what should last, and finds it again with its tools.

    Args:
        inner: The session that keeps the items.
        slot: The memory; whoever made it closes it.
        model: The model of flush turns: one of OpenAI Agents, or the name of one.
        max_tokens: The estimated tokens from which the session is shortened.
        keep_turns: The number of user turns that stay.
        context: Describes the session by its id; by default it is the main private session of the one user.
    """

    def __init__(
        self,
        inner: Any,
        slot: MemorySlot,
        model: Any,
        *,
        max_tokens: int,
        keep_turns: int = 2,
        context: Callable[[str], CallContext] = CallContext.local,
    ) -> None:
        if keep_turns < 1:
            raise InvalidArgument("keep_turns", f"expected 1 or more, not {keep_turns}")
        check_parts(slot, context)
        self._inner = inner
        self._slot = slot
        self._model = MultiProvider().get_model(model) if isinstance(model, str) else model
        self._max_tokens = max_tokens
        self._keep_turns = keep_turns
        self._describe = context
        self._lock = asyncio.Lock()
        self._turn: list[Message] = []  # that has no answer yet
        self.session_id = inner.session_id
        self.session_settings = getattr(inner, "session_settings", None)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items; shortens the session before, if it is long and nobody asks for its end only."""
        if limit is None:
            async with self._lock:
                await self._compact_if_long()
        items: list[Any] = await self._inner.get_items(limit)
        return items

    async def add_items(self, items: list[Any]) -> None:
        """Add items to the inner session, and report a turn once it has its answer, or the next one begins."""
        said = to_openai(items)
        async with self._lock:
            await self._inner.add_items(items)
            begins = any(message["role"] == "user" for message in said)
            before, self._turn = (self._turn, said) if begins else ([], [*self._turn, *said])
            ended = [before] if before else []
            if self._turn and self._turn[-1]["role"] == "assistant" and not self._turn[-1].get("tool_calls"):
                ended, self._turn = [*ended, self._turn], []
        for turn in ended:
            await asyncio.to_thread(self._slot.turn_ended, self._describe(self.session_id), turn, host="openai-agents")

    async def pop_item(self) -> Any:
        """Remove the newest item of the inner session and return it."""
        async with self._lock:
            return await self._inner.pop_item()

    async def clear_session(self) -> None:
        """Empty the inner session."""
        async with self._lock:
            await self._inner.clear_session()

    async def _compact_if_long(self) -> None:
        items = await self._inner.get_items(_ALL)
        tokens = estimate_tokens(json.dumps(items, ensure_ascii=False, default=str))
        kept = _keep_turns(items, self._keep_turns)
        if tokens < self._max_tokens or len(kept) == len(items):
            return
        context = self._describe(self.session_id)
        await self._slot.acompact(context, to_openai(items), self._complete, total_tokens=tokens)
        await self._inner.clear_session()
        await self._inner.add_items(kept)

    async def _complete(
        self, messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, **_: float
    ) -> Message:
        system, others = split_system(messages)
        # The slot itself answers the calls of a flush turn, so that none of these tools is run.
        answer = await self._model.get_response(
            system, from_openai(others), ModelSettings(max_tokens=max_tokens),
            [_make_tool(self._slot, tool["function"], None) for tool in tools], None, [], ModelTracing.DISABLED,
            previous_response_id=None, conversation_id=None, prompt=None,
        )  # fmt: skip
        return read_answer([item.model_dump() for item in answer.output])


def _make_tool(slot: MemorySlot, schema: Mapping[str, Any], context: CallContext | None) -> FunctionTool:
    async def run(_: Any, given: str) -> str:
        try:
            arguments = parse_arguments(given or "{}")
        except (ValueError, TypeError) as error:
            return write_json({"error": f"arguments: {error}", "code": "invalid_argument"})
        return write_json(await slot.acall_tool(schema["name"], arguments, context))

    # Strict schemas would make every optional argument one that has to be given.
    return FunctionTool(
        schema["name"], schema["description"], dict(schema["parameters"]), run, strict_json_schema=False
    )


def _keep_turns(items: Sequence[Item], turns: int) -> list[Item]:
    """Return the items from the user's last messages on; all of them if there are no more turns than that."""
    starts = [number for number, item in enumerate(items) if item.get("role") == "user"]
    return list(items[starts[-turns] :]) if len(starts) > turns else list(items)
