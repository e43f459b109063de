"""Resolution of several layers of sections into the configuration of one agent.

Settings of `memorySearch` belong to the provider beside which they were set: another provider takes its own defaults.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TypeVar

from memory_core.config.agent import AgentConfig, Project, make_workspace_key
from memory_core.config.documents import (
    ADD_UP,
    KeyPath,
    Node,
    Origin,
    change,
    find,
    get_part,
    make_object,
    merge,
    name_type,
    remove,
    to_plain,
)
from memory_core.config.environment import expand, expand_home, find_ref_source
from memory_core.config.fields import Secret, is_framing_header
from memory_core.config.problems import validate
from memory_core.config.projects import (
    find_project,
    find_repository,
    list_layers,
    read_project,
)
from memory_core.config.settings import (
    DEFAULT_AGENT,
    LAYERED_BACKENDS,
    SLOT_ID,
    Compaction,
    MemorySettings,
    ProviderAccount,
    SearchSettings,
)
from memory_core.errors import ConfigError, ConfigProblem
from memory_core.threads import cached_property

DEFAULT_WORKSPACE = "~/clawd"
OWN_FOLDER = "memory-core"  # all that is ours in the state folder, which may be another program's
STORE_PATH = ("store", "path")

Kind = TypeVar("Kind")

_AUTO = "auto"
# What one provider understands, and what opens its endpoint only.
_OWNED: tuple[KeyPath, ...] = (
    ("model",),
    ("outputDimensionality",),
    ("inputType",),
    ("queryInputType",),
    ("documentInputType",),
    ("remote", "baseUrl"),
    ("remote", "apiKey"),
    ("remote", "headers"),
)
# Providers that have no model of their own: one that was set beside no provider is meant for them.
WITHOUT_MODEL = frozenset({"openai-compatible", "litellm"})


def make_absolute(path: str, base: Path | None, environ: Mapping[str, str]) -> Path:
    """Expand `~`, fold `..` and make a path absolute; symlinks stay as they are, and it need not exist.

    Raises:
        ConfigError: The path is relative, and there is no base; or it needs a home folder, and there is none.
    """
    joined = (base or Path()) / expand_home(path, environ)
    if not joined.is_absolute():
        problem = "is a relative path, and the current folder was removed or cannot be read"
        raise ConfigError(problem, origin=path, action="give an absolute path, or go to a folder that exists")
    return Path(os.path.abspath(joined))  # noqa: PTH100  # Path.resolve would follow symlinks


def find_usual_workspace(environ: Mapping[str, str], state_dir: Path, here: Path | None) -> tuple[Path, Project | None]:
    """Return the workspace where none is named, which need not exist, and the project to which it belongs.

    That is the one of the project around the current folder, else the default: the folder that `memory-core init --default`
    remembered, else `~/clawd`. Where that does not exist, a repository without notes is a project, too.

    Raises:
        ConfigError: The project's file, or the one that names the default workspace, cannot be read.
    """
    home = environ.get("HOME", "") or environ.get("USERPROFILE", "")  # the latter on Windows
    repository = None if here is None else find_repository(here, home)
    project = None if here is None else find_project(here, home)
    if project is not None:
        return project, read_project(project, repository)
    default = find_default_workspace(environ, state_dir)
    if repository is None or default.exists() or recall_default_workspace(state_dir) is not None:
        return default, None
    return default, Project(folder=repository, repository=repository)


def belongs(config: AgentConfig, folder: str, environ: Mapping[str, str]) -> bool:
    """Return False for what was said in the folder of another project; all belongs to a workspace that was named."""
    if not (config.is_found and folder):
        return True
    workspace, project = find_usual_workspace(environ, config.state_dir, Path(folder))
    return (workspace, project and project.folder) == (config.workspace, config.project and config.project.folder)


def find_default_workspace(environ: Mapping[str, str], state_dir: Path) -> Path:
    """Return the workspace where none is named and the current folder holds no notes."""
    return recall_default_workspace(state_dir) or make_absolute(DEFAULT_WORKSPACE, find_current_folder(), environ)


def find_remembered(state_dir: Path) -> Path:
    """Return the path of the file that names the default workspace; it need not exist."""
    return state_dir / OWN_FOLDER / "default-workspace"


def recall_default_workspace(state_dir: Path) -> Path | None:
    """Return the remembered default workspace; None if there is none.

    Raises:
        ConfigError: The file that names it cannot be read.
    """
    path = find_remembered(state_dir)
    try:
        named = path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read: {type(error).__name__}"
        raise ConfigError(problem, origin=str(path), action="remove it, or name a folder with --workspace") from error
    return Path(named) if os.path.isabs(named) else None  # noqa: PTH117 - "" is no path


def find_current_folder() -> Path | None:
    """Return the folder that this process is in; None if it was removed or cannot be read."""
    try:
        return Path.cwd()
    except OSError:
        return None


@dataclass(eq=False, repr=False)  # which would show the environment
class Resolver:
    """Merges the layers, of which later ones win, validates the outcome, and resolves paths.

    Attributes:
        layers: Of the document, the environment and the flags.
        environ: The environment, with the variables that the document sets.
        secrets: The document's section `secrets`.
        state_dir: The state folder, absolute.
        state_dir_origin: The layer that named it.
        workspace: The one that the caller named for every agent, absolute; None when it named none.
        base: The base of the document's relative paths; None when that is the current folder, and there is none.
        folder: The one in which work goes on, whose project is found; None when there is none.
        warnings: Those of the readers, and of what is left out here.
        problems: All that is wrong.
        slot: The value for the memory slot that wins; None when no layer names one.
        merged: The layers, laid over each other.
    """

    layers: Sequence[Node]
    environ: Mapping[str, str]
    secrets: Mapping[str, object]
    state_dir: Path
    state_dir_origin: Origin
    workspace: Path | None
    base: Path | None
    folder: Path | None
    warnings: list[str]
    problems: list[ConfigProblem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.merged = reduce(merge, self.layers, make_object())
        slot, rest = find(self.merged, ("slot",))
        self.slot = None if rest else slot
        memory = validate(MemorySettings, self._expand(get_part(self.merged, "memory")), self.problems, self.warnings)
        self._memory = memory or MemorySettings()
        self._providers = {name: self._read_account(name) for name in to_plain(get_part(self.merged, "providers"))}
        backends = expand(get_part(self.merged, "backends"), self.environ, self.secrets, None)
        self._backends: Mapping[str, Mapping[str, object]] = to_plain(backends)

    @property
    def slot_id(self) -> str:
        """The plugin in the memory slot, lower case."""
        return str(self.slot.content).strip().lower() if self.slot else SLOT_ID

    @property
    def named(self) -> tuple[str, ...]:
        """The agents that the layers name, in their order."""
        return tuple(name for name in to_plain(get_part(self.merged, "agents")) if name)

    def resolve(self, agent: str, dialect: str) -> AgentConfig:
        """Return everything for one agent; errors are added to `problems`, and defaults are used in their place."""
        nodes, foreign = self.merge_search(agent)
        warnings = [*self.warnings, *foreign]
        search = validate(SearchSettings, self._expand(nodes), self.problems, warnings) or SearchSettings()
        compaction = validate(Compaction, self.merge_compaction(agent), self.problems, warnings) or Compaction()
        workspace, project = self._resolve_workspace(agent)
        origin = self.find_workspace_origin(agent)
        config = AgentConfig(
            agent=agent,
            workspace=workspace,
            project=project,
            is_found=origin == "default",
            is_own=project is None and origin in ("default", "file"),
            state_dir=self.state_dir,
            store_path=self._resolve_store_path(agent, workspace, nodes, search),
            slot=self.slot_id,
            memory=self._memory,
            search=self._finish(search, warnings),
            compaction=compaction,
            providers=self._providers,
            backend_sections=self._backends,
            dialect=dialect,
            warnings=tuple(warnings),
        )
        if self._memory.backend not in LAYERED_BACKENDS:
            return config
        named = {
            name: make_absolute(path, self.base, self.environ) if path else None
            for name, path in self._memory.layers.items()
        }
        return replace(config, layers=tuple(list_layers(config, named, self.environ)))

    def merge_search(self, agent: str) -> tuple[Node, list[str]]:
        """Merge `memorySearch` for an agent, and return what `leave_out_foreign` does; every value keeps its key and origin."""
        merged, warnings = leave_out_foreign([get_part(part, "search") for part in self._list_parts(agent)])
        return change(merged, (ADD_UP,), _as_objects), warnings

    def merge_compaction(self, agent: str) -> Node:
        """Merge `compaction` for an agent."""
        return reduce(merge, [get_part(part, "compaction") for part in self._list_parts(agent)])

    def find_workspace(self, agent: str) -> Node | None:
        """Return the last layer's value for an agent's workspace; None when no layer names one."""
        found = [find(part, ("workspace",)) for part in self._list_parts(agent)]
        return next((node for node, rest in reversed(found) if not rest), None)

    def find_workspace_origin(self, agent: str) -> Origin:
        """Return the layer that named an agent's workspace."""
        node = self.find_workspace(agent)
        return "flag" if self.workspace else node.origin if node else "default"

    def _list_parts(self, agent: str) -> list[Node]:
        return [get_part(layer, "agents", name) for layer in self.layers for name in dict.fromkeys(("", agent))]

    def _expand(self, node: Node) -> Node:
        def note(where: Node, problem: str) -> None:
            self.problems.append(ConfigProblem(where.key, problem))

        return expand(node, self.environ, self.secrets, note)

    def _read_account(self, name: str) -> ProviderAccount:
        """Read the parts of a provider's account that are ours; those that cannot be used are left out with a warning."""

        def note(where: Node, problem: str) -> None:
            self.warnings.append(f"{where.key}: {problem}; it is left out")

        node = get_part(self.merged, "providers", name)
        key, _ = find(node, ("apiKey",))
        if find_ref_source(key) in ("exec", "store") and name not in self._find_chosen_accounts():
            node = change(node, ("apiKey",), lambda given: replace(given, content=None))  # no program runs for nothing
        account = expand(node, self.environ, self.secrets, note)
        api_key, base_url = (self._read_part(account, (part,), str, "a string") for part in ("apiKey", "baseUrl"))
        headers: Mapping[str, Node] = self._read_part(account, ("headers",), dict, "an object") or {}
        framing = [each.key for name, each in headers.items() if is_framing_header(name)]
        self.warnings += [f"{each} is set by the connection itself; it is left out" for each in framing]
        names = [name for name in headers if not is_framing_header(name)]
        values = {name: self._read_part(account, ("headers", name), str, "a string") for name in names}
        return ProviderAccount(
            api_key=None if api_key is None else Secret(api_key),
            base_url=base_url,
            headers={name: Secret(value) for name, value in values.items() if value is not None},
        )

    def _find_chosen_accounts(self) -> set[str]:
        """Return the names of accounts that belong to a provider which some agent names."""
        searches = [self.merge_search(agent)[0] for agent in ("", *self.named)]
        given = [find(search, (key,)) for search in searches for key in ("provider", "fallback")]
        named = {str(node.content) for node, rest in given if not rest}
        return named | {"google"} if "gemini" in named else named

    def _read_part(self, account: Node, path: KeyPath, kind: type[Kind], words: str) -> Kind | None:
        node, rest = find(account, path)
        if rest or node.content is None:
            return None
        if isinstance(node.content, kind):
            return node.content
        self.warnings.append(f"{node.key}: expected {words}, not {name_type(to_plain(node))}; it is left out")
        return None

    def _resolve_workspace(self, agent: str) -> tuple[Path, Project | None]:
        """Return the workspace of an agent, and its project if that was found."""
        if self.workspace:
            return self.workspace, None
        node = self.find_workspace(agent)
        node = self._expand(node) if node and node.origin == "file" else node
        if node and node.content:
            return self._make_absolute(str(node.content), node), None
        return self._usual

    @cached_property
    def _usual(self) -> tuple[Path, Project | None]:
        return find_usual_workspace(self.environ, self.state_dir, self.folder)

    def _resolve_store_path(self, agent: str, workspace: Path, merged: Node, search: SearchSettings) -> Path:
        """Return the index file of an agent and its workspace, which no other agent and no other workspace has.

        A path without `{agentId}` that the agent's own section gives is taken as it is. One from the defaults is the
        file of "main"; for every other agent `-<agent id>` is put before its suffix, whatever agents there are, so that
        a new agent never moves the index of another one.
        """
        key = make_workspace_key(workspace)
        if search.store.path is None:
            return self.state_dir / "memory-core" / f"{agent}-{key}.sqlite"
        given, _ = find(merged, STORE_PATH)
        path = self._make_absolute(search.store.path.replace("{agentId}", agent).replace("{workspaceKey}", key), given)
        own = any(find(layer, ("agents", agent, "search", *STORE_PATH))[0] is given for layer in self.layers)
        if own or "{agentId}" in search.store.path or agent == DEFAULT_AGENT:
            return path
        return path.parent / f"{path.stem}-{agent}{path.suffix}"

    def _make_absolute(self, path: str, given: Node | None) -> Path:
        base = self.base if given and given.origin == "file" else find_current_folder()
        return make_absolute(path, base, self.environ)

    def _finish(self, search: SearchSettings, warnings: list[str]) -> SearchSettings:
        sources = dict.fromkeys(search.sources)
        if "sessions" in sources and not search.experimental.session_memory:
            del sources["sessions"]
            warnings.append('The source "sessions" is left out: it needs memorySearch.experimental.sessionMemory.')
        if search.time_zone and not _is_zone(search.time_zone):
            warnings.append(
                f"There is no time zone {search.time_zone!r}; that of this machine is used. Name one such as Europe/Paris."
            )
        environ = self.environ
        local = replace(
            search.local,
            model_path=_expand_path(search.local.model_path, environ),
            model_cache_dir=_expand_path(search.local.model_cache_dir, environ),
        )
        vector = replace(search.store.vector, extension_path=_expand_path(search.store.vector.extension_path, environ))
        return replace(search, sources=tuple(sources), local=local, store=replace(search.store, vector=vector))


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        return bool(ZoneInfo(name))
    except (KeyError, ValueError, OSError):  # unknown, ill-formed, a folder
        return False


def _expand_path(path: str | None, environ: Mapping[str, str]) -> str | None:
    return None if path is None else expand_home(path, environ)


def _as_objects(extra_paths: Node) -> Node:
    """Turn strings in `extraPaths` into `{path: string}`."""
    if not isinstance(extra_paths.content, list):
        return extra_paths
    content = [
        Node({"path": item}, item.key, item.origin) if isinstance(item.content, str) else item
        for item in extra_paths.content
    ]
    return replace(extra_paths, content=content)


def leave_out_places(layer: Node) -> Node:
    """Leave out the folders and files that belong to the workspace of a person's own settings, not to one that was named."""
    parts = [("agents", name, "search") for name in to_plain(get_part(layer, "agents"))]
    of_agents = [(*part, *path) for part in parts for path in ((ADD_UP,), STORE_PATH)]
    return reduce(remove, [("memory", "layers"), ("backends", "qmd", "paths"), *of_agents], layer)


def leave_out_foreign(sections: Sequence[Node]) -> tuple[Node, list[str]]:
    """Merge `memorySearch` without what was set for another provider than the one that is named last.

    Args:
        sections: The section as each layer gives it, at least one; the last one wins.

    Returns:
        The section, and a warning about each setting that was left out and that no later layer sets.
    """
    final, names_it = _AUTO, ""
    serving: list[str] = []  # once a section is laid over those before
    for section in sections:
        node, rest = find(section, ("provider",))
        if not rest and isinstance(node.content, str):
            final, names_it = node.content, node.key
        serving.append(final)
    kept: list[Node] = []
    foreign: list[tuple[KeyPath, Node]] = []
    for section, provider in zip(sections, serving, strict=True):
        # What a variable or a flag sets alone is meant for whoever serves in this run.
        names_none = bool(find(section, ("provider",))[1])
        for path in _list_foreign(provider, final):
            node, rest = find(section, path)
            if not rest and not (names_none and node.origin in ("environment", "flag")):
                foreign.append((path, node))
                section = remove(section, path)  # noqa: PLW2901 - the section as it is kept
        kept.append(section)
    merged = reduce(merge, kept)
    warnings = [
        f"{node.key} is left out: it belongs to another provider than the one that {names_it} names"
        for path, node in foreign
        if find(merged, path)[1]
    ]
    return merged, warnings


def _list_foreign(provider: str, final: str) -> tuple[KeyPath, ...]:
    if provider == final:
        return ()
    if provider == _AUTO:  # whatever provider that would have been; an endpoint is meant for whoever comes
        return () if final in WITHOUT_MODEL else (("model",),)
    return _OWNED
