"""`load_config` makes a `Config` of a file, the environment and flags; nothing else reads these.

A `ConfigSource` asks for it at every call, so that a change takes effect at the next one.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from memory_core.config.agent import AgentConfig, normalize_agent_id
from memory_core.config.dialects import MEMORY_KEYS, DialectReader, Syntax, unflatten
from memory_core.config.documents import get_mapping, is_toml, join_key, make_object, read_file
from memory_core.config.environment import (
    BACKEND,
    CONFIG,
    STATE_DIR,
    VARIABLES_FILE,
    WORKSPACE,
    expand_home,
    quote_words,
    read_environment,
    read_variables,
)
from memory_core.config.problems import HOLDS_NUL
from memory_core.config.resolution import OWN_FOLDER, Resolver, find_current_folder, leave_out_places, make_absolute
from memory_core.config.settings import BACKENDS_GROUP, DEFAULT_AGENT, NO_SLOT, SHIPPED_BACKENDS, SLOT_ID, SLOTS_GROUP
from memory_core.errors import ConfigError, ConfigProblem, InvalidArgument

log = logging.getLogger(__name__)

DEFAULT_STATE_DIR = "~/.clawdbot"

Document: TypeAlias = Mapping[str, Any]
Origin: TypeAlias = str | Path | Document | Callable[[], Document] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A configuration.

    Attributes:
        origin: The file, or "mapping" or "defaults".
        dialect: As `AgentConfig.dialect`.
        slot: As `AgentConfig.slot`.
        agents: The ids of the agents that the document names, in its order; ("main",) when it names none.
        resolver: Knows the layer that each value comes from.
        problems: Everything that is wrong, where that was not refused; defaults stand in its place.
        document: The document itself.
        included: The files that it includes, and the `.env` beside it, which need not exist.
    """

    origin: str
    dialect: str
    slot: str
    agents: tuple[str, ...]
    resolver: Resolver = field(repr=False, compare=False)
    _known: Mapping[str, AgentConfig] = field(repr=False)
    problems: tuple[ConfigProblem, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    included: tuple[Path, ...] = ()

    @property
    def file(self) -> Path | None:
        """The document's file; None for a mapping and for the defaults."""
        return None if self.origin in ("mapping", "defaults") else Path(self.origin)

    def agent(self, agent_id: str = DEFAULT_AGENT) -> AgentConfig:
        """Return everything resolved for one agent; an agent that the document does not name has the defaults.

        Raises:
            InvalidArgument: The id is not `[a-z0-9][a-z0-9_-]{0,63}` after lower-casing.
        """
        agent = normalize_agent_id(agent_id)
        return self._known.get(agent) or self.resolver.resolve(agent, self.dialect)

    def refuse(self, more: Sequence[ConfigProblem] = ()) -> None:
        """Raise if there are problems, or more that were found elsewhere.

        Raises:
            ConfigError: Carries all of them, in the order of the document.
        """
        problems = dict.fromkeys([*self.problems, *more])
        if not problems:
            return
        order = {key: rank for rank, key in enumerate(_walk_keys(self.document, ""))}

        def rank(problem: ConfigProblem) -> int:
            key = problem.key
            while key and key not in order:
                key = key[: max(key.rfind("."), key.rfind("["), 0)]
            return order.get(key, len(order))

        is_environment = all(problem.key.startswith("MEMORY_CORE_") for problem in problems)
        origin = "environment" if is_environment else "flags" if self.origin == "defaults" else self.origin
        file = f" {quote_words(origin)}" if os.path.isabs(origin) else ""  # noqa: PTH117 - may be no path at all
        check = "" if origin in ("flags", "mapping") else f", then run: memory-core config check{file}"
        raise ConfigError(sorted(problems, key=rank), origin=origin, action=f"Correct what is named{check}")


def load_config(
    source: Path | str | Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    state_dir: Path | str | None = None,
    workspace: Path | str | None = None,
    known_backends: Collection[str] = SHIPPED_BACKENDS,
    refuses: bool = True,
    folder: Path | None = None,
) -> Config:
    """Read and validate a configuration: defaults < document < environment < flags.

    Args:
        source: A file (TOML by its suffix, else JSON5), or a mapping that a host has parsed. None reads the file that
            MEMORY_CORE_CONFIG names, else the person's own, if there is one; where a workspace is named, that one without
            the places in it.
        environ: The environment; None is the process's own. `ENVIRONMENT` lists the variables that are read.
        overrides: Flags: dotted keys of the document such as "memorySearch.query.maxResults", or nested objects; None
            means not given. They hold for every agent.
        state_dir: The host's; overrides MEMORY_CORE_STATE_DIR and `~/.clawdbot`.
        workspace: Overrides every other workspace, for every agent.
        known_backends: The backends that may have a section below `memory`, besides the chosen one and those of other
            packages, which are scanned only where such a section stands.
        refuses: Raise if anything is wrong; else `Config.problems` tells it.
        folder: The one in which work goes on, whose project is found; None is the current one.

    Raises:
        ConfigError: Carries every problem, in the order of the document; or the document cannot be read at all. It quotes no
            string of the document.
        InvalidArgument: A folder holds a NUL character.
    """
    for name, given in (("workspace", workspace), ("state_dir", state_dir)):
        if "\0" in str(given):
            raise InvalidArgument(name, HOLDS_NUL)
    environ = os.environ if environ is None else environ
    without_places = source is None and not environ.get(CONFIG) and bool(workspace or environ.get(WORKSPACE))
    if source is None:
        source = find_default_config(environ, state_dir=state_dir)
    base = here = find_current_folder()
    included: list[Path] = []
    document: Document = {}
    syntax: Syntax = "json5"
    origin = "defaults"
    if isinstance(source, Mapping):
        document, syntax, origin = source, "mapping", "mapping"
    elif source is not None:
        path = make_absolute(str(source), here, environ)
        document, base, origin = read_file(path, included), path.parent, str(path)
        syntax = "toml" if is_toml(path) else "json5"
        included.append(path.with_name(VARIABLES_FILE))
    flags = unflatten(overrides or {})
    chosen = [environ.get(BACKEND), *(get_mapping(raw, "memory").get("backend") for raw in (document, flags))]
    backends = [*known_backends, *(name for name in chosen if isinstance(name, str))]
    if {*get_mapping(document, "memory")} - {*MEMORY_KEYS, "search", *backends}:
        from importlib.metadata import entry_points

        backends += entry_points(group=BACKENDS_GROUP).names
    reader, flag_reader = DialectReader("file", backends), DialectReader("flag", backends)
    read, dialect = (make_object(), "defaults") if source is None else reader.read(document, syntax=syntax)
    if without_places:
        read = leave_out_places(read)
    layers = [read, read_environment(environ), flag_reader.read_flags(flags)]
    resolver = Resolver(
        layers,
        {**read_variables(document, None if source is None or isinstance(source, Mapping) else base), **environ},
        get_mapping(document, "secrets"),
        state_dir=make_absolute(str(state_dir or environ.get(STATE_DIR) or DEFAULT_STATE_DIR), here, environ),
        state_dir_origin="flag" if state_dir else "environment" if environ.get(STATE_DIR) else "default",
        workspace=make_absolute(str(workspace), here, environ) if workspace else None,
        base=base,
        folder=folder or here,
        warnings=reader.warnings,
    )
    if resolver.named:
        resolver.resolve("", dialect)  # the defaults alone must be valid too: any agent may come to use them
    known = {agent: resolver.resolve(agent, dialect) for agent in resolver.named or (DEFAULT_AGENT,)}
    problems = [*reader.problems, *flag_reader.problems, *resolver.problems, *_find_shared_stores(known.values())]
    config = Config(
        origin=origin,
        dialect=dialect,
        slot=resolver.slot_id,
        agents=tuple(known),
        resolver=resolver,
        problems=tuple(problems),
        document=document,
        included=tuple(dict.fromkeys(included)),
        _known=known,
    )
    if refuses:
        config.refuse()
    return config


def find_adopted_config(state_dir: Path) -> Path:
    """Return the path of that configuration, which need not exist."""
    return state_dir / OWN_FOLDER / "config.json5"


def find_default_config(environ: Mapping[str, str], *, state_dir: Path | str | None) -> Path | None:
    """Return the configuration for a caller who names none: the one in the environment, else the person's own, if it is there."""
    if environ.get(CONFIG):
        return Path(expand_home(environ[CONFIG], environ))
    state = expand_home(state_dir or environ.get(STATE_DIR) or DEFAULT_STATE_DIR, environ)
    path = find_adopted_config(Path(state))
    return path if os.path.isfile(path) else None  # noqa: PTH113 -- the index tells of a folder that may not be entered


def _find_shared_stores(agents: Iterable[AgentConfig]) -> Iterator[ConfigProblem]:
    owners: dict[Path, str] = {}
    for config in agents:
        owner = owners.setdefault(config.store_path, config.agent)
        if owner != config.agent:
            text = (
                f"the agents {owner!r} and {config.agent!r} would share one index file; put {{agentId}} into the path"
            )
            yield ConfigProblem("memorySearch.store.path", text)


def _walk_keys(raw: object, key: str) -> Iterator[str]:
    """Yield every dotted key of a document, in its order."""
    if key:
        yield key
    if isinstance(raw, Mapping):
        for name, child in raw.items():
            yield from _walk_keys(child, join_key(key, str(name)))
    elif isinstance(raw, list | tuple):
        for index, child in enumerate(raw):
            yield from _walk_keys(child, join_key(key, index))


class ConfigSource:
    """A configuration file, a mapping, a callable, nothing but the defaults, or one configuration that was read before.

    A file is read again when its time, size or inode changes, or that of a file that it includes; a callable is called each
    time. Without an origin, the file that MEMORY_CORE_CONFIG names is read, else the person's own, as `load_config` says.

    Attributes:
        folder: The one in which work goes on, whose project is found where no workspace is named; None is the current one.
    """

    def __init__(
        self,
        origin: Origin | Config,
        *,
        workspace: str | Path | None = None,
        state_dir: str | Path | None = None,
        other_slots: Collection[str] = (),
        overrides: Document | None = None,
    ) -> None:
        self._origin = Path(expand_home(origin)) if isinstance(origin, str | Path) else origin
        self._workspace = None if workspace is None else Path(expand_home(workspace))
        self._state_dir = None if state_dir is None else Path(expand_home(state_dir))
        self._other_slots = frozenset(name.lower() for name in other_slots)
        self._overrides = overrides
        self.folder: Path | None = None
        self._held: tuple[object, Config] | None = None  # replaced as a whole: threads need no lock
        self._warned: set[str] = set()

    def current(self) -> Config:
        """Return the configuration as it is now.

        Raises:
            ConfigError: It cannot be read or used.
        """
        if isinstance(self._origin, Config):
            return self._origin
        document = self._call_host() if callable(self._origin) else self._origin
        found = find_default_config(os.environ, state_dir=self._state_dir) if document is None else document
        stamp = _stat(found) if isinstance(found, Path) else deepcopy(found)  # the host may change its own
        held = self._held
        folder = self.folder
        if held is not None and held[0] == (stamp, folder, *map(_look, held[1].included)):
            return held[1]
        loaded = load_config(
            document, workspace=self._workspace, state_dir=self._state_dir, overrides=self._overrides, folder=folder
        )
        if problem := find_slot_problem(loaded.slot, self._other_slots):
            raise ConfigError([problem], origin=loaded.origin)
        for warning in dict.fromkeys(each for agent in loaded.agents for each in loaded.agent(agent).warnings):
            if warning not in self._warned:
                log.warning("%s: %s", loaded.origin, warning)
                self._warned.add(warning)
        self._held = ((stamp, folder, *map(_look, loaded.included)), loaded)
        return loaded

    def forget(self) -> None:
        """Read all anew at the next call, as after a folder was made that decides which workspace is used."""
        self._held = None

    def _call_host(self) -> Document:
        assert callable(self._origin)
        try:
            return self._origin()
        except Exception as error:  # the host's own code may raise anything
            # Only the kind: the host's own words may hold a key.
            problem = f"the host's configuration cannot be had: {type(error).__name__}"
            raise ConfigError(problem, origin="host") from error


def find_slot_problem(slot: str, other_slots: Collection[str] = ()) -> ConfigProblem | None:
    """Return a problem that lists the known slots if no installed plugin offers a slot and the host did not name it.

    Installed packages are scanned only for a slot that is neither ours nor named.
    """
    if slot in {SLOT_ID, NO_SLOT, *other_slots}:
        return None
    from importlib.metadata import entry_points

    installed = {name.lower() for name in entry_points(group=SLOTS_GROUP).names}
    if slot in installed:
        return None
    known = ", ".join(f'"{name}"' for name in sorted({SLOT_ID, NO_SLOT, *other_slots, *installed}))
    return ConfigProblem("plugins.slots.memory", f'no plugin "{slot}" is known; known are {known}')


def _look(path: Path) -> tuple[int, int, int] | None:
    return _stat(path) if path.exists() else None


def _stat(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise ConfigError(problem, origin=str(path), action="correct --config") from error
    if stat.S_ISFIFO(found.st_mode):
        return 0, 0, found.st_ino  # it can be read once only
    return found.st_mtime_ns, found.st_size, found.st_ino
