"""The prompts that a client's user may choose: save what should last, and recall what a message calls to mind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

FLUSH = types.Prompt(
    name="flush",
    title="Save what should last",
    description="Have the agent write into the note of the day what should outlast this conversation.",
)
RECALL = types.Prompt(
    name="recall",
    title="Recall before answering",
    description="Put what memory holds about a message in front of it.",
    arguments=[types.PromptArgument(name="message", description="What is to be answered", required=True)],
)


class MemoryPrompts:
    """The handlers for the prompts of one session."""

    def __init__(self, slot: MemorySlot, context: CallContext) -> None:
        self._slot = slot
        self._context = context

    async def list_prompts(
        self,
        _: ServerRequestContext[Any],
        params: types.PaginatedRequestParams | None,  # noqa: ARG002
    ) -> types.ListPromptsResult:
        """List the prompts that can be used now; none while memory is off."""
        return await anyio.to_thread.run_sync(self._list)

    def _list(self) -> types.ListPromptsResult:
        due = self._slot.should_flush(self._context, compacting=True).due
        on = bool(self._slot.tool_schemas(self._context))
        return types.ListPromptsResult(prompts=[*([FLUSH] if due else []), *([RECALL] if on else [])])

    async def get(self, _: ServerRequestContext[Any], params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return the messages of a prompt.

        Raises:
            MCPError: There is no such prompt, it cannot be used now, or its argument is missing.
        """
        if params.name == FLUSH.name:
            return await anyio.to_thread.run_sync(self._flush)
        if params.name == RECALL.name:
            message = (params.arguments or {}).get("message", "")
            if not message.strip():
                raise MCPError(types.INVALID_PARAMS, "message: expected what is to be answered")
            return await anyio.to_thread.run_sync(self._recall, message)
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!r:.80}; there are flush and recall")

    def _flush(self) -> types.GetPromptResult:
        turn = self._slot.before_compaction(self._context, compacting=True)
        if turn is None:
            reason = self._slot.should_flush(self._context, compacting=True).reason
            raise MCPError(types.INVALID_REQUEST, f"nothing can be saved: {reason}")
        return _say(FLUSH, f"{turn.system_prompt}\n\n{turn.prompt}")

    def _recall(self, message: str) -> types.GetPromptResult:
        quoted = self._slot.recall(self._context, message)
        return _say(RECALL, "\n\n".join(filter(None, [quoted, message])))


def _say(prompt: types.Prompt, text: str) -> types.GetPromptResult:
    said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompt.description, messages=[said])
