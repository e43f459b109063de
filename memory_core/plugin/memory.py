"""`open_memory` and `Memory`: one agent's memory, which resolves its configuration at every call and works with it."""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from memory_core.backends.selector import Selector
from memory_core.completions import AsyncComplete, Complete
from memory_core.config.agent import PERSON, AgentConfig, explain_off, refuse_off
from memory_core.config.load import Config, ConfigSource, Origin
from memory_core.config.settings import BUILTIN, DEFAULT_AGENT
from memory_core.errors import InvalidArgument, LoggedProblems, MemoryClosed, MemoryCoreError, refuse_past
from memory_core.explanations import Explanation
from memory_core.plugin import activity, calls
from memory_core.plugin.capture import SessionCapture
from memory_core.plugin.open_items import OpenItems
from memory_core.plugin.recall import SessionRecall
from memory_core.plugin.sharing import JUST_NOW_MINUTES, BackgroundSyncs, diagnose_sharing
from memory_core.records import (
    Access,
    CallContext,
    Finding,
    KeySources,
    Probe,
    ProgressCallback,
    Related,
    Status,
    SyncReport,
)
from memory_core.sources.activity import Activity
from memory_core.sources.journal import Journal
from memory_core.sources.roots import diagnose_layers, is_there, warn_of_workspace
from memory_core.text.dates import get_today
from memory_core.threads import start_call
from memory_core.tools import prompts, results, schemas, scope
from memory_core.tools.arguments import TOOLS, check_arguments, check_context, check_kind, check_turn
from memory_core.tools.shown import Shown

if TYPE_CHECKING:
    from memory_core.items.items import Items
    from memory_core.items.recall import Recall

log = logging.getLogger(__name__)

MAX_SESSIONS = 1024  # whose start is remembered; an older one that starts again costs one more sync
PASSAGES = 3  # that a message calls to mind
RECALL_CHARS = 2000  # of a message that is searched for: what makes a question stands at its beginning
# What a forked process must not close, since its parent uses it.
_LEFT_TO_PARENTS: list[object] = []


def open_memory(
    config: Origin = None,
    *,
    agent: str = DEFAULT_AGENT,
    workspace: str | Path | None = None,
    state_dir: str | Path | None = None,
    today: Callable[[], date] | None = None,
) -> Memory:
    """Open one agent's memory. Starts nothing and reads no note; close it, or use it as a context manager.

    Args:
        config: A JSON5 or TOML file, a mapping of the same shape, a callable that returns one, or None for the defaults.
        agent: The agent's id.
        workspace: The folder of the notes; overrides the configuration.
        state_dir: The folder of the indexes; overrides the configuration.
        today: Returns the date from which "yesterday" is counted; None is that of `memorySearch.timeZone`.

    Raises:
        ConfigError: The configuration cannot be used; names every problem.
    """
    memory = Memory(ConfigSource(config, workspace=workspace, state_dir=state_dir), agent=agent, today=today)
    memory.check()
    return memory


class Memory:
    """One agent's memory. All methods may be called from several threads.

    Each call resolves the configuration once, when it begins, and works with that to its end. Backends are opened when they are
    first needed, and anew when the configuration has changed, or in a forked process. After `close` nothing is opened again:
    what may raise raises `MemoryClosed`, and a tool answers "unavailable".

    Args:
        source: The configuration, of all agents.
        agent: The agent's id.
        today: Returns the date of the user, for daily notes and questions; None is that of `memorySearch.timeZone`.
        keys: Where keys of providers come from; None is the environment.
        started: Background work starts as soon as a call opens the backends, as after `start`.
        start_sync: See `MemorySlot`.
    """

    def __init__(
        self,
        source: ConfigSource,
        *,
        agent: str = DEFAULT_AGENT,
        today: Callable[[], date] | None = None,
        keys: KeySources | None = None,
        started: bool = False,
        start_sync: Callable[[float], object] | None = None,
    ) -> None:
        self._source = source
        self._agent = agent
        self._today = today
        self._keys = keys or KeySources(auto_environ=os.environ)
        self._started, self._start_sync = started, start_sync
        self._closed = False
        self._prepare()

    def _prepare(self) -> None:
        """Begin with nothing open."""
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._selectors: dict[tuple[Access, bool], tuple[AgentConfig, Selector]] = {}
        self._greeted: dict[str, None] = {}  # sessions whose start has been reported, the last one last
        self._shown = Shown()  # by tools and by recall
        self._items = OpenItems(self._keys)
        self._recall = SessionRecall(self._items, self._shown)
        self._syncs = BackgroundSyncs(self._start_sync)
        self._capture = SessionCapture(self._items, self._shown, self._get_today)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def config(self) -> AgentConfig:
        """Resolve this agent's configuration as it is now, also after `close`.

        Raises:
            ConfigError: It cannot be used.
        """
        return self._source.current().agent(self._agent)

    def check(self) -> None:
        """Check the configuration, the chosen backend's own section included; opens no index.

        Raises:
            ConfigError: It cannot be used.
        """
        config = self._open_config()
        if config.enabled:
            self._selector(config)

    # Tools.

    def tool_schemas(self, access: Access = "rw") -> list[dict[str, Any]]:
        """Return the tools in the bare function form; empty when memory is off or its configuration cannot be used.

        Args:
            access: What the session may do in the workspace; `memory_append` is offered to "rw" only.
        """
        try:
            config = self._open_config()
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
        try:
            config, context = self._open_call(context)
            return results.make_encodable(self._run_tool(config, name, arguments, context))
        except Exception as error:  # noqa: BLE001 -- a tool call must never bring the host down
            return results.shape_failure(error, name)

    def _run_tool(
        self, config: AgentConfig, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> dict[str, Any]:
        config = scope.leave_out_layers(config, context)
        if not config.enabled:
            self._close_selectors()  # no watcher and no open file stay behind
            self._items.release()
            off = explain_off(config)
            return results.shape_refusal("disabled", str(off), off.action if off else "")
        if context.access == "none":
            return results.shape_refusal(
                "disabled", "this session has no access to the workspace", "use a session with workspaceAccess ro or rw"
            )
        check_kind("name", name, str)
        schema = TOOLS.get(schemas.ALIASES.get(name, name))
        if schema is None:
            raise InvalidArgument("name", f"there is no tool {name!r:.80}", action="offer the tools of tool_schemas()")
        selector = self._selector(config, context.access)
        if not scope.allows(selector.scope, context):
            advice = scope.advise(selector.scope, selector.scope_setting, context)
            return results.shape_refusal("denied", "memory may not be used in this chat", advice)
        checked = check_arguments(schema, arguments, name=name)
        if "asOf" in checked and config.memory.backend != BUILTIN:
            raise refuse_past(config.memory.backend)
        call = calls.ToolCall(
            name=schema["name"],
            selector=selector,
            items=self._items,
            config=config,
            arguments=checked,
            context=context,
            shown=self._shown,
            today=lambda: self._get_today(config, context),
        )
        result = calls.RUN[call.name](call)
        activity.record_call(config, call.name, context.session_key, result)
        return result

    # Text for a session.

    def prompt_section(self, context: CallContext | None = None) -> str:
        """Return what the system prompt says about memory, with the tools' names as they are offered; "" when memory is off.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        config, context = self._open_call(context)
        return prompts.explain_memory(config, context) if config.enabled and context.access != "none" else ""

    def session_context(self, context: CallContext | None = None, *, budget_chars: int = prompts.CONTEXT_CHARS) -> str:
        """Return the notes worth seeing at the start of a session, as quoted data within a budget.

        "" when there are none, when memory is off, or when its scope lets this chat see none.

        Raises:
            MemoryCoreError: Memory cannot be read.
        """
        config, context = self._open_call(context)
        config = scope.leave_out_layers(config, context)
        return self._quote_start(config, context, budget_chars)

    def system_text(self, context: CallContext | None = None, message: str = "") -> str:
        """Return all that the system prompt of a session says of memory, at every call: `prompt_section`, then `session_context`.

        Args:
            context: The session.
            message: What the user says now; what it calls to mind is added, each time. "" adds nothing.

        Raises:
            MemoryCoreError: Memory cannot be read.
        """
        config, context = self._open_call(context)
        config = scope.leave_out_layers(config, context)
        if not config.enabled or context.access == "none":
            return ""
        quoted = self._quote_start(config, context, prompts.CONTEXT_CHARS)
        recalled = self._quote_recalled(config, context, message, PASSAGES, quoted, kept=False) if message else ""
        return "\n\n".join(filter(None, [prompts.explain_memory(config, context), quoted, recalled]))

    def _quote_start(self, config: AgentConfig, context: CallContext, budget_chars: int) -> str:
        """Return what is worth seeing when a session starts; "" where its scope lets it see nothing."""
        if not self.allows(context, config):
            return ""
        return self._recall.quote_context(config, context, self._get_today(config, context), budget_chars=budget_chars)

    def recall_for_message(
        self, message: str, context: CallContext | None = None, *, shown: frozenset[str] = frozenset()
    ) -> Recall:
        """Return the few passages and items worth putting in front of a message, where `memorySearch.recall.enabled` is on.

        Args:
            message: As the user wrote it.
            context: The chat from which it comes; None is this machine's own user.
            shown: Fingerprints of what other processes have shown in the session, as `fingerprint_recalled` of
                `memory_core.text.paragraphs` returns them; none of it is shown again.

        Returns:
            Nothing where memory is off or its scope forbids it, for small talk, for what the session was shown before, and if it
            takes longer than `memorySearch.recall.timeoutMs`.

        Raises:
            MemoryCoreError: Memory cannot be read.
        """
        config, context = self._open_call(context)
        return self._recall_for(config, message, context, shown, kept=True)

    def recall(
        self,
        context: CallContext | None,
        text: str,
        *,
        max_results: int = PASSAGES,
        beside: str = "",
        kept: bool = True,
    ) -> str:
        """Return the passages of notes that a message calls to mind; see `MemorySlot.recall`.

        Raises:
            MemoryCoreError: Memory cannot be read.
        """
        config, context = self._open_call(context)
        return self._quote_recalled(config, context, text, max_results, beside, kept=kept)

    def _recall_for(
        self, config: AgentConfig, message: str, context: CallContext, shown: frozenset[str], *, kept: bool
    ) -> Recall:
        from memory_core.items.recall import Recall

        config = scope.leave_out_layers(config, context)
        if not self.allows(context, config):
            return Recall()
        backend, today = self._selector(config, context.access), self._get_today(config, context)
        return self._recall.recall(
            config, message, context, lambda query: backend.search(replace(query, today=today)), shown, kept=kept
        )

    def _quote_recalled(
        self, config: AgentConfig, context: CallContext, message: str, most: int, beside: str, *, kept: bool
    ) -> str:
        if config.search.recall.enabled:
            return self._recall_for(config, message, context, frozenset(), kept=kept).text
        if not (question := message.strip()[:RECALL_CHARS]):
            return ""
        answer = self._run_tool(config, "memory_search", {"query": question, "maxResults": most}, context)
        return prompts.quote_passages(answer.get("results", ()), beside)

    # What happens in sessions.

    def session_started(self, context: CallContext | None = None) -> None:
        """Sync with other machines in the background, once for each session key, and index if `sync.onSessionStart` says so.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        config, context = self._open_call(context)
        _tidy_soon(config)
        if not config.enabled or context.access != "rw":
            return
        key = context.session_key or ""
        if key in self._greeted:
            return
        self._greeted[key] = None  # a second thread at this moment costs one more sync, which finds nothing to do
        for oldest in [*self._greeted][:-MAX_SESSIONS]:
            self._greeted.pop(oldest, None)
        self._syncs.start_if_due(config, JUST_NOW_MINUTES)  # takes what others have sent
        if config.search.sync.on_session_start:
            self._sync_soon(config)

    def turn_ended(
        self,
        messages: Sequence[Mapping[str, Any]],
        complete: Complete | AsyncComplete | None = None,
        context: CallContext | None = None,
        *,
        host: str = "",
    ) -> None:
        """Learn from a turn later on, in the background, where capture is on.

        Only main private sessions that may write teach anything: what others say is not what the user says.

        Args:
            messages: In OpenAI's form: those of the turn, or all of the session, of which the last turn is taken.
            complete: Asks the host's model once; None leaves it to rules.
            context: The session.
            host: The name of the host; "" for the channel of the context.

        Raises:
            MemoryCoreError: An argument is no such thing, a message no object, or the configuration cannot be used.
        """
        check_turn(messages, complete)
        config, context = self._open_call(context)
        capture = config.search.items.capture
        _tidy_soon(config)
        if (minutes := config.memory.sharing.interval_minutes) and context.access == "rw":
            self._syncs.start_if_due(config, minutes)
        wanted = capture.enabled or capture.journal
        if wanted and context.access == "rw" and scope.is_main(context, config.agent) and self.allows(context, config):
            self._capture.add(config, context.session_key, messages, complete, host=host or context.channel or "host")

    def session_ended(self, session_key: str | None, access: Access = "rw") -> None:
        """Learn now, in the background, from the turns of a session that have not been read yet; sync if its access is "rw"."""
        self._refuse_closed()
        self._capture.end_session(session_key)
        if access == "rw":
            self._syncs.start_if_due(self.config())

    def compacted(self, context: CallContext | None = None) -> None:
        """Count a compaction, so that the session is asked to save again in its next cycle, and shown again what it was shown.

        For hosts that keep no `compactionCount` in a `sessions.json`; where there is one, nothing is counted.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        from memory_core.plugin.flush import cycles

        config, context = self._open_call(context)
        self.forget_session(context.session_key)
        cycles.end(cycles.read_key(context), config)

    def forget_session(self, session_key: str | None) -> None:
        """Let a session be shown again what it was shown before, since its context was compacted."""
        self._recall.forget_session(session_key)

    def recalled(self, session_key: str | None) -> frozenset[str]:
        """Return fingerprints of what memory_search has shown in a session; see `memory_append`."""
        return self._shown.of(session_key)

    def allows(self, context: CallContext, config: AgentConfig | None = None) -> bool:
        """Return True if memory is on for this session and its scope lets this chat see notes.

        Args:
            context: The session.
            config: As `config` returned it, for a caller that goes on with it; None resolves it.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        config = config or self._open_config()
        return (
            config.enabled
            and context.access != "none"
            and scope.allows(self._selector(config, context.access).scope, context)
        )

    def session_updated(self, session_key: str) -> None:
        """Index a session's log in the background once it has grown enough, where sessions are indexed.

        Logs a warning when memory cannot be used.
        """
        with LoggedProblems(log, "session %s is not indexed", session_key):
            config = self._open_config()
            if config.enabled:
                self._selector(config).session_updated(session_key)

    # Questions of people and scripts.

    @property
    def items(self) -> Items:
        """The agent's items, whether or not `memorySearch.items.enabled` offers them to agents.

        Raises:
            MemoryOff: Memory is off.
            MemoryClosed: After `close`.
            ConfigError: The configuration cannot be used.
        """
        return self._items.get(self._config_if_on())

    def explain(
        self,
        query: str,
        path: str | None = None,
        line: int | None = None,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        after: date | str | None = None,
        before: date | str | None = None,
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
        from memory_core.plugin import explaining

        given: dict[str, Any] = {
            "query": query, "maxResults": max_results, "minScore": min_score, "after": after, "before": before, "about": about,
        }  # fmt: skip
        texts = {name: value.isoformat() if isinstance(value, date) else value for name, value in given.items()}
        asked = check_arguments(TOOLS["memory_search"], texts, name="explain")
        whole, config = self._open_whole()
        others = [whole.agent(each) for each in whole.agents if each != config.agent]
        place = None if path is None else explaining.read_place(config, path, line)
        refuse_off(config)
        question = schemas.read_query(asked, config.search.query, today=self._get_today(config))
        return explaining.explain(self._selector(config), config, others, question, place)

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
        checked = check_arguments(TOOLS["memory_related"], {"name": name, "maxResults": max_results}, name="related")
        return self._selector(self._config_if_on()).relate(schemas.read_related(checked))

    def list_activity(self, *, limit: int = 100, session: str | None = None) -> list[Activity]:
        """Return the last uses of this memory by sessions, the latest first: what they stored, recalled, flushed and forgot.

        Args:
            limit: The most uses.
            session: Only those of the session with this key; None is all.

        Raises:
            MemoryOff: Memory is off.
            StoreError: The log cannot be read.
        """
        return activity.load(self._config_if_on().activity_path, limit=limit, session=session)

    # The index.

    def sync(
        self, *, force: bool = False, progress: ProgressCallback | None = None, config: AgentConfig | None = None
    ) -> SyncReport:
        """Index what has changed in the files; `force` rebuilds the index. For `config` see `allows`.

        Raises:
            MemoryCoreError: It cannot be done; what was committed before stays valid.
        """
        config = config or self._config_if_on()
        found = self._capture.read_notes(config)
        self._capture.catch_up(config)
        report = self._selector(config).sync(force=force, progress=progress)
        return replace(report, warnings=warn_of_workspace(config, (*found, *report.warnings)))

    def finish_sync(self, backend: str, *, progress: ProgressCallback | None = None) -> bool:
        """Finish the sync that a stale search has left to the background; return True if a further search is worth it.

        Args:
            backend: The backend that answered, which alone is synced; another than builtin is waited for no longer than
                for one of its searches.
            progress: Called with how far the sync is.

        Raises:
            MemoryCoreError: It cannot be done; what was committed before stays valid.
        """
        return self._selector(self._config_if_on()).finish_sync(backend, progress=progress)

    def sync_soon(self) -> None:
        """Ask for a sync in the background and return at once. Nothing happens while memory is off.

        Logs a warning when memory cannot be used.
        """
        with LoggedProblems(log, "no sync"):
            config = self._open_config()
            if config.enabled:
                self._sync_soon(config)

    def _sync_soon(self, config: AgentConfig) -> None:
        self._selector(config).sync_soon()
        if config.search.items.capture.notes:
            self._capture.read_notes_soon(config)

    def status(self) -> Status:
        """Return a cheap status: no network, no model, nothing written; one of memory that is off says why.

        Raises:
            MemoryCoreError: The configuration or the index cannot be used.
        """
        whole, config = self._open_whole()
        if (off := explain_off(config)) is not None:
            return Status(
                backend="none", agent=config.agent, workspace=config.workspace, warnings=(str(off), *config.warnings),
                details={"off": off.reason},
            )  # fmt: skip
        status = self._selector(config).status()
        details = {**status.details, **({"settings": str(whole.file)} if whole.file else {})}
        if config.search.items.capture.journal:
            details["journal"] = "paused" if Journal(config.journal_dir).is_paused else "keeps turns"
        unsent = tuple("; ".join(filter(None, (found.message, found.action))) for found in diagnose_sharing(config))
        return replace(status, details=details, warnings=warn_of_workspace(config, (*unsent, *status.warnings)))

    def probe(self) -> Probe:
        """Try for real to embed a text.

        Raises:
            MemoryOff: Memory is off.
            MemoryCoreError: The configuration cannot be used.
        """
        return self._selector(self._config_if_on()).probe()

    def diagnose(self) -> list[Finding]:
        """Check for real everything that the configured backend needs; writes nothing, opens the provider unless memory is off.

        Raises:
            MemoryCoreError: The configuration cannot be used.
        """
        whole, config = self._open_whole()
        if (off := explain_off(config)) is not None:
            return [Finding("config", "warn", str(off), off.action)]
        told = [Finding("settings", "ok", f"read from {whole.file}")] if whole.file else []
        return [*told, *diagnose_layers(config), *self._selector(config).diagnose(), *diagnose_sharing(config)]

    def start(self, config: AgentConfig | None = None) -> None:
        """Start watching and syncing in the background; `close` ends it.

        While memory is off, or its configuration cannot be used, that begins once a later call opens the backends.

        Args:
            config: As `config` returned it, for a caller that goes on with it; None resolves it.
        """
        with LoggedProblems(log, "the memory of agent %r does not start", self._agent):
            self._refuse_closed()
            with self._lock:
                self._started = True
            config = config or self._open_config()
            if config.enabled:
                self._start(self._selector(config), config)  # it may have been opened before

    def rest(self) -> None:
        """Let go of what the next call can read again: the static model, rows, vectors, idle connections and their pages.

        A process that stays calls it after a quiet minute; other calls may run meanwhile.
        """
        self._leave_parent()
        with self._lock:
            selectors = [selector for _, selector in self._selectors.values()]
        for selector in selectors:
            selector.rest()
        self._items.rest()
        gc.collect()

    def close(self) -> tuple[str, ...]:
        """End background work and close all files, for good; may be called twice.

        Returns:
            A sentence about each backend that is still running; it is left behind in a daemon thread.
        """
        self._leave_parent()
        with self._lock:
            self._closed = True
        return (*self._capture.close(), *self._syncs.close(), *self._close_selectors(), *self._items.close())

    def _open_config(self) -> AgentConfig:
        """Resolve the configuration for a call that needs an open memory."""
        return self._open_whole()[1]

    def _open_call(self, context: CallContext | None) -> tuple[AgentConfig, CallContext]:
        """Resolve the configuration for a call from a chat, whose context must not be that of another agent."""
        config = self._open_config()
        return config, check_context(context, agent=config.agent)

    def _open_whole(self) -> tuple[Config, AgentConfig]:
        """Resolve that of all agents as well."""
        self._refuse_closed()
        whole = self._source.current()
        return whole, whole.agent(self._agent)

    def _config_if_on(self) -> AgentConfig:
        config = self._open_config()
        refuse_off(config)
        return config

    def _get_today(self, config: AgentConfig, context: CallContext | None = None) -> date:
        """Return the date of the person who asks: that of the call, else the host's, else in the configured time zone."""
        if context is not None and context.now is not None:
            return context.now.date()
        return self._today() if self._today else get_today(config.search.time_zone, datetime.now(UTC))

    def _refuse_closed(self) -> None:
        self._leave_parent()
        if self._closed:
            raise MemoryClosed

    def _leave_parent(self) -> None:
        """In a forked process, leave to the parent what it has open, and begin anew."""
        if self._pid != os.getpid():
            _LEFT_TO_PARENTS.append((self._selectors, self._items, self._recall, self._capture))
            self._prepare()

    def _selector(self, config: AgentConfig, access: Access = "rw") -> Selector:
        """Return the backends for this access, opened anew when the configuration has changed.

        Raises:
            MemoryClosed: After `close`.
        """
        config = replace(config, layers=tuple(each for each in config.layers if is_there(each.workspace)))
        key = access, config.find_named(PERSON) is None  # as a host may have sessions of all kinds at once
        with self._lock:
            if self._closed:
                raise MemoryClosed
            held = self._selectors.get(key)
            if held is not None and held[0] == config:
                return held[1]
            selector = Selector(config, access=access, keys=self._keys)
            self._selectors[key] = (config, selector)
            start = self._started and access == "rw"
        if held is not None:
            held[1].close()
        if start:
            self._start(selector, config)
        return selector

    def _start(self, selector: Selector, config: AgentConfig) -> None:
        selector.start()
        self._items.start(config)
        self._recall.warm(config)

    def _close_selectors(self) -> tuple[str, ...]:
        with self._lock:
            selectors, self._selectors = list(self._selectors.values()), {}
        return tuple(problem for _, selector in selectors for problem in selector.close())


def _tidy_soon(config: AgentConfig) -> None:
    """Run tidy in the background, where `memorySearch.tidy.interval` says so and it is due."""
    if config.enabled and config.search.tidy.interval:
        from memory_core.plugin.reviewing import run_if_due

        start_call(lambda: run_if_due(config), name="memory-core-tidy")
