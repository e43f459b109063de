"""The section `memory.qmd`: frozen dataclasses that pydantic validates, like those of `memory_core.config.settings`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Le, MinLen

from memory_core.config.fields import InvalidField, Section
from memory_core.config.settings import Scope, ScopeMatch, ScopeRule

SearchMode = Literal["search", "vsearch", "query"]

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"\A(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
DIRECT_CHATS_ONLY = Scope(default="deny", rules=(ScopeRule(action="allow", match=ScopeMatch(chat_type="direct")),))


def parse_duration(duration: str) -> float:
    """Return the seconds of "90s", "5m", "1.5h" or "500ms"; "0", which turns an interval off, is 0.

    Raises:
        ValueError: The text is no duration.
    """
    if duration == "0":
        return 0.0
    found = _DURATION.fullmatch(duration.strip().lower())
    if found is None:
        raise ValueError(f'expected a duration such as "5m", or "0" for off, not {duration!r}')
    return float(found[1]) * _SECONDS[found[2]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdPath(Section):
    """A folder that QMD indexes besides the agent's memory.

    Attributes:
        path: Absolute, `~`, or relative to the workspace.
        name: The name of its collection; None takes the folder's name. The agent's id is added.
        pattern: A glob for the files below it.
    """

    path: Annotated[str, MinLen(1)]
    name: Annotated[str, MinLen(1)] | None = None
    pattern: Annotated[str, MinLen(1)] = "**/*.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdSessions(Section):
    """The export of session logs, sanitised, as a collection; without `retention_days` they are kept for ever."""

    enabled: bool = False
    retention_days: Annotated[float, Gt(0)] | None = None
    export_dir: Annotated[str, MinLen(1)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdUpdate(Section):
    """The times at which QMD's index is updated. Intervals are durations such as "5m"; "0" turns one off."""

    __ignored_keys__: ClassVar[Mapping[str, str]] = {"startup": "", "startupDelayMs": "", "waitForBootSync": ""}
    interval: str = "5m"
    debounce_ms: Annotated[int, Ge(0)] = 15_000
    on_boot: bool = True
    embed_interval: str = "60m"
    command_timeout_ms: Annotated[int, Gt(0)] = 30_000
    update_timeout_ms: Annotated[int, Gt(0)] = 120_000
    embed_timeout_ms: Annotated[int, Gt(0)] = 600_000

    def __post_init__(self) -> None:
        for name in ("interval", "embed_interval"):
            try:
                parse_duration(getattr(self, name))
            except ValueError as error:
                raise InvalidField(name, str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdLimits(Section):
    """Limits of one search: hits, characters, time. `max_injected_chars` bounds all snippets together."""

    max_results: Annotated[int, Ge(1), Le(100)] = 6
    max_snippet_chars: Annotated[int, Ge(50)] = 700
    max_injected_chars: Annotated[int, Ge(50)] = 4000
    timeout_ms: Annotated[int, Gt(0)] = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdDaemon(Section):
    """The warm server, which answers searches instead of one process each."""

    enabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdModels(Section):
    """GGUF files or `hf:` URIs that QMD uses instead of its own choice; a file is checked before QMD opens it."""

    embed: Annotated[str, MinLen(1)] | None = None
    generate: Annotated[str, MinLen(1)] | None = None
    rerank: Annotated[str, MinLen(1)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdConfig(Section):
    """The section `memory.qmd`.

    Attributes:
        command: The program, a name on PATH or a path.
        search_mode: "search" searches for words, "vsearch" by meaning, "query" both ways and with a reranker.
        include_default_memory: Also index the agent's own memory files.
        scope: The chats in which memory may be searched; direct chats only by default.
    """

    __ignored_keys__: ClassVar[Mapping[str, str]] = {
        "mcporter": "; daemon.enabled keeps QMD warm here",
        "rerank": '; searchMode "vsearch" or "search" is without a reranker',
        "searchTool": "; searchMode is ours",
    }
    command: Annotated[str, MinLen(1)] = "qmd"
    search_mode: SearchMode = "search"
    include_default_memory: bool = True
    paths: tuple[QmdPath, ...] = ()
    sessions: QmdSessions = field(default_factory=QmdSessions)
    update: QmdUpdate = field(default_factory=QmdUpdate)
    limits: QmdLimits = field(default_factory=QmdLimits)
    models: QmdModels = field(default_factory=QmdModels)
    daemon: QmdDaemon = field(default_factory=QmdDaemon)
    scope: Scope = DIRECT_CHATS_ONLY

    @property
    def by_meaning(self) -> bool:
        """True if the search mode needs embeddings."""
        return self.search_mode != "search"
