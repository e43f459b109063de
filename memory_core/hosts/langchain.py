"""LangChain: the tools, and a middleware for agents of `create_agent`.

agent = create_agent(model, middleware=[MemoryMiddleware(slot, model, compaction=SummarizationMiddleware(model))])
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from memory_core.completions import Message
from memory_core.hosts import check_parts, needing
from memory_core.hosts.messages.chat import write_json
from memory_core.hosts.messages.langchain import from_openai, read_answer, to_openai
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from memory_core.tools.arguments import TOOLS
from memory_core.tools.schemas import ALIASES

with needing("langchain", "LangChain 1: pip install langchain"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain.chat_models import init_chat_model
    from langchain_core.messages import HumanMessage, RemoveMessage, SystemMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import StructuredTool
    from langgraph.config import get_config

Describe = Callable[[str], CallContext]
"""Returns the context of a thread by its id."""

# LangChain runs only tools that it was given when the agent was made; the middleware offers the model those of the session.
_ALL_TOOLS = (*TOOLS.values(), *({**TOOLS[ours], "name": theirs} for theirs, ours in ALIASES.items()))
_SILENT = {"tags": ["nostream"], "callbacks": []}  # nobody is shown what is said in a flush turn


def memory_tools(slot: MemorySlot, context: Describe = CallContext.local) -> list[StructuredTool]:
    """Return the tools that any session of any agent may be given now; empty when memory is off for all.

    Args:
        slot: The memory; whether it is on, and what may be seen, is decided at every call.
        context: Describes a thread by its id, which is "main" without a `thread_id`; by default each is the main private
            session of the one user. It may ask `langgraph.config.get_config` for more.
    """
    check_parts(slot, context)
    return [_make_tool(slot, schema, context) for schema in slot.all_tool_schemas()]


class MemoryMiddleware(AgentMiddleware):  # type: ignore[misc]  # untyped where LangChain is not installed
    """Tools, system prompt and flush for one agent.

    Before each call of the model, it is offered the tools of the session, with what its system prompt says of them.

    Args:
        slot: The memory; whoever made it closes it.
        model: The model of flush turns, or its name for `init_chat_model`.
        compaction: The middleware that shortens the session in `before_model`, such as `SummarizationMiddleware`. It is
            wrapped: list it here only. The flush runs when it is about to remove messages.
        context: See `memory_tools`.
        recall: Put passages of notes that the user's message calls to mind behind the system prompt.
    """

    def __init__(
        self,
        slot: MemorySlot,
        model: Any,
        *,
        compaction: AgentMiddleware | None = None,
        context: Describe = CallContext.local,
        recall: bool = False,
    ) -> None:
        check_parts(slot, context)
        if compaction is not None and not any(_has(compaction, hook) for hook in ("before_model", "abefore_model")):
            raise TypeError(
                f"compaction: expected a middleware that removes messages in before_model, not {type(compaction).__name__}"
            )
        self._slot = slot
        self._model = init_chat_model(model) if isinstance(model, str) else model
        self._compaction = compaction
        self._describe = context
        self._recall = recall
        self.tools = [_make_tool(slot, schema, context) for schema in _ALL_TOOLS]
        if compaction is not None:
            self.state_schema = compaction.state_schema
            self.transformers = getattr(compaction, "transformers", ())

    def before_agent(self, state: Mapping[str, Any], runtime: Any) -> None:  # noqa: ARG002
        """Sync the notes once in a session."""
        self._slot.session_started(self._describe(_read_thread()))

    async def abefore_agent(self, state: Mapping[str, Any], runtime: Any) -> None:
        """Sync the notes once in a session."""
        await asyncio.to_thread(self.before_agent, state, runtime)

    def after_agent(self, state: Mapping[str, Any], runtime: Any) -> None:  # noqa: ARG002
        """Report the end of the turn."""
        self._slot.turn_ended(
            self._describe(_read_thread()), to_openai(state["messages"]), self._complete, host="langchain"
        )

    async def aafter_agent(self, state: Mapping[str, Any], runtime: Any) -> None:
        """Report the end of the turn."""
        await asyncio.to_thread(self.after_agent, state, runtime)

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Let the wrapped middleware shorten the session; flush before it does."""
        if self._compaction is None:
            return None
        if not _has(self._compaction, "before_model"):
            raise TypeError(f"{self._compaction.name} is asynchronous only: call the agent with ainvoke or astream")
        update: dict[str, Any] | None = self._compaction.before_model(state, runtime)
        if _removes(update):
            self._slot.compact(self._describe(_read_thread()), to_openai(state["messages"]), self._complete)
        return update

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Let the wrapped middleware shorten the session; flush before it does."""
        if self._compaction is None:
            return None
        update: dict[str, Any] | None
        if _has(self._compaction, "abefore_model"):
            update = await self._compaction.abefore_model(state, runtime)
        else:
            update = await asyncio.to_thread(self._compaction.before_model, state, runtime)
        if _removes(update):
            context = self._describe(_read_thread())
            await self._slot.acompact(context, to_openai(state["messages"]), self._acomplete)
        return update

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Offer the tools of the session, and add what the system prompt says of memory."""
        return handler(self._add_memory(request, _read_thread()))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Offer the tools of the session, and add what the system prompt says of memory."""
        return await handler(await asyncio.to_thread(self._add_memory, request, _read_thread()))

    def _add_memory(self, request: Any, thread: str) -> Any:
        context = self._describe(thread)
        request = request.override(tools=self._choose_tools(request.tools, context))
        said = [message.text for message in request.messages if self._recall and isinstance(message, HumanMessage)]
        text = self._slot.system_text(context, said[-1] if said else "")
        if not text:
            return request
        before = request.system_message.content_blocks if request.system_message else []
        return request.override(system_message=SystemMessage(content=[*before, {"type": "text", "text": text}]))

    def _choose_tools(self, tools: Sequence[Any], context: CallContext) -> list[Any]:
        """Return the tools of a request, ours as the session is offered them."""
        offered = {schema["name"]: schema for schema in self._slot.tool_schemas(context)}
        chosen = []
        for tool in tools:
            if not any(tool is each for each in self.tools):
                chosen.append(tool)
            elif tool.name in offered:
                chosen.append(_make_tool(self._slot, offered[tool.name], self._describe))
        return chosen

    def _complete(self, messages: list[Message], tools: list[dict[str, Any]], **_: float) -> Message:
        return read_answer(self._model.bind_tools(tools).invoke(from_openai(messages), _SILENT))

    async def _acomplete(self, messages: list[Message], tools: list[dict[str, Any]], **_: float) -> Message:
        return read_answer(await self._model.bind_tools(tools).ainvoke(from_openai(messages), _SILENT))


def _make_tool(slot: MemorySlot, schema: Mapping[str, Any], context: Describe) -> StructuredTool:
    name = schema["name"]

    def run(config: RunnableConfig, **arguments: Any) -> str:
        return write_json(slot.call_tool(name, arguments, context(_read_id(config))))

    async def arun(config: RunnableConfig, **arguments: Any) -> str:
        return write_json(await slot.acall_tool(name, arguments, context(_read_id(config))))

    # LangChain finds the parameter that takes its configuration by its annotation, which must be no text.
    run.__annotations__["config"] = arun.__annotations__["config"] = RunnableConfig
    return StructuredTool(
        name=name, description=schema["description"], args_schema=dict(schema["parameters"]), func=run, coroutine=arun
    )


def _has(middleware: object, hook: str) -> bool:
    """Return True if a middleware has a hook of its own, as LangChain looks for it."""
    return getattr(type(middleware), hook, None) not in (None, getattr(AgentMiddleware, hook))


def _removes(update: Mapping[str, Any] | None) -> bool:
    messages: Sequence[Any] = (update or {}).get("messages") or ()
    return any(isinstance(message, RemoveMessage) for message in messages)


def _read_thread() -> str:
    try:
        return _read_id(get_config())
    except RuntimeError:  # called outside of a graph
        return _read_id({})


def _read_id(config: Mapping[str, Any]) -> str:
    """Return the id of a thread; agents without a checkpointer have none."""
    return str((config.get("configurable") or {}).get("thread_id") or "main")
