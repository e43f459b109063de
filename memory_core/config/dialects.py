"""Readers of all dialects: they turn a document into one normal form and keep the key under which each value is written.

Moltbot and Clawdbot write `agents.defaults.memorySearch` and `agents.list[]`; the newer spelling is `memory.search` and
`agents.entries.<id>`; `memorySearch` at the top is read like the first of these. Orbit writes `[embedding]` in TOML.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from functools import reduce
from typing import Any, Literal

from memory_core.as_json import to_camel
from memory_core.config.agent import normalize_agent_id
from memory_core.config.documents import (
    Node,
    Origin,
    annotate,
    find_clashes,
    get_mapping,
    join_key,
    make_object,
    merge,
    name_type,
    wrap_at,
)
from memory_core.config.problems import HOLDS_NUL, explain_unknown_key, find_similar, list_sections
from memory_core.config.settings import MemorySettings, SearchSettings
from memory_core.errors import ConfigProblem, InvalidArgument

Raw = Mapping[str, Any]
Syntax = Literal["json5", "toml", "mapping"]

MEMORY_KEYS = {to_camel(each.name) for each in fields(MemorySettings)}


def _list_places(section: type[Any], place: str) -> Iterator[tuple[str, str]]:
    yield from ((to_camel(item.name), f"{place}.{to_camel(item.name)}") for item in fields(section))
    for name, part in list_sections(section):
        yield from _list_places(part, f"{place}.{name}")


# Where a key is read that stands at the top. Plain words below the first level, such as "path", are anybody's.
SEARCH_PLACES = {
    name: place
    for name, place in reversed([*_list_places(SearchSettings, "memorySearch")])
    if (place.count(".") == 1 and name not in ("enabled", "model")) or not name.islower()
}
COMPACTION_KEYS = ("reserveTokensFloor", "memoryFlush")
ACCOUNT_KEYS = ("apiKey", "baseUrl", "headers")
UNNAMED = "unnamed"
ROOTS = ("plugins", "memory", "memorySearch", "agents", "models")
LOOKED_UP = ("env", "secrets")  # to which ${NAME} and secret references lead
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
# Keys of the host's section `history`, and ours below memorySearch.
HISTORY_KEYS = {
    "memory_recall": "recall.enabled",
    "memory_recall_limit": "recall.limit",
    "memory_recall_scope": "items.scope",
    "embedding_model": "model",
    "embedding_dimensions": "outputDimensionality",
}
ORBIT_TABLES = ("index", "search", "exclude")
ORBIT_SOURCES = ("memory", "workspace")


class DialectReader:
    """Reads one document into a layer. Errors in its shape are added to `problems`, values that are left out to `warnings`."""

    def __init__(self, origin: Origin, known_backends: Collection[str]) -> None:
        self._origin: Origin = origin
        self._backends_known = known_backends
        self.problems: list[ConfigProblem] = []
        self.warnings: list[str] = []

    def read(self, raw: Raw, *, syntax: Syntax) -> tuple[Node, str]:
        """Return the layer of a document, and its dialect: "json5", "json5-entries", "toml" or "orbit".

        A table `embedding` marks an Orbit document; so does TOML without any key of ours, and then memory search is off.
        """
        ours, embedding = _is_ours(raw), raw.get("embedding")
        if embedding is not None and (syntax == "toml" or (syntax == "mapping" and not ours)):
            table, _ = self._get_object(raw, "embedding", "")
            search = wrap_at(["agents", "", "search"], self._read_orbit(table))
            return merge(search, make_object(slot=self._read_slot(raw))), "orbit"
        stray = [*_find_stray(raw)]
        slips = [
            ConfigProblem(key, f'unknown key; did you mean "{meant}"?') for key, meant, is_slip in stray if is_slip
        ]
        self.problems += slips
        if syntax == "toml" and not ours and not slips and "slots" not in get_mapping(raw, "plugins"):
            self.problems += [
                ConfigProblem(name, 'unknown key; did you mean "embedding"?')
                for name in raw
                if _find_slip(name, ("embedding",))
            ]
            off = annotate({"enabled": False}, "embedding", "dialect", self.problems)
            return wrap_at(["agents", "", "search"], off), "orbit"
        self.warnings += [
            f"{key}: nothing is read here; did you mean {meant}?" for key, meant, is_slip in stray if not is_slip
        ]
        if "embedding" in raw:
            self.warnings.append("embedding: it is Orbit's table, which is read from a TOML file; it is left out")
        is_newer = "entries" in get_mapping(raw, "agents") or "search" in get_mapping(raw, "memory")
        dialect = "toml" if syntax == "toml" else "json5-entries" if is_newer else "json5"
        return self._read_document(raw), dialect

    def read_flags(self, raw: Raw) -> Node:
        """Return the layer of flags that `unflatten` has nested."""
        for name in raw.keys() - set(FLAG_ROOTS):
            self._add_problem(name, explain_unknown_key(name, FLAG_ROOTS))
        own = self._read_agent({name: raw[name] for name in _OF_AN_AGENT if name in raw}, "")
        return self._merge_spellings([self._read_document(raw), wrap_at(["agents", ""], own)])

    def _read_document(self, raw: Raw) -> Node:
        memory, _ = self._get_object(raw, "memory", "")
        agents, _ = self._get_object(raw, "agents", "")
        defaults, key_of_defaults = self._get_object(agents, "defaults", "agents")
        top = [self._get_section(raw, "memorySearch", ""), self._get_section(memory, "search", "memory")]
        searches = [make_object(search=each) for each in (*top, self._read_history(raw))]
        shared = self._merge_spellings([*searches, self._read_agent(defaults, key_of_defaults)])
        shared = self._add_zone(shared, defaults, key_of_defaults)
        return make_object(
            slot=self._read_slot(raw),
            memory=self._read_memory(memory),
            backends=self._read_backends(memory),
            providers=self._read_providers(raw),
            agents=make_object(**{"": shared, **self._read_agents(agents)}),
        )

    def _read_slot(self, raw: Raw) -> Node | None:
        plugins, key = self._get_object(raw, "plugins", "")
        slots, key = self._get_object(plugins, "slots", key)
        return self._get_text(slots, "memory", key)

    def _read_memory(self, memory: Raw) -> Node:
        known = dict.fromkeys([*sorted({*MEMORY_KEYS, "search"}), *self._backends_known])
        for name in memory:
            if name not in known:
                self._add_problem(f"memory.{name}", explain_unknown_key(str(name), known))
        given = {name: value for name, value in memory.items() if name in MEMORY_KEYS}
        return self._annotate(given, "memory")

    def _read_backends(self, memory: Raw) -> Node:
        names = [name for name in memory if name in self._backends_known and name not in (*MEMORY_KEYS, "search")]
        return make_object(**{name: self._get_section(memory, name, "memory") for name in names})

    def _read_providers(self, raw: Raw) -> Node:
        models, key = self._get_object(raw, "models", "")
        providers, key = self._get_object(models, "providers", key)
        accounts = {}
        for name, account in ((str(name), each) for name, each in providers.items()):
            if isinstance(account, Mapping):
                dropped: list[ConfigProblem] = []
                ours = {k: account[k] for k in ACCOUNT_KEYS if k in account}
                accounts[name] = annotate(ours, join_key(key, name), self._origin, dropped)
                self.warnings.extend(f"{problem}; it is left out" for problem in dropped)
            else:
                self.warnings.append(
                    f"{join_key(key, name)}: expected an object, not {name_type(account)}; it is left out"
                )
        return make_object(**accounts)

    def _read_agents(self, agents: Raw) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for agent_id, raw, key in self._walk_agents(agents):
            if agent_id in found:
                self._add_problem(key, f"agent {agent_id!r} is given twice")
            found[agent_id] = self._add_zone(self._read_agent(raw, key), raw, key)
        return found

    def _walk_agents(self, agents: Raw) -> Iterator[tuple[str, Raw, str]]:
        listed = agents.get("list")
        if listed is not None and not isinstance(listed, list | tuple):
            self._add_problem("agents.list", f"expected a list, not {name_type(listed)}")
        for index, raw in enumerate(listed if isinstance(listed, list | tuple) else ()):
            key = join_key("agents.list", index)
            if not isinstance(raw, Mapping):
                self._add_problem(key, f"expected an object, not {name_type(raw)}")
            else:
                # One without an id is read too, so that all that is wrong with it is told at once.
                yield self._read_agent_id(raw.get("id"), f"{key}.id") or f"{UNNAMED}-{index}", raw, key
        entries, key = self._get_object(agents, "entries", "agents")
        for name in entries:
            raw, own_key = self._get_object(entries, name, key)
            if agent_id := self._read_agent_id(name, own_key):
                yield agent_id, raw, own_key

    def _read_agent_id(self, raw: object, key: str) -> str | None:
        if not isinstance(raw, str):
            self._add_problem(key, "is required" if raw is None else f"expected a string, not {name_type(raw)}")
            return None
        try:
            return normalize_agent_id(raw)
        except InvalidArgument as error:
            self._add_problem(key, str(error).partition(": ")[2])
            return None

    def _read_agent(self, raw: Raw, key: str) -> Node:
        memory, memory_key = self._get_object(raw, "memory", key)
        for name in memory:
            if name != "search":
                self._add_problem(join_key(memory_key, name), 'unknown key; an agent\'s own "memory" has only "search"')
        compaction, compaction_key = self._get_object(raw, "compaction", key)
        ours = {name: compaction[name] for name in COMPACTION_KEYS if compaction.get(name) is not None}
        spellings = [self._get_section(raw, "memorySearch", key), self._get_section(memory, "search", memory_key)]
        return make_object(
            workspace=self._get_text(raw, "workspace", key),
            search=self._merge_spellings(spellings),
            compaction=self._annotate(ours, compaction_key),
        )

    def _add_zone(self, agent: Node, raw: Raw, key: str) -> Node:
        """Read the host's own time zone; our `timeZone` goes before it."""
        zone = self._get_text(raw, "userTimezone", key)
        return merge(wrap_at(["search", "timeZone"], zone), agent) if zone else agent

    def _merge_spellings(self, spellings: list[Node]) -> Node:
        """Merge the sections that different spellings give for one place; a key that two of them give is a problem."""
        one = spellings[0]
        for other in spellings[1:]:
            for first, second in find_clashes(one, other):
                self._add_problem(second.key, f"is given twice, also as {first.key}; keep one of them")
            one = merge(one, other)
        return one

    def _read_history(self, raw: Raw) -> Node:
        """Read the keys of the host's section `history` that are ours; the others are the host's own."""
        history, _ = self._get_object(raw, "history", "")
        return self._translate("history", history, HISTORY_KEYS)

    def _read_orbit(self, embedding: Raw) -> Node:
        given = dict(_walk_leaves(embedding))
        for name in given.keys() - ORBIT_KEYS.keys():
            wrong = f"expected an object, not {name_type(given[name])}" if name in ORBIT_TABLES else ""
            self._add_problem(join_key("embedding", name), wrong or explain_unknown_key(name, ORBIT_KEYS))
        sources = annotate({"sources": ORBIT_SOURCES}, "embedding", "dialect", self.problems)
        return merge(sources, self._translate("embedding", given, ORBIT_KEYS))

    def _translate(self, table: str, given: Raw, keys: Mapping[str, str]) -> Node:
        """Read the values of a table that has names of its own for our keys; null counts as not given."""
        known = {name: value for name, value in given.items() if name in keys and value is not None}
        values = [wrap_at(keys[name].split("."), self._annotate(known[name], join_key(table, name))) for name in known]
        return reduce(merge, values, make_object())

    def _annotate(self, raw: object, key: str) -> Node:
        return annotate(raw, key, self._origin, self.problems)

    def _add_problem(self, key: str, message: str) -> None:
        self.problems.append(ConfigProblem(key, message))

    def _get_object(self, raw: Raw, name: str, key: str) -> tuple[Raw, str]:
        value, key = raw.get(name), join_key(key, name)
        if value is not None and not isinstance(value, Mapping):
            self._add_problem(key, f"expected an object, not {name_type(value)}")
        return (value if isinstance(value, Mapping) else {}), key

    def _get_section(self, raw: Raw, name: str, key: str) -> Node:
        value, key = self._get_object(raw, name, key)
        return self._annotate(value, key)

    def _get_text(self, raw: Raw, name: str, key: str) -> Node | None:
        if raw.get(name) is None:
            return None
        node = self._annotate(raw[name], join_key(key, name))
        if not isinstance(node.content, str):
            self._add_problem(node.key, f"expected a string, not {name_type(raw[name])}")
        elif not node.content.strip():
            self._add_problem(node.key, "expected a string that is not blank")
        elif "\0" in node.content:
            self._add_problem(node.key, HOLDS_NUL)
        else:
            return node
        return None


def list_unread(raw: Raw, dialect: str) -> list[str]:
    """List the keys at the top of a document of which nothing is read: the host's, or slips that resemble none of ours."""
    roots = ("plugins", "embedding") if dialect == "orbit" else (*ROOTS, *LOOKED_UP)
    read = dialect != "orbit" and bool(get_mapping(raw, "history").keys() & HISTORY_KEYS.keys())
    return [str(name) for name in raw if name not in roots and not (name == "history" and read)]


def unflatten(flags: Raw) -> dict[str, Any]:
    """Nest dotted keys: `{"memory.backend": "qmd"}` becomes `{"memory": {"backend": "qmd"}}`. None means not given.

    Raises:
        InvalidArgument: A flag is given twice, or as a value and as an object.
    """
    nested: dict[str, Any] = {}
    for key, value in flags.items():
        if value is not None:
            _put(nested, key.split("."), value)
    return nested


def _put(nested: dict[str, Any], path: list[str], value: object) -> None:
    *outer, last = path
    for name in outer:
        nested = _descend(nested, name)
    if isinstance(value, Mapping):
        below = _descend(nested, last)
        for name, each in value.items():
            _put(below, [str(name)], each)
    elif last in nested:
        raise InvalidArgument(last, "this flag is given twice")
    else:
        nested[last] = value


def _descend(nested: dict[str, Any], name: str) -> dict[str, Any]:
    below = nested.setdefault(name, {})
    if not isinstance(below, dict):
        raise InvalidArgument(name, "is given both a value and keys below it")
    return below


def _walk_leaves(embedding: Raw) -> Iterator[tuple[str, object]]:
    for name, value in embedding.items():
        if name in ORBIT_TABLES and isinstance(value, Mapping):
            yield from ((f"{name}.{below}", each) for below, each in value.items())
        else:
            yield str(name), value


def _is_ours(raw: Raw) -> bool:
    return (
        "memorySearch" in raw
        or "memory" in raw
        or bool(get_mapping(raw, "agents").keys() & {"defaults", "list", "entries"})
        or "providers" in get_mapping(raw, "models")
    )


# Keys that hosts really have beside ours, however alike they look.
_HOSTS_OWN = frozenset({"agent", "model", "plugin", "reserveTokens"})
_AT_THE_TOP = ("agents", "models", "plugins")
_OF_AGENTS = ("defaults", "list", "entries")
_OF_AN_AGENT = ("workspace", "compaction")


def _find_stray(raw: Raw) -> Iterator[tuple[str, str, bool]]:
    """Yield the keys of a document's host objects that are read nowhere, though they look like ours.

    Each comes with the key that is meant, and with True for a slip in a name that nobody but us has: that is an error, since it
    would switch a setting off unseen.
    """
    yield from _check_names(raw, "", ("memory", "memorySearch"), _AT_THE_TOP)
    for name, value in raw.items():  # read further below, by their own place
        if name in _OF_AN_AGENT or (name == "memoryFlush" and isinstance(value, Mapping)):
            yield name, f"agents.defaults.{'compaction.' if name == 'memoryFlush' else ''}{name}", False
        elif name in SEARCH_PLACES:
            yield name, SEARCH_PLACES[name], False
    agents, plugins, models = (get_mapping(raw, name) for name in ("agents", "plugins", "models"))
    yield from _check_names(agents, "agents", (), _OF_AGENTS)
    yield from _check_agent(get_mapping(agents, "defaults"), "agents.defaults")
    for name, agent in get_mapping(agents, "entries").items():
        yield from _check_agent(agent, join_key("agents.entries", str(name)))
    listed = agents.get("list")
    for index, agent in enumerate(listed if isinstance(listed, list | tuple) else ()):
        yield from _check_agent(agent, join_key("agents.list", index))
    for name, agent in agents.items():
        if name not in _OF_AGENTS and isinstance(agent, Mapping) and {"memorySearch", *_OF_AN_AGENT} & agent.keys():
            yield join_key("agents", str(name)), f"agents.entries.{name}", False
    yield from _check_names(plugins, "plugins", (), ("slots",))
    yield from _check_names(get_mapping(plugins, "slots"), "plugins.slots", (), ("memory",))
    yield from _check_names(models, "models", (), ("providers",))
    for name, account in get_mapping(models, "providers").items():
        if isinstance(account, Mapping):
            yield from _check_names(account, join_key("models.providers", str(name)), (), ACCOUNT_KEYS)


def _check_agent(agent: object, key: str) -> Iterator[tuple[str, str, bool]]:
    if isinstance(agent, Mapping):
        yield from _check_names(agent, key, ("memorySearch",), _OF_AN_AGENT)
        for name in agent:
            if SEARCH_PLACES.get(name) == f"memorySearch.{name}":
                yield join_key(key, name), f"{key}.memorySearch.{name}", False
        compaction = get_mapping(agent, "compaction")
        yield from _check_names(compaction, f"{key}.compaction", ("memoryFlush",), ("reserveTokensFloor",))


def _check_names(raw: Raw, key: str, ours: Collection[str], shared: Collection[str]) -> Iterator[tuple[str, str, bool]]:
    """Find slips: in `ours`, names that nobody else has, they are errors; in `shared` ones they are warnings."""
    known = (*ours, *shared)
    for name in raw:
        if name in known or name in _HOSTS_OWN or not isinstance(name, str):
            continue
        meant, place = _find_slip(name, known), join_key(key, name)
        if meant in ours:
            yield place, meant, True
        elif meant and meant not in raw:
            yield place, join_key(key, meant), False


def _find_slip(name: str, ours: Collection[str]) -> str:
    """Return the key of ours that a host's unknown key is probably meant to be; "" if it is none."""
    near = [key for key in ours if abs(len(name) - len(key)) <= 2]
    return find_similar(name, near, likeness=0.81)  # one letter of six is wrong, or two are swapped
