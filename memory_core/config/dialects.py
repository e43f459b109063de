"""Every dialect read into one normal form: which section a document gives, each value under the key it is spelt with.

Moltbot and Clawdbot write `agents.defaults.memorySearch` and `agents.list[]`; the newer spelling is `memory.search` and
`agents.entries.<id>`; `memorySearch` at the top is read as the first of these. Orbit writes `[embedding]` in TOML.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from memory_core.config.nodes import Node, Origin, annotate, clashes, dotted, merge, place, type_name
from memory_core.config.problems import unknown_key
from memory_core.config.sections import AgentSections, Sections, agent_key
from memory_core.errors import ConfigProblem, InvalidArgument

Raw = Mapping[str, Any]
Syntax = Literal["json5", "toml", "mapping"]

MEMORY_KEYS = ("backend", "citations", "scope", "search")
COMPACTION_KEYS = ("reserveTokensFloor", "memoryFlush")
ACCOUNT_KEYS = ("apiKey", "baseUrl", "headers")
FLAG_ROOTS = ("agents", "compaction", "memory", "memorySearch", "models", "plugins", "workspace")

# Orbit's key below [embedding], and ours below memorySearch.
ORBIT_KEYS = {
    "provider": "provider",
    "model": "model",
    "api_key": "remote.apiKey",
    "index.chunk_tokens": "chunking.tokens",
    "index.chunk_overlap": "chunking.overlap",
    "index.watch_debounce_ms": "sync.watchDebounceMs",
    "search.max_results": "query.maxResults",
    "search.min_score": "query.minScore",
    "search.snippet_length": "query.maxSnippetChars",
    "exclude.files": "exclude.files",
}
ORBIT_TABLES = ("index", "search", "exclude")
ORBIT_SOURCES = ("memory", "workspace")


class Reader:
    """Reads one document; what is wrong with its shape goes to `problems`, what is left out to `warnings`."""

    def __init__(self, origin: Origin, known_backends: Collection[str]) -> None:
        self._origin: Origin = origin
        self._backends_known = known_backends
        self.problems: list[ConfigProblem] = []
        self.warnings: list[str] = []

    def read(self, raw: Raw, *, syntax: Syntax) -> Sections:
        """The normal form of a document.

        Orbit's is told by its table `embedding`, or as TOML without any key of ours: then memory search is off.
        """
        ours, embedding = _is_ours(raw), raw.get("embedding")
        if embedding is not None and (syntax == "toml" or (syntax == "mapping" and not ours)):
            table, _ = self._object(raw, "embedding", "")
            return Sections("orbit", slot=self._slot(raw), defaults=AgentSections(search=self._orbit(table)))
        if syntax == "toml" and not ours and "slots" not in _below(raw, "plugins"):
            return Sections("orbit", defaults=AgentSections(search=self._note({"enabled": False}, "embedding")))
        sections = self._document(raw)
        sections.dialect = "toml" if syntax == "toml" else "json5-entries" if _is_newer(raw) else "json5"
        return sections

    def read_flags(self, raw: Raw) -> Sections:
        """The normal form of flags, which `unflatten` has nested."""
        for name in raw.keys() - set(FLAG_ROOTS):
            self._problem(name, unknown_key(name, FLAG_ROOTS))
        sections = self._document(raw)
        own = self._agent({name: raw[name] for name in ("workspace", "compaction") if name in raw}, "")
        sections.defaults.workspace = sections.defaults.workspace or own.workspace
        sections.defaults.compaction = self._one([sections.defaults.compaction, own.compaction])
        return sections

    def _document(self, raw: Raw) -> Sections:
        memory, _ = self._object(raw, "memory", "")
        agents, _ = self._object(raw, "agents", "")
        defaults, key_of_defaults = self._object(agents, "defaults", "agents")
        shared = self._agent(defaults, key_of_defaults)
        top = [self._section(raw, "memorySearch", ""), self._section(memory, "search", "memory")]
        shared.search = self._one([*top, shared.search])
        return Sections(
            slot=self._slot(raw),
            memory=self._memory(memory),
            backends=self._backends(memory),
            providers=self._providers(raw),
            defaults=shared,
            agents=self._agents(agents),
        )

    def _slot(self, raw: Raw) -> Node | None:
        plugins, key = self._object(raw, "plugins", "")
        slots, key = self._object(plugins, "slots", key)
        return self._text(slots, "memory", key)

    def _memory(self, memory: Raw) -> Node:
        known = dict.fromkeys([*MEMORY_KEYS, *self._backends_known])
        for name in memory:
            if name not in known:
                self._problem(f"memory.{name}", unknown_key(str(name), known))
        given = {name: value for name, value in memory.items() if name in MEMORY_KEYS and name != "search"}
        return self._note(given, "memory")

    def _backends(self, memory: Raw) -> dict[str, Node]:
        names = [name for name in memory if name in self._backends_known and name not in MEMORY_KEYS]
        return {name: self._section(memory, name, "memory") for name in names}

    def _providers(self, raw: Raw) -> dict[str, Node]:
        models, key = self._object(raw, "models", "")
        providers, key = self._object(models, "providers", key)
        accounts = {}
        for name, account in providers.items():
            if isinstance(account, Mapping):
                accounts[name] = self._lenient({k: account[k] for k in ACCOUNT_KEYS if k in account}, dotted(key, name))
            else:
                self.warnings.append(
                    f"{dotted(key, name)}: expected an object, not {type_name(account)}; it is left out"
                )
        return accounts

    def _lenient(self, raw: Raw, key: str) -> Node:
        dropped: list[ConfigProblem] = []
        node = annotate(raw, key, self._origin, dropped)
        self.warnings.extend(f"{problem}; it is left out" for problem in dropped)
        return node

    def _agents(self, agents: Raw) -> dict[str, AgentSections]:
        found: dict[str, AgentSections] = {}
        for agent_id, raw, key in self._listed(agents):
            own = self._agent(raw, key)
            if agent_id in found:
                self._problem(key, f"agent {agent_id!r} is given twice")
            found[agent_id] = own
        return found

    def _listed(self, agents: Raw) -> Iterator[tuple[str, Raw, str]]:
        for index, raw in enumerate(self._list(agents, "list", "agents")):
            key = dotted("agents.list", index)
            if not isinstance(raw, Mapping):
                self._problem(key, f"expected an object, not {type_name(raw)}")
            elif agent_id := self._agent_id(raw.get("id"), f"{key}.id"):
                yield agent_id, raw, key
        entries, key = self._object(agents, "entries", "agents")
        for name in entries:
            raw, own_key = self._object(entries, name, key)
            if agent_id := self._agent_id(name, own_key):
                yield agent_id, raw, own_key

    def _agent_id(self, raw: object, key: str) -> str | None:
        if not isinstance(raw, str):
            self._problem(key, "is required" if raw is None else f"expected a string, not {type_name(raw)}")
            return None
        try:
            return agent_key(raw)
        except InvalidArgument as error:
            self._problem(key, str(error).partition(": ")[2])
            return None

    def _agent(self, raw: Raw, key: str) -> AgentSections:
        memory, memory_key = self._object(raw, "memory", key)
        for name in memory:
            if name != "search":
                self._problem(dotted(memory_key, name), 'unknown key; an agent\'s own "memory" has only "search"')
        compaction, compaction_key = self._object(raw, "compaction", key)
        ours = {name: compaction[name] for name in COMPACTION_KEYS if compaction.get(name) is not None}
        spellings = [self._section(raw, "memorySearch", key), self._section(memory, "search", memory_key)]
        return AgentSections(
            workspace=self._text(raw, "workspace", key),
            search=self._one(spellings),
            compaction=self._note(ours, compaction_key),
        )

    def _one(self, spellings: list[Node]) -> Node:
        """Merge what is given in several spellings for the same place; the same key twice is a problem."""
        one = spellings[0]
        for other in spellings[1:]:
            for first, second in clashes(one, other):
                self._problem(second.key, f"is given twice, also as {first.key}; keep one of them")
            one = merge(one, other) if other.content else one
        return one

    def _orbit(self, embedding: Raw) -> Node:
        search = self._note({}, "embedding")
        for name, value in _leaves(embedding):
            key = dotted("embedding", name)
            if name in ORBIT_KEYS:
                search = merge(search, place(ORBIT_KEYS[name].split("."), self._note(value, key)))
            elif name in ORBIT_TABLES:
                self._problem(key, f"expected an object, not {type_name(value)}")
            else:
                self._problem(key, unknown_key(name, ORBIT_KEYS))
        sources = annotate({"sources": ORBIT_SOURCES}, "embedding", "default", self.problems)
        return merge(sources, search)

    def _note(self, raw: object, key: str) -> Node:
        return annotate(raw, key, self._origin, self.problems)

    def _problem(self, key: str, message: str) -> None:
        self.problems.append(ConfigProblem(key, message))

    def _object(self, raw: Raw, name: str, key: str) -> tuple[Raw, str]:
        value, key = raw.get(name), dotted(key, name)
        if value is not None and not isinstance(value, Mapping):
            self._problem(key, f"expected an object, not {type_name(value)}")
        return (value if isinstance(value, Mapping) else {}), key

    def _section(self, raw: Raw, name: str, key: str) -> Node:
        value, key = self._object(raw, name, key)
        return self._note(value, key)

    def _list(self, raw: Raw, name: str, key: str) -> list[Any]:
        value = raw.get(name)
        if value is not None and not isinstance(value, list | tuple):
            self._problem(dotted(key, name), f"expected a list, not {type_name(value)}")
        return list(value) if isinstance(value, list | tuple) else []

    def _text(self, raw: Raw, name: str, key: str) -> Node | None:
        if raw.get(name) is None:
            return None
        node = self._note(raw[name], dotted(key, name))
        if isinstance(node.content, str) and node.content.strip():
            return node
        self._problem(node.key, f"expected a string, not {type_name(raw[name])}")
        return None


def unflatten(flags: Raw) -> dict[str, Any]:
    """`{"memory.backend": "qmd"}` as `{"memory": {"backend": "qmd"}}`; flags that are None were not given.

    Raises:
        InvalidArgument: One flag goes through another's value.
    """
    nested: dict[str, Any] = {}
    for key, value in flags.items():
        if value is not None:
            _put(nested, key.split("."), value)
    return nested


def _put(nested: dict[str, Any], path: list[str], value: object) -> None:
    *outer, last = path
    for name in outer:
        nested = _deeper(nested, name)
    if isinstance(value, Mapping):
        below = _deeper(nested, last)
        for name, each in value.items():
            _put(below, [str(name)], each)
    elif last in nested:
        raise InvalidArgument(last, "this flag is given twice")
    else:
        nested[last] = value


def _deeper(nested: dict[str, Any], name: str) -> dict[str, Any]:
    below = nested.setdefault(name, {})
    if not isinstance(below, dict):
        raise InvalidArgument(name, "is given both a value and keys below it")
    return below


def _leaves(embedding: Raw) -> Iterator[tuple[str, object]]:
    for name, value in embedding.items():
        if name in ORBIT_TABLES and isinstance(value, Mapping):
            yield from ((f"{name}.{below}", each) for below, each in value.items())
        else:
            yield str(name), value


def _below(raw: Raw, name: str) -> Raw:
    value = raw.get(name)
    return value if isinstance(value, Mapping) else {}


def _is_ours(raw: Raw) -> bool:
    return (
        "memorySearch" in raw
        or "memory" in raw
        or bool(_below(raw, "agents").keys() & {"defaults", "list", "entries"})
        or "providers" in _below(raw, "models")
    )


def _is_newer(raw: Raw) -> bool:
    return "entries" in _below(raw, "agents") or "search" in _below(raw, "memory")
