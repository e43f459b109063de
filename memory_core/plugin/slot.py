"""The slot that a host loads, configures and calls. Once it is made, nothing in here raises into the host.

from memory_core.plugin import MemorySlot

slot = MemorySlot("host.json5")
slot.start()
tools = slot.tool_schemas()
answer = slot.call_tool("memory_search", {"query": "what did we decide about the cache?"})
slot.close()
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, cast, get_args

from memory_core.completions import AsyncComplete, Complete, Message, call_in_loop
from memory_core.config.agent import AgentConfig, normalize_agent_id
from memory_core.config.environment import find_home
from memory_core.config.load import ConfigSource, Origin
from memory_core.config.resolution import find_current_folder
from memory_core.config.settings import DEFAULT_AGENT
from memory_core.errors import FileUnreadable, LoggedProblems, MemoryClosed, MemoryCoreError, PathRefused
from memory_core.hookspecs import hookimpl
from memory_core.plugin.flush import cycles, policy, runner
from memory_core.plugin.flush.policy import Decision, FlushTurn, Session
from memory_core.plugin.flush.runner import FlushOutcome, FlushStatus, ToolFunction
from memory_core.plugin.memory import PASSAGES, Memory
from memory_core.plugin.recall import recall_nothing
from memory_core.records import CallContext, Document, KeySources, MemoryFile, ResolveApiKey, Status
from memory_core.sources.files import list_files
from memory_core.sources.notes import read_note
from memory_core.sources.pages import resolve
from memory_core.sources.roots import explain_no_workspace
from memory_core.sources.writer import make_workspace
from memory_core.tools import prompts, results, schemas, scope
from memory_core.tools.arguments import check_choice, check_context, check_kind

if TYPE_CHECKING:
    from memory_core.items.recall import Recall
    from memory_core.plugin.editing import Change

log = logging.getLogger(__name__)

P = ParamSpec("P")
Answer = TypeVar("Answer")

_NOT_READABLE = ("memory is off, or may not be used in this chat", "run: memory-core status")


def never_raises(answer: Callable[[MemoryCoreError], Any]) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]:
    """Decorate a method that a host calls: whatever it raises is logged, and the host gets an answer all the same.

    Args:
        answer: Makes that answer of the error; one that is not ours comes as a `MemoryCoreError` that tells of a defect.
    """

    def decorate(method: Callable[P, Answer]) -> Callable[P, Answer]:
        @functools.wraps(method)
        def call(*args: P.args, **kwargs: P.kwargs) -> Answer:
            try:
                return method(*args, **kwargs)
            except MemoryCoreError as error:
                log.warning("%s: %s", method.__name__, error)
                found = error
            except Exception as error:  # noqa: BLE001 -- nothing may get out to the host
                found = results.explain_defect(error, method.__name__)
            return cast("Answer", answer(found))

        return call

    return decorate


class MemorySlot:
    """The memory of all agents of one host. Making one starts nothing; all methods may be called from several threads.

    Each call resolves the configuration once, when it begins, and works with that to its end. After `close` every call
    answers that memory is unavailable, and nothing is opened again.

    Args:
        config: A file (read again when it changes), a mapping, a callable (called once at every call), or a source that was
            made of one before, to which the next two arguments and `other_slots` belong.
        workspace: Overrides the configuration's, for every agent.
        state_dir: The host's state directory; overrides MEMORY_CORE_STATE_DIR and the default.
        other_slots: Ids of memory plugins that the host knows besides ours.
        today: Returns the date of the user, by the host's clock; None is that of `memorySearch.timeZone`.
        resolve_api_key: Returns the host's own key for a provider id; asked after the configuration and before the
            environment. The provider "auto" takes no key from the environment in a host: name the provider, or offer one here.
        start_sync: Starts a sync with other machines in a process of its own, which leaves out what was tried within so many
            minutes; None syncs in threads, for which `close` waits.
    """

    def __init__(
        self,
        config: Origin | ConfigSource = None,
        *,
        workspace: str | Path | None = None,
        state_dir: str | Path | None = None,
        other_slots: Collection[str] = (),
        today: Callable[[], date] | None = None,
        resolve_api_key: ResolveApiKey | None = None,
        start_sync: Callable[[float], object] | None = None,
    ) -> None:
        self._source = (
            config
            if isinstance(config, ConfigSource)
            else ConfigSource(config, workspace=workspace, state_dir=state_dir, other_slots=other_slots)
        )
        self._today = today
        self._start_sync = start_sync
        self._keys = KeySources(resolve=resolve_api_key)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._memories: dict[str, Memory] = {}
        self._started = False
        self._closed = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def manifest(self) -> dict[str, Any]:
        """Return `plugin.json` as it ships: id, kind, tools, hooks, the JSON Schema of the configuration."""
        from memory_core.plugin.manifest import make_plugin_json

        return make_plugin_json()

    # Tools.

    @never_raises(lambda _: [])
    def tool_schemas(self, context: CallContext | None = None, *, form: schemas.Form = "bare") -> list[dict[str, Any]]:
        """Return the tools that an agent may be given; empty when memory is off or its configuration cannot be used.

        Args:
            context: The agent's session; None is the agent "main".
            form: "bare" is OpenAI's function object, "openai" wraps it, "anthropic" and "mcp" are those hosts' own.
        """
        check_choice("form", form, get_args(schemas.Form))
        context = check_context(context)
        config = self._find(context).config()
        if not config.enabled or context.access == "none":
            return []
        offered = schemas.list_tools(config, context.access, main=scope.is_main(context, config.agent))
        return [schemas.to_form(schema, form) for schema in offered]

    @never_raises(lambda _: [])
    def all_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the tools that any session of any agent may be given now, in the bare form; empty when memory is off for all.

        For a host that hands tools out before it knows the session. A call that the session may not make is refused.
        """
        self._memory(DEFAULT_AGENT)  # refuses after `close`
        whole = self._source.current()
        agents = [*map(whole.agent, whole.agents), whole.resolver.resolve("", whole.dialect)]
        found: dict[str, dict[str, Any]] = {}
        for config in agents:
            for schema in schemas.list_tools(config, "rw") if config.enabled else ():
                found.setdefault(schema["name"], schema)
        return [*found.values()]

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run one tool for one session. Whatever goes wrong is in the result; nothing is raised.

        Slot, switch and scope are resolved now, not when the tools were handed out.
        """
        try:
            return self._find(context).call_tool(name, arguments, context)
        except Exception as error:  # noqa: BLE001 -- a tool call must never bring the host down
            return results.shape_failure(error, name)

    async def acall_tool(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> dict[str, Any]:
        """Run `call_tool` in a thread, for asynchronous hosts."""
        import asyncio

        try:
            return await asyncio.to_thread(self.call_tool, name, arguments, context)
        except RuntimeError as error:  # the host's loop starts no thread any more
            return results.shape_error(results.explain_defect(error, "acall_tool"))

    # Text for a session.

    @never_raises(lambda _: "")
    def prompt_section(self, context: CallContext | None = None) -> str:
        """Return what the system prompt says about memory; "" when memory is off."""
        return self._find(context).prompt_section(context)

    @never_raises(lambda _: "")
    def session_context(self, context: CallContext | None = None, *, budget_chars: int = prompts.CONTEXT_CHARS) -> str:
        """Return the notes worth seeing at the start of a session, as quoted data within a budget.

        "" when there are none, when memory is off, or when its scope lets this chat see none.
        """
        check_kind("budget_chars", budget_chars, int)
        return self._find(context).session_context(context, budget_chars=budget_chars)

    @never_raises(lambda _: "")
    def system_text(self, context: CallContext | None = None, message: str = "") -> str:
        """Return all that the system prompt of a session says of memory, at every call: `prompt_section`, then `session_context`.

        Args:
            context: The session.
            message: What the user says now; `recall` adds what it calls to mind, each time. "" adds nothing.
        """
        check_kind("message", message, str)
        text = self._find(context).system_text(context)
        # Which may fail alone.
        recalled = self.recall(context, message, beside=text, kept=False) if text and message else ""
        return "\n\n".join(filter(None, (text, recalled)))

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
        return self._find(context).recall_for_message(message, context, shown=shown)

    @never_raises(lambda _: "")
    def recall(
        self,
        context: CallContext | None,
        text: str,
        *,
        max_results: int = PASSAGES,
        beside: str = "",
        kept: bool = True,
    ) -> str:
        """Return the passages of notes that a message calls to mind, or the text of `recall_for_message` where that is on.

        Args:
            context: The session in which the message came; the scope of memory decides what may be shown there.
            text: The message.
            max_results: The most passages.
            beside: What the session is shown besides; a passage of which it has every line is left out.
            kept: Whoever asks leaves the text in the session's history; then `recall_for_message` brings nothing twice there.
                False for a prompt that is written anew each time.
        """
        check_kind("text", text, str)
        return self._find(context).recall(context, text, max_results=max_results, beside=beside, kept=kept)

    # Whole notes, for hosts that offer them to their user or model as files.

    @never_raises(lambda _: None)
    def find_workspace(self, context: CallContext | None = None) -> Path | None:
        """Return the folder of a session's notes, which may not exist; None when memory is off."""
        context = check_context(context)
        config = self._find(context).config()
        return config.workspace if config.enabled and context.access != "none" else None

    @never_raises(str)
    def explain_no_workspace(self, context: CallContext | None = None) -> str | None:
        """Return the reason why there is no such folder, be it a wrong configuration.

        None if there is one, if it is made for the first note, or when memory is off.
        """
        context = check_context(context)
        config = self._find(context).config()
        return explain_no_workspace(config) if config.enabled and context.access != "none" else None

    @never_raises(lambda _: ())
    def list_missing_workspaces(self, context: CallContext | None = None) -> tuple[Path, ...]:
        """Return the folders of which one has to be made before a session can write; none where that can be done.

        The first is the one that is used; where nobody has named that, the current folder may be one as well.
        """
        context = check_context(context)
        config = self._find(context).config()
        if not config.enabled or context.access != "rw" or explain_no_workspace(config) is None:
            return ()
        origin = self._source.current().resolver.find_workspace_origin(config.agent)
        here = find_current_folder() if origin == "default" else None
        if here is None or here in (config.workspace, Path(find_home()), Path(here.anchor)):
            return (config.workspace,)
        return (config.workspace, here)

    @never_raises(lambda _: False)
    def make_workspace(self, folder: Path, context: CallContext | None = None) -> bool:
        """Make one of `list_missing_workspaces`, which is used from now on; return False if it is none, or cannot be made."""
        if folder not in self.list_missing_workspaces(context):
            return False
        make_workspace(folder)
        self._source.forget()
        return True

    @never_raises(lambda _: ())
    def list_notes(self, context: CallContext | None = None) -> tuple[MemoryFile, ...]:
        """Return the notes that a session may read, sorted by path; session logs are not among them.

        None when memory is off, or when its scope lets this chat see no notes.
        """
        config = self._find_readable(check_context(context))
        return () if config is None else tuple(sorted(list_files(config).files, key=lambda file: file.path))

    def read_note(self, path: str, context: CallContext | None = None) -> dict[str, Any]:
        """Return a whole note as its file holds it now. Whatever goes wrong is in the result, as with `call_tool`.

        Args:
            path: As `list_notes` or a search returned it.
            context: The session.

        Returns:
            The result of memory_get, on one page.
        """
        return results.run_safely("memory_get", lambda: self._read_note(path, check_context(context)))

    def _read_note(self, path: str, context: CallContext) -> dict[str, Any]:
        check_kind("path", path, str)
        config = self._find_readable(context)
        if config is None:
            return results.shape_refusal("denied", *_NOT_READABLE)
        if (file := resolve(config, path)) is None:
            return results.shape_document(Document(path=path, text="", from_line=1, lines=0, status="not_found"))
        try:
            text = read_note(file).text
        except FileUnreadable as error:
            raise PathRefused(path, error.reason) from error
        return results.shape_document(Document(path=file.path, text=text, from_line=1, lines=text.count("\n") + 1))

    def change_note(self, path: str, change: Change, context: CallContext | None = None) -> dict[str, Any]:
        """Change, make or remove a whole note, for hosts that let their model edit files. The history has it as it was before.

        Args:
            path: `MEMORY.md`, in a main private session, or a note in `memory/`.
            change: Takes the text, None where there is no such note, and returns the new text, None for no note. The message of
                a `MemoryCoreError` that it raises is the error of the result.
            context: The session.

        Returns:
            `{path, status}`: status is "created", "changed", "unchanged" or "removed". Or an error, as `call_tool` returns it.
        """
        return results.run_safely("change_note", lambda: self._change_note(path, change, check_context(context)))

    def _change_note(self, path: str, change: Change, context: CallContext) -> dict[str, Any]:
        from memory_core.plugin.editing import change_note

        check_kind("path", path, str)
        memory = self._find(context)
        config = memory.config()
        if not memory.allows(context, config):
            return results.shape_refusal("denied", *_NOT_READABLE)
        return change_note(config, context, path, change, sync=lambda: memory.sync(config=config))

    def _find_readable(self, context: CallContext) -> AgentConfig | None:
        """Return the configuration of a session's agent; None when memory is off or its scope lets this chat see no notes."""
        memory = self._find(context)
        config = scope.leave_out_layers(memory.config(), context)
        return config if memory.allows(context, config) else None

    # What happens in sessions. None of these waits for a sync.

    @never_raises(lambda _: None)
    def session_started(self, context: CallContext | None = None) -> None:
        """Sync in the background, once for each session key, where `sync.onSessionStart` says so."""
        self._find(context).session_started(context)

    @never_raises(lambda _: None)
    def session_updated(self, session_key: str, agent: str = DEFAULT_AGENT) -> None:
        """Index a session's transcript in the background once it has grown enough, where sessions are indexed."""
        check_kind("session_key", session_key, str)
        self._memory(normalize_agent_id(agent)).session_updated(session_key)

    @never_raises(lambda _: None)
    def turn_ended(
        self,
        context: CallContext | None,
        messages: Sequence[Message],
        complete: Complete | AsyncComplete | None = None,
        *,
        host: str = "",
    ) -> None:
        """Learn items from what the user said in a turn, in the background, where `memorySearch.items.capture` is on.

        A host calls it after every turn. Several turns of a session are read together: after five of them, when nobody
        has said anything for five minutes, and when the session or the slot ends.

        Args:
            context: The session, as for a tool call.
            messages: In OpenAI's form: those of the turn, or all of the session, of which the last turn is taken.
            complete: Asks the host's model once; see `memory_core.completions`. None leaves it to rules.
            host: The host's name, by which the journal tells where it was said; "" for the channel of the context.
        """
        self._find(context).turn_ended(messages, complete, context, host=host)

    @never_raises(lambda _: None)
    def session_ended(self, context: CallContext | None = None) -> None:
        """Learn now, in the background, from the turns of a session that have not been read yet."""
        context = check_context(context)
        self._find(context).session_ended(context.session_key, context.access)

    # The flush before a compaction.

    @never_raises(lambda _: Session(agent=DEFAULT_AGENT, key=""))
    def session(self, context: CallContext, key: str, **facts: Any) -> Session:
        """Describe a session before compaction: what the host's `sessions.json` says, and what the host knows better.

        Args:
            context: The session, as for a tool call.
            key: Its session key.
            facts: Attributes of `flush.policy.Session`, such as `total_tokens` and `context_window`.
        """
        context = check_context(context)
        check_kind("key", key, str)
        config: AgentConfig | None = None
        with LoggedProblems(log, "the host's own record of the session is not read"):
            config = self._find(context).config()
        return cycles.describe(context, config, key, **facts)

    @never_raises(lambda error: Decision(False, str(error), "disabled"))
    def should_flush(self, session: Session | CallContext, *, compacting: bool = False) -> Decision:
        """Decide whether a flush turn is due now, and say why or why not; for hosts that poll. Never raises.

        Args:
            session: As `session` describes it; of a `CallContext` only what the host's `sessions.json` says is known.
            compacting: See `before_compaction`.
        """
        described, config = self._find_session(session)
        return policy.should_flush(described, config, compacting=compacting)

    @never_raises(lambda _: None)
    def before_compaction(self, session: Session | CallContext, *, compacting: bool = False) -> FlushTurn | None:
        """Return the silent turn to run now, before the session is compacted; None when none is due. Never raises.

        A host calls it after every turn, and once more with `compacting` when it compacts whatever the session's size.

        Args:
            session: See `should_flush`.
            compacting: Decide whatever the session's size.
        """
        described, config = self._find_session(session)
        return policy.plan_flush(described, config, compacting=compacting)

    @never_raises(lambda error: FlushOutcome(status="failed", reason=str(error)))
    def compact(
        self, context: CallContext | None, history: Sequence[Message], complete: Complete, **facts: Any
    ) -> FlushOutcome | None:
        """Run the turn that is due before a compaction, and count the compaction. Never raises.

        A host calls it right before it shortens a session. It plans the turn, runs it, records how it went, and ends the cycle.

        Args:
            context: The session, as for a tool call.
            history: The messages so far, in OpenAI's form; see `memory_core.hosts.messages` for those of other frameworks.
            complete: Asks the model once; see `completions.Complete`.
            facts: See `session`.

        Returns:
            The outcome; None if no turn was due.
        """
        context = check_context(context)
        memory = self._find(context)
        config = memory.config()
        described = cycles.count(cycles.describe(context, config, **facts), config)
        turn = policy.plan_flush(described, config, compacting=True)
        outcome = None if turn is None else runner.run_with(memory, config, turn, complete, history=history)
        memory.forget_session(context.session_key)
        cycles.end(described.key, config)
        return outcome

    async def acompact(
        self, context: CallContext | None, history: Sequence[Message], complete: AsyncComplete, **facts: Any
    ) -> FlushOutcome | None:
        """Run `compact` in a thread, for asynchronous hosts; `complete` is awaited in the loop of the caller."""
        import asyncio

        ask = call_in_loop(asyncio.get_running_loop(), complete)
        return await asyncio.to_thread(self.compact, context, history, ask, **facts)

    @never_raises(lambda _: None)
    def compacted(self, context: CallContext | None = None) -> None:
        """Count a compaction, so that the session is asked again in its next cycle. Never raises.

        For hosts that keep no `compactionCount` in a `sessions.json`; where there is one, nothing happens.
        """
        self._find(context).compacted(context)

    @never_raises(lambda error: FlushOutcome(status="failed", reason=str(error)))
    def run_flush(self, turn: FlushTurn, complete: Complete, **limits: Any) -> FlushOutcome:
        """Run a flush turn for a host that cannot run a nested one, and record how it went. Never raises.

        Args:
            turn: As `before_compaction` made it.
            complete: Asks the model once; see `completions.Complete`.
            limits: `history`, `max_steps`, `max_seconds`, `max_tokens` of `runner.run_flush`.
        """
        return runner.run_with(*self._find_turn(turn), turn, complete, **limits)

    @never_raises(lambda _: {})
    def flush_handlers(self, turn: FlushTurn) -> dict[str, ToolFunction]:
        """Return the handlers of a turn's tools by name, for a host that runs the turn itself; errors are results.

        They write the note of the turn only, and take the arguments as the model gave them. Empty when memory cannot be used.
        """
        memory, config = self._find_turn(turn)
        append = runner.make_flush_tools(turn, config, recalled=memory.recalled(turn.session_key))["memory_append"]
        return {"memory_append": lambda given: results.run_safely("memory_append", lambda: append(given))}

    @never_raises(lambda _: False)
    def record_flush(self, turn: FlushTurn, outcome: FlushOutcome | FlushStatus) -> bool:
        """Record how a turn went that the host ran itself, so that the session is asked once in a cycle. Never raises.

        Args:
            turn: As `before_compaction` made it.
            outcome: "stored", "nothing" to store, or "failed"; or an outcome of `run_flush`.

        Returns:
            False, with a warning, if it cannot be recorded: then the turn comes again.
        """
        memory, config = self._find_turn(turn)
        if not isinstance(outcome, FlushOutcome):
            check_choice("outcome", outcome, get_args(FlushStatus))
            outcome = FlushOutcome(status=outcome, reason="as the host says")
        return runner.record(memory, config, turn, outcome)

    def _find_turn(self, turn: FlushTurn) -> tuple[Memory, AgentConfig]:
        """Return the memory of a turn's agent, and its configuration."""
        check_kind("turn", turn, FlushTurn)
        memory = self._memory(normalize_agent_id(turn.agent))
        return memory, memory.config()

    def _find_session(self, session: Session | CallContext) -> tuple[Session, AgentConfig]:
        """Return a session before compaction, and its agent's configuration."""
        if isinstance(session, Session):
            config = self._memory(normalize_agent_id(session.agent)).config()
        else:
            context = check_context(session)
            config = self._find(context).config()
            session = cycles.describe(context, config)
        return cycles.count(session, config), config

    # The hooks for hosts with a pluggy manager of their own. pluggy passes no argument that has a default.

    @hookimpl(specname="session_started")
    def _on_session_started(self, context: CallContext) -> None:
        self.session_started(context)

    @hookimpl(specname="session_updated")
    def _on_session_updated(self, session_key: str, agent: str) -> None:
        self.session_updated(session_key, agent)

    @hookimpl(specname="turn_ended")
    def _on_turn_ended(
        self, context: CallContext, messages: Sequence[Message], complete: Complete | AsyncComplete | None
    ) -> None:
        self.turn_ended(context, messages, complete)

    @hookimpl(specname="session_ended")
    def _on_session_ended(self, context: CallContext) -> None:
        self.session_ended(context)

    @hookimpl(specname="compacted")
    def _on_compacted(self, context: CallContext) -> None:
        self.compacted(context)

    @hookimpl(specname="before_compaction")
    def _on_before_compaction(self, session: Session | CallContext, compacting: bool) -> FlushTurn | None:
        return self.before_compaction(session, compacting=compacting)

    # All of it.

    @never_raises(lambda error: _report_nothing(DEFAULT_AGENT, error))
    def status(self, agent: str = DEFAULT_AGENT) -> Status:
        """Return a cheap status of one agent's memory; a slot that is off, or a wrong configuration, is a warning in it."""
        try:
            return self._memory(normalize_agent_id(agent)).status()
        except MemoryCoreError as error:
            return _report_nothing(str(agent), error)

    @never_raises(lambda _: None)
    def start(self) -> None:
        """Start watching and syncing in the background, for every agent that is configured or called, now and later."""
        self._leave_parent()
        with self._lock:
            if self._closed:
                raise MemoryClosed
            self._started = True
            called = list(self._memories)
        config = self._source.current()
        for agent in dict.fromkeys((*config.agents, *called)):
            settings = config.agent(agent)
            if settings.enabled and (problem := explain_no_workspace(settings)):
                log.warning("the memory of agent %r has no notes: %s", agent, problem)
            self._memory(agent).start(settings)

    @never_raises(lambda _: None)
    def rest(self) -> None:
        """Let every memory let go of what its next call can read again; see `Memory.rest`."""
        self._leave_parent()
        with self._lock:
            memories = list(self._memories.values())
        for memory in memories:
            memory.rest()

    def close(self) -> tuple[str, ...]:
        """End background work and close all files, for good; may be called twice.

        Returns:
            A sentence about each backend that is still running; it is left behind in a daemon thread.
        """
        self._leave_parent()
        with self._lock:
            self._closed = True
            memories, self._memories = list(self._memories.values()), {}
        return tuple(problem for memory in memories for problem in _close(memory))

    def _find(self, context: CallContext | None) -> Memory:
        """Return the memory of the agent whose session calls.

        Raises:
            InvalidArgument: It is no `CallContext`, or its agent cannot be the id of one.
            MemoryClosed: After `close`.
        """
        return self._memory(normalize_agent_id(check_context(context).agent or DEFAULT_AGENT))

    def _memory(self, agent: str) -> Memory:
        """Return the memory of an agent, which resolves the configuration at each of its calls.

        Raises:
            MemoryClosed: After `close`.
        """
        self._leave_parent()
        with self._lock:
            if self._closed:
                raise MemoryClosed
            memory = self._memories.get(agent)
            if memory is None:
                memory = Memory(
                    self._source, agent=agent, today=self._today, keys=self._keys, started=self._started,
                    start_sync=self._start_sync,
                )  # fmt: skip
                self._memories[agent] = memory
            return memory

    def _leave_parent(self) -> None:
        if self._pid != os.getpid():  # another thread of the parent may have held this lock at the fork
            self._lock, self._pid = threading.Lock(), os.getpid()


def _report_nothing(agent: str, error: MemoryCoreError) -> Status:
    return Status(backend="none", agent=agent, workspace=Path(), warnings=(str(error),))


@never_raises(lambda error: (str(error),))
def _close(memory: Memory) -> tuple[str, ...]:
    return memory.close()
