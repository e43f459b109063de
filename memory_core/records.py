"""Values that travel between the rooms: frozen, small, without behaviour of their own; and their form as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Literal, NamedTuple, Self

Mode = Literal["hybrid", "vector", "keyword"]
Access = Literal["rw", "ro", "none"]


class Unit(NamedTuple):  # a search makes some two hundred: the cheapest kind of record
    """A part of a chunk that is ranked and shown: a line, list item, table row, paragraph or sentence.

    Attributes:
        start, end: Offsets in the chunk's text, of the first character and behind the last one.
        first_line, last_line: Lines of the chunk, from 0, both included.
    """

    start: int
    end: int
    first_line: int
    last_line: int


class Window(NamedTuple):
    """A run of units of one chunk that is embedded, about 100 tokens long.

    Attributes:
        first, last: Indices of its first and its last unit in the chunk's units.
        text: The text that is embedded: the units, joined by line ends.
    """

    first: int
    last: int
    text: str


class Chunk(NamedTuple):
    """Whole lines of one file.

    Attributes:
        start_line, end_line: Its lines, from 1, both included.
        overlap_lines: Number of lines at the start that repeat the chunk before; they count for keywords, not for units.
        context: The date, the note's other names and the headings above, for keyword search; may be empty. Behind it, each on a
            line of its own, the lines that introduce the first one: the head of its table, or what stands above it in a list.
        text: The lines as in the file, joined by line ends.
        fence: The fence that is open before the first line behind the overlap, such as three backticks; "" for none.
        day: ISO day of its section; None where no heading gives one.
    """

    start_line: int
    end_line: int
    overlap_lines: int
    context: str
    text: str
    fence: str = ""
    day: str | None = None


class FileStamp(NamedTuple):
    """The size, times and inode of a file. While none of them has changed, its content is taken to be unchanged.

    Size and mtime alone would miss text that another of the same length replaced, and notes that swapped their names.

    Attributes:
        size_bytes, mtime_ns: The length of the file, and the time of its last change of content, which programs may set.
        ctime_ns: The time of the last change of anything about it, which none can set; 0 if it is not known.
        inode: Its number in the file system; 0 if it is not known. Where it is not stable, a file is read once more.
    """

    size_bytes: int
    mtime_ns: int
    ctime_ns: int = 0
    inode: int = 0


class FileKey(NamedTuple):
    """The names by which a file is known: its source and its path, as those of `MemoryFile`."""

    source: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFile:
    """One file that is indexed.

    Attributes:
        source: "memory", "workspace" or "sessions".
        path: The path shown to the agent, POSIX: relative to the workspace, or an extra path as configured.
        real_path: The absolute path, without symbolic links.
        stamp: At the time of listing.
        in_vault: It lies in an Obsidian vault, where `%%` marks comments.
    """

    source: str
    path: str
    real_path: Path
    stamp: FileStamp
    in_vault: bool = False

    @property
    def key(self) -> FileKey:
        """Its source and its path."""
        return FileKey(self.source, self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """The chat from which a call comes. A caller without session key, channel and chat type is local and trusted.

    Attributes:
        agent: The id of the agent whose memory is meant; None for the one that the memory was opened for.
        session_key: The host's key of the session, such as `agent:main:telegram:group:42`.
        chat_type: "direct", "group", "channel" or another type that the host knows.
        channel: "telegram", "slack", ...
        access: The session's access to the workspace: "rw", "ro" or "none".
        main: True for the agent's main private session; None to judge by the whole session key, which is then `main` or
            `agent:<id>:main` of that agent. See `local`.
        now: The time of the person who writes, in their zone; None is that of the configured one.
        by: Who calls a tool: the agent, or the user, as a command of theirs does; what that appends is the user's.
    """

    agent: str | None = None
    session_key: str | None = None
    chat_type: str | None = None
    channel: str | None = None
    access: Access = "rw"
    main: bool | None = None
    now: datetime | None = None
    by: Literal["agent", "user"] = "agent"

    @classmethod
    def local(cls, key: str, *, agent: str | None = None, access: Access = "rw") -> Self:
        """Describe the main private session of a host with keys of its own, which is a direct chat with its one user.

        `memory.scope` holds for it as for any direct chat.
        """
        return cls(agent=agent, session_key=key, chat_type="direct", access=access, main=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search asked of a backend.

    Attributes:
        text: The question as the model wrote it.
        max_results: The most hits, 1..100.
        min_score: The least evidence of a hit, 0..1; see `Hit.evidence`.
        max_snippet_chars: The most characters of a snippet.
        after, before: Only sections, or notes without days of sections, of this date or later, or earlier.
        deadline: The `time.monotonic()` until which the caller waits; None to wait for ever.
        as_of: Search the notes as they stood at the last moment before; None searches the present.
        about: Only units that mention this name, or belong to a note of this name; None searches all.
        joined: Units of one place are joined into a passage; else each hit is one unit, where the backend can do that.
        today: The day of the person who asks, from which "yesterday" is counted; None is that of `memorySearch.timeZone`.
    """

    text: str
    max_results: int = 6
    min_score: float = 0.35
    max_snippet_chars: int = 700
    after: date | None = None
    before: date | None = None
    deadline: float | None = None
    as_of: datetime | None = None
    about: str | None = None
    joined: bool = True
    today: date | None = None


@dataclass(frozen=True, slots=True)
class Successor:
    """A line of today that took the place of an older one.

    Attributes:
        path, line, text: Where it stands, from 1, and its text.
        since: The moment at which the old one was replaced, or the date of the newer note; ISO 8601. None if nobody knows.
        because: It is the old line, edited ("edit"), one of a newer note ("newer"), or one that `tidy` proposes ("proposal").
        replaces: The line of the hit whose place it took, from 1; None where a backend does not say.
    """

    path: str
    line: int
    text: str
    since: str | None = None
    because: Literal["edit", "newer", "proposal"] = "newer"
    replaces: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """The fate of the lines of a hit in the past.

    Attributes:
        status: "unchanged": they stand there today, maybe elsewhere in the note. "changed": others stand in their place.
            "gone": they, or the whole note, are not there any more.
        start_line, end_line: Of what stands there today, from 1; None if nothing does.
        text: What stands there today, where it has changed.
    """

    status: Literal["unchanged", "changed", "gone"]
    start_line: int | None = None
    end_line: int | None = None
    text: str | None = None


# Who said a text: the user; the agent, also where it has only its part in it; a tool; a web page or a mail; another program.
Author = Literal["user", "agent", "tool", "web", "import"]
AUTHORS: tuple[Author, ...] = ("user", "agent", "import", "tool", "web")  # the one whose word counts most first
OUTSIDERS = ("tool", "web")  # whose word nobody has vouched for


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of an item or of a passage.

    Attributes:
        by: Who said it.
        session, host, project: The host's name of the session, the host and the folder in which it was said.
        at: The time at which it was said, as ISO 8601.
        path, line: The note or session log that it was learned from, and the line, from 1.
    """

    by: Author
    session: str | None = None
    host: str | None = None
    project: str | None = None
    at: str | None = None
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage of one place, with a score.

    Attributes:
        path: See `MemoryFile.path`.
        source: "memory", "workspace" or "sessions".
        start_line, end_line: The lines shown, from 1, both included.
        score: 0..1, higher is better; absolute, so that it can be compared between queries: from .6 on it very probably
            answers. It never rises from one hit to the next: builtin gives a hit the highest of it and of the hits behind it.
        vector_score, text_score: The score of its vector or keyword evidence alone; None if there was none.
        snippet: The units shown; a line "…" marks units left out between them.
        now: What became of it, for a hit in the past.
        superseded_by: The line that took the place of one of its lines; None where the evidence is thin.
        evidence: What is compared with `Query.min_score`, 0..1; None if that is the score. No tool returns it.
        also_in: The paths of other notes and logs that say the same; None if there are none.
        origin: Who said it, and where; None until the session that asks is known, unless the backend knows it.
        layer: The name of its layer; None where one alone is searched.
    """

    path: str
    source: str
    start_line: int
    end_line: int
    score: float
    snippet: str
    vector_score: float | None = None
    text_score: float | None = None
    now: Now | None = None
    superseded_by: Successor | None = None
    evidence: float | None = None
    also_in: tuple[str, ...] | None = None
    origin: Origin | None = None
    layer: str | None = None

    @property
    def compared(self) -> float:
        """The evidence, or the score of a backend without it: what is compared with thresholds."""
        return self.score if self.evidence is None else self.evidence


@dataclass(frozen=True, slots=True)
class Space:
    """One vector space: vectors of two spaces are never compared.

    Attributes:
        provider: The provider's id.
        model: The model's name.
        endpoint: A fingerprint of where requests go, without secrets; "" for a model inside the process.
        input_type: The input type or prefix of documents for an asymmetric model; "" for any other.
        dimensions: Of every vector; 0 until the first one came back, when the model does not say.
    """

    provider: str
    model: str
    endpoint: str = ""
    input_type: str = ""
    dimensions: int = 0

    @property
    def fits_int8(self) -> bool:
        """True if its embeddings are rounded to what `vectors.to_int8` loses nothing of: those of the static model."""
        return self.provider == "static"

    def matches(self, other: Space) -> bool:
        """Return True if both may be one space: equal, but for dimensions that one of them does not know yet."""
        same = replace(self, dimensions=0) == replace(other, dimensions=0)
        return same and (self.dimensions == other.dimensions or 0 in (self.dimensions, other.dimensions))

    def explain_change(self, dimensions: int) -> str:
        """Say that its model gives vectors of other dimensions now, and what comes of it."""
        return f"{self.model} gives {dimensions} dimensions now, and gave {self.dimensions}: the next sync embeds all notes anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The meaning of cosines of one space for how well a text answers a question.

    Attributes:
        floor: Cosines of unrelated texts lie below it.
        span: Clear paraphrases lie this far above the floor; positive.
    """

    floor: float
    span: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """A provider or backend that serves in place of another.

    Attributes:
        origin: The one that was asked for.
        to: The one that serves.
        reason: Why the first one does not, one sentence.
    """

    origin: str
    to: str
    reason: str


ITEM_KINDS = ("fact", "preference", "decision")  # that a user or an agent may give to an item
INDEX_LACKS = "changed notes may be missing from the index"  # in the warning of a backend that cannot write its index
BEING_MADE = "being made"  # in the warnings of an answer: a sync is about to end what it lacks
NOTHING_INDEXED = "No memories indexed yet"  # `SearchResult.warning` of a backend whose index is empty


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The answer of a backend to one query.

    Attributes:
        hits: Best first; may be empty.
        provider: The id of the embedding provider that served; "none" if there was none.
        model: Its model; None when there was none.
        mode: The evidence used.
        backend: The name of the backend that answered.
        fallback: Set if a fallback provider served.
        backend_fallback: Set by the selector if another backend was asked for.
        stale: Changes in the files are not indexed yet.
        warning: Why the answer is worse than usual, one sentence; None if it is not.
        action: What the user can do about it; None if nothing.
        hint: Why nothing came and what to do next, in a line, where the search itself went well; None if something came, or if
            nobody can tell.
        as_of: Set if the hits are of the past.
        period: Set if the question names one: `from` and `to`, its days as ISO 8601, and `text`, the words that name it.
        interpreted_as: The words of the notes that were looked for, by words of the query that no note holds.
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
    hint: str | None = None
    as_of: AsOf | None = None
    period: Mapping[str, str] | None = None
    interpreted_as: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """The time of which an answer tells.

    Attributes:
        instant: The time that was asked for.
        moment: The last sync before it that changed something: the notes are those that stood then.
    """

    instant: datetime
    moment: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Lines of one note.

    Attributes:
        path: The path as the caller asked for it, normalised.
        text: The lines; "" if the file is missing or `from_line` is behind its end.
        from_line, lines: The first line, from 1, and the number of lines in `text`.
        truncated: More lines follow, or the last one is cut.
        next_from: The line to go on from; None if nothing follows.
        status: "ok" or "not_found".
        as_of: Set if the note is shown as it stood once.
        now: What became of it since then; None for the current text.
    """

    path: str
    text: str
    from_line: int
    lines: int
    truncated: bool = False
    next_from: int | None = None
    status: Literal["ok", "not_found"] = "ok"
    as_of: AsOf | None = None
    now: Literal["unchanged", "changed", "gone"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFailure:
    """A file that could not be listed or read, and the reason. A sync keeps what it indexed of it."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a sync or of tidy. `phase` is what is counted; `path` is the file at work, or "" where none is."""

    phase: Literal["files", "embeddings", "statements"]
    done: int
    total: int
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """The result of a sync.

    Attributes:
        files, chunks: The numbers of files and chunks in the index now.
        added, changed, removed, unchanged: Counts of files.
        embedded, cached: Texts sent to the provider, and those whose embedding was there already.
        pending: Texts without an embedding, because none could be had; the next sync tries again.
        failures: Files whose rows were left as they were.
        warnings: One sentence each.
        reindexed: The index was rebuilt, because it was asked for or its identity had changed.
        seconds: The duration.
        backend_fallback: The chosen backend was not synced, and why; the report is of the one that takes over. None if it was.
    """

    files: int = 0
    chunks: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    pending: int = 0
    failures: tuple[FileFailure, ...] = ()
    warnings: tuple[str, ...] = ()
    reindexed: bool = False
    seconds: float = 0.0
    backend_fallback: Fallback | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state of a backend, found without network and without a model.

    Attributes:
        backend: The backend's name.
        agent: The agent's id.
        workspace: The folder of the notes.
        store: The index file; None if the backend has none of its own.
        store_bytes: The size of the index.
        indexed: An index exists.
        files, chunks, embeddings: Counts of the index.
        pending: Texts that wait for their embedding.
        sources: Counts of files by source.
        extra: Counts of the notes that are there in each extra path, by its name.
        dirty: Files have changed since the last sync; None if unknown.
        provider, model: The maker of embeddings, as configured or found by "auto".
        vector: The search by vectors: "exact" compares all, "signs" those of stored signs, "vec0" those of QMD's table; or "off".
        vector_reason: Why it is off, or why not sqlite-vec compares; None if it does, or if no embeddings are wanted.
        fallback: Set if a fallback provider serves.
        backend_fallback: Set by the selector if another backend was asked for.
        failures: Files that the last sync could not read, and links and folders that are left out.
        warnings: One sentence each.
        last_sync: Unix seconds; None before the first.
        details: Facts that only this backend has, ready for display.
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
    pending: int = 0
    sources: Mapping[str, int] = field(default_factory=dict)
    extra: Mapping[str, int] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of the doctor.

    Attributes:
        subject: The thing checked, in one or two words, such as "workspace".
        level: "ok", "warn" (it works, worse than it could) or "fail" (it does not work).
        message: The finding, one sentence.
        action: What to do about it; "" if nothing.
    """

    subject: str
    level: Literal["ok", "warn", "fail"]
    message: str
    action: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The result of one real attempt to embed.

    Attributes:
        ok: An embedding came back.
        provider, model: The provider that was tried, and its model.
        dimensions: The length of the embedding; None if none came.
        error: Why none came; None if one did.
        action: What to do about it; None if nothing.
        warning: What else is amiss, though an embedding came back; None if nothing is.
        seconds: The duration.
    """

    ok: bool
    provider: str
    model: str | None = None
    dimensions: int | None = None
    error: str | None = None
    action: str | None = None
    warning: str | None = None
    seconds: float = 0.0


ResolveApiKey = Callable[[str], str | None]  # a provider's id -> the host's key for it; None if it has none


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySources:
    """Sources of keys for remote providers, besides the configuration.

    Attributes:
        resolve: Returns the host's own key for a provider; asked between configuration and environment. None: it has no keys.
        auto_environ: The environment variables in which the provider "auto" looks for a key. Inside a host they are none:
            the key of its chats is no consent to send notes. A provider that the configuration names finds its key in
            the environment everywhere.
    """

    resolve: ResolveApiKey | None = None
    auto_environ: Mapping[str, str] = field(default_factory=dict, repr=False)


ProgressCallback = Callable[[Progress], None]


# "note": a note has this name. "tag": it is written as a tag, or not as a link. "link": notes link to it, and none has it.
# "found": it only looks like a name.
NameKind = Literal["note", "link", "tag", "found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedQuery:
    """A question about one name, or about all of them.

    Attributes:
        name: The name; None asks which names there are.
        max_results: The most entries of each list of the answer.
        deadline: The `time.monotonic()` until which the caller waits; None to wait for ever.
    """

    name: str | None = None
    max_results: int = 10
    deadline: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A place that speaks of a name.

    Attributes:
        path: Of its note.
        line: From 1.
        date: Of its note, YYYY-MM-DD; None if it has none.
        text: That line, cut to 200 characters.
    """

    path: str
    line: int
    date: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A name that stands in the same paragraphs, list items or rows as another.

    Attributes:
        name: As notes spell it.
        count: The number of those places.
        first, last: The dates of the oldest and the newest note with one, YYYY-MM-DD; None if none has a date.
        places: Some of them, the newest first.
    """

    name: str
    count: int
    first: str | None
    last: str | None
    places: tuple[Mention, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownName:
    """A name that could be asked for.

    Attributes:
        name: As notes spell it.
        kind: How notes say that it is a name.
        count: The number of passages that mention it; of one that was only found, of those that were read.
        aliases: Its other names.
    """

    name: str
    kind: NameKind
    count: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """The answer to a question about a name.

    Attributes:
        name: As notes spell it; None if no name was asked for.
        aliases: Its other names.
        notes: The paths of the notes that have this name.
        count: The number of places that link to it or mention it.
        first, last: The dates of the oldest and the newest note with such a place, YYYY-MM-DD; None if none has a date.
        days: The number of different dates.
        backlinks: Places that link to it or carry it as a tag, the newest first.
        mentions: Places that mention it without a link, likewise.
        beside: Names that stand beside it, the most frequent first.
        names: Names that are known, where none was asked for, or names near to one that no note holds.
        stale: Changes in the files are not indexed yet.
        warning: Why the answer lacks something; None if it does not.
        action: What to do about that; None if nothing.
    """

    name: str | None = None
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    count: int = 0
    first: str | None = None
    last: str | None = None
    days: int = 0
    backlinks: tuple[Mention, ...] = ()
    mentions: tuple[Mention, ...] = ()
    beside: tuple[Neighbour, ...] = ()
    names: tuple[KnownName, ...] = ()
    stale: bool = False
    warning: str | None = None
    action: str | None = None
