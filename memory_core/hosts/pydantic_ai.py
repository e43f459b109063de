"""pydantic-ai: one capability with the tools, the instructions, and a flush before the history is shortened.

agent = Agent(model, capabilities=[MemoryCapability(slot, compaction=keep_turns(4, max_tokens=100_000))])
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory_core.completions import Message
from memory_core.errors import InvalidArgument
from memory_core.hosts import check_parts, needing
from memory_core.hosts.messages.chat import write_json
from memory_core.hosts.messages.pydantic_ai import from_openai, read_answer, to_openai
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from memory_core.text.tokens import estimate_tokens

with needing("pydantic_ai", "pydantic-ai 2: pip install pydantic-ai-slim"):
    from pydantic_ai import FunctionToolset, RunContext, Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.direct import model_request
    from pydantic_ai.models import ModelRequestParameters

Shorten = Callable[[list[Any]], list[Any] | Awaitable[list[Any]]]
"""Returns the messages that stay: all of them, or fewer when the history is to be shortened."""


def keep_turns(turns: int, *, max_tokens: int) -> Shorten:
    """Return a function that keeps the user's last turns of a history that is long.

    Args:
        turns: The number of turns that stay, 1 or more.
        max_tokens: The estimated tokens from which a history is shortened.
    """
    if turns < 1:
        raise InvalidArgument("turns", f"expected 1 or more, not {turns}")

    def shorten(messages: list[Any]) -> list[Any]:
        starts = [
            number
            for number, message in enumerate(messages)
            if message.kind == "request" and any(part.part_kind == "user-prompt" for part in message.parts)
        ]
        tokens = estimate_tokens(write_json(to_openai(messages)))
        return messages[starts[-turns] :] if tokens >= max_tokens and len(starts) > turns else messages

    return shorten


def describe_conversation(run: RunContext[Any]) -> CallContext:
    """Return the context of a conversation: the main private session of the one user."""
    return CallContext.local(str(run.conversation_id or "main"))


class MemoryCapability(AbstractCapability[Any]):  # type: ignore[misc]  # untyped where pydantic-ai is not installed
    """Tools, instructions and flush for one agent.

    Args:
        slot: The memory; whoever made it closes it.
        compaction: Shortens the history, such as `keep_turns`. The flush runs when it returns fewer messages, and the
            history of the run is shortened too.
        context: Describes the session of a run.
        recall: Add passages of notes that the user's message calls to mind to the instructions.
    """

    def __init__(
        self,
        slot: MemorySlot,
        *,
        compaction: Shorten | None = None,
        context: Callable[[RunContext[Any]], CallContext] = describe_conversation,
        recall: bool = False,
    ) -> None:
        check_parts(slot, context)
        self._slot = slot
        self._compaction = compaction
        self._describe = context
        self._recall = recall

    def get_toolset(self) -> Callable[[RunContext[Any]], Awaitable[FunctionToolset[Any]]]:
        """Return what pydantic-ai asks for the tools before every request: those of the session, none when memory is off."""

        async def choose(run: RunContext[Any]) -> FunctionToolset[Any]:
            schemas = await asyncio.to_thread(self._slot.tool_schemas, self._describe(run))
            return FunctionToolset([self._make_tool(schema) for schema in schemas])

        return choose

    def get_instructions(self) -> Callable[[RunContext[Any]], Awaitable[str]]:
        """Return what the system prompt says of memory, asked anew at every request."""

        async def write(run: RunContext[Any]) -> str:
            message = run.prompt if self._recall and isinstance(run.prompt, str) else ""
            return await asyncio.to_thread(self._slot.system_text, self._describe(run), message)

        write.__annotations__["run"] = RunContext[Any]
        return write

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        """Shorten the history if it is time to, after a flush turn."""
        if self._compaction is None:
            return request_context
        messages = list(request_context.messages)
        shortened = self._compaction(messages)
        kept: Sequence[Any] = await shortened if inspect.isawaitable(shortened) else shortened
        if len(kept) >= len(messages):
            return request_context

        async def complete(
            messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, **_: float
        ) -> Message:
            offered = [self._make_tool(tool["function"]).tool_def for tool in tools]
            parameters = ModelRequestParameters(function_tools=offered)
            answer = await model_request(
                request_context.model, from_openai(messages),
                model_settings={"max_tokens": max_tokens}, model_request_parameters=parameters,
            )  # fmt: skip
            return read_answer(answer)

        await self._slot.acompact(self._describe(ctx), to_openai(messages), complete)
        ctx.messages[:] = kept
        return replace(request_context, messages=list(kept))

    async def after_run(self, ctx: RunContext[Any], *, result: Any) -> Any:
        """Report the end of the turn."""
        await asyncio.to_thread(
            self._slot.turn_ended, self._describe(ctx), to_openai(result.all_messages()), host="pydantic-ai"
        )
        return result

    def _make_tool(self, schema: Mapping[str, Any]) -> Tool[Any]:
        async def run(ctx: RunContext[Any], **arguments: Any) -> dict[str, Any]:
            return await self._slot.acall_tool(schema["name"], arguments, self._describe(ctx))

        return Tool.from_schema(run, schema["name"], schema["description"], dict(schema["parameters"]), takes_ctx=True)
