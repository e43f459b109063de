"""All that a plugin author reads: the markers, the MemoryBackend hookspec, what a backend is given, the provider Protocol.

A backend is any object whose methods, marked `@hookimpl`, match `MemoryBackend`; that class is pluggy's specification and the
static type at once. One object serves one agent: its plugin's `open` is called with a `BackendContext`, and the object is
registered in that agent's own plugin manager. A package offers one by an entry point:

    [project.entry-points."memory_core.backends"]
    mine = "my_package.plugin:PLUGIN"        # a BackendPlugin; the module should import nothing heavy
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pluggy

from memory_core.records import (
    Access,
    CallContext,
    Document,
    Finding,
    Probe,
    Progress,
    Query,
    SearchResult,
    Status,
    SyncReport,
)
from memory_core.settings import AgentConfig, NamedFolder, Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.flush import FlushTurn, Session

PROJECT = "memory_core"
BACKENDS_GROUP = "memory_core.backends"
SLOTS_GROUP = "memory_core.slots"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

ResolveApiKey = Callable[[str], str | None]  # a provider's id -> the host's key for it; None when it has none
ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendContext:
    """What a backend knows of its agent. Building one starts nothing and opens nothing.

    Attributes:
        config: Everything that is configured for the agent.
        settings: The backend's own section, an instance of the model its plugin supplies; None when it supplies none.
        access: Whether anything may be written: "rw" or "ro".
        resolve_api_key: The host's own keys, asked after the configuration and before the environment; None has none.
        standby: Another backend serves, and this one only stands in for it: it should spend nothing ahead of that.
    """

    config: AgentConfig
    settings: Any = None
    access: Access = "rw"
    resolve_api_key: ResolveApiKey | None = None
    standby: bool = False


class MemoryBackend(Protocol):
    """The operations of a memory backend; every one must be implemented, none may return None."""

    @hookspec(firstresult=True)
    def memory_search(self, query: Query) -> SearchResult:
        """Hits, best first, from what is indexed; may bring the index level first, within the query's deadline.

        Raises:
            BackendUnavailable: It cannot answer now, and another backend should.
            MemoryCoreError: The request is at fault, or nothing is indexed and nothing may be.
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Current text of a note, read from the file; a missing one has status "not_found".

        Raises:
            PathRefused: The path is none of this agent's notes.
        """
        raise NotImplementedError

    @hookspec(firstresult=True)
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """Bring the index level with the files; `force` rebuilds it."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def memory_sync_soon(self) -> bool:
        """Ask for a sync in the background and return at once; True. Several requests may be served by one sync."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def memory_status(self) -> Status:
        """One cheap look: no network, no model, nothing written."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def memory_probe(self) -> Probe:
        """Try for real whether embeddings, or whatever the backend lives on, can be had."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def memory_start(self) -> bool:
        """Begin what runs in the background (watching, intervals); may be called twice; True."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def memory_close(self) -> bool:
        """End all threads and children, close all files; may be called twice; True."""
        raise NotImplementedError


class HostHooks(Protocol):
    """What a host calls in the course of a session. A host with a pluggy manager of its own adds these, and registers the slot:

    manager = pluggy.PluginManager("memory_core")
    manager.add_hookspecs(HostHooks)
    manager.register(MemorySlot(config))
    turn = manager.hook.before_compaction(session=session, compacting=False)
    """

    @hookspec
    def session_started(self, context: CallContext) -> None:
        """A session begins; what it will want to search is brought level in the background."""
        raise NotImplementedError

    @hookspec
    def session_updated(self, session_key: str, agent: str) -> None:
        """A session's transcript has grown."""
        raise NotImplementedError

    @hookspec(firstresult=True)
    def before_compaction(self, session: Session, compacting: bool) -> FlushTurn | None:
        """The silent turn to run before the session is compacted; None when none is due."""
        raise NotImplementedError


class SessionFollower(Protocol):
    """What a backend may implement besides, when it indexes sessions."""

    @hookspec(firstresult=True)
    def memory_session_updated(self, session_key: str) -> bool:
        """A session's log has grown: index it in the background once it has grown enough. Returns at once; True."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendPlugin:
    """What an entry point of group `memory_core.backends` names.

    Attributes:
        open: Makes the backend of one agent; must start nothing.
        settings: Gives the dataclass or pydantic model that validates `memory.<name>`; None when there is no such section.
            With `__pydantic_config__ = settings.STRICT` its keys are spelt in camelCase and unknown ones are errors.
        scope: Reads from the validated section in which chats this backend may be asked, where that is not `memory.scope`;
            it holds for memory_get and for answers of builtin in its place too.
        folders: Names the folders that this backend searches besides the agent's own memory; builtin indexes them too, so
            that an answer in this one's place finds the same notes under the same names.
        diagnose: Looks for real at all that the backend needs, in the order in which it would fail; for `memory-core doctor`.
        timeout_seconds: A hook call that takes longer counts as failed; None means the call is trusted to return.
        search_seconds: Reads from the validated section how long a search may take, of a backend that is trusted to return;
            builtin in its place answers within half a second after that.
        sync_timeout_seconds: The same for sync and probe.
    """

    open: Callable[[BackendContext], MemoryBackend]
    settings: Callable[[], type[Any]] | None = None
    scope: Callable[[Any], Scope] | None = None
    folders: Callable[[BackendContext], Sequence[NamedFolder]] | None = None
    diagnose: Callable[[BackendContext], Sequence[Finding]] | None = None
    timeout_seconds: float | None = 4.0
    search_seconds: Callable[[Any], float] | None = None
    sync_timeout_seconds: float | None = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One vector space: vectors of two spaces are never compared.

    Attributes:
        provider: The provider's id.
        model: The model's name.
        endpoint: A fingerprint of where requests go, without secrets; "" for a model inside the process.
        input_type: How documents are announced to an asymmetric model; "" when it is not.
        dimensions: Of every vector; 0 until the first one came back, when the model does not say.
    """

    provider: str
    model: str
    endpoint: str = ""
    input_type: str = ""
    dimensions: int = 0

    def matches(self, other: Space) -> bool:
        """Whether both may be one space: equal, but for dimensions that one of them does not know yet."""
        same = (self.provider, self.model, self.endpoint, self.input_type) == (
            other.provider,
            other.model,
            other.endpoint,
            other.input_type,
        )
        return same and (self.dimensions == other.dimensions or 0 in (self.dimensions, other.dimensions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What cosines of one space say of how well a text answers a question.

    Attributes:
        floor: Cosines of unrelated texts lie below.
        span: So much above the floor lie clear paraphrases; positive.
    """

    floor: float
    span: float


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Makes embeddings. One object belongs to one backend; calls may come from several threads."""

    @property
    def space(self) -> Space:
        """The space of its vectors; opens nothing."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Embed texts in as few requests as possible; what a request returned is yielded at once.

        Args:
            texts: None of them empty.

        Yields:
            The index of a first text, and float32 rows of unit length for it and those that follow, shape
            (n, dimensions). Pieces may come in any order. A row of zeros says that its text has no direction and is not to
            be tried again.

        Raises:
            ProviderError: Some texts got no embedding; raised after all that could be had was yielded, unless the whole
                provider is out of order.
        """
        ...

    def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> NDArray[np.float32]:
        """One float32 row of unit length, shape (dimensions,); zeros when the text has no direction.

        Raises:
            ProviderError: Within the timeout, retries included.
        """
        ...

    def close(self) -> None:
        """Cancel what runs, let go of the model and connections; may be called twice."""
        ...


@runtime_checkable
class Calibrated(Protocol):
    """What a provider may offer besides, when it knows its model: otherwise the index estimates it from the notes."""

    @property
    def calibration(self) -> Calibration:
        """Of its space."""
        ...


@dataclass(frozen=True, slots=True)
class TokenEmbedding:
    """One text's embedding with those of its tokens.

    Attributes:
        row: As `EmbeddingProvider` has it, shape (dimensions,).
        tokens: float32 vectors of the text's tokens as they stand in it, in order, of any length, shape (n, dimensions);
            None when the model has none whose mean is the text's.
        counts: How many of the tokens each part of the text has, in order.
    """

    row: NDArray[np.float32]
    tokens: NDArray[np.float32] | None
    counts: Sequence[int]


@runtime_checkable
class TokenEmbedder(Protocol):
    """What a provider may offer besides: embeddings of tokens in their context, for late interaction.

    Texts come in parts, which make up the text when they are joined: units of a note, words of a question.
    """

    def embed_document_tokens(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[int, Sequence[TokenEmbedding]]]:
        """As `EmbeddingProvider.embed_documents`, with the tokens."""
        ...

    def embed_query_tokens(self, parts: Sequence[str], *, timeout_seconds: float | None = None) -> TokenEmbedding:
        """As `EmbeddingProvider.embed_query`, with the tokens."""
        ...


@runtime_checkable
class TokenModel(Protocol):
    """What a provider may offer besides: vectors of tokens from a table, the same in every context, for late interaction."""

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of every text, each 0..65534."""
        ...

    def token_vectors(self, ids: NDArray[np.uint16]) -> NDArray[np.float32]:
        """Rows of the token table, not normalised, shape (len(ids), dimensions)."""
        ...
