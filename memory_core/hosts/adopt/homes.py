"""Homes, the places where other programs keep their memory, and how they are found: as these document it or their code says.

Nothing here writes.

OpenClaw, and Clawdbot and Moltbot as it was called before: `src/config/paths.ts` and `src/agents/agent-scope.ts`. Claude Code:
https://code.claude.com/docs/en/memory. Hermes: `tools/memory_tool.py` of NousResearch/hermes-agent. Obsidian:
https://help.obsidian.md. basic-memory: https://docs.basicmemory.com/concepts/knowledge-format. Exports: `exports`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from memory_core.config.agent import normalize_agent_id
from memory_core.config.documents import get_mapping, get_rows, read_file
from memory_core.config.environment import expand_home, fill, find_home, read_variables, shorten_home
from memory_core.config.projects import is_workspace
from memory_core.config.resolution import find_current_folder, make_absolute
from memory_core.config.settings import DEFAULT_AGENT
from memory_core.errors import ConfigError, InvalidArgument
from memory_core.history.git_log import list_ignored
from memory_core.hosts.adopt.exports import read_export
from memory_core.hosts.events import find_folder_of
from memory_core.hosts.install.programs import PROGRAMS
from memory_core.records import FileFailure, MemoryFile
from memory_core.sources.files import Survey
from memory_core.sources.refusals import SYMLINK
from memory_core.sources.roots import PACKAGE_TREES, Root, compile_glob, read_stamp
from memory_core.sources.vaults import Vault, find_vaults, is_regex
from memory_core.text.markdown import SECTION_SIGN, is_markdown

HERMES_NOTES = ("MEMORY.md", "USER.md")
HEAD_BYTES = 64 * 1024  # of a file, to see what it is
SHOWN_EXCLUDED = 3  # that are named one by one
TRASH = ("Trash", "trash", "_trash", "_Trash")
SAMPLED = 20  # notes that show if a folder is basic-memory's
# By the name of the configuration, and of the state folder, which begins with a dot.
TITLES = {"openclaw": "OpenClaw", "moltbot": "Moltbot", "clawdbot": "Clawdbot"}
SHARED_WORKSPACE = "~/clawd"  # the default of the oldest releases, outside the state folder
OPENCLAW_NOTES = ("MEMORY.md", "memory.md", "USER.md", "memory")  # what it searches in a workspace
_PERMALINK = re.compile(r"\A---\n(?:.*\n)*?permalink:", re.MULTILINE)

Layout = Literal["plain", "hermes"]


@dataclass(frozen=True, slots=True)
class FoundNote:
    """One file of a home.

    Attributes:
        file: The original.
        target: Its path below `memory/imports/`, POSIX, of a Markdown file.
        layout: The way in which it is written, which a copy turns into plain Markdown.
        data: The copy itself, where the file is an export.
        part: The name of the part of an export that has several.
    """

    file: MemoryFile
    target: str
    layout: Layout = "plain"
    data: bytes | None = None
    part: str = ""

    @property
    def origin(self) -> str:
        """The path of the original; the name of a part stands behind it and "#"."""
        return f"{self.file.real_path}#{self.part}" if self.part else str(self.file.real_path)


@dataclass(slots=True, kw_only=True)
class ServedHome:
    """The memory of one program in one place, as it is served.

    Attributes:
        source: The folder of its copies below `memory/imports/`, such as "claude-code".
        title: The program's name.
        path: The folder or file in which it was found.
        served: The files and folders that hold the notes, for `extraPaths`; none where notes are no Markdown.
        workspaces: The workspace of each agent, by id, for a program that has such; else empty.
        exclude: The files and folders that the program itself leaves out, as globs relative to what is served.
    """

    source: str
    title: str
    path: Path
    served: list[Path] = field(default_factory=list)
    workspaces: Mapping[str, Path] = field(default_factory=dict)
    exclude: Sequence[str] = ()


@dataclass(slots=True, kw_only=True)
class Home(ServedHome):
    """The memory of one program with its notes, each file once, under the refusals that hold for any folder of notes.

    Attributes:
        notes: Its files.
        remarks: What else was found, a few words each.
        failures: Files that cannot be read.
        vaults: The vaults that hold a folder, of those that were looked at; see `Root.vaults`.
    """

    notes: list[FoundNote] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failures: list[FileFailure] = field(default_factory=list)
    vaults: dict[str, tuple[Vault, ...]] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)
    _seen: set[Path] = field(default_factory=set)

    def serve(self, path: Path, below: str = "", *, layout: Layout = "plain") -> bool:
        """Collect what a file or folder holds, and serve it; return False if it holds nothing new. See `collect`."""
        before = len(self.notes)
        self.collect(path, below, layout=layout)
        if len(self.notes) > before:
            self.served.append(path)
        return len(self.notes) > before

    def collect(self, path: Path, below: str = "", *, layout: Layout = "plain") -> None:
        """Collect a file, or all Markdown files in a folder.

        Args:
            path: A Markdown file or a folder; one that is missing, or a symbolic link, holds nothing.
            below: The folder of the copies, below the home's own.
            layout: See `FoundNote`.
        """
        for relative, file in self._list(path):
            if file.real_path not in self._seen:
                self._seen.add(file.real_path)
                self.notes.append(FoundNote(file, self._choose_target(below, relative), layout))

    def list_hidden(self) -> list[str]:
        """Return what vaults leave out of the folders that were looked at, by paths relative to the home or by expressions."""
        top = f"{os.path.realpath(self.path)}/"
        names: list[str] = []
        for vault in dict.fromkeys(vault for held in self.vaults.values() for vault in held):
            for name, _ in vault.hidden:
                place = name if is_regex(name) else vault.folder + name
                names += [place.removeprefix(top)] if place == name or place.startswith(top) else []
        return names

    def _list(self, path: Path) -> Iterator[tuple[str, MemoryFile]]:
        if path.is_symlink():
            self.failures.append(FileFailure(path=shorten_home(path), reason=SYMLINK))
        if path.is_symlink() or not path.exists():
            return
        is_file, real = path.is_file(), os.path.realpath(path)
        skipped = frozenset() if is_file else PACKAGE_TREES
        left_out = tuple(filter(None, map(compile_glob, self.exclude)))
        root = Root(
            source="memory",
            configured=str(path),
            real=real,
            shown="",
            is_file=is_file,
            skipped=skipped,
            left_out=left_out,
            vaults=self.vaults,
        )
        listing = Survey([root.heed_vaults()]).list()
        self.failures += listing.failures
        for file in listing.files:
            yield (path.name if is_file else file.path), file

    def _choose_target(self, below: str, relative: str) -> str:
        parts = [self.source, *filter(None, [*below.split("/"), *relative.split("/")])]
        wanted = "/".join(make_fit(part) for part in parts)
        stem, target, number = wanted.removesuffix(".md"), wanted, 2
        while target.lower() in self._taken:  # two projects of one name, on file systems that fold case
            target, number = f"{stem}-{number}.md", number + 1
        self._taken.add(target.lower())
        return target


def make_fit(name: str) -> str:
    """Return a name under which a folder or file is indexed: not hidden, and without characters that no path should have."""
    kept = "".join("-" if ord(each) < 32 or each in '\\/:*?"<>|' else each for each in name).strip()
    return kept if kept[:1] not in {"", "."} else f"_{kept.lstrip('.')}"


def find_homes(path: str | None, time_zone: str | None = None) -> list[Home]:
    """Return the home at a path; without one, all homes in the usual places. Days of exports are those of a time zone.

    Raises:
        InvalidArgument: There is nothing at the path, or nothing that can be taken over.
        ConfigError: The path is relative, and the current folder was removed.
    """
    if path is None:
        return [*filter(None, _look_around())]
    place = make_absolute(path, find_current_folder(), os.environ)
    if not place.exists():
        raise InvalidArgument("PATH", f"there is no file or folder {place}")
    place = place.resolve() if place.is_symlink() else place  # whoever names a link means what it leads to
    finders = (
        find_openclaw,
        partial(find_export, time_zone=time_zone),
        find_claude_code,
        find_hermes,
        find_obsidian,
        find_basic_memory,
        find_folder,
    )
    found = next((home for find in finders if (home := find(place)) is not None), None)
    if found is None:
        real = os.path.realpath(place)
        root = Root(source="memory", configured=str(place), real=real, shown="", is_file=place.is_file())
        if problem := root.heed_vaults().problem:
            raise InvalidArgument("PATH", f"{place} {problem}", action="change the settings of that vault in Obsidian")
        lacks = "holds no Markdown, and nothing else" if place.is_dir() else "is no folder of notes, and no export"
        raise InvalidArgument("PATH", f"{place} {lacks} that is known")
    return [found]


def _look_around() -> Iterator[Home | None]:
    """Yield the home in each usual place, None where there is none."""
    for name in TITLES:
        yield find_openclaw(find_folder_of(f"{name.upper()}_STATE_DIR", f".{name}"))
    yield find_claude_code(PROGRAMS["claude-code"].find_home())
    yield find_hermes(PROGRAMS["hermes"].find_home())
    yield from map(find_obsidian, list_vaults())
    yield from map(find_basic_memory, list_basic_memory_projects())


def find_claude_code(folder: Path) -> Home | None:
    """Return the memory in Claude Code's folder, usually ~/.claude: CLAUDE.md, rules, and the notes of every project."""
    projects = folder / "projects"
    if not (projects.is_dir() or (folder.name == ".claude" and (folder / "CLAUDE.md").is_file())):
        return None
    home = Home(source="claude-code", title="Claude Code", path=folder)
    home.serve(folder / "CLAUDE.md")
    home.serve(folder / "rules", "rules")
    found = {each: _name_project(each) for each in sorted(projects.iterdir())} if projects.is_dir() else {}
    names = [name for project, name in found.items() if home.serve(project / "memory", f"projects/{name}")]
    if names:
        home.remarks.append(f"project{'s' if len(names) > 1 else ''} {', '.join(names)}")
    return home if home.notes else None


def _name_project(project: Path) -> str:
    """Return a project's name: the last part of the folder that its transcripts name, else the folder's own coded name."""
    for transcript in sorted(project.glob("*.jsonl"))[:3]:
        found = re.search(r'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")', _read_head(transcript))
        if found and (name := re.split(r"[/\\]", json.loads(found[1]).rstrip("/\\"))[-1]):
            return make_fit(name)
    return make_fit(project.name.lstrip("-"))


def find_hermes(folder: Path) -> Home | None:
    """Return the memory in Hermes' folder, usually ~/.hermes: `memories/MEMORY.md` and `memories/USER.md`."""
    memories = folder / "memories"
    place = memories if memories.is_dir() else folder
    files = [place / name for name in HERMES_NOTES if (place / name).is_file()]
    if not files or not (place is memories or any(SECTION_SIGN.search(_read_head(file)) for file in files)):
        return None
    home = Home(source="hermes", title="Hermes", path=folder)
    for file in files:
        home.serve(file, layout="hermes")
    return home if home.served else None


def find_obsidian(folder: Path) -> Home | None:
    """Return the notes of an Obsidian vault; its own folder, its plugins' and its trash are hidden, and so left out."""
    if not (folder / ".obsidian").is_dir():
        return None
    return _collect_folder("obsidian", "Obsidian vault", folder)


def _collect_folder(source: str, title: str, folder: Path) -> Home | None:
    """Return the Markdown in a folder without what its owner keeps out of searches; None if it has none."""
    home = Home(source=source, title=title, path=folder, exclude=find_excluded(folder))
    if not home.serve(folder, make_fit(folder.name)):
        return None
    names = [*home.list_hidden(), *home.exclude]
    folders = tuple(name for name in names if name.endswith("/"))
    named = [
        name for name in names if name in folders or not name.startswith(folders)
    ]  # what is below one goes with it
    if around := find_vaults(os.path.realpath(folder.parent), home.vaults):
        home.remarks.append(f"in the vault {shorten_home(Path(around[-1].folder))}")
    if named:
        home.remarks.append(f"without {_list_some(named)}")
    return home


def find_excluded(folder: Path) -> list[str]:
    """Return globs of what the owner of a folder keeps out of searches.

    That are what Logseq hides and keeps for itself, folders of deleted notes, and what git ignores now; Obsidian's own are
    read at every look, see `vaults`.
    """
    logseq, places = folder / "logseq" / "config.edn", list[str]()
    if logseq.is_file():
        hidden = re.search(r":hidden\s*\[([^\]]*)\]", re.sub(r";.*", "", _read_head(logseq)))
        places += ["logseq/", *re.findall(r'"/*([^"]+)"', hidden[1] if hidden else "")]
    places += [f"{name}/" for name in TRASH if (folder / name).is_dir()]
    found = [f"{_escape(place)}*" for place in places]  # what begins so; a folder that is left out is not entered
    return list(dict.fromkeys([*found, *map(_escape, list_ignored(folder))]))


def _escape(path: str) -> str:
    """Return a glob for a path; characters that mean something in globs match any."""
    return re.sub(r"[][{}*]", "?", path)


def _list_some(places: Sequence[str]) -> str:
    more = len(places) - SHOWN_EXCLUDED
    return ", ".join(place.rstrip("*") for place in places[:SHOWN_EXCLUDED]) + (f" and {more} more" if more > 0 else "")


def find_basic_memory(folder: Path) -> Home | None:
    """Return the notes of a basic-memory project: Markdown files most of which have a permalink in their front matter."""
    found = (Path(place, name) for place, _, names in os.walk(folder) for name in names if name.endswith(".md"))
    sample = [_read_head(path) for path in islice(sorted(found), SAMPLED)]
    if not sample or sum(map(bool, map(_PERMALINK.search, sample))) * 2 <= len(sample):
        return None
    return _collect_folder("basic-memory", "basic-memory", folder)


def find_export(place: Path, time_zone: str | None = None) -> Home | None:
    """Return what another program has exported, as JSON; its days are those of a time zone."""
    export = read_export(place, time_zone)
    if export is None:
        return None
    file = place if place.is_file() else next(place.glob("conversations*.json"))
    origin = MemoryFile(source="memory", path=file.name, real_path=file.resolve(), stamp=read_stamp(file.stat()))
    home = Home(source=export.source, title=export.title, path=place, remarks=[export.remark])
    for name, text in export.notes.items():
        target, part = f"{export.source}/{make_fit(name)}.md", name if len(export.notes) > 1 else ""
        home.notes.append(FoundNote(origin, target, data=text.encode("utf-8", "replace"), part=part))
    return home


def find_folder(folder: Path) -> Home | None:
    """Return a Markdown file, or those in any folder; as a workspace if it has the notes of one, else as a plain folder."""
    if is_markdown(folder.name) and folder.is_file():
        note = Home(source="folder", title="Markdown file", path=folder)
        return note if note.serve(folder) else None
    if not folder.is_dir():
        return None
    if not is_workspace(folder):
        return _collect_folder("folder", "folder of Markdown", folder)
    home = Home(source="workspace", title="workspace", path=folder, workspaces={"main": folder})
    for name, inner in {"MEMORY.md": "", "USER.md": "", "memory": "/memory"}.items():
        home.serve(folder / name, f"{folder.name}{inner}")
    return home if home.served else None


def list_vaults() -> Iterator[Path]:
    """Yield the vaults in Obsidian's own list of them."""
    home = Path(find_home())
    for place in (".config", "Library/Application Support", "AppData/Roaming", ".var/app/md.obsidian.Obsidian/config"):
        for vault in get_mapping(_read_json(home / place / "obsidian" / "obsidian.json"), "vaults").values():
            if isinstance(vault, Mapping) and isinstance(vault.get("path"), str):
                yield Path(vault["path"])


def list_basic_memory_projects() -> Iterator[Path]:
    """Yield the folders of basic-memory's projects, from its configuration, else the usual one."""
    home = Path(find_home())
    named = list(get_mapping(_read_json(home / ".basic-memory" / "config.json"), "projects").values())
    for each in named:
        path = each.get("path") if isinstance(each, Mapping) else each
        if isinstance(path, str):
            yield Path(path)
    if not named:
        yield home / "basic-memory"


def _read_head(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:
        return file.read(HEAD_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    return ""


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, Mapping) else {}


def find_openclaw(state_dir: Path) -> Home | None:
    """Return the home in a state folder; None if no such program keeps its state there."""
    named = next((file for name in TITLES if (file := state_dir / f"{name}.json").is_file()), None)
    if named is None and not (state_dir / "agents").is_dir():
        return None
    source = next((name for name in TITLES if state_dir.name == f".{name}"), named.stem if named else "openclaw")
    remarks = [] if named is None else [named.name]
    try:
        document: Mapping[str, Any] = {} if named is None else read_file(named)
    except ConfigError as error:
        document = {}
        remarks.append(f"which cannot be read: {error.problems[0]}")
    workspaces = dict(_list_workspaces(document, state_dir))
    home = Home(source=source, title=TITLES[source], path=state_dir, remarks=remarks, workspaces=workspaces)
    for agent, workspace in workspaces.items():
        for name in OPENCLAW_NOTES:
            home.collect(workspace / name, agent)
    if sessions := sum(1 for _ in state_dir.glob("agents/*/sessions/*.jsonl")):
        remarks.append(f"{sessions} session{'s' if sessions > 1 else ''}")
    remarks += [f"workspace {shorten_home(path)}" for path in dict.fromkeys(workspaces.values())]
    places = [path / name for path in workspaces.values() for name in OPENCLAW_NOTES]
    home.served += [place for place in places if place.exists() and not place.is_symlink()]
    return home


def _list_workspaces(document: Mapping[str, Any], state_dir: Path) -> Iterator[tuple[str, Path]]:
    """Yield every agent whose workspace exists, and that workspace."""
    agents = get_mapping(document, "agents")
    defaults = get_mapping(agents, "defaults").get("workspace") or get_mapping(document, "agent").get("workspace")
    entries = dict(_list_entries(agents)) or {DEFAULT_AGENT: {}}
    marked = next((name for name, entry in entries.items() if entry.get("default") is True), None)
    main = marked or (DEFAULT_AGENT if DEFAULT_AGENT in entries else next(iter(entries)))
    environ = {**read_variables(document, state_dir), **os.environ}
    for agent, entry in entries.items():
        own = entry.get("workspace") or (defaults if agent == main else None)
        named, missing = fill(own, environ) if isinstance(own, str) else ("", [])
        places = [_expand_path(named)] if named.strip() and not missing else _guess(agent, main, state_dir)
        if found := next((place for place in places if place.is_dir()), None):
            yield agent, found


def _list_entries(agents: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    pairs = [(entry.get("id"), entry) for entry in get_rows(agents, "list")]
    for name, entry in [*pairs, *get_mapping(agents, "entries").items()]:
        try:
            yield normalize_agent_id(str(name)), entry if isinstance(entry, Mapping) else {}
        except InvalidArgument:
            continue  # an id that none of our paths may hold


def _guess(agent: str, main: str, state_dir: Path) -> list[Path]:
    shared = Path(expand_home(SHARED_WORKSPACE))
    if agent == main:
        own = [] if state_dir.name == ".openclaw" else [shared]
        return [state_dir / "workspace", *own]
    return [state_dir / f"workspace-{agent}", shared.with_name(f"{shared.name}-{agent}")]


def _expand_path(path: str) -> Path:
    return Path(os.path.abspath(expand_home(path.strip())))  # noqa: PTH100  # symlinks stay as they are
