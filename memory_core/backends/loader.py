"""Loading of backends by name: entry points, a plugin manager for each, and typed calls through it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar

import pluggy

from memory_core import hookspecs
from memory_core.backends.breaker import explain_error
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SHIPPED_BACKENDS
from memory_core.errors import BackendError, ConfigError, ConfigProblem, MemoryCoreError, refuse_relations
from memory_core.explanations import Explanation, NotePlace
from memory_core.hookspecs import BackendContext, BackendPlugin
from memory_core.records import (
    Document,
    Hit,
    Probe,
    ProgressCallback,
    Query,
    Related,
    RelatedQuery,
    SearchResult,
    Status,
    SyncReport,
)

Answer = TypeVar("Answer")

OPERATIONS = tuple(name for name in vars(hookspecs.MemoryBackend) if name.startswith("memory_"))


def find_plugin(name: str) -> BackendPlugin:
    """Return the plugin that offers a backend; installed packages are scanned only for names that we don't ship.

    Raises:
        BackendError: No package or several offer it, or its module fails to load.
    """
    target = SHIPPED_BACKENDS.get(name)
    try:
        if target is None:
            plugin = _scan(name)
        else:
            module, _, attribute = target.partition(":")
            plugin = getattr(import_module(module), attribute)
    except MemoryCoreError:
        raise
    except Exception as error:  # a plugin's module may raise anything
        raise BackendError(name, f"its plugin fails to load: {explain_error(error)}") from error
    if not isinstance(plugin, BackendPlugin):
        raise BackendError(name, f"its entry point names a {type(plugin).__name__}, not a BackendPlugin")
    return plugin


def find_section_problems(config: AgentConfig) -> tuple[list[ConfigProblem], list[str]]:
    """Validate the sections of all installed backends that the configuration names, chosen or not.

    Returns:
        The problems of all of them, and a warning about each key that a backend leaves out.
    """
    problems: list[ConfigProblem] = []
    warnings: list[str] = []
    for name in config.backend_sections:
        try:
            read_section(config, name, find_plugin(name), warnings=warnings)
        except ConfigError as error:
            problems += error.problems
        except BackendError:
            continue  # a backend that is not installed has no model to validate with; status says so
    return problems, warnings


def read_section(config: AgentConfig, name: str, plugin: BackendPlugin, *, warnings: list[str] | None = None) -> Any:
    """Return the backend's own section, an instance of its plugin's model; None when the plugin has no model.

    Raises:
        ConfigError: It is wrong.
    """
    if plugin.settings is None:
        return None
    from memory_core.config.problems import validate_section

    return validate_section(name, config.backend_sections.get(name, {}), plugin.settings(), warnings=warnings)


def list_backends() -> list[str]:
    """Return the names of all installed backends, sorted. Scans installed packages."""
    from importlib.metadata import entry_points

    return sorted({*SHIPPED_BACKENDS, *entry_points(group=hookspecs.BACKENDS_GROUP).names})


def _scan(name: str) -> object:
    from importlib.metadata import entry_points

    found = {point.value: point for point in entry_points(group=hookspecs.BACKENDS_GROUP, name=name)}
    if len(found) != 1:
        if found:
            raise BackendError(name, f"{len(found)} packages offer it", action="uninstall all of them but one")
        raise BackendError(
            name,
            f"no installed package offers it; installed are {', '.join(list_backends())}",
            action="correct memory.backend, or install it",
        )
    return next(iter(found.values())).load()


def register_backend(name: str, plugin: BackendPlugin, context: BackendContext) -> RegisteredBackend:
    """Open a backend and register it under its name, in a plugin manager of its own: nobody else answers there.

    Raises:
        BackendError: It raises when opened, or misspells or leaves out an operation.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    optional = (hookspecs.SessionFollower, hookspecs.MemorySaver, hookspecs.SearchExplainer, hookspecs.RelationTeller)
    for specs in (hookspecs.MemoryBackend, *optional):
        manager.add_hookspecs(specs)
    try:
        backend = plugin.open(context)
        manager.register(backend, name)
        manager.check_pending()
    except BackendError:
        raise
    except Exception as error:  # a plugin's code may raise anything
        raise BackendError(name, f"it cannot be opened: {explain_error(error)}") from error
    implemented = {caller.name for caller in manager.get_hookcallers(backend) or []}
    if missing := [operation for operation in OPERATIONS if operation not in implemented]:
        raise BackendError(name, f"it does not implement {', '.join(missing)}")
    return RegisteredBackend(name, manager, implemented)


class RegisteredBackend:
    """A registered backend, typed like `MemoryBackend`; its answers are checked."""

    def __init__(self, name: str, manager: pluggy.PluginManager, implemented: Collection[str]) -> None:
        self.name = name
        self._manager = manager
        self._implemented = implemented

    def memory_search(self, query: Query) -> SearchResult:
        """See `MemoryBackend`.

        Raises:
            InvalidArgument: The query is about a name, and the backend is no `RelationTeller`.
        """
        if query.about is not None and "memory_related" not in self._implemented:
            raise refuse_relations("about", self.name)
        return _keep_limits(self._call("memory_search", SearchResult, query=query), query)

    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """See `MemoryBackend`."""
        return self._call("memory_get", Document, path=path, from_line=from_line, lines=lines)

    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """See `MemoryBackend`."""
        return self._call("memory_sync", SyncReport, force=force, progress=progress)

    def memory_sync_soon(self) -> bool:
        """See `MemoryBackend`."""
        return self._call("memory_sync_soon", bool)

    def memory_status(self) -> Status:
        """See `MemoryBackend`."""
        return self._call("memory_status", Status)

    def memory_probe(self) -> Probe:
        """See `MemoryBackend`."""
        return self._call("memory_probe", Probe)

    def memory_start(self) -> bool:
        """See `MemoryBackend`."""
        return self._call("memory_start", bool)

    def memory_close(self) -> bool:
        """See `MemoryBackend`."""
        return self._call("memory_close", bool)

    def memory_rest(self) -> bool:
        """See `MemorySaver`; False when the backend keeps nothing that it could let go of."""
        return "memory_rest" in self._implemented and self._call("memory_rest", bool)

    def memory_session_updated(self, session_key: str) -> bool:
        """See `SessionFollower`; False when the backend does not follow sessions."""
        if "memory_session_updated" not in self._implemented:
            return False
        return self._call("memory_session_updated", bool, session_key=session_key)

    def memory_explain(self, query: Query, place: NotePlace | None) -> Explanation:
        """See `SearchExplainer`; of a backend that does not implement it, the hits are explained."""
        if "memory_explain" in self._implemented:
            return self._call("memory_explain", Explanation, query=query, place=place)
        from memory_core.backends.explaining import explain_by_hits

        return explain_by_hits(self.memory_search, query, place)

    def memory_related(self, query: RelatedQuery) -> Related:
        """See `RelationTeller`.

        Raises:
            InvalidArgument: The backend does not implement it.
        """
        if "memory_related" not in self._implemented:
            raise refuse_relations("name", self.name)
        return self._call("memory_related", Related, query=query)

    def _call(self, operation: str, expected: type[Answer], **arguments: Any) -> Answer:
        answer = getattr(self._manager.hook, operation)(**arguments)
        if not isinstance(answer, expected):
            raise BackendError(self.name, f"{operation} returned {type(answer).__name__}, not {expected.__name__}")
        if isinstance(answer, SearchResult) and (fault := _find_fault(answer)):
            raise BackendError(self.name, f"{operation} returned {fault}")
        return answer


def _find_fault(result: SearchResult) -> str:
    """Tell why the hits of a plugin cannot be shown; "" if they can. NaN is no score, and JSON cannot carry it."""
    hits: object = result.hits
    if not isinstance(hits, tuple | list):
        return f"hits that are a {type(hits).__name__}, not a tuple"
    return next(filter(None, map(_find_fault_of_hit, hits)), "")


def _find_fault_of_hit(hit: object) -> str:
    if not isinstance(hit, Hit):
        return f"hits of which one is a {type(hit).__name__}, not a Hit"
    texts: tuple[object, ...] = (hit.path, hit.snippet)
    score: object = hit.score
    if not (all(isinstance(text, str) for text in texts) and isinstance(score, int | float) and 0 <= score <= 1):
        return "hits without a path, a snippet or a score from 0 to 1"
    parts: tuple[object, ...] = (hit.text_score, hit.vector_score)
    if not all(part is None or isinstance(part, int | float) for part in parts):
        return f"a hit of {hit.path} with a score that is no number of Python"
    lines: tuple[object, ...] = (hit.start_line, hit.end_line)
    if not (all(isinstance(line, int) for line in lines) and 1 <= hit.start_line <= hit.end_line):
        return f"a hit of {hit.path} at lines {hit.start_line!r} to {hit.end_line!r}"
    return ""


def _keep_limits(result: SearchResult, query: Query) -> SearchResult:
    """Cut what a plugin returned beyond what was asked for, since all of it would go to the model."""
    most = query.max_snippet_chars
    if len(result.hits) <= query.max_results and all(len(hit.snippet) <= most for hit in result.hits):
        return result
    hits = result.hits[: query.max_results]
    return replace(result, hits=tuple(replace(hit, snippet=hit.snippet[:most]) for hit in hits))
