"""`open_memory` and `Memory`: one agent's memory for scripts and the command line, configured anew at every call."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memory_core.config.agent import AgentConfig
from memory_core.config.names import DEFAULT_AGENT
from memory_core.config.source import ConfigSource, FixedConfig, Origin
from memory_core.config.switch import refuse_off
from memory_core.errors import MemoryClosed, MemoryCoreError
from memory_core.plugin.agent import AgentMemory
from memory_core.plugin.boundary import check_context
from memory_core.records import (
    Access,
    CallContext,
    Finding,
    KeySources,
    Probe,
    ProgressCallback,
    ResolveApiKey,
    Status,
    SyncReport,
)
from memory_core.tools import results, schemas
from memory_core.tools.arguments import check_arguments

if TYPE_CHECKING:
    from memory_core.items.items import Items
    from memory_core.items.recall import Recall
    from memory_core.records import Explanation, Related
    from memory_core.sources.activity import Activity

log = logging.getLogger(__name__)


def open_memory(
    config: Origin = None,
    *,
    agent: str = DEFAULT_AGENT,
    workspace: str | Path | None = None,
    state_dir: str | Path | None = None,
) -> Memory:
    """Open one agent's memory. Starts nothing and reads no note; close it, or use it as a context manager.

    Args:
        config: A JSON5 or TOML file, a mapping of the same shape, a callable that returns one, or None for the defaults.
        agent: The agent's id.
        workspace: The folder of the notes; overrides the configuration.
        state_dir: The folder of the indexes; overrides the configuration.

    Raises:
        ConfigError: The configuration cannot be used; names every problem.
    """
    memory = Memory(ConfigSource(config, workspace=workspace, state_dir=state_dir), agent=agent)
    memory.check()
    return memory


class Memory:
    """One agent's memory. All methods may be called from several threads.

    Each call resolves the configuration once, when it begins, and works with that to its end. After `close` nothing is
    opened again: what may raise raises `MemoryClosed`, and a tool answers "unavailable".
    """

    def __init__(
        self,
        source: ConfigSource | FixedConfig,
        *,
        agent: str = DEFAULT_AGENT,
        today: Callable[[], date] = date.today,
        resolve_api_key: ResolveApiKey | None = None,
    ) -> None:
        self._source = source
        self._agent = agent
        self._memory = AgentMemory(today=today, keys=KeySources(resolve=resolve_api_key, auto_environ=os.environ))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def config(self) -> AgentConfig:
        """Resolve this agent's configuration as it is now.

        Raises:
            ConfigError: It cannot be used.
        """
        return self._source.current().agent(self._agent)

    def check(self) -> None:
        """Check the configuration, the chosen backend's own section included; opens no index.

        Raises:
            ConfigError: It cannot be used.
        """
        self._memory.check(self.config())

    def tool_schemas(self, access: Access = "rw") -> list[dict[str, Any]]:
        """Return the tools in the bare function form; empty when memory is off or its configuration cannot be used.

        Args:
            access: What the session may do in the workspace; `memory_append` is offered to "rw" only.
        """
        try:
            self._memory.refuse_closed()
            config = self.config()
        except MemoryCoreError as error:
            log.warning("no memory tools: %s", error)
            return []
        return schemas.list_tools(config, access) if config.enabled else []

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run one tool. Whatever goes wrong is in the result; nothing is raised.

        Args:
            name: `memory_search`, `memory_get` or `memory_append`, or one of Orbit's names for them.
            arguments: As the model gave them.
            context: The chat from which the call comes; None is this machine's own user.
        """
        return results.catch_errors(
            name, lambda: self._memory.call_tool(self.config(), name, arguments, check_context(context))
        )

    @property
    def items(self) -> Items:
        """The agent's items, whether or not `memorySearch.items.enabled` offers them to agents.

        Raises:
            MemoryOff: Memory is off.
            MemoryClosed: After `close`.
            ConfigError: The configuration cannot be used.
        """
        self._memory.refuse_closed()
        config = self.config()
        refuse_off(config)
        return self._memory.items.get(config)

    def recall_for_message(self, message: str, context: CallContext | None = None) -> Recall:
        """Return the few passages and items worth putting in front of a message, where `memorySearch.recall.enabled` is on.

        Args:
            message: As the user wrote it.
            context: The chat from which it comes; None is this machine's own user.

        Returns:
            Nothing for small talk, for what the session was shown before, and if it takes longer than
            `memorySearch.recall.timeoutMs`.

        Raises:
            MemoryCoreError: Memory cannot be read.
        """
        return self._memory.recall_for_message(self.config(), message, check_context(context))

    def explain(
        self,
        query: str,
        path: str | None = None,
        line: int | None = None,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        after: date | None = None,
        before: date | None = None,
        about: str | None = None,
    ) -> Explanation:
        """Tell why a search finds what it finds, and why it does not find one note or line.

        Args:
            query: The question, as `memory_search` takes it.
            path: The note that was missed, or a citation such as `MEMORY.md#L3`; None explains the search alone.
            line: Its line that was missed, from 1.
            max_results, min_score, after, before, about: As those of `memory_search`; None is what the configuration says.

        Raises:
            InvalidArgument: An argument is out of its bounds.
            MemoryOff: Memory is off.
            MemoryCoreError: Memory cannot be read.
        """
        from memory_core.plugin.explaining import read_place

        given = {
            "query": query, "maxResults": max_results, "minScore": min_score, "after": after, "before": before, "about": about,
        }  # fmt: skip
        arguments: dict[str, object] = {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in given.items()
            if value is not None
        }
        checked = check_arguments(schemas.SEARCH, arguments, name="explain")
        whole = self._source.current()
        config = whole.agent(self._agent)
        others = [whole.agent(each) for each in whole.agents if each != config.agent]
        place = None if path is None else read_place(path, line)
        return self._memory.explain(config, others, schemas.read_query(checked, config.search.query), place)

    def list_activity(self, *, limit: int = 100, session: str | None = None) -> list[Activity]:
        """Return the last uses of this memory by sessions, the latest first: what they stored, recalled, flushed and forgot.

        Args:
            limit: The most uses.
            session: Only those of the session with this key; None is all.

        Raises:
            MemoryOff: Memory is off.
            StoreError: The log cannot be read.
        """
        from memory_core.errors import StoreError
        from memory_core.sources.activity import load_entries

        self._memory.refuse_closed()
        config = self.config()
        refuse_off(config)
        try:
            return load_entries(config.activity_path, limit=limit, session=session)
        except OSError as error:
            raise StoreError(
                config.activity_path, f"cannot be read: {error.strerror}", action="delete it; a new one is begun"
            ) from error

    def related(self, name: str | None = None, *, max_results: int | None = None) -> Related:
        """Tell where notes link to a name and mention it, how often and since when, and what stands beside it.

        Args:
            name: The name of a person, project or thing: an alias, a tag, or the path of a note will do. None lists the names
                that notes have or link to.
            max_results: The most entries of each list, 1..100; None is 10.

        Raises:
            InvalidArgument: An argument is out of its bounds, or the backend knows no names.
            MemoryOff: Memory is off.
            MemoryCoreError: Memory cannot be read.
        """
        given = {"name": name, "maxResults": max_results}
        asked = {key: value for key, value in given.items() if value is not None}
        checked = check_arguments(schemas.RELATED, asked, name="related")
        return self._memory.relate(self.config(), schemas.read_related(checked))

    def sync(self, *, force: bool = False, progress: ProgressCallback | None = None) -> SyncReport:
        """Index what has changed in the files; `force` rebuilds the index.

        Raises:
            MemoryCoreError: It cannot be done; what was committed before stays valid.
        """
        return self._memory.sync(self.config(), force=force, progress=progress)

    def finish_sync(self, backend: str, *, progress: ProgressCallback | None = None) -> bool:
        """Finish the sync that a stale search has left to the background; return True if a further search is worth it.

        Args:
            backend: The backend that answered, which alone is synced; another than builtin is waited for no longer than
                for one of its searches.
            progress: Called with how far the sync is.

        Raises:
            MemoryCoreError: It cannot be done; what was committed before stays valid.
        """
        return self._memory.finish_sync(self.config(), backend, progress=progress)

    def sync_soon(self) -> None:
        """Ask for a sync in the background and return at once. Logs a warning when memory cannot be used."""
        try:
            self._memory.refuse_closed()
            self._memory.sync_soon(self.config())
        except MemoryCoreError as error:
            log.warning("no sync: %s", error)

    def session_updated(self, session_key: str) -> None:
        """Index a session's log in the background once it has grown enough, where sessions are indexed."""
        try:
            self._memory.session_updated(self.config(), session_key)
        except MemoryCoreError as error:
            log.warning("session %s is not indexed: %s", session_key, error)

    def start(self) -> None:
        """Start watching and syncing in the background; `close` ends it. Nothing happens while memory is off."""
        try:
            self._memory.refuse_closed()
            config = self.config()
        except MemoryClosed as error:
            log.warning("memory does not start: %s", error)
            return
        except MemoryCoreError as error:
            log.warning("memory does not start: %s", error)
            config = None
        self._memory.start(config)

    def status(self) -> Status:
        """Return a cheap status: no network, no model, nothing written.

        Raises:
            MemoryCoreError: The configuration or the index cannot be used.
        """
        return self._memory.status(self.config())

    def probe(self) -> Probe:
        """Try for real to embed a text.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        return self._memory.probe(self.config())

    def diagnose(self) -> list[Finding]:
        """Check for real everything that the configured backend needs; writes nothing, opens the provider.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        return self._memory.diagnose(self.config())

    def close(self) -> tuple[str, ...]:
        """End background work and close all files, for good; may be called twice.

        Returns:
            A sentence about each backend that is still running; it is left behind in a daemon thread.
        """
        return self._memory.close()
