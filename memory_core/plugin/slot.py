"""The slot that a host loads, configures and calls. Once it is made, nothing in here raises into the host.

from memory_core.plugin import MemorySlot

slot = MemorySlot("host.json5")
slot.start()
tools = slot.tool_schemas()
answer = slot.call_tool("memory_search", {"query": "what did we decide about the cache?"})
slot.close()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

from memory_core.config.names import DEFAULT_AGENT
from memory_core.config.normal_form import normalize_agent_id
from memory_core.config.source import ConfigSource, Origin
from memory_core.errors import MemoryCoreError
from memory_core.plugin.agents import AgentMemories
from memory_core.plugin.boundary import check_choice, check_context, never_raises, read_agent
from memory_core.plugin.slot_compaction import SlotCompaction
from memory_core.plugin.slot_events import SlotEvents
from memory_core.plugin.slot_notes import SlotNotes
from memory_core.plugin.slot_text import SlotText
from memory_core.records import CallContext, KeySources, ResolveApiKey, Status
from memory_core.tools import results, schemas, scope


class MemorySlot(SlotText, SlotNotes, SlotEvents, SlotCompaction):
    """The memory of all agents of one host. Making one starts nothing; all methods may be called from several threads.

    Each call resolves the configuration once, when it begins, and works with that to its end. After `close` every call
    answers that memory is unavailable, and nothing is opened again.

    Args:
        config: A file (read again when it changes), a mapping, or a callable (called once at every call).
        workspace: Overrides the configuration's, for every agent.
        state_dir: The host's state directory; overrides MEMORY_CORE_STATE_DIR and the default.
        other_slots: Ids of memory plugins that the host knows besides ours.
        today: Returns the date for daily notes: the host's clock in the user's timezone.
        resolve_api_key: Returns the host's own key for a provider id; asked after the configuration and before the
            environment. The provider "auto" takes no key from the environment in a host: name the provider, or offer one here.
    """

    def __init__(
        self,
        config: Origin = None,
        *,
        workspace: str | Path | None = None,
        state_dir: str | Path | None = None,
        other_slots: Collection[str] = (),
        today: Callable[[], date] = date.today,
        resolve_api_key: ResolveApiKey | None = None,
    ) -> None:
        source = ConfigSource(config, workspace=workspace, state_dir=state_dir, other_slots=other_slots)
        self._agents = AgentMemories(source, today=today, keys=KeySources(resolve=resolve_api_key))
        self._greeted = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def manifest(self) -> dict[str, Any]:
        """Return `plugin.json` as it ships: id, kind, tools, hooks, the JSON Schema of the configuration."""
        from memory_core.plugin.manifest import make_plugin_json

        return make_plugin_json()

    @never_raises(lambda _: [])
    def tool_schemas(self, context: CallContext | None = None, *, form: schemas.Form = "bare") -> list[dict[str, Any]]:
        """Return the tools that an agent may be given; empty when memory is off or its configuration cannot be used.

        Args:
            context: The agent's session; None is the agent "main".
            form: "bare" is OpenAI's function object, "openai" wraps it, "anthropic" and "mcp" are those hosts' own.
        """
        check_choice("form", form, get_args(schemas.Form))
        context = check_context(context)
        found = self._agents.resolve_if_on(context)
        if found is None:
            return []
        config = found[1]
        offered = schemas.list_tools(config, context.access, main=scope.is_main(context, config.agent))
        return [schemas.to_form(schema, form) for schema in offered]

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run one tool for one session. Whatever goes wrong is in the result; nothing is raised.

        Slot, switch and scope are resolved now, not when the tools were handed out.
        """

        def run() -> dict[str, Any]:
            checked = check_context(context)
            memory, config = self._agents.resolve(read_agent(checked))
            return memory.call_tool(config, name, arguments, checked)

        return results.catch_errors(name, run)

    async def acall_tool(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> dict[str, Any]:
        """Run `call_tool` in a thread, for asynchronous hosts."""
        try:
            return await asyncio.to_thread(self.call_tool, name, arguments, context)
        except RuntimeError as error:  # the host's loop starts no thread any more
            return results.shape_error(results.explain_defect(error, "acall_tool"))

    @never_raises(lambda error: _report_nothing(DEFAULT_AGENT, error))
    def status(self, agent: str = DEFAULT_AGENT) -> Status:
        """Return a cheap status of one agent's memory; a slot that is off, or a wrong configuration, is a warning in it."""
        try:
            memory, config = self._agents.resolve(normalize_agent_id(agent))
            return memory.status(config)
        except MemoryCoreError as error:
            return _report_nothing(str(agent), error)

    @never_raises(lambda _: None)
    def start(self) -> None:
        """Start watching and syncing in the background, for every agent that is configured or called, now and later."""
        self._agents.start()

    def close(self) -> tuple[str, ...]:
        """End background work and close all files, for good; may be called twice.

        Returns:
            A sentence about each backend that is still running; it is left behind in a daemon thread.
        """
        return self._agents.close()


def _report_nothing(agent: str, error: MemoryCoreError) -> Status:
    return Status(backend="none", agent=agent, workspace=Path(), warnings=(str(error),))
