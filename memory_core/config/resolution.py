"""Sections of several layers -> everything resolved for one agent."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from memory_core.config.environment import expand
from memory_core.config.nodes import Node, Origin, change, find, merge, plain, type_name
from memory_core.config.problems import validate
from memory_core.config.sections import AgentSections, Sections, empty
from memory_core.errors import ConfigProblem
from memory_core.settings import AgentConfig, Compaction, MemorySettings, ProviderAccount, SearchSettings, Secret

DEFAULT_WORKSPACE = "~/clawd"
DEFAULT_STATE_DIR = "~/.clawdbot"
DEFAULT_SLOT = "memory-core"
DEFAULT_AGENT = "main"
STORE_PATH = ("store", "path")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where relative and unnamed paths lie.

    Attributes:
        state_dir: Absolute.
        state_dir_origin: Who named it.
        workspace: What the caller named for every agent, absolute; None when it named none.
        base: What relative paths of the document are relative to.
        home: What `~` stands for.
    """

    state_dir: Path
    state_dir_origin: Origin
    workspace: Path | None
    base: Path
    home: str


def absolute(path: str, base: Path, home: str) -> Path:
    """A path with `~` expanded, `..` folded and made absolute; symlinks stay as they are, it need not exist."""
    return Path(os.path.abspath(base / tilde(path, home)))  # noqa: PTH100  # Path.resolve would follow symlinks


def tilde(path: str, home: str) -> str:
    """`~` and `~/x` with the home directory in its place; any other path as it is."""
    return home + path[1:] if path == "~" or path.startswith("~/") else path


class Resolver:
    """Merges the layers, validates what came out, and resolves paths; later layers win."""

    def __init__(
        self, layers: Sequence[Sections], environ: Mapping[str, str], places: Places, *, warnings: Sequence[str] = ()
    ) -> None:
        self._layers = layers
        self._environ = environ
        self.places = places
        self.problems: list[ConfigProblem] = []
        self.warnings = list(warnings)
        self.slot = next((layer.slot for layer in reversed(layers) if layer.slot), None)
        self.memory = self._merged([layer.memory for layer in layers])
        self._memory = validate(MemorySettings, self.memory, self.problems) or MemorySettings()
        self._providers = self._accounts()
        self._backends = self._backend_sections()

    @property
    def slot_id(self) -> str:
        """The plugin in the memory slot, lower case."""
        return str(self.slot.content).strip().lower() if self.slot else DEFAULT_SLOT

    @property
    def known(self) -> tuple[str, ...]:
        """The agents that the layers name, in their order; "main" alone when they name none."""
        return tuple(dict.fromkeys(name for layer in self._layers for name in layer.agents)) or (DEFAULT_AGENT,)

    def resolve(self, agent: str, dialect: str) -> AgentConfig:
        """Everything for one agent; what is wrong goes to `problems`, and defaults stand for it."""
        warnings = list(self.warnings)
        nodes = self.search_node(agent)
        search = validate(SearchSettings, self._expanded(nodes), self.problems) or SearchSettings()
        compaction = validate(Compaction, self.compaction_node(agent), self.problems) or Compaction()
        return AgentConfig(
            agent=agent,
            workspace=self._workspace(agent),
            state_dir=self.places.state_dir,
            store_path=self._store_path(agent, nodes, search),
            slot=self.slot_id,
            memory=self._memory,
            search=self._finished(search, warnings),
            compaction=compaction,
            providers=self._providers,
            backend_sections=self._backends,
            dialect=dialect,
            warnings=tuple(warnings),
        )

    def search_node(self, agent: str) -> Node:
        """`memorySearch` merged for an agent, every value with its key and origin."""
        node = self._merged([part.search for part in self._parts(agent)])
        return change(node, ("extraPaths",), _as_objects)

    def compaction_node(self, agent: str) -> Node:
        """`compaction` merged for an agent."""
        return self._merged([part.compaction for part in self._parts(agent)])

    def workspace_node(self, agent: str) -> Node | None:
        """Where an agent's workspace is named last; None when it is nowhere."""
        return next((part.workspace for part in reversed(self._parts(agent)) if part.workspace), None)

    def workspace_origin(self, agent: str) -> Origin:
        """Who named an agent's workspace."""
        node = self.workspace_node(agent)
        return "flag" if self.places.workspace else node.origin if node else "default"

    def provider(self, name: str) -> Node:
        """`models.providers.<name>` merged, environment variables not yet expanded."""
        return self._merged([layer.providers.get(name) or empty() for layer in self._layers])

    def backend(self, name: str) -> Node:
        """`memory.<name>` merged."""
        return self._merged([layer.backends.get(name) or empty() for layer in self._layers])

    def _parts(self, agent: str) -> list[AgentSections]:
        return [part for layer in self._layers for part in (layer.defaults, layer.agent(agent))]

    def _merged(self, nodes: Sequence[Node]) -> Node:
        return reduce(merge, [node for node in nodes if node.content], empty())

    def _expanded(self, node: Node) -> Node:
        def unset(where: Node, name: str) -> None:
            self.problems.append(ConfigProblem(where.key, f"the environment variable {name} is not set"))

        return change(node, ("remote",), lambda remote: expand(remote, self._environ, unset))

    def _accounts(self) -> dict[str, ProviderAccount]:
        names = dict.fromkeys(name for layer in self._layers for name in layer.providers)
        return {name: self._account(self.provider(name)) for name in names}

    def _account(self, node: Node) -> ProviderAccount:
        """What can be used of a provider's account; the rest of the host's object is left out with a warning."""

        def unset(where: Node, name: str) -> None:
            self.warnings.append(f"{where.key}: the environment variable {name} is not set; it is left out")

        account = expand(node, self._environ, unset)
        api_key = self._string(account, "apiKey")
        return ProviderAccount(
            api_key=None if api_key is None else Secret(api_key),
            base_url=self._string(account, "baseUrl"),
            headers=self._headers(account),
        )

    def _backend_sections(self) -> dict[str, Mapping[str, object]]:
        names = dict.fromkeys(name for layer in self._layers for name in layer.backends)
        return {name: plain(self.backend(name)) for name in names}

    def _string(self, account: Node, name: str) -> str | None:
        node, rest = find(account, (name,))
        if rest or node.content is None:
            return None
        if isinstance(node.content, str):
            return node.content
        self.warnings.append(f"{node.key}: expected a string, not {type_name(plain(node))}; it is left out")
        return None

    def _headers(self, account: Node) -> dict[str, Secret]:
        node, rest = find(account, ("headers",))
        if rest or node.content is None:
            return {}
        if not isinstance(node.content, dict):
            self.warnings.append(f"{node.key}: expected an object, not {type_name(plain(node))}; it is left out")
            return {}
        values = {name: self._string(node, name) for name in node.content}
        return {name: Secret(value) for name, value in values.items() if value is not None}

    def _workspace(self, agent: str) -> Path:
        if self.places.workspace:
            return self.places.workspace
        node = self.workspace_node(agent)
        return self._absolute(str(node.content), node) if node else self._absolute(DEFAULT_WORKSPACE, None)

    def _store_path(self, agent: str, merged: Node, search: SearchSettings) -> Path:
        """An agent's index file, its own in every case.

        A path without `{agentId}` that the agent's own section gives is taken as it is. One from the defaults is the
        file of "main"; for every other agent `-<agent id>` is put before its suffix, whatever agents there are, so that
        a new agent never moves the index of another one.
        """
        if search.store.path is None:
            return self.places.state_dir / "memory" / f"{agent}.sqlite"
        given, _ = find(merged, STORE_PATH)
        path = self._absolute(search.store.path.replace("{agentId}", agent), given)
        own = any(find(layer.agent(agent).search, STORE_PATH)[0] is given for layer in self._layers)
        if own or "{agentId}" in search.store.path or agent == DEFAULT_AGENT:
            return path
        return path.parent / f"{path.stem}-{agent}{path.suffix}"

    def _absolute(self, path: str, given: Node | None) -> Path:
        base = self.places.base if given and given.origin == "file" else Path.cwd()
        return absolute(path, base, self.places.home)

    def _finished(self, search: SearchSettings, warnings: list[str]) -> SearchSettings:
        sources = dict.fromkeys(search.sources)
        if "sessions" in sources and not search.experimental.session_memory:
            del sources["sessions"]
            warnings.append('The source "sessions" is left out: it needs memorySearch.experimental.sessionMemory.')
        home = self.places.home
        local = replace(
            search.local,
            model_path=_expanded_path(search.local.model_path, home),
            model_cache_dir=_expanded_path(search.local.model_cache_dir, home),
        )
        vector = replace(search.store.vector, extension_path=_expanded_path(search.store.vector.extension_path, home))
        return replace(search, sources=tuple(sources), local=local, store=replace(search.store, vector=vector))


def _expanded_path(path: str | None, home: str) -> str | None:
    return None if path is None else tilde(path, home)


def _as_objects(extra_paths: Node) -> Node:
    """A string in `extraPaths` stands for `{path: string}`."""
    if not isinstance(extra_paths.content, list):
        return extra_paths
    content = [
        Node({"path": item}, item.key, item.origin) if isinstance(item.content, str) else item
        for item in extra_paths.content
    ]
    return replace(extra_paths, content=content)
