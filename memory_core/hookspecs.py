"""The page for authors of backends and hosts: the hooks, and every type, error and helper that backends need.

A backend is any object whose methods, marked `@hookimpl`, match `MemoryBackend`; that class is pluggy's specification and the
static type at once. One object serves one agent: its plugin's `open` is called with a `BackendContext`, and the object is
registered in a plugin manager of its own. A package offers a backend by an entry point:

    [project.entry-points."memory_core.backends"]
    mine = "my_package.plugin:PLUGIN"        # a BackendPlugin; the module should import nothing heavy

What is defined here is public, and what is imported under its own name (`import A as A`); the modules that define these are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import pluggy

from memory_core.config.agent import AgentConfig as AgentConfig
from memory_core.config.agent import NamedFolder as NamedFolder
from memory_core.config.fields import STRICT as STRICT
from memory_core.config.fields import InvalidField as InvalidField
from memory_core.config.fields import Secret as Secret
from memory_core.config.fields import Section as Section
from memory_core.config.fields import about as about
from memory_core.config.settings import BACKENDS_GROUP as BACKENDS_GROUP
from memory_core.config.settings import Scope as Scope
from memory_core.config.settings import ScopeMatch as ScopeMatch
from memory_core.config.settings import ScopeRule as ScopeRule
from memory_core.embeddings.protocols import Calibrated as Calibrated
from memory_core.embeddings.protocols import EmbeddingProvider as EmbeddingProvider
from memory_core.embeddings.protocols import Remarking as Remarking
from memory_core.embeddings.protocols import TokenEmbedder as TokenEmbedder
from memory_core.embeddings.protocols import TokenEmbedding as TokenEmbedding
from memory_core.embeddings.protocols import TokenModel as TokenModel
from memory_core.errors import AuthenticationFailed as AuthenticationFailed
from memory_core.errors import BackendError as BackendError
from memory_core.errors import BackendIndexEmpty as BackendIndexEmpty
from memory_core.errors import BackendUnavailable as BackendUnavailable
from memory_core.errors import ConfigError as ConfigError
from memory_core.errors import ConfigProblem as ConfigProblem
from memory_core.errors import FileUnreadable as FileUnreadable
from memory_core.errors import InputTooLarge as InputTooLarge
from memory_core.errors import InvalidArgument as InvalidArgument
from memory_core.errors import InvalidEmbedding as InvalidEmbedding
from memory_core.errors import MemoryCoreError as MemoryCoreError
from memory_core.errors import NotIndexed as NotIndexed
from memory_core.errors import PathRefused as PathRefused
from memory_core.errors import ProviderError as ProviderError
from memory_core.errors import ProviderUnavailable as ProviderUnavailable
from memory_core.errors import ProviderUnreachable as ProviderUnreachable
from memory_core.errors import QuotaExhausted as QuotaExhausted
from memory_core.errors import RateLimited as RateLimited
from memory_core.errors import RequestTimeout as RequestTimeout
from memory_core.errors import StoreCorrupt as StoreCorrupt
from memory_core.errors import StoreError as StoreError
from memory_core.errors import StoreFull as StoreFull
from memory_core.errors import StoreReadOnly as StoreReadOnly
from memory_core.errors import StoreTooNew as StoreTooNew
from memory_core.errors import SyncBusy as SyncBusy
from memory_core.errors import SyncStopped as SyncStopped
from memory_core.errors import TextRefused as TextRefused
from memory_core.explanations import AskedQuestion as AskedQuestion
from memory_core.explanations import AskedTerm as AskedTerm
from memory_core.explanations import Cause as Cause
from memory_core.explanations import Examined as Examined
from memory_core.explanations import Explanation as Explanation
from memory_core.explanations import NotePlace as NotePlace
from memory_core.explanations import PlaceReport as PlaceReport
from memory_core.explanations import Shares as Shares
from memory_core.explanations import Stage as Stage
from memory_core.explanations import Verdict as Verdict
from memory_core.records import NOTHING_INDEXED as NOTHING_INDEXED
from memory_core.records import Access as Access
from memory_core.records import AsOf as AsOf
from memory_core.records import Calibration as Calibration
from memory_core.records import Document as Document
from memory_core.records import Fallback as Fallback
from memory_core.records import FileFailure as FileFailure
from memory_core.records import FileStamp as FileStamp
from memory_core.records import Finding as Finding
from memory_core.records import Hit as Hit
from memory_core.records import KeySources as KeySources
from memory_core.records import KnownName as KnownName
from memory_core.records import MemoryFile as MemoryFile
from memory_core.records import Mention as Mention
from memory_core.records import Mode as Mode
from memory_core.records import NameKind as NameKind
from memory_core.records import Neighbour as Neighbour
from memory_core.records import Now as Now
from memory_core.records import Origin as Origin
from memory_core.records import Probe as Probe
from memory_core.records import Progress as Progress
from memory_core.records import ProgressCallback as ProgressCallback
from memory_core.records import Query as Query
from memory_core.records import Related as Related
from memory_core.records import RelatedQuery as RelatedQuery
from memory_core.records import ResolveApiKey as ResolveApiKey
from memory_core.records import SearchResult as SearchResult
from memory_core.records import Space as Space
from memory_core.records import Status as Status
from memory_core.records import Successor as Successor
from memory_core.records import SyncReport as SyncReport
from memory_core.sources.files import Listing as Listing
from memory_core.sources.files import list_files as list_files
from memory_core.sources.notes import NoteText as NoteText
from memory_core.sources.notes import find_note_day as find_note_day
from memory_core.sources.notes import read_note as read_note
from memory_core.sources.pages import get_document as get_document

if TYPE_CHECKING:
    from memory_core.completions import AsyncComplete, Complete, Message
    from memory_core.plugin.flush.policy import FlushTurn, Session
    from memory_core.records import CallContext

PROJECT = "memory_core"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendContext:
    """The agent that a backend is opened for. Building one starts nothing and opens nothing.

    Attributes:
        config: The agent's whole configuration.
        settings: The backend's own section, an instance of the model that its plugin supplies; None without a model.
        access: "rw", or "ro" when nothing may be written.
        keys: The sources of keys for remote providers, besides the configuration.
        standby: True when another backend serves and this one answers only while that one fails: it should not spend
            anything before it is asked.
    """

    config: AgentConfig
    settings: Any = None
    access: Access = "rw"
    keys: KeySources = field(default_factory=KeySources)
    standby: bool = False


class MemoryBackend(Protocol):
    """The operations of a memory backend. Each must be implemented, and none may return None."""

    @hookspec(firstresult=True)
    def memory_search(self, query: Query) -> SearchResult:
        """Return hits from the index, best first, with scores that never rise. May sync first, within the query's deadline.

        Raises:
            BackendUnavailable: It cannot answer now, and another backend should.
            MemoryCoreError: The request is at fault, or nothing is indexed and nothing may be written.
        """

    @hookspec(firstresult=True)
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Return the current text of a note, read from its file; status "not_found" when the file is missing.

        Raises:
            PathRefused: The path does not belong to this agent's notes.
        """

    @hookspec(firstresult=True)
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """Index what has changed in the files; `force` rebuilds the index."""

    @hookspec(firstresult=True)
    def memory_sync_soon(self) -> bool:
        """Ask for a sync in the background and return True at once. One sync may serve several requests."""

    @hookspec(firstresult=True)
    def memory_status(self) -> Status:
        """Return a cheap status: use no network and no model, write nothing.

        Raises:
            BackendUnavailable: It cannot answer searches now; the status of builtin is shown, with this reason.
        """

    @hookspec(firstresult=True)
    def memory_probe(self) -> Probe:
        """Try for real to embed a text, or to reach whatever else the backend depends on."""

    @hookspec(firstresult=True)
    def memory_start(self) -> bool:
        """Start background work (watcher, intervals) and return True. May be called twice."""

    @hookspec(firstresult=True)
    def memory_close(self) -> bool:
        """End all threads and child processes, close all files, and return True. May be called twice.

        Must return in bounded time; return False if something that cannot be ended is left behind.
        """


class SessionFollower(Protocol):
    """An optional hook for backends that index sessions."""

    @hookspec(firstresult=True)
    def memory_session_updated(self, session_key: str) -> bool:
        """Index a session's log in the background once it has grown enough. Returns True at once."""


class MemorySaver(Protocol):
    """An optional hook for backends that keep models, files or rows in memory from one call to the next."""

    @hookspec(firstresult=True)
    def memory_rest(self) -> bool:
        """Let go of what the next call can read again, and return True; calls and syncs may run meanwhile.

        A host that stays asks for it after a quiet minute.
        """


class SearchExplainer(Protocol):
    """An optional hook for backends that can tell why a search found what it found; of others only the hits are explained."""

    @hookspec(firstresult=True)
    def memory_explain(self, query: Query, place: NotePlace | None) -> Explanation:
        """Search as `memory_search` does, and tell where every passage, and a place if one is given, stood after each stage."""


class RelationTeller(Protocol):
    """An optional hook for backends that know links and names; others refuse `Query.about`, which these have to obey."""

    @hookspec(firstresult=True)
    def memory_related(self, query: RelatedQuery) -> Related:
        """Tell where notes link to a name and mention it, and what stands beside it; or list the names that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendPlugin:
    """A backend as a package offers it: an entry point of the group `memory_core.backends` names one.

    Attributes:
        open: Makes the backend of one agent; must start nothing.
        settings: Returns the dataclass or pydantic model that validates `memory.<name>`; None when there is no such
            section. A dataclass with `__pydantic_config__ = STRICT` has keys in camelCase and refuses unknown ones.
        scope: Reads from the validated section in which chats this backend may be asked, where that differs from
            `memory.scope`. It also holds for memory_get, and while builtin answers in place of this backend.
        folders: Names the folders that this backend searches besides the agent's own memory. builtin indexes them too, so
            that it finds the same notes under the same names while it answers in place of this backend.
        diagnose: Checks for real everything that the backend needs, in the order in which it would fail; for
            `memory-core doctor`.
        timeout_seconds: A hook call that takes longer counts as failed; None means that calls are trusted to return.
        search_seconds: Reads from the validated section how long a search may take, for a backend that is trusted to return;
            builtin in its place answers within half a second after that.
        sync_timeout_seconds: As `timeout_seconds`, for sync and probe.
    """

    open: Callable[[BackendContext], MemoryBackend]
    settings: Callable[[], type[Any]] | None = None
    scope: Callable[[Any], Scope] | None = None
    folders: Callable[[BackendContext], Sequence[NamedFolder]] | None = None
    diagnose: Callable[[BackendContext], Sequence[Finding]] | None = None
    timeout_seconds: float | None = 4.0
    search_seconds: Callable[[Any], float] | None = None
    sync_timeout_seconds: float | None = 600.0


class HostHooks(Protocol):
    """Hooks of a host's session. A host with a pluggy manager of its own adds these, and registers the slot:

    manager = pluggy.PluginManager("memory_core")
    manager.add_hookspecs(HostHooks)
    manager.register(MemorySlot(config))
    turn = manager.hook.before_compaction(session=session, compacting=False)
    """

    @hookspec
    def session_started(self, context: CallContext) -> None:
        """Sync in the background when a session begins, so that its first search finds what is new."""

    @hookspec
    def session_updated(self, session_key: str, agent: str) -> None:
        """Index a session's transcript once it has grown enough."""

    @hookspec
    def turn_ended(
        self, context: CallContext, messages: Sequence[Message], complete: Complete | AsyncComplete | None
    ) -> None:
        """Learn items from what the user said in a turn, in the background, where capture is on."""

    @hookspec
    def session_ended(self, context: CallContext) -> None:
        """Learn from the turns of a session that have not been read yet, since it is over."""

    @hookspec(firstresult=True)
    def before_compaction(self, session: Session | CallContext, compacting: bool) -> FlushTurn | None:
        """Return the silent turn to run before the session is compacted; None when none is due."""

    @hookspec
    def compacted(self, context: CallContext) -> None:
        """Count a compaction, for hosts that keep no `compactionCount`, so that the session is asked again in its next cycle."""
