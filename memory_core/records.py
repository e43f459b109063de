"""The values that travel between the rooms: frozen, small, without behaviour of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

Mode = Literal["hybrid", "vector", "keyword"]
Access = Literal["rw", "ro", "none"]


class Unit(NamedTuple):  # a search makes some two hundred: the cheapest kind of record
    """What is ranked and shown: a line, list item, table row, paragraph or sentence of one chunk.

    Attributes:
        start: Offset of the first character in the chunk's text.
        end: Offset behind the last character.
        first_line: Line within the chunk at which it starts, from 0.
        last_line: Line within the chunk at which it ends, from 0, included.
    """

    start: int
    end: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Window:
    """What is embedded: a run of units of one chunk, of about 100 tokens.

    Attributes:
        first: Index of its first unit in the chunk's units.
        last: Index of its last unit, included.
        text: The text that is embedded: the units, joined by line ends.
    """

    first: int
    last: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines of one file.

    Attributes:
        start_line: First line, from 1.
        end_line: Last line, included.
        overlap_lines: How many lines at its start repeat the chunk before; they count for keywords, not for units.
        context: The date and the headings above, for the keyword side; may be empty.
        text: The lines as they stand in the file, joined by line ends.
        fence: The fence that is open before its first line behind the overlap, such as three backticks; "" for none.
    """

    start_line: int
    end_line: int
    overlap_lines: int
    context: str
    text: str
    fence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFile:
    """One file that is indexed.

    Attributes:
        source: "memory", "workspace" or "sessions".
        path: As it is shown to the agent, POSIX: relative to the workspace, or an extra path as the configuration spells it.
        real_path: Where it is.
        size_bytes: At the time of listing.
        mtime_ns: At the time of listing.
    """

    source: str
    path: str
    real_path: Path
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """From which chat a call comes. Without a session key the caller is a trusted local one.

    Attributes:
        agent: Whose memory; None is the agent that the memory was opened for.
        session_key: The host's key of the session, such as `agent:main:telegram:group:42`.
        chat_type: "direct", "group", "channel" or what else the host knows.
        channel: "telegram", "slack", ...
        access: What the session may do in the workspace: "rw", "ro" or "none".
        main: Whether this is the agent's main private session; None lets the session key tell (`main`, `agent:<id>:main`).
    """

    agent: str | None = None
    session_key: str | None = None
    chat_type: str | None = None
    channel: str | None = None
    access: Access = "rw"
    main: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to a backend.

    Attributes:
        text: What is searched, as the model wrote it.
        max_results: At most so many hits, 1..100.
        min_score: Hits below are left out, 0..1.
        max_snippet_chars: A snippet is at most so long.
        after: Only notes of this date or later.
        before: Only notes of this date or earlier.
        deadline: `time.monotonic()` after which the caller no longer waits; None waits for ever.
    """

    text: str
    max_results: int = 6
    min_score: float = 0.35
    max_snippet_chars: int = 700
    after: date | None = None
    before: date | None = None
    deadline: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage of one place, with a score.

    Attributes:
        path: As `MemoryFile.path`.
        source: "memory", "workspace" or "sessions".
        start_line: First line shown, from 1.
        end_line: Last line shown, included.
        score: 0..1, higher is better; absolute, so that it can be compared between queries.
        vector_score: The same for the vector evidence alone; None when there was none.
        text_score: The same for the keyword evidence alone; None when there was none.
        snippet: The units shown; a line "…" stands where units between are left out.
    """

    path: str
    source: str
    start_line: int
    end_line: int
    score: float
    snippet: str
    vector_score: float | None = None
    text_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """Who stands in for whom, and why."""

    origin: str
    to: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The answer of a backend to one query.

    Attributes:
        hits: Best first; may be empty.
        provider: The id of the embedding provider that served; "none" when there was none.
        model: Its model; None when there was none.
        mode: Which evidence was used.
        backend: The name of the backend that answered.
        fallback: Set when a fallback provider served.
        backend_fallback: Set by the selector when another backend was asked for.
        stale: The index is not level with the files yet.
        warning: What was worse than usual, one sentence; None when nothing was.
        action: What the user can do about it; None when there is nothing to do.
    """

    hits: tuple[Hit, ...]
    provider: str
    model: str | None
    mode: Mode
    backend: str
    fallback: Fallback | None = None
    backend_fallback: Fallback | None = None
    stale: bool = False
    warning: str | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Lines of one note.

    Attributes:
        path: As the caller asked for it, normalised.
        text: The lines; "" when the file is missing or `from_line` is behind its end.
        from_line: First line, from 1.
        lines: How many lines `text` holds.
        truncated: More lines follow.
        next_from: Where to go on; None when nothing follows.
        status: "ok" or "not_found".
    """

    path: str
    text: str
    from_line: int
    lines: int
    truncated: bool = False
    next_from: int | None = None
    status: Literal["ok", "not_found"] = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFailure:
    """A file that a sync left as it was, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a sync is. `phase` is "files" or "embeddings"; `path` is the file at work, or "" for embeddings."""

    phase: Literal["files", "embeddings"]
    done: int
    total: int
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync did.

    Attributes:
        files: How many files the index now covers.
        chunks: How many chunks it holds.
        added, changed, removed, unchanged: Counts of files.
        embedded: Texts sent to the provider.
        cached: Texts whose embedding was there already.
        owed: Texts whose embedding could not be had; they are tried again at the next sync.
        failures: Files that were left as they were.
        warnings: One sentence each.
        reindexed: The index was rebuilt, because it was asked for or its identity had changed.
        seconds: How long it took.
    """

    files: int = 0
    chunks: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    owed: int = 0
    failures: tuple[FileFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    reindexed: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One cheap look at a backend; no network, no model.

    Attributes:
        backend: Its name.
        agent: Whose memory.
        workspace: Where the notes are.
        store: The index file; None when the backend has none of its own.
        indexed: Whether an index exists.
        files, chunks, embeddings: How many it holds; by source in `sources`.
        owed: Texts that wait for their embedding.
        dirty: Files have changed since the last sync; None when that is not known.
        provider, model: Who makes embeddings, as configured or found by "auto".
        vector: "vec0", "exact" or "off", and why when it is not vec0.
        vector_reason: Why it is not vec0; None when it is.
        fallback: The provider's, when one serves.
        failures: Files the last sync left as they were.
        warnings: One sentence each.
        last_sync: Unix seconds; None before the first.
        details: What only this backend knows, ready for display; values are str, int, float, bool or None.
    """

    backend: str
    agent: str
    workspace: Path
    store: Path | None = None
    store_bytes: int = 0
    indexed: bool = False
    files: int = 0
    chunks: int = 0
    embeddings: int = 0
    owed: int = 0
    sources: Mapping[str, int] = field(default_factory=dict)
    dirty: bool | None = None
    provider: str = "none"
    model: str | None = None
    vector: str = "off"
    vector_reason: str | None = None
    fallback: Fallback | None = None
    backend_fallback: Fallback | None = None
    failures: tuple[FileFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    last_sync: float | None = None
    details: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at to find out what is wrong.

    Attributes:
        subject: What, in one or two words, such as "workspace".
        level: "ok", "warn" (it works, worse than it could) or "fail" (what was asked for does not work).
        message: What was found, one sentence.
        action: What to do about it; "" when nothing need be done.
    """

    subject: str
    level: Literal["ok", "warn", "fail"]
    message: str
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Whether a backend can embed right now, tried for real.

    Attributes:
        ok: An embedding came back.
        provider, model: Who was tried.
        dimensions: Of the embedding; None when none came.
        error: Why none came; None when one did.
        action: What to do about it; None when nothing need be done.
        seconds: How long it took.
    """

    ok: bool
    provider: str
    model: str | None = None
    dimensions: int | None = None
    error: str | None = None
    action: str | None = None
    seconds: float = 0.0
