"""The MCP server: what the slot offers, in terms of the package mcp.

It uses the low-level server with our own JSON Schemas and our own validation: in the high-level one the argument `from`, a
Python keyword, crashes the call.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from memory_core.__about__ import __version__
from memory_core.config.settings import DEFAULT_AGENT, SLOT_ID
from memory_core.hosts.mcp import notes
from memory_core.hosts.serving import resting_when_quiet
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext
from memory_core.sources.roots import advise_workspace

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions
    from mcp.server.session import ServerSession

    from memory_core.hosts.mcp.notes import Request

PROGRESS_SECONDS = 0.25

# For how long a client may take an answer for the current one. Lists are looked at for changes as often.
FRESH: Mapping[CacheableMethod, CacheHint] = {
    **dict.fromkeys(("tools/list", "prompts/list", "resources/list"), CacheHint(int(notes.SECONDS * 1000))),
    "resources/templates/list": CacheHint(3_600_000),
}
WORKSPACE = "workspace"  # the name of the question for one
FOLDER = "folder"  # in the answer

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


class _Server(Server[Any]):
    """The package's server, which says in every handshake that it tells of changes: over HTTP no option says so."""

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> InitializationOptions:
        if not args:
            kwargs.setdefault("notification_options", NotificationOptions(resources_changed=True, tools_changed=True))
        return super().create_initialization_options(*args, **kwargs)


def make_server(slot: MemorySlot, context: CallContext) -> Server[Any]:
    """Return a server that offers the slot's tools, notes and prompts to one session."""
    told, served = Answers(slot, context), notes.NoteServer(slot, context)

    @asynccontextmanager
    async def live(_: Server[Any]) -> AsyncIterator[None]:
        with resting_when_quiet(told.rest, told.called):
            async with served.watch():
                yield

    server = _Server(
        SLOT_ID,
        version=__version__,
        instructions=_instruct(slot, context) or None,
        cache_hints=FRESH,
        lifespan=live,
        on_list_tools=told.list_tools,
        on_call_tool=told.call_tool,
        on_list_resources=served.list_notes,
        on_list_resource_templates=notes.list_templates,
        on_read_resource=served.read_note,
        on_subscribe_resource=served.subscribe,
        on_unsubscribe_resource=served.unsubscribe,
        on_subscriptions_listen=served.listen,
        on_list_prompts=told.list_prompts,
        on_get_prompt=told.get_prompt,
    )
    server.add_notification_handler("notifications/initialized", types.NotificationParams, served.add_client)
    return server


def _instruct(slot: MemorySlot, context: CallContext) -> str:
    """Return what a client puts into the system prompt; "" while memory is off.

    The section on memory speaks of the workspace. The client's own may be another folder, so the path is told.
    """
    section, workspace = slot.prompt_section(context), slot.find_workspace(context)
    problem = slot.explain_no_workspace(context)
    if not section or workspace is None:
        return f"Memory does not work: {problem}. Tell the user." if problem else section
    if problem:
        return f"{section}\n\nBut {problem}; tell the user: {advise_workspace(workspace)}."
    return f"{section}\n\nThe workspace of this memory is {workspace}."


class Answers:
    """Answers what clients ask of tools and prompts, all in one session.

    Before the first note is written where there is no workspace, the user is asked which to make. Clients with a handshake, and
    those that cannot ask their user, get an error that says what to do.

    Attributes:
        called: Is set after each call of a tool.
    """

    def __init__(self, slot: MemorySlot, context: CallContext) -> None:
        self._slot = slot
        self._context = context
        self._is_declined = False
        self._is_used = False
        self.called = threading.Event()

    def rest(self) -> None:
        """Take a quiet minute after calls for the end of a session, of which no client tells; let memory rest."""
        if self._is_used:
            self._is_used = False
            self._slot.session_ended(self._context)
        self._slot.rest()

    async def list_tools(self, _: Request, _page: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """List the tools that can be called now."""
        schemas = self._slot.tool_schemas(self._context, form="mcp")
        return types.ListToolsResult(tools=[types.Tool.model_validate(schema) for schema in schemas])

    async def call_tool(
        self, ctx: Request, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool, unless the user is to be asked first."""
        if (question := await self._ask(ctx, params)) is not None:
            return question
        async with anyio.create_task_group() as group:
            if ctx.meta and "progress_token" in ctx.meta:
                group.start_soon(self._report_progress, ctx.session)
            # Of anyio's idle threads the last one works, so that one heap serves; asyncio's take turns, and there are six.
            answer = await anyio.to_thread.run_sync(
                self._slot.call_tool, params.name, params.arguments or {}, self._context, abandon_on_cancel=True
            )
            group.cancel_scope.cancel()
        self._is_used = True
        self.called.set()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer,
            is_error="error" in answer,
        )

    async def _ask(self, ctx: Request, params: types.CallToolRequestParams) -> types.InputRequiredResult | None:
        """Return the question, or None if there is none, or it is answered; then the workspace is made that was chosen."""
        can_ask = types.ClientCapabilities(elicitation=types.ElicitationCapability())
        if params.name != "memory_append" or ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS or self._is_declined:
            return None
        missing = await anyio.to_thread.run_sync(self._slot.list_missing_workspaces, self._context)
        if not missing or not ctx.session.check_client_capability(can_ask):
            return None
        answer = (params.input_responses or {}).get(WORKSPACE)
        if answer is None:
            return types.InputRequiredResult(input_requests={WORKSPACE: _ask_for_folder(missing)})
        chosen = (answer.content or {}).get(FOLDER, "") if isinstance(answer, types.ElicitResult) else ""
        made = await anyio.to_thread.run_sync(self._slot.make_workspace, Path(str(chosen)), self._context)
        self._is_declined = not made
        return None

    async def _report_progress(self, session: ServerSession) -> None:
        """Tell how many notes are indexed, as long as that grows: a first search waits for some of them."""
        await anyio.sleep(PROGRESS_SECONDS)
        total = len(await anyio.to_thread.run_sync(self._slot.list_notes, self._context))
        told = -1
        while True:
            indexed = (await anyio.to_thread.run_sync(self._slot.status, self._context.agent or DEFAULT_AGENT)).files
            if total and indexed > told:
                message = f"{indexed:,} of {total:,} notes are indexed"
                await session.report_progress(indexed, max(total, indexed), message)
                told = indexed
            await anyio.sleep(PROGRESS_SECONDS)

    async def list_prompts(self, _: Request, _page: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """List the prompts that can be used now; none while memory is off."""

        def find() -> list[types.Prompt]:
            due = self._slot.should_flush(self._context, compacting=True).due
            on = bool(self._slot.tool_schemas(self._context))
            return [*([FLUSH] if due else []), *([RECALL] if on else [])]

        return types.ListPromptsResult(prompts=await anyio.to_thread.run_sync(find))

    async def get_prompt(self, _: Request, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return the messages of a prompt.

        Raises:
            MCPError: There is no such prompt, it cannot be used now, or its argument is missing.
        """
        message = (params.arguments or {}).get("message", "")

        def flush() -> str:
            turn = self._slot.before_compaction(self._context, compacting=True)
            if turn is None:
                reason = self._slot.should_flush(self._context, compacting=True).reason
                raise MCPError(types.INVALID_REQUEST, f"nothing can be saved: {reason}")
            return f"{turn.system_prompt}\n\n{turn.prompt}"

        def recall() -> str:
            return "\n\n".join(filter(None, [self._slot.recall(self._context, message), message]))

        if params.name not in (FLUSH.name, RECALL.name):
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!r:.80}; there are flush and recall")
        if params.name == RECALL.name and not message.strip():
            raise MCPError(types.INVALID_PARAMS, "message: expected what is to be answered")
        prompt, write = (FLUSH, flush) if params.name == FLUSH.name else (RECALL, recall)
        text = types.TextContent(type="text", text=await anyio.to_thread.run_sync(write))
        said = types.PromptMessage(role="user", content=text)
        return types.GetPromptResult(description=prompt.description, messages=[said])


def _ask_for_folder(missing: Sequence[Path]) -> types.ElicitRequest:
    told = f"The workspace {missing[0]} does not exist. In which folder shall memory-core keep notes? It will be made."
    field = {"type": "string", "title": "Folder", "enum": [str(each) for each in missing]}
    schema = {"type": "object", "properties": {FOLDER: field}, "required": [FOLDER]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=told, requested_schema=schema))


def end_session(slot: MemorySlot, context: CallContext) -> None:
    """Report the end of the session, and close the slot."""
    slot.session_ended(context)
    slot.close()


def end_process(slot: MemorySlot, context: CallContext, code: int) -> NoReturn:
    """End the session and the process.

    The interpreter would wait for the tools that still run, possibly for ever, and their threads cannot be cancelled.
    """
    end_session(slot, context)
    os._exit(code)
