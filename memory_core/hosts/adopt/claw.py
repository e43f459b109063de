"""OpenClaw, and Clawdbot and Moltbot as it was called before: a state folder with a configuration, workspaces and sessions.

The names are those of OpenClaw's `src/config/paths.ts` and `src/agents/agent-scope.ts`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memory_core.config.agent import normalize_agent_id
from memory_core.config.documents import read_file
from memory_core.config.environment import expand_home
from memory_core.config.settings import DEFAULT_AGENT
from memory_core.errors import ConfigError, InvalidArgument
from memory_core.hosts.adopt.homes import Home, NoteCollector, shorten_home

STATE_FOLDERS = {"openclaw": ".openclaw", "moltbot": ".moltbot", "clawdbot": ".clawdbot"}
TITLES = {"openclaw": "OpenClaw", "moltbot": "Moltbot", "clawdbot": "Clawdbot"}
CONFIGURATIONS = ("openclaw.json", "moltbot.json", "clawdbot.json")
SHARED_WORKSPACE = "~/clawd"  # the default of the oldest releases, outside the state folder
NOTES = ("MEMORY.md", "memory.md", "USER.md", "memory")  # what these programs search in a workspace


def find(state_dir: Path) -> Home | None:
    """Return the home in a state folder; None if no such program keeps its state there."""
    named = next((state_dir / name for name in CONFIGURATIONS if (state_dir / name).is_file()), None)
    if named is None and not (state_dir / "agents").is_dir():
        return None
    source = _name_program(state_dir, named)
    remarks = [] if named is None else [named.name]
    try:
        document: Mapping[str, Any] = {} if named is None else read_file(named)
    except ConfigError as error:
        document = {}
        remarks.append(f"which cannot be read: {error.problems[0]}")
    workspaces = dict(_list_workspaces(document, state_dir))
    collector = NoteCollector(source)
    for agent, workspace in workspaces.items():
        for name in NOTES:
            collector.add(workspace / name, agent)
    if sessions := sum(1 for _ in state_dir.glob("agents/*/sessions/*.jsonl")):
        remarks.append(f"{sessions} session{'s' if sessions > 1 else ''}")
    remarks += [f"workspace {shorten_home(path)}" for path in dict.fromkeys(workspaces.values())]
    return Home(
        source=source,
        title=TITLES[source],
        path=state_dir,
        notes=tuple(collector.notes),
        served=tuple(path / name for path in workspaces.values() for name in NOTES if _is_there(path, name)),
        workspaces=workspaces,
        remarks=tuple(remarks),
        failures=tuple(collector.failures),
    )


def _name_program(state_dir: Path, configuration: Path | None) -> str:
    by_folder = {folder: name for name, folder in STATE_FOLDERS.items()}
    named = by_folder.get(state_dir.name)
    return named or (configuration.stem if configuration else "openclaw")


def _list_workspaces(document: Mapping[str, Any], state_dir: Path) -> Iterator[tuple[str, Path]]:
    """Yield every agent whose workspace exists, and that workspace."""
    agents = _get(document, "agents")
    defaults = _get(agents, "defaults").get("workspace") or _get(document, "agent").get("workspace")
    entries = dict(_list_entries(agents)) or {DEFAULT_AGENT: {}}
    marked = next((name for name, entry in entries.items() if entry.get("default") is True), None)
    main = marked or (DEFAULT_AGENT if DEFAULT_AGENT in entries else next(iter(entries)))
    for agent, entry in entries.items():
        own = entry.get("workspace") or (defaults if agent == main else None)
        places = [_expand(own)] if isinstance(own, str) and own.strip() else _guess(agent, main, state_dir)
        if found := next((place for place in places if place.is_dir()), None):
            yield agent, found


def _list_entries(agents: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    listed = agents.get("list")
    pairs = (
        [(entry.get("id"), entry) for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    )
    for name, entry in [*pairs, *_get(agents, "entries").items()]:
        try:
            yield normalize_agent_id(str(name)), entry if isinstance(entry, Mapping) else {}
        except InvalidArgument:
            continue  # an id that none of our paths may hold


def _guess(agent: str, main: str, state_dir: Path) -> list[Path]:
    shared = Path(expand_home(SHARED_WORKSPACE))
    if agent == main:
        own = [] if state_dir.name == STATE_FOLDERS["openclaw"] else [shared]
        return [state_dir / "workspace", *own]
    return [state_dir / f"workspace-{agent}", shared.with_name(f"{shared.name}-{agent}")]


def _expand(path: str) -> Path:
    return Path(os.path.abspath(expand_home(path.strip())))  # noqa: PTH100  # symlinks stay as they are


def _get(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, Mapping) else {}


def _is_there(workspace: Path, name: str) -> bool:
    path = workspace / name
    return path.exists() and not path.is_symlink()
