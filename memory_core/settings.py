"""What can be set, with the defaults and bounds: frozen dataclasses, one a section of the configuration.

They are plain dataclasses, so that a command without a configuration file never imports pydantic (100 ms); `config`
validates documents against these same classes with pydantic, and generates the JSON Schema from them. Attribute names are
the document's keys in snake case. Constraints stand in the annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le, MinLen

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

Source = Literal["memory", "workspace", "sessions"]
ProviderId = Literal[
    "auto",
    "local",
    "openai",
    "gemini",
    "openrouter",
    "voyage",
    "mistral",
    "ollama",
    "openai-compatible",
    "litellm",
    "static",
    "none",
]
FallbackId = Literal[
    "none",
    "local",
    "openai",
    "gemini",
    "openrouter",
    "voyage",
    "mistral",
    "ollama",
    "openai-compatible",
    "litellm",
    "static",
]


def camel(name: str) -> str:
    """`watch_debounce_ms` as the document spells it: `watchDebounceMs`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


# What pydantic does with these classes: camelCase keys, unknown keys refused, no coercion ("5" is not a number).
STRICT: Mapping[str, Any] = {"alias_generator": camel, "extra": "forbid", "strict": True}


class Secret:
    """A key or header value that never shows in a repr, a log or an error; `reveal()` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one request that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a Secret is not pickled")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls, core_schema.str_schema(), serialization=core_schema.plain_serializer_function_ser_schema(repr)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraPath:
    """A file or folder outside the usual places.

    Attributes:
        path: As the configuration spells it: absolute, `~`, or relative to the workspace.
        pattern: Which files below a folder, as a glob relative to it.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    path: Annotated[str, MinLen(1)]
    pattern: Annotated[str, MinLen(1)] = "**/*.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude:
    """Files that the source "workspace" leaves out, by name."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    files: tuple[str, ...] = ("IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Asynchronous batch jobs for large backfills."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    enabled: bool = False
    wait: bool = True
    concurrency: Annotated[int, Ge(1), Le(32)] = 2
    poll_interval_ms: Annotated[int, Ge(1)] = 2000
    timeout_minutes: Annotated[float, Gt(0)] = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """The endpoint of a remote provider. What is set here beats `models.providers.*`; headers merge."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    base_url: str | None = None
    api_key: Secret | None = None
    headers: Mapping[str, Secret] = field(default_factory=dict)
    timeout_seconds: Annotated[float, Gt(0)] = 60
    batch: Batch = field(default_factory=Batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """A GGUF model on this machine. `model_path` is a file or `hf:owner/repo/file.gguf`."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    model_path: str | None = None
    model_cache_dir: str | None = None
    context_tokens: Annotated[int, Ge(16)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """Whether sqlite-vec is loaded, and from where if not from its package."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    enabled: bool = True
    extension_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """The index file. `{agentId}` in `path` stands for the agent; None is `<state dir>/memory/{agentId}.sqlite`."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    driver: Literal["sqlite"] = "sqlite"
    path: str | None = None
    vector: Vector = field(default_factory=Vector)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """How notes are cut: at most `tokens` a chunk, of which at most `overlap` repeat the chunk before."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    tokens: Annotated[int, Gt(0)] = 400
    overlap: Annotated[int, Ge(0)] = 80

    def __post_init__(self) -> None:
        if self.overlap >= self.tokens:
            raise ValueError(f"overlap must be smaller than tokens ({self.tokens}), not {self.overlap}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeltas:
    """How much a live session grows before it is indexed again."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    delta_bytes: Annotated[int, Ge(0)] = 100_000
    delta_messages: Annotated[int, Ge(0)] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSettings:
    """What brings the index level with the files, and how long a search waits for it."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    on_session_start: bool = True
    on_search: bool = True
    on_search_budget_ms: Annotated[int, Ge(0)] = 1500
    watch: bool = True
    watch_debounce_ms: Annotated[int, Ge(0)] = 1500
    interval_minutes: Annotated[float, Ge(0)] = 0
    sessions: SessionDeltas = field(default_factory=SessionDeltas)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """Keyword and vector evidence together. Weights are normalised to sum 1; both None or both 0 mean the defaults."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    enabled: bool = True
    vector_weight: Annotated[float, Ge(0)] | None = None
    text_weight: Annotated[float, Ge(0)] | None = None
    candidate_multiplier: Annotated[int, Ge(1), Le(20)] = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySettings:
    """What one search returns, and how long its embedding may take."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    max_results: Annotated[int, Ge(1), Le(100)] = 6
    min_score: Annotated[float, Ge(0), Le(1)] = 0.35
    max_snippet_chars: Annotated[int, Ge(50)] = 700
    embed_timeout_ms: Annotated[int, Gt(0)] = 4000
    hybrid: Hybrid = field(default_factory=Hybrid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """How many embeddings that no chunk refers to are kept."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    enabled: bool = True
    max_entries: Annotated[int, Ge(0)] = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Experimental:
    """What may change. `session_memory` allows the source "sessions"."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    session_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """The section `memorySearch`: what is indexed, how it is embedded, stored, kept level and searched."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    enabled: bool = True
    sources: tuple[Source, ...] = ("memory",)
    extra_paths: tuple[ExtraPath, ...] = ()
    exclude: Exclude = field(default_factory=Exclude)
    provider: ProviderId = "auto"
    fallback: FallbackId = "none"
    model: Annotated[str, MinLen(1)] | None = None
    output_dimensionality: Annotated[int, Ge(64), Le(4096)] | None = None
    input_type: str | None = None
    query_input_type: str | None = None
    document_input_type: str | None = None
    remote: Remote = field(default_factory=Remote)
    local: Local = field(default_factory=Local)
    store: StoreSettings = field(default_factory=StoreSettings)
    chunking: Chunking = field(default_factory=Chunking)
    sync: SyncSettings = field(default_factory=SyncSettings)
    query: QuerySettings = field(default_factory=QuerySettings)
    cache: Cache = field(default_factory=Cache)
    experimental: Experimental = field(default_factory=Experimental)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeMatch:
    """Which chats a rule is for; what is None matches any."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    channel: str | None = None
    chat_type: str | None = None
    key_prefix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRule:
    """One rule: the first whose match fits decides."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    action: Literal["allow", "deny"]
    match: ScopeMatch = field(default_factory=ScopeMatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """In which chats memory may be searched."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    default: Literal["allow", "deny"] = "allow"
    rules: tuple[ScopeRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """The section `memory`, without the sections of backends, which their plugins validate."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    backend: Annotated[str, MinLen(1)] = "builtin"
    citations: Literal["auto", "on", "off"] = "auto"
    scope: Scope = field(default_factory=Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlush:
    """When the agent is asked to save before compaction. 0 for the transcript's size turns that trigger off."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    enabled: bool = True
    soft_threshold_tokens: Annotated[int, Ge(0)] = 4000
    force_flush_transcript_bytes: int | str = "2mb"
    prompt: Annotated[str, MinLen(1)] | None = None
    system_prompt: Annotated[str, MinLen(1)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The part of the host's section `compaction` that is ours."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    reserve_tokens_floor: Annotated[int, Ge(0)] = 20_000
    memory_flush: MemoryFlush = field(default_factory=MemoryFlush)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccount:
    """The part of `models.providers.<id>` that is ours."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    api_key: Secret | None = None
    base_url: str | None = None
    headers: Mapping[str, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """Everything resolved for one agent: what `config.load_config(...).agent(id)` returns and all other rooms are given.

    Attributes:
        agent: The agent's id, lower case.
        workspace: Absolute; need not exist.
        state_dir: Absolute; need not exist.
        store_path: The index file, absolute.
        slot: The plugin id in the memory slot, lower case: ours is "memory-core", "none" is off.
        backend_sections: `memory.<backend name>` as it was read, by backend name; its plugin validates it.
        providers: `models.providers`, by provider name.
        dialect: In which dialect the document was read: "defaults", "json5", "json5-entries" or "orbit".
        warnings: What was read but dropped, one sentence each.
    """

    agent: str
    workspace: Path
    state_dir: Path
    store_path: Path
    slot: str = "memory-core"
    memory: MemorySettings = field(default_factory=MemorySettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    compaction: Compaction = field(default_factory=Compaction)
    providers: Mapping[str, ProviderAccount] = field(default_factory=dict)
    backend_sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    dialect: str = "defaults"
    warnings: tuple[str, ...] = ()

    @property
    def enabled(self) -> bool:
        """Whether memory is on for this agent: the slot is ours and the section is not switched off."""
        return self.slot == "memory-core" and self.search.enabled

    @property
    def sessions_dir(self) -> Path:
        """Where the host keeps this agent's session logs and `sessions.json`."""
        return self.state_dir / "agents" / self.agent / "sessions"
