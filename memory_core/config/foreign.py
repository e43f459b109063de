"""Keys that mean nothing here: settings of OpenClaw, keys in the wrong place, and slips in the names of our own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from memory_core.config.located import Node, join_key

IGNORED = "__ignored_keys__"  # of a settings class: keys that are left out with a warning, each with a hint or ""
# Providers of embeddings in OpenClaw that have no name of their own here, and what serves in their place.
PROVIDERS: Mapping[str, str] = {
    "bedrock": 'it is "litellm" here, with the model "bedrock/<model>"',
    "deepinfra": 'it is "openai-compatible" here, with remote.baseUrl "https://api.deepinfra.com/v1/openai"',
    "github-copilot": "nothing here speaks to it",
    "google": 'it is "gemini" here',
    "lmstudio": 'it is "openai-compatible" here, with remote.baseUrl "http://127.0.0.1:1234/v1"',
}
OWN_PROVIDER = 'a provider of models.providers is "openai-compatible" or "ollama" here, with its URL in remote.baseUrl'
LIKENESS = 0.8  # one letter of six is wrong, or two are swapped


def leave_out_ignored(model: type[Any], node: Node) -> tuple[Node, list[str]]:
    """Leave out of a section what its class ignores; return it with a warning for each key."""
    if not isinstance(node.content, dict) or not is_dataclass(model):
        return node, []
    ignored: Mapping[str, str] = getattr(model, IGNORED, {})
    warnings = [
        f"{child.key}: a setting of OpenClaw that means nothing here; it is left out{ignored[name]}"
        for name, child in node.content.items()
        if name in ignored
    ]
    content = {name: child for name, child in node.content.items() if name not in ignored}
    for name, part in list_sections(model):
        if name in content:
            content[name], more = leave_out_ignored(part, content[name])
            warnings += more
    return (replace(node, content=content) if warnings else node), warnings


def list_sections(model: type[Any]) -> Iterator[tuple[str, type[Any]]]:
    """Yield the sections within a section: the key of each, and its class."""
    from memory_core.config.fields import to_camel

    for item in fields(model):
        made_by: object = item.default_factory
        if isinstance(made_by, type) and is_dataclass(made_by):
            yield to_camel(item.name), made_by


def find_slip(name: str, ours: Collection[str]) -> str:
    """Return the key of ours that a host's unknown key is probably meant to be; "" if it is none."""
    plain = _normalize(name)
    near = [key for key in ours if abs(len(plain) - len(key)) <= 2]
    if not near:
        return ""
    from difflib import SequenceMatcher

    best = max(near, key=lambda key: SequenceMatcher(None, plain, _normalize(key)).ratio())
    return best if SequenceMatcher(None, plain, _normalize(best)).ratio() > LIKENESS else ""


def _normalize(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


# Keys that hosts really have beside ours, however alike they look.
_HOSTS_OWN = frozenset({"agent", "model", "plugin", "reserveTokens"})
_AT_THE_TOP = ("agents", "models", "plugins")
_OF_AGENTS = ("defaults", "list", "entries")
_OF_AN_AGENT = ("workspace", "compaction")


class Stray:
    """The keys of a document's host objects that are read nowhere, though they look like ours.

    Attributes:
        errors: Slips in names that nobody but us has, by key: they would switch a setting off unseen.
        warnings: Everything else, a sentence each.
    """

    def __init__(self, raw: Mapping[str, Any], *, places: Mapping[str, str]) -> None:
        self.errors: dict[str, str] = {}
        self.warnings: list[str] = []
        self._check_names(raw, "", ("memory", "memorySearch"), _AT_THE_TOP)
        self._check_top(raw, places)
        agents = _get_mapping(raw, "agents")
        self._check_names(agents, "agents", (), _OF_AGENTS)
        self._check_agents(agents)
        plugins = _get_mapping(raw, "plugins")
        self._check_names(plugins, "plugins", (), ("slots",))
        self._check_names(_get_mapping(plugins, "slots"), "plugins.slots", (), ("memory",))
        models = _get_mapping(raw, "models")
        self._check_names(models, "models", (), ("providers",))
        for name, account in _get_mapping(models, "providers").items():
            if isinstance(account, Mapping):
                key = join_key("models.providers", str(name))
                self._check_names(account, key, (), ("apiKey", "baseUrl", "headers"))

    def _check_agents(self, agents: Mapping[str, Any]) -> None:
        self._check_agent(_get_mapping(agents, "defaults"), "agents.defaults")
        for name, agent in _get_mapping(agents, "entries").items():
            self._check_agent(agent, join_key("agents.entries", str(name)))
        listed = agents.get("list")
        for index, agent in enumerate(listed if isinstance(listed, list | tuple) else ()):
            self._check_agent(agent, join_key("agents.list", index))
        for name, agent in agents.items():
            if name not in _OF_AGENTS and isinstance(agent, Mapping) and {"memorySearch", *_OF_AN_AGENT} & agent.keys():
                self._warn(join_key("agents", str(name)), f"agents.entries.{name}")

    def _check_agent(self, agent: object, key: str) -> None:
        if isinstance(agent, Mapping):
            self._check_names(agent, key, ("memorySearch",), _OF_AN_AGENT)
            compaction = _get_mapping(agent, "compaction")
            self._check_names(compaction, f"{key}.compaction", ("memoryFlush",), ("reserveTokensFloor",))

    def _check_top(self, raw: Mapping[str, Any], places: Mapping[str, str]) -> None:
        """Warn of keys that are read further below, by their own place."""
        for name, value in raw.items():
            if name in _OF_AN_AGENT or (name == "memoryFlush" and isinstance(value, Mapping)):
                self._warn(name, f"agents.defaults.{'compaction.' if name == 'memoryFlush' else ''}{name}")
            elif name in places:
                self._warn(name, places[name])
            elif name == "embedding":
                self.warnings.append("embedding: it is Orbit's table, which is read from a TOML file; it is left out")

    def _check_names(self, raw: Mapping[str, Any], key: str, ours: Collection[str], shared: Collection[str]) -> None:
        """Find slips: in `ours`, names that nobody else has, they are errors; in `shared` ones they are warnings."""
        known = (*ours, *shared)
        for name in raw:
            if name in known or name in _HOSTS_OWN or not isinstance(name, str):
                continue
            meant, place = find_slip(name, known), join_key(key, name)
            if meant in ours:
                self.errors[place] = f'unknown key; did you mean "{meant}"?'
            elif meant and meant not in raw:
                self._warn(place, join_key(key, meant))

    def _warn(self, key: str, meant: str) -> None:
        self.warnings.append(f"{key}: nothing is read here; did you mean {meant}?")


def _get_mapping(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, Mapping) else {}
