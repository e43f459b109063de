"""The part of the slot that writes into a session's context: its system prompt, and what a message calls to mind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory_core.config.agent import AgentConfig
from memory_core.plugin.agent_recall import recall_nothing
from memory_core.plugin.agents import AgentMemories
from memory_core.plugin.boundary import check_context, check_kind, never_raises, read_agent
from memory_core.records import CallContext
from memory_core.tools import prompts, schemas, scope

if TYPE_CHECKING:
    from memory_core.items.recall import Recall


PASSAGES = 3  # that a message calls to mind


class SlotText:
    """The methods of `MemorySlot` that return text for a session. None of them raises."""

    _agents: AgentMemories

    @never_raises(lambda _: "")
    def prompt_section(self, context: CallContext | None = None) -> str:
        """Return what the system prompt says about memory; "" when memory is off."""
        context = check_context(context)
        found = self._agents.resolve_if_on(context)
        return "" if found is None else _explain_memory(found[1], context)

    @never_raises(lambda _: "")
    def session_context(self, context: CallContext | None = None, *, budget_chars: int = prompts.CONTEXT_CHARS) -> str:
        """Return the notes worth seeing at the start of a session, as quoted data within a budget.

        "" when there are none, when memory is off, or when its scope lets this chat see none.
        """
        check_kind("budget_chars", budget_chars, int)
        context = check_context(context)
        found = self._agents.resolve_if_on(context, readable=True)
        if found is None:
            return ""
        memory, config = found
        return memory.recall.quote_context(config, context, self._agents.today(), budget_chars=budget_chars)

    @never_raises(lambda _: "")
    def system_text(self, context: CallContext | None = None, message: str = "") -> str:
        """Return all that the system prompt of a session says of memory: `prompt_section`, then `session_context`.

        Args:
            context: The session.
            message: What the user says now; `recall` adds what it calls to mind. "" adds nothing.
        """
        check_kind("message", message, str)
        context = check_context(context)
        found = self._agents.resolve_if_on(context)
        if found is None:
            return ""
        memory, config = found
        readable = memory.allows(config, context)
        quoted = memory.recall.quote_context(config, context, self._agents.today()) if readable else ""
        recalled = memory.quote_recalled(config, message, context, max_results=PASSAGES) if message else ""
        return "\n\n".join(filter(None, [_explain_memory(config, context), quoted, recalled]))

    @never_raises(lambda _: recall_nothing())
    def recall_for_message(
        self, message: str, context: CallContext | None = None, *, shown: frozenset[str] = frozenset()
    ) -> Recall:
        """Return what is worth putting in front of a message, where `recall.enabled` is on; nothing twice in a session.

        Args:
            message: As the user wrote it.
            context: The session in which it came.
            shown: Fingerprints of what other processes have shown in the session, as `fingerprint_recalled` of
                `memory_core.text.paragraphs` returns them; none of it is shown again.
        """
        check_kind("message", message, str)
        check_kind("shown", shown, frozenset)
        memory, config = self._agents.resolve(read_agent(context := check_context(context)))
        return memory.recall_for_message(config, message, context, shown)

    @never_raises(lambda _: "")
    def recall(self, context: CallContext | None, text: str, *, max_results: int = PASSAGES) -> str:
        """Return the passages of notes that a message calls to mind, or the text of `recall_for_message` where that is on.

        Args:
            context: The session in which the message came; the scope of memory decides what may be shown there.
            text: The message.
            max_results: The most passages.
        """
        check_kind("text", text, str)
        memory, config = self._agents.resolve(read_agent(context := check_context(context)))
        return memory.quote_recalled(config, text, context, max_results=max_results)


def _explain_memory(config: AgentConfig, context: CallContext) -> str:
    """Return the paragraph of the system prompt, with the tools' names as they are offered."""
    offered = {
        schemas.ALIASES.get(schema["name"], schema["name"]): schema["name"]
        for schema in schemas.list_tools(config, context.access, main=scope.is_main(context, config.agent))
    }
    return prompts.explain_memory(config, context, offered)
