"""All settings with defaults, meanings and bounds: one frozen dataclass for each section of the configuration.

They are dataclasses whose bounds stand in the metadata of their fields: pydantic reads both, and generates the JSON Schema
from them; a process without a document never imports it. Attribute names are the document's keys in snake case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from memory_core.config.fields import (
    A_PATH,
    FORMER,
    InvalidField,
    Secret,
    Section,
    about,
    check_size,
    is_framing_header,
    parse_size_bytes,
    setting,
)

SLOT_ID = "memory-core"  # in `plugins.slots.memory`, in plugin.json and among the entry points of SLOTS_GROUP
SLOTS_GROUP = "memory_core.slots"
BACKENDS_GROUP = "memory_core.backends"
NO_SLOT = "none"

DEFAULT_AGENT = "main"

BUILTIN = "builtin"
# Entry points by name, so that these are found without a scan of all installed packages (50 ms). A test compares them with
# pyproject.toml.
SHIPPED_BACKENDS: Mapping[str, str] = {
    BUILTIN: "memory_core.backends.builtin:PLUGIN",
    "qmd": "memory_qmd:PLUGIN",
    "postgres": "memory_core.backends.postgres:PLUGIN",
}

LAYERED_BACKENDS = (BUILTIN, "postgres")  # which search several layers in one ranking
_LAYER = re.compile(r"[a-z][a-z0-9-]{1,30}")

Source = Literal["memory", "workspace", "sessions"]
# Bounds of durations: longer ones are slips, and far longer ones overflow the timers of the operating system.
DAY_SECONDS, DAY_MS, WEEK_MINUTES = 86_400, 86_400_000, 10_080
MAX_URL_CHARS = 2_000  # of an endpoint; nobody has a longer one

_EmbeddingProviderId = Literal[
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
ProviderId = Literal["auto", _EmbeddingProviderId, "none"]
FallbackId = Literal["none", _EmbeddingProviderId]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraPath(Section):
    """A file or folder outside the usual places; a bare string means one with the default pattern."""

    path: str = field(metadata=about("Absolute, `~/`, or relative to the workspace; shown as spelt here.", **A_PATH))
    pattern: str = setting("**/*.md", "Which files below a folder, as a glob relative to it.", min_length=1)
    exclude: tuple[str, ...] = setting((), "Files and folders below it that are left out, as globs relative to it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude(Section):
    """Files that the source "workspace" leaves out."""

    files: tuple[str, ...] = setting(
        ("IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md", "TOOLS.md"),
        'Names of files that the source "workspace" leaves out.',
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Section):
    """Asynchronous batch jobs for large backfills, with OpenAI and Gemini."""

    enabled: bool = setting(False, "Embed large backfills by batch jobs, cheaper and slower.")
    wait: bool = setting(True, "Let a sync wait until its jobs are done.")
    concurrency: int = setting(2, "Jobs submitted at a time.", ge=1, le=32)
    poll_interval_ms: int = setting(2000, "Milliseconds between two checks of a job.", ge=1, le=DAY_MS)
    timeout_minutes: float = setting(60, "Minutes until a job is given up.", gt=0, le=WEEK_MINUTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote(Section):
    """The endpoint of a remote provider. Its values override `models.providers.*`; headers merge."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"nonBatchConcurrency": ""}

    base_url: str | None = setting(
        None, "The endpoint, instead of the provider's own.", repr=False, max_length=MAX_URL_CHARS
    )
    api_key: Secret | None = setting(
        None, "The key; `${NAME}` reads an environment variable, and OpenClaw's secret references work."
    )
    headers: Mapping[str, Secret] = field(
        default_factory=dict, metadata=about("Headers added to every request; `${NAME}` works in their values.")
    )
    timeout_seconds: float = setting(60, "Seconds until a request is given up.", gt=0, le=DAY_SECONDS)
    batch: Batch = field(default_factory=Batch)

    def __post_init__(self) -> None:
        for name in self.headers:
            if is_framing_header(name):
                raise InvalidField("headers", f"{name} is set by the connection itself; leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Local(Section):
    """A GGUF model on this machine."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {
        "contextSize": "; local.contextTokens is ours",
        "gpu": "",
        "gpuLayers": "",
        "flashAttention": "",
    }

    model_path: str | None = setting(None, "A GGUF file, a folder, `package:...` or `hf:...`.")
    model_cache_dir: str | None = setting(None, "The folder of downloaded models.")
    context_tokens: int | None = setting(None, "Tokens of the model's context; unset is the model's own.", ge=16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector(Section):
    """The sqlite-vec extension; without it vectors are compared in the process."""

    enabled: bool = setting(True, "Load sqlite-vec.")
    extension_path: str | None = setting(None, "The extension's file, instead of the one in its package.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings(Section):
    """The index file."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {
        "fts": "",
        "cache": "; memorySearch.cache is ours",
        "driver": FORMER,
    }

    path: str | None = setting(
        None,
        "The index file; `{agentId}` and `{workspaceKey}` stand for the agent and its workspace. Unset is"
        " `<state dir>/memory-core/{agentId}-{workspaceKey}.sqlite`.",
        **A_PATH,
    )
    vector: Vector = field(default_factory=Vector)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking(Section):
    """The size of chunks."""

    tokens: int = setting(400, "Tokens of a chunk, at most.", gt=0)
    overlap: int = setting(80, "Tokens that a chunk repeats of the one before, at most; less than `tokens`.", ge=0)

    def __post_init__(self) -> None:
        if self.overlap >= self.tokens:
            told = f"overlap must be smaller than tokens ({self.tokens}), not {self.overlap}"
            raise InvalidField("overlap", told, beside="tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeltas(Section):
    """Growth after which a live session is indexed again: whichever comes first."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"postCompactionForce": ""}

    delta_bytes: int = setting(100_000, "New bytes of transcript.", ge=0)
    delta_messages: int = setting(50, "New lines of transcript.", ge=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncSettings(Section):
    """Triggers of a sync, and how long a search waits for one."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"embeddingBatchTimeoutSeconds": "; remote.timeoutSeconds is ours"}

    on_session_start: bool = setting(True, "Sync when a session starts.")
    on_search: bool = setting(True, "Sync before a search when files have changed.")
    on_search_budget_ms: int = setting(
        1500, "Milliseconds a search waits for that sync; then it answers from the index as it is.", ge=0, le=DAY_MS
    )
    watch: bool = setting(True, "Watch the files and sync when they change.")
    watch_debounce_ms: int = setting(1500, "Milliseconds without a change until the watcher syncs.", ge=0, le=DAY_MS)
    interval_minutes: float = setting(0, "Minutes between two syncs; 0 means never.", ge=0, le=WEEK_MINUTES)
    sessions: SessionDeltas = field(default_factory=SessionDeltas)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid(Section):
    """Keyword and vector evidence together. Weights are normalised to sum 1; both None or both 0 mean the defaults."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"mmr": "", "temporalDecay": FORMER}

    enabled: bool = setting(
        True, "Combine both. Off: vectors decide alone, and keywords only where there are no vectors."
    )
    vector_weight: float | None = setting(None, "Weight of meaning; weights are normalised to sum 1.", ge=0)
    text_weight: float | None = setting(None, "Weight of keywords; both weights 0 mean the defaults.", ge=0)
    candidate_multiplier: int = setting(
        4, "Candidates taken from each side, as a multiple of `maxResults`.", ge=1, le=20
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySettings(Section):
    """Limits of one search."""

    max_results: int = setting(
        6, "Hits, at most. From 6 up, questions asking for a list get 1.5 times as many.", ge=1, le=100
    )
    min_score: float = setting(0.35, "Hits with less evidence are left out.", ge=0, le=1)
    max_snippet_chars: int = setting(700, "Characters of a snippet, at most.", ge=50)
    explain: bool = setting(False, "Offer agents `memory_explain`, which tells why a search found what it found.")
    related: bool = setting(False, "Offer agents `memory_related`: what notes say around a name.")
    embed_timeout_ms: int = setting(
        4000, "Milliseconds for the query's embedding; then keywords answer alone.", gt=0, le=DAY_MS
    )
    hybrid: Hybrid = field(default_factory=Hybrid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache(Section):
    """Embeddings that no chunk refers to any more."""

    enabled: bool = setting(True, "Keep embeddings that no chunk refers to any more.")
    max_entries: int = setting(50_000, "Embeddings kept in this way, at most.", ge=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySettings(Section):
    """The log of uses of the memory."""

    enabled: bool = setting(
        True, "Log what sessions store, recall, flush and forget: places and counts, no text; 512 KiB at most."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySettings(Section):
    """Old versions of notes."""

    enabled: bool = setting(True, "Keep what a sync finds changed, for `asOf`.")
    retention_days: float | None = setting(
        None, "Days after which versions that no longer stand are dropped; unset keeps them.", gt=0
    )
    max_bytes: int | str = setting(
        "200mb", "Size of the file from which the oldest versions are dropped; 0 means never."
    )

    def __post_init__(self) -> None:
        check_size(self, "max_bytes")

    @property
    def limit_bytes(self) -> int:
        """`max_bytes` as a number; 0 is no limit."""
        return parse_size_bytes(self.max_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture(Section):
    """Items that are learned from what users say, without anybody asking for it."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"turns": FORMER, "idleMinutes": FORMER}

    enabled: bool = setting(False, "Learn items from the turns of main private sessions.")
    max_tokens: int = setting(4000, "Tokens that are read at once, at most; more are read earlier.", ge=200, le=100_000)
    use_model: bool = setting(True, "Let the host's model find the facts, where the host offers it; else rules do.")
    use_program: bool = setting(
        False, "Ask the host's own program, `claude -p` or `codex exec`, for the facts of a session in the journal."
    )
    model_calls: int = setting(1, "Calls of the model for one session, at most; rules read what is left.", ge=1, le=100)
    model_tokens: int = setting(
        8000, "Tokens that one call of the model may read and write, at most.", ge=3000, le=200_000
    )
    journal: bool = setting(
        False, "Keep what is said in main private sessions, without secrets, and find it as earlier conversations."
    )
    retention_days: float = setting(90, "Days after which what was said leaves the journal.", gt=0)
    notes: bool = setting(
        False, "Write what is learned into the daily note, where edited and deleted lines change the items."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSettings(Section):
    """Short facts beside the notes."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"salience": FORMER}

    enabled: bool = setting(False, "Offer the tools for items, and embed items in the background.")
    scope: str = setting("default", "Where tools keep and look for items; scopes never meet.", min_length=1)
    similarity: Literal["cosine", "inverseDistance"] = setting(
        "cosine", "The formula of similarity: the cosine, or 1 / (1 + distance)."
    )
    capture: Capture = field(default_factory=Capture)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings(Section):
    """Notes and items that a host puts in front of a message, unasked."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"limit": FORMER, "maxChars": FORMER}

    enabled: bool = setting(False, "Let hosts put what fits a message from notes and items in front of it.")
    timeout_ms: int = setting(300, "Milliseconds that a message waits. After that, nothing is added.", gt=0, le=60_000)
    trust: Literal["all", "user", "agent"] = setting(
        "all", "Whose word is recalled: the user's alone; the agent's, too; or also that of tools and pages."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Experimental(Section):
    """Features that may change or go."""

    session_memory: bool = setting(False, 'Allow the source "sessions".')


@dataclass(frozen=True, slots=True, kw_only=True)
class TidySettings(Section):
    """The upkeep of the notes: `memory-core tidy` and `memory-core review`."""

    agent_may_apply: bool | None = setting(
        None, "true: agents may list, accept and reject proposals; false: they may propose; unset: neither."
    )
    interval: float = setting(0, "Hours between two runs of tidy in the background; 0 means never.", ge=0, le=24 * 366)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings(Section):
    """The section `memorySearch`: sources, embeddings, the index, syncing and searching."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {
        "rememberAcrossConversations": "",
        "multimodal": "",
        "qmd": "; memory.qmd.paths is ours",
    }

    enabled: bool = setting(True, "Give this agent memory search.")
    sources: tuple[Source, ...] = setting(
        ("memory",), 'The sources to index: "memory", "workspace" (other Markdown there), "sessions" (experimental).'
    )
    extra_paths: tuple[ExtraPath, ...] = setting(
        (), "More files and folders: strings, or `{path, pattern, exclude}`; an agent's add to the defaults."
    )
    exclude: Exclude = field(default_factory=Exclude)
    time_zone: str | None = setting(
        None,
        "The user's time zone, such as Europe/Paris; unset is the host's, else this machine's.",
        min_length=1,
    )
    provider: ProviderId = setting(
        "auto", 'The provider of embeddings; "auto" is the configured one, else a small model that works offline.'
    )
    fallback: FallbackId = setting("none", "The provider that takes over when `provider` is out for long.")
    model: str | None = setting(None, "The embedding model; unset is the provider's default.", min_length=1)
    output_dimensionality: int | None = setting(None, "Dimensions to ask the model for.", ge=64, le=4096)
    input_type: str | None = setting(None, "Input type sent with every text, where a model has one.")
    query_input_type: str | None = setting(None, "Input type for queries; overrides `inputType`.")
    document_input_type: str | None = setting(None, "Input type for notes; overrides `inputType`.")
    remote: Remote = field(default_factory=Remote)
    local: Local = field(default_factory=Local)
    store: StoreSettings = field(default_factory=StoreSettings)
    chunking: Chunking = field(default_factory=Chunking)
    sync: SyncSettings = field(default_factory=SyncSettings)
    query: QuerySettings = field(default_factory=QuerySettings)
    cache: Cache = field(default_factory=Cache)
    history: HistorySettings = field(default_factory=HistorySettings)
    activity: ActivitySettings = field(default_factory=ActivitySettings)
    items: ItemSettings = field(default_factory=ItemSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    tidy: TidySettings = field(default_factory=TidySettings)
    experimental: Experimental = field(default_factory=Experimental)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeMatch(Section):
    """The chats that a rule is for; None matches any."""

    channel: str | None = setting(None, "The channel's name.")
    chat_type: str | None = setting(None, 'Such as "direct" or "group".')
    key_prefix: str | None = setting(None, "The beginning of the session key.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRule(Section):
    """One rule; the first that matches decides."""

    action: Literal["allow", "deny"]
    match: ScopeMatch = field(default_factory=ScopeMatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope(Section):
    """The chats in which memory may be searched."""

    default: Literal["allow", "deny"] = setting("allow", "Applies when no rule matches.")
    rules: tuple[ScopeRule, ...] = setting(
        (), "`{action, match: {channel?, chatType?, keyPrefix?}}`; the first that matches decides."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingSettings(Section):
    """The sync of notes with other machines, once `memory-core sync init` has set it up."""

    interval_minutes: float = setting(
        0.0, "Minutes between two syncs while a session goes on; 0 syncs when it ends.", ge=0, le=WEEK_MINUTES
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings(Section):
    """The section `memory`, without the sections of backends, which their plugins validate."""

    backend: str = setting(
        BUILTIN, 'The backend that answers: "builtin", "qmd" or another installed one.', min_length=1
    )
    sharing: SharingSettings = field(default_factory=SharingSettings)
    citations: Literal["auto", "on", "off"] = setting(
        "auto",
        'Give every result its `citation`, `path#L3-L9`, and have the model name it; "auto" does in direct chats.',
    )
    scope: Scope = field(default_factory=Scope)
    layers: Mapping[str, str] = field(
        default_factory=dict,
        metadata=about(
            "Folders of notes that are searched besides, by the name of the layer. `person` is the person's memory, which only"
            ' main private sessions see; "" leaves a layer out.'
        ),
    )

    def __post_init__(self) -> None:
        for name, path in self.layers.items():
            if not _LAYER.fullmatch(name) or name == "project":
                raise InvalidField("layers", f"{name!r:.40} names no layer: 2 to 31 of a-z, 0-9 and -, and not project")
            if "\0" in path:
                raise InvalidField("layers", f"the path of {name} holds a NUL character")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlush(Section):
    """The turn before compaction in which the agent is asked to save notes."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"model": "; the host chooses the model of the turn"}

    enabled: bool = setting(True, "Ask the agent to save notes before its session is compacted.")
    soft_threshold_tokens: int = setting(4000, "Tokens before compaction at which the agent is asked.", ge=0)
    force_flush_transcript_bytes: int | str = setting(
        "2mb", "Ask when the transcript has this size, whatever its tokens; 0 means never."
    )
    prompt: str | None = setting(None, "The prompt of that turn; unset is the built-in text.", min_length=1)
    system_prompt: str | None = setting(
        None, "Text added to the system prompt in that turn; unset is the built-in text.", min_length=1
    )

    def __post_init__(self) -> None:
        check_size(self, "force_flush_transcript_bytes")

    @property
    def force_flush_bytes(self) -> int:
        """`force_flush_transcript_bytes` as a number; 0 turns that trigger off."""
        return parse_size_bytes(self.force_flush_transcript_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Section):
    """The part of the host's section `compaction` that is ours."""

    reserve_tokens_floor: int = setting(20_000, "Tokens the host keeps free; compaction begins there.", ge=0)
    memory_flush: MemoryFlush = field(default_factory=MemoryFlush)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderAccount(Section):
    """The part of `models.providers.<id>` that is ours."""

    api_key: Secret | None = setting(
        None, "The key; `${NAME}` reads an environment variable, and OpenClaw's secret references work."
    )
    base_url: str | None = setting(None, "The provider's endpoint.", repr=False, max_length=MAX_URL_CHARS)
    headers: Mapping[str, Secret] = field(
        default_factory=dict, metadata=about("Headers added to every request to this provider.")
    )
