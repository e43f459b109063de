"""What can be set, with the defaults, meanings and bounds: frozen dataclasses, one a section of the configuration.

They are plain dataclasses, so that a command without a configuration file never imports pydantic (100 ms); `config`
validates documents against these same classes with pydantic, and generates the JSON Schema and the README's table from
them. Attribute names are the document's keys in snake case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from memory_core.fields import STRICT, InvalidField, Secret, Section, about, camel, parse_size_bytes

__all__ = [
    "STRICT",
    "AgentConfig",
    "Batch",
    "Cache",
    "Chunking",
    "Compaction",
    "Exclude",
    "Experimental",
    "ExtraPath",
    "FallbackId",
    "Hybrid",
    "InvalidField",
    "Local",
    "MemoryFlush",
    "MemorySettings",
    "NamedFolder",
    "ProviderAccount",
    "ProviderId",
    "QuerySettings",
    "Remote",
    "Scope",
    "ScopeMatch",
    "ScopeRule",
    "SearchSettings",
    "Secret",
    "Section",
    "SessionDeltas",
    "Source",
    "StoreSettings",
    "SyncSettings",
    "TemporalDecay",
    "Vector",
    "about",
    "camel",
    "parse_size_bytes",
]

Source = Literal["memory", "workspace", "sessions"]
# Bounds of durations: what is longer is a slip, and far longer ones overflow the timers of the operating system.
DAY_SECONDS, DAY_MS, WEEK_MINUTES = 86_400, 86_400_000, 10_080

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraPath(Section):
    """A file or folder outside the usual places; a bare string stands for one with the default pattern."""

    path: str = field(
        metadata=about("Absolute, `~/`, or relative to the workspace; shown as spelt here.", min_length=1)
    )
    pattern: str = field(
        default="**/*.md", metadata=about("Which files below a folder, as a glob relative to it.", min_length=1)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude(Section):
    """What the source "workspace" leaves out."""

    files: tuple[str, ...] = field(
        default=("IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md"),
        metadata=about('Names of files that the source "workspace" leaves out.'),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Section):
    """Asynchronous batch jobs for large backfills, with OpenAI and Gemini."""

    enabled: bool = field(default=False, metadata=about("Embed large backfills by batch jobs, cheaper and slower."))
    wait: bool = field(default=True, metadata=about("Whether a sync waits until its jobs are done."))
    concurrency: int = field(default=2, metadata=about("Jobs submitted at a time.", ge=1, le=32))
    poll_interval_ms: int = field(
        default=2000, metadata=about("Milliseconds between two looks at a job.", ge=1, le=DAY_MS)
    )
    timeout_minutes: float = field(
        default=60, metadata=about("Minutes after which a job is given up.", gt=0, le=WEEK_MINUTES)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote(Section):
    """The endpoint of a remote provider. What is set here beats `models.providers.*`; headers merge."""

    base_url: str | None = field(
        default=None, repr=False, metadata=about("Where requests go, instead of the provider's own endpoint.")
    )
    api_key: Secret | None = field(default=None, metadata=about("The key; `${NAME}` reads an environment variable."))
    headers: Mapping[str, Secret] = field(
        default_factory=dict, metadata=about("Headers added to every request; `${NAME}` works in their values.")
    )
    timeout_seconds: float = field(
        default=60, metadata=about("Seconds after which a request is given up.", gt=0, le=DAY_SECONDS)
    )
    batch: Batch = field(default_factory=Batch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Local(Section):
    """A GGUF model on this machine."""

    model_path: str | None = field(default=None, metadata=about("A GGUF file, or `hf:owner/repo/file.gguf`."))
    model_cache_dir: str | None = field(default=None, metadata=about("Where downloaded models are kept."))
    context_tokens: int | None = field(
        default=None, metadata=about("Tokens of the model's context; unset takes the model's own.", ge=16)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector(Section):
    """The sqlite-vec extension; without it vectors are scanned in the process."""

    enabled: bool = field(default=True, metadata=about("Whether sqlite-vec is loaded."))
    extension_path: str | None = field(default=None, metadata=about("Its file, instead of the one in its package."))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings(Section):
    """The index file."""

    driver: Literal["sqlite"] = field(default="sqlite", metadata=about("The kind of index file."))
    path: str | None = field(
        default=None,
        metadata=about(
            "The index file; `{agentId}` stands for the agent. Unset is `<state dir>/memory/{agentId}.sqlite`.",
            min_length=1,
        ),
    )
    vector: Vector = field(default_factory=Vector)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking(Section):
    """How notes are cut."""

    tokens: int = field(default=400, metadata=about("A chunk has at most so many tokens.", gt=0))
    overlap: int = field(
        default=80, metadata=about("At most so many of them repeat the chunk before; less than `tokens`.", ge=0)
    )

    def __post_init__(self) -> None:
        if self.overlap >= self.tokens:
            raise InvalidField("overlap", f"overlap must be smaller than tokens ({self.tokens}), not {self.overlap}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeltas(Section):
    """How much a live session grows before it is indexed again: whichever comes first."""

    delta_bytes: int = field(default=100_000, metadata=about("New bytes of transcript.", ge=0))
    delta_messages: int = field(default=50, metadata=about("New lines of transcript.", ge=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSettings(Section):
    """What brings the index level with the files, and how long a search waits for it."""

    on_session_start: bool = field(default=True, metadata=about("Sync when a session starts."))
    on_search: bool = field(default=True, metadata=about("Sync before a search when files have changed."))
    on_search_budget_ms: int = field(
        default=1500,
        metadata=about(
            "Milliseconds a search waits for that sync; then it answers from what is there.", ge=0, le=DAY_MS
        ),
    )
    watch: bool = field(default=True, metadata=about("Watch the files and sync when they change."))
    watch_debounce_ms: int = field(
        default=1500, metadata=about("Milliseconds without a change before the watcher syncs.", ge=0, le=DAY_MS)
    )
    interval_minutes: float = field(
        default=0, metadata=about("Minutes between two syncs; 0 is never.", ge=0, le=WEEK_MINUTES)
    )
    sessions: SessionDeltas = field(default_factory=SessionDeltas)


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalDecay(Section):
    """How far older notes rank behind newer ones. `MEMORY.md` and notes without a date stay as they are."""

    enabled: bool = field(default=False, metadata=about("Rank newer notes higher, among what `minScore` lets pass."))
    half_life_days: float = field(
        default=30, metadata=about("Days after which half of a dated note's rank is left.", gt=0)
    )
    floor: float = field(default=0.5, metadata=about("The share of its rank that a note keeps at any age.", ge=0, le=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid(Section):
    """Keyword and vector evidence together. Weights are normalised to sum 1; both None or both 0 mean the defaults."""

    enabled: bool = field(
        default=True, metadata=about("Off: vectors decide alone, and keywords only where there are no vectors.")
    )
    vector_weight: float | None = field(
        default=None, metadata=about("Weight of meaning; weights are normalised to sum 1.", ge=0)
    )
    text_weight: float | None = field(
        default=None, metadata=about("Weight of keywords; both weights 0 mean the defaults.", ge=0)
    )
    candidate_multiplier: int = field(
        default=4, metadata=about("Candidates taken from each side, as a multiple of `maxResults`.", ge=1, le=20)
    )
    temporal_decay: TemporalDecay = field(default_factory=TemporalDecay)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySettings(Section):
    """What one search returns, and how long its embedding may take."""

    max_results: int = field(default=6, metadata=about("At most so many hits.", ge=1, le=100))
    min_score: float = field(default=0.35, metadata=about("Hits with a lower score are left out.", ge=0, le=1))
    max_snippet_chars: int = field(default=700, metadata=about("A snippet is at most so long.", ge=50))
    embed_timeout_ms: int = field(
        default=4000,
        metadata=about("Milliseconds for the query's embedding; then keywords answer alone.", gt=0, le=DAY_MS),
    )
    hybrid: Hybrid = field(default_factory=Hybrid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Section):
    """Embeddings that no chunk refers to any more."""

    enabled: bool = field(default=True, metadata=about("Keep embeddings that no chunk refers to any more."))
    max_entries: int = field(default=50_000, metadata=about("At most so many of those.", ge=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Experimental(Section):
    """What may change."""

    session_memory: bool = field(default=False, metadata=about('Allow the source "sessions".'))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings(Section):
    """The section `memorySearch`: what is indexed, how it is embedded, stored, kept level and searched."""

    enabled: bool = field(default=True, metadata=about("Whether this agent has memory search."))
    sources: tuple[Source, ...] = field(
        default=("memory",),
        metadata=about('What is indexed: "memory", "workspace" (other Markdown there), "sessions" (experimental).'),
    )
    extra_paths: tuple[ExtraPath, ...] = field(
        default=(),
        metadata=about("More files and folders: strings, or `{path, pattern}`; an agent's add to the defaults."),
    )
    exclude: Exclude = field(default_factory=Exclude)
    provider: ProviderId = field(
        default="auto",
        metadata=about('Who makes embeddings; "auto" takes what is configured, else a small model that works offline.'),
    )
    fallback: FallbackId = field(default="none", metadata=about("Who takes over when the provider is out for long."))
    model: str | None = field(
        default=None, metadata=about("The embedding model; unset is the provider's default.", min_length=1)
    )
    output_dimensionality: int | None = field(
        default=None, metadata=about("Dimensions to ask the model for.", ge=64, le=4096)
    )
    input_type: str | None = field(
        default=None, metadata=about("Input type sent with every text, where a model has one.")
    )
    query_input_type: str | None = field(default=None, metadata=about("The same for queries only."))
    document_input_type: str | None = field(default=None, metadata=about("The same for notes only."))
    remote: Remote = field(default_factory=Remote)
    local: Local = field(default_factory=Local)
    store: StoreSettings = field(default_factory=StoreSettings)
    chunking: Chunking = field(default_factory=Chunking)
    sync: SyncSettings = field(default_factory=SyncSettings)
    query: QuerySettings = field(default_factory=QuerySettings)
    cache: Cache = field(default_factory=Cache)
    experimental: Experimental = field(default_factory=Experimental)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeMatch(Section):
    """Which chats a rule is for; what is None matches any."""

    channel: str | None = field(default=None, metadata=about("The channel's name."))
    chat_type: str | None = field(default=None, metadata=about('Such as "direct" or "group".'))
    key_prefix: str | None = field(default=None, metadata=about("How the session key begins."))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRule(Section):
    """One rule: the first whose match fits decides."""

    action: Literal["allow", "deny"]
    match: ScopeMatch = field(default_factory=ScopeMatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope(Section):
    """In which chats memory may be searched."""

    default: Literal["allow", "deny"] = field(default="allow", metadata=about("What holds when no rule fits."))
    rules: tuple[ScopeRule, ...] = field(
        default=(),
        metadata=about("`{action, match: {channel?, chatType?, keyPrefix?}}`; the first that fits decides."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings(Section):
    """The section `memory`, without the sections of backends, which their plugins validate."""

    backend: str = field(
        default="builtin", metadata=about('Who answers: "builtin", "qmd" or another installed one.', min_length=1)
    )
    citations: Literal["auto", "on", "off"] = field(
        default="auto", metadata=about('Show `Source: path#L3-L9` under snippets; "auto" does in direct chats.')
    )
    scope: Scope = field(default_factory=Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlush(Section):
    """When the agent is asked to save before compaction."""

    enabled: bool = field(default=True, metadata=about("Ask the agent to save notes before its session is compacted."))
    soft_threshold_tokens: int = field(
        default=4000, metadata=about("Ask so many tokens before compaction would begin.", ge=0)
    )
    force_flush_transcript_bytes: int | str = field(
        default="2mb", metadata=about("Ask when the transcript is that large, whatever its tokens; 0 is never.")
    )
    prompt: str | None = field(
        default=None, metadata=about("What the agent is asked; unset is the built-in text.", min_length=1)
    )
    system_prompt: str | None = field(
        default=None, metadata=about("What is added to its system prompt; unset is the built-in text.", min_length=1)
    )

    def __post_init__(self) -> None:
        try:
            parse_size_bytes(self.force_flush_transcript_bytes)
        except ValueError as error:
            raise InvalidField("force_flush_transcript_bytes", str(error)) from error

    @property
    def force_flush_bytes(self) -> int:
        """`force_flush_transcript_bytes` as a number; 0 turns that trigger off."""
        return parse_size_bytes(self.force_flush_transcript_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Section):
    """The part of the host's section `compaction` that is ours."""

    reserve_tokens_floor: int = field(
        default=20_000, metadata=about("Tokens the host keeps free; compaction begins there.", ge=0)
    )
    memory_flush: MemoryFlush = field(default_factory=MemoryFlush)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccount(Section):
    """The part of `models.providers.<id>` that is ours."""

    api_key: Secret | None = field(default=None, metadata=about("The key; `${NAME}` reads an environment variable."))
    base_url: str | None = field(default=None, repr=False, metadata=about("Where the provider's requests go."))
    headers: Mapping[str, Secret] = field(
        default_factory=dict, metadata=about("Headers added to every request to this provider.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFolder:
    """A folder whose Markdown is served under a name of its own. A backend adds one; no document spells it so.

    Attributes:
        path: Absolute; need not exist.
        shown: What stands before a path within it, such as "qmd/recipes-main/"; "" or ends with a slash.
        pattern: Which files below it, as a glob relative to it.
        source: As `MemoryFile.source`.
    """

    path: Path
    shown: str
    pattern: str = "**/*.md"
    source: Source = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """Everything resolved for one agent: what `config.load_config(...).agent(id)` returns and other rooms are given.

    Attributes:
        agent: The agent's id, lower case.
        workspace: Absolute; need not exist.
        state_dir: Absolute; need not exist.
        store_path: The index file, absolute; no other agent has the same.
        slot: The plugin id in the memory slot, lower case: ours is "memory-core", "none" is off.
        backend_sections: `memory.<backend name>` as it was read, by backend name; its plugin validates it.
        providers: `models.providers`, by provider name.
        dialect: In which dialect the document was read: "defaults", "json5", "json5-entries", "toml" or "orbit".
        warnings: What was read but dropped, one sentence each.
        folders: What the chosen backend searches besides; the selector fills it in for builtin.
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
    backend_sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    dialect: str = "defaults"
    warnings: tuple[str, ...] = ()
    folders: tuple[NamedFolder, ...] = ()

    @property
    def enabled(self) -> bool:
        """Whether memory is on for this agent: the slot is ours and the section is not switched off."""
        return self.slot == "memory-core" and self.search.enabled

    @property
    def get_lines(self) -> int:
        """How many lines memory_get reads when the caller names none: 50 in the Orbit dialect, else 120."""
        return 50 if self.dialect == "orbit" else 120

    @property
    def sessions_dir(self) -> Path:
        """Where the host keeps this agent's session logs and `sessions.json`."""
        return self.state_dir / "agents" / self.agent / "sessions"
