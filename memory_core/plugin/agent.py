"""The memory of one agent behind `Memory` and `MemorySlot`, which hand every call the configuration it works with."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from memory_core.backends.selector import Selector
from memory_core.concurrency import forks
from memory_core.config.agent import AgentConfig
from memory_core.config.names import BUILTIN
from memory_core.config.switch import explain_off, refuse_off
from memory_core.errors import BackendUnavailable, InvalidArgument, MemoryClosed, MemoryCoreError, refuse_past
from memory_core.plugin import agent_activity
from memory_core.plugin.agent_capture import AgentCapture
from memory_core.plugin.agent_items import AgentItems
from memory_core.plugin.agent_recall import AgentRecall
from memory_core.records import (
    Access,
    CallContext,
    Finding,
    KeySources,
    Probe,
    ProgressCallback,
    Query,
    Status,
    SyncReport,
)
from memory_core.sources.roots import MAKE_IT, find_workspace_problem
from memory_core.tools import prompts, results, schemas, scope
from memory_core.tools.append import Writing, memory_append
from memory_core.tools.arguments import Schema, check_arguments, read_citation
from memory_core.tools.items import NAMES as ITEM_TOOLS
from memory_core.tools.recalled import Recalled

if TYPE_CHECKING:
    from memory_core.completions import AsyncComplete, Complete
    from memory_core.items.recall import Recall
    from memory_core.records import Explanation, NotePlace, Related, RelatedQuery

log = logging.getLogger(__name__)


RECALL_CHARS = 2000  # of a message that is searched for: what makes a question stands at its beginning


class AgentMemory:
    """The open backends, the tools and the recall of one agent. All methods may be called from several threads.

    Methods take the configuration that their caller resolved: a call resolves it once, and never meets another one on its
    way. Backends are opened when they are first needed, and anew when the configuration has changed since. After `close`
    nothing is opened: every method that returns an answer raises `MemoryClosed`.
    """

    def __init__(self, *, today: Callable[[], date], keys: KeySources) -> None:
        self._today = today
        self._keys = keys
        self._lock = threading.Lock()
        self._selectors: dict[Access, tuple[AgentConfig, Selector]] = {}
        self._started = False
        self._closed = False
        self._recalled = Recalled()
        self.items = AgentItems(keys, self._recalled)
        self.recall = AgentRecall(self.items, self._recalled)
        self.capture = AgentCapture(self.items, self._recalled, today)
        forks.renew_in_children(self, AgentMemory._renew)

    def check(self, config: AgentConfig) -> None:
        """Check the chosen backend's own section; opens no index.

        Raises:
            ConfigError: The section cannot be used.
        """
        self.refuse_closed()
        if config.enabled:
            self._selector(config, "rw")

    def refuse_closed(self) -> None:
        """Raise if the memory is closed.

        Raises:
            MemoryClosed: It is.
        """
        if self._closed:
            raise MemoryClosed

    def call_tool(
        self, config: AgentConfig, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        """Run one tool and return its result.

        Raises:
            MemoryCoreError: It cannot be run; `results.catch_errors` makes a result of that.
        """
        self.refuse_closed()
        if not config.enabled:
            self._close_selectors()  # no watcher and no open file stay behind
            self.items.release()
            off = explain_off(config)
            return results.shape_disabled(str(off), off.action if off else "")
        if context.access == "none":
            return results.shape_disabled(
                "this session has no access to the workspace", "use a session with workspaceAccess ro or rw"
            )
        if not isinstance(name, str):
            raise InvalidArgument("name", f"expected the name of a tool, not {type(name).__name__}")
        schema = schemas.BY_NAME.get(schemas.ALIASES.get(name, name))
        if schema is None:
            raise InvalidArgument("name", f"there is no tool {name!r:.80}", action="offer the tools of tool_schemas()")
        selector = self._selector(config, context.access)
        if not scope.allows(selector.scope, context):
            return results.shape_denied("memory may not be used in this chat", _advise_on_scope(selector, context))
        checked = check_arguments(schema, arguments, name=name)
        if name in ITEM_TOOLS:
            result = self.items.call_tool(config, name, checked, context)
        else:
            result = self._call_note_tool(selector, config, schema, checked, context)
        agent_activity.record_tool(config, schema["name"], result, context.session_key)
        return result

    def _call_note_tool(
        self,
        selector: Selector,
        config: AgentConfig,
        schema: Schema,
        checked: Mapping[str, Any],
        context: CallContext,
    ) -> dict[str, Any]:
        """Run a tool for notes, whose arguments are checked."""
        if "asOf" in checked and config.memory.backend != BUILTIN:
            raise refuse_past(config.memory.backend)
        if schema is schemas.SEARCH:
            return self._search(selector, config, checked, context)
        if schema is schemas.EXPLAIN:
            return self._explain(selector, config, checked)
        if schema is schemas.RELATED:
            if not config.search.query.related:
                raise InvalidArgument("name", "memory_related is off; memorySearch.query.related turns it on")
            found = selector.relate(schemas.read_related(checked))
            return results.shape_related(found, cite_places=scope.cites(config.memory.citations, context))
        if schema is schemas.GET:
            cited = read_citation(checked["path"])
            first, lines = checked.get("from", cited.first or 1), checked.get("lines", cited.lines or config.get_lines)
            if as_of := checked.get("asOf", cited.as_of):
                return self._get_past(config, cited.path, as_of, int(first), int(lines))
            return results.shape_document(selector.get(cited.path, int(first), int(lines)))
        return self._append(config, checked, context)

    def _get_past(self, config: AgentConfig, path: str, as_of: str, first: int, lines: int) -> dict[str, Any]:
        """Run memory_get for a note as it stood once."""
        from memory_core.history.history import History
        from memory_core.history.instants import parse_instant
        from memory_core.history.notes import get_document

        with closing(History(config, writable=False)) as history:
            found = get_document(config, history, path, parse_instant(as_of), from_line=first, lines=lines)
        return results.shape_document(found)

    def recall_for_message(
        self, config: AgentConfig, message: str, context: CallContext, shown: frozenset[str] = frozenset()
    ) -> Recall:
        """Return what is worth putting in front of a message; nothing where memory is off or its scope forbids it.

        Raises:
            MemoryCoreError: Memory cannot be read.
        """
        from memory_core.items.recall import Recall

        if not self.allows(config, context):
            return Recall()
        return self.recall.recall(config, message, context, self._selector(config, context.access).search, shown)

    def quote_recalled(self, config: AgentConfig, message: str, context: CallContext, *, max_results: int) -> str:
        """Return as quoted data what a message calls to mind: by recall where that is on, else by a search of the notes."""
        if config.search.recall.enabled:
            return self.recall_for_message(config, message, context).text
        if not (question := message.strip()[:RECALL_CHARS]):
            return ""
        answer = self.call_tool(config, "memory_search", {"query": question, "maxResults": max_results}, context)
        return prompts.quote_passages(answer.get("results", ()))

    def turn_ended(
        self,
        config: AgentConfig,
        messages: Sequence[Mapping[str, Any]],
        complete: Complete | AsyncComplete | None,
        context: CallContext,
    ) -> None:
        """Learn from a turn later on, in the background, where capture is on.

        Only main private sessions that may write teach anything: what others say is not what the user says.

        Raises:
            MemoryCoreError: A message is no object, or the configuration cannot be used.
        """
        wanted = config.search.items.capture.enabled and context.access == "rw" and scope.is_main(context, config.agent)
        if wanted and self.allows(config, context):
            self.capture.add(config, context.session_key, messages, complete)

    def allows(self, config: AgentConfig, context: CallContext) -> bool:
        """Return True if memory is on for this session and its scope lets this chat see notes.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        self.refuse_closed()
        return (
            config.enabled
            and context.access != "none"
            and scope.allows(self._selector(config, context.access).scope, context)
        )

    def recalled(self, session_key: str | None) -> frozenset[str]:
        """Return fingerprints of what memory_search has shown in a session; see `append.Writing`."""
        return self._recalled.of(session_key)

    def explain(
        self, config: AgentConfig, others: Sequence[AgentConfig], query: Query, place: NotePlace | None
    ) -> Explanation:
        """Tell where every passage, and a place if one is given, stood after each stage of a search.

        Raises:
            MemoryOff: Memory is off.
            MemoryCoreError: Memory cannot be read.
        """
        from memory_core.plugin.explaining import explain

        self.refuse_closed()
        refuse_off(config)
        return explain(self._selector(config, "rw"), config, others, query, place)

    def relate(self, config: AgentConfig, query: RelatedQuery) -> Related:
        """Tell what is related to a name, or which names there are.

        Raises:
            MemoryOff: Memory is off.
            MemoryCoreError: Memory cannot be read.
        """
        self.refuse_closed()
        refuse_off(config)
        return self._selector(config, "rw").relate(query)

    def sync(self, config: AgentConfig, *, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """Index what has changed in the files; `force` rebuilds the index.

        Raises:
            MemoryOff: Memory is off.
            MemoryCoreError: It cannot be done.
        """
        self.refuse_closed()
        refuse_off(config)
        found = self.capture.read_notes(config)
        report = self._selector(config, "rw").sync(force=force, progress=progress)
        return replace(report, warnings=(*_warn_of_workspace(config), *found, *report.warnings))

    def finish_sync(self, config: AgentConfig, backend: str, *, progress: ProgressCallback | None) -> bool:
        """Finish the sync that a search has left to the background; see `Selector.finish_sync`.

        Raises:
            MemoryCoreError: It cannot be done.
        """
        self.refuse_closed()
        refuse_off(config)
        return self._selector(config, "rw").finish_sync(backend, progress=progress)

    def sync_soon(self, config: AgentConfig) -> None:
        """Ask for a sync in the background and return at once. Nothing happens while memory is off."""
        if config.enabled:
            self._selector(config, "rw").sync_soon()
            if config.search.items.capture.notes:
                self.capture.read_notes_soon(config)

    def session_updated(self, config: AgentConfig, session_key: str) -> None:
        """Tell the backends that a session's log has grown."""
        if config.enabled:
            self._selector(config, "rw").session_updated(session_key)

    def status(self, config: AgentConfig) -> Status:
        """Return a cheap status: no network, no model, nothing written; one of memory that is off says why."""
        self.refuse_closed()
        off = explain_off(config)
        if off is not None:
            return Status(
                backend="none", agent=config.agent, workspace=config.workspace, warnings=(str(off), *config.warnings),
                details={"off": off.reason},
            )  # fmt: skip
        status = self._selector(config, "rw").status()
        return replace(status, warnings=(*_warn_of_workspace(config), *status.warnings))

    def probe(self, config: AgentConfig) -> Probe:
        """Try for real to embed a text.

        Raises:
            MemoryOff: Memory is off.
        """
        self.refuse_closed()
        refuse_off(config)
        return self._selector(config, "rw").probe()

    def diagnose(self, config: AgentConfig) -> list[Finding]:
        """Check for real everything that the configured backend needs; nothing is opened while memory is off."""
        self.refuse_closed()
        off = explain_off(config)
        if off is not None:
            return [Finding(subject="config", level="warn", message=str(off), action=off.action)]
        return self._selector(config, "rw").diagnose()

    def start(self, config: AgentConfig | None) -> None:
        """Start background work: now or, with None or while memory is off, once a later call opens the backends."""
        with self._lock:
            self._started = True
        if config is None or not config.enabled:
            return
        try:
            self._selector(config, "rw").start()  # it may have been opened before
            self.items.start(config)
            self.recall.warm(config)
        except MemoryCoreError as error:
            log.warning("the memory of agent %r does not start: %s", config.agent, error)

    def close(self) -> tuple[str, ...]:
        """End background work and close all files; may be called twice.

        Returns:
            A sentence about each backend that did not close; it is left behind in a daemon thread.
        """
        with self._lock:
            self._closed = True
        return (*self.capture.close(), *self._close_selectors(), *self.items.close())

    def _search(
        self, selector: Selector, config: AgentConfig, arguments: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        result = selector.search(schemas.read_query(arguments, config.search.query))
        if problem := find_workspace_problem(config.workspace):
            warning = "; ".join(filter(None, (problem, result.warning)))
            result = replace(result, warning=warning, action=MAKE_IT)
        self._recalled.add(context.session_key, [hit.snippet for hit in result.hits])
        citations = config.memory.citations
        return results.shape_search(result, cite_hits=scope.cites(citations, context), citations=citations)

    def _explain(self, selector: Selector, config: AgentConfig, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if not config.search.query.explain:
            raise InvalidArgument("name", "memory_explain is off; memorySearch.query.explain turns it on")
        from memory_core.plugin.explaining import explain, read_place

        path = arguments.get("path")
        place = None if path is None else read_place(path, arguments.get("line"))
        query = schemas.read_query(arguments, config.search.query)
        return results.shape_explanation(explain(selector, config, (), query, place))

    def _append(self, config: AgentConfig, arguments: Mapping[str, Any], context: CallContext) -> dict[str, Any]:
        writing = Writing(
            workspace=config.workspace,
            state_dir=config.state_dir,
            today=self._today(),
            access=context.access,
            longterm=scope.is_main(context, config.agent),
            # What was found in a daily note may well be promoted to long-term memory, when the model says so.
            recalled=frozenset() if arguments.get("target") == "longterm" else self.recalled(context.session_key),
        )
        return memory_append(arguments, writing)

    def _selector(self, config: AgentConfig, access: Access) -> Selector:
        """Return the backends for this access, opened anew when the configuration has changed.

        Raises:
            MemoryClosed: After `close`.
        """
        if spoilt := forks.explain_spoilt():
            raise BackendUnavailable(config.memory.backend, spoilt, action="fork once more, or start a new process")
        with self._lock:
            self.refuse_closed()
            held = self._selectors.get(access)
            if held is not None and held[0] == config:
                return held[1]
            selector = Selector(config, access=access, keys=self._keys)
            self._selectors[access] = (config, selector)
            start = self._started and access == "rw"
        if held is not None:
            held[1].close()
        if start:
            selector.start()
        return selector

    def _renew(self) -> None:
        """Let go of the parent's backends in a forked child, without closing anything of theirs; a call opens its own."""
        self._lock = threading.Lock()
        if self._selectors:
            forks.abandon(self._selectors)
            self._selectors = {}

    def _close_selectors(self) -> tuple[str, ...]:
        with self._lock:
            selectors, self._selectors = list(self._selectors.values()), {}
        return tuple(problem for _, selector in selectors for problem in selector.close())


def _advise_on_scope(selector: Selector, context: CallContext) -> str:
    """Say what lets a chat use memory that may not."""
    if selector.scope_setting is None:
        return "run: memory-core doctor"  # which says why the backend's own scope cannot be read
    change = f"change {selector.scope_setting}"
    return f"ask in a direct chat, or {change}" if scope.allows_direct(selector.scope, context) else change


def _warn_of_workspace(config: AgentConfig) -> tuple[str, ...]:
    problem = find_workspace_problem(config.workspace)
    return () if problem is None else (f"{problem}; {MAKE_IT}",)
