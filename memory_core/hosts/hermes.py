"""Hermes: a memory provider with the tools, the prompt, recall before each turn, and a flush before each compression.

`memory-core install hermes` makes the folder in which Hermes looks for it, and chooses it in `config.yaml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memory_core.completions import Message
from memory_core.config.settings import SLOT_ID
from memory_core.hosts import needing
from memory_core.hosts.messages.chat import write_assistant, write_json
from memory_core.hosts.openai_client import read_completion
from memory_core.plugin import MemorySlot
from memory_core.records import Access, CallContext

with needing("hermes", "Hermes: install memory-core-py in the environment of hermes-agent"):
    from agent.memory_provider import MemoryProvider


class MemoryCoreProvider(MemoryProvider):  # type: ignore[misc]  # untyped where Hermes is not installed
    """The memory of one agent of Hermes.

    A session at the command line is the main private session of the one user; one of a platform is a chat of its kind.

    Args:
        config: See `MemorySlot`.
        workspace: The folder of the notes.
        state_dir: The folder of the index.
        agent: The id of the agent.
    """

    def __init__(
        self,
        config: str | Mapping[str, Any] | None = None,
        *,
        workspace: str | None = None,
        state_dir: str | None = None,
        agent: str | None = None,
    ) -> None:
        self._slot = MemorySlot(config, workspace=workspace, state_dir=state_dir)
        self._context = CallContext.local("main", agent=agent)

    @property
    def name(self) -> str:
        """The name in `memory.provider`."""
        return SLOT_ID

    def is_available(self) -> bool:
        """Return True: it needs no key and no network."""
        return True

    def initialize(self, session_id: str, **facts: Any) -> None:
        """Begin a session, and index what has changed in the notes."""
        self._context = _describe(session_id, facts, agent=self._context.agent)
        self._slot.start()
        self._slot.session_started(self._context)

    def on_session_switch(self, new_session_id: str, **_: Any) -> None:
        """Go on in another session of the same chat."""
        self._context = replace(self._context, session_key=new_session_id)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools; Hermes asks once, before `initialize`."""
        return self._slot.tool_schemas(self._context)

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **_: Any) -> str:
        """Run a tool, and return its result as JSON."""
        return write_json(self._slot.call_tool(tool_name, args, self._context))

    def system_prompt_block(self) -> str:
        """Return what the system prompt says of memory."""
        return self._slot.system_text(self._context)

    def prefetch(self, query: str, *, session_id: str = "") -> str:  # noqa: ARG002
        """Return the passages that a message calls to mind."""
        return self._slot.recall(self._context, query, kept=False)  # Hermes sends it with this turn only

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",  # noqa: ARG002
        messages: list[Message] | None = None,
    ) -> None:
        """Learn items from a finished turn, where `memorySearch.items.capture` is on."""
        said = [{"role": "user", "content": user_content}, write_assistant(assistant_content)]
        self._slot.turn_ended(self._context, messages or said, _complete, host="hermes")

    def on_session_end(self, messages: list[Message]) -> None:  # noqa: ARG002
        """Learn from the turns that have not been read yet."""
        self._slot.session_ended(self._context)

    def on_pre_compress(self, messages: list[Message]) -> str:
        """Let the agent save what should last; adds nothing to the summary."""
        self._slot.compact(self._context, messages, _complete)
        return ""

    def backup_paths(self) -> list[str]:
        """Return the folder of the notes, which lies outside Hermes' own."""
        return [str(self._slot.status().workspace)]

    def shutdown(self) -> None:
        """End what runs in the background."""
        self._slot.close()


def register(ctx: Any) -> None:
    """Register the provider with a plugin context of Hermes; one that takes no memory providers is left alone."""
    if hasattr(ctx, "register_memory_provider"):
        ctx.register_memory_provider(MemoryCoreProvider())


def _describe(session_id: str, facts: Mapping[str, Any], *, agent: str | None) -> CallContext:
    access: Access = "rw" if facts.get("agent_context", "primary") == "primary" else "ro"
    platform = str(facts.get("platform") or "cli")
    if platform == "cli":
        return replace(CallContext.local(session_id, agent=agent), access=access)
    kind = str(facts.get("chat_type") or "unknown")
    chat_type = "direct" if kind in {"dm", "private"} else kind
    return CallContext(agent=agent, session_key=session_id, chat_type=chat_type, channel=platform, access=access)


def _complete(
    messages: list[Message], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
) -> Message:
    from agent.auxiliary_client import call_llm

    answer = call_llm(
        task="compression", messages=messages, tools=tools, max_tokens=max_tokens, timeout=timeout_seconds
    )
    return read_completion(answer)
