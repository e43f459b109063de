"""The hosts that memory-core can be installed into: where each keeps its configuration, and what it wants there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from memory_core.__about__ import __version__
from memory_core.config.editing import find_entry, read_document
from memory_core.config.environment import expand_home, find_home, quote_words
from memory_core.config.settings import SLOT_ID
from memory_core.errors import MemoryCoreError
from memory_core.hosts.events import HOSTS, find_folder_of
from memory_core.hosts.hooks import Copying, copy_claude_code, copy_codex, copy_opencode
from memory_core.hosts.install.changes import Elements, Entry, OwnFile, Part

PLUGIN = Path(__file__).parents[1] / "claude_code" / "plugin"
GEMINI_MANIFEST = "gemini-extension.json"
SERVER = ("mcpServers", SLOT_ID)  # the keys of the server's entry in files of ours
OPENCODE_PLUGIN = Path(__file__).with_name("opencode_plugin.js")
HOOK_SECONDS = 180  # more than a copy of a session may take
HOOK_STATUS = "memory-core"  # with what it does, Codex shows it while a hook runs


@dataclass(frozen=True, slots=True)
class Start:
    """The start of memory-core by a host.

    Attributes:
        words: The words that start it from any folder.
        options: The options that it always gets, by their names without dashes before them, such as "state-dir".
    """

    words: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)

    def write(self, *command: str) -> list[str]:
        """Return the whole command line."""
        given = [word for name, value in self.options.items() for word in (f"--{name}", value)]
        return [*self.words, *given, *command]


@dataclass(frozen=True, slots=True)
class Program:
    """A host.

    Attributes:
        title: Its name.
        find_home: Returns the folder of its configuration.
        plan: Returns our parts in that folder.
        note: What a user has to know after installing.
        serves: It starts the MCP server.
        in_folder: It does so in the folder of a session, whose notes are served.
        captures: It hands on its turns, which can be kept, and takes what is recalled for a message.
        find_idle: Returns, for its folder, which hooks of ours it does not run and why, and what to do; "" twice if it runs them.
        copying: How to copy its session, where it runs a hook of ours before it compacts one; else None.
    """

    title: str
    find_home: Callable[[], Path]
    plan: Callable[[Path, Start], list[Part]]
    note: str = ""
    serves: bool = True
    in_folder: bool = True
    captures: bool = False
    find_idle: Callable[[Path], tuple[str, str]] | None = None
    copying: Copying | None = None

    @property
    def is_local(self) -> bool:
        """It has no folder of its own: its configuration lies in the current one."""
        return self.find_home == Path.cwd

    def list_parts(self, options: Mapping[str, str] | None = None) -> list[Part]:
        """Return our parts in its folder, as they start this memory-core with some options."""
        return self.plan(self.find_home(), find_start(options))


def find_start(options: Mapping[str, str] | None = None) -> Start:
    """Return how to start this memory-core, whatever the path of the other program is."""
    script, found = Path(sys.executable).with_name("memory-core"), shutil.which("memory-core")
    words: tuple[str, ...] = (str(script),)
    if not script.exists():
        # Without -P, Python would import a memory_core of the folder in which the host happens to run.
        words = (sys.executable, "-P", "-m", "memory_core")
    elif found and Path(found).resolve() == script.resolve():
        words = (os.path.abspath(found),)  # noqa: PTH100 -- a link of pipx stays what it is when its environment moves
    return Start(words, options or {})


def find_problem(parts: Iterable[Part]) -> str:
    """Return why memory-core does not work in a host although these parts are in place; "" if it does."""
    for part in parts:
        try:
            text = part.path.read_text(encoding="utf-8-sig")
            is_manifest = isinstance(part, OwnFile) and part.path.name in ("plugin.json", GEMINI_MANIFEST)
            if is_manifest and json.loads(text)["version"] != __version__:
                return f"its plugin is not of version {__version__}"
            words = _read_words(part, text)
        except (ValueError, LookupError, TypeError, OSError):
            return f"{part.path} is damaged"
        if words and shutil.which(words[0]) is None:
            return f"it starts {words[0]}, which is no program"
    return ""


def read_options(parts: Iterable[Part]) -> dict[str, str]:
    """Return the options with which these parts start memory-core, by their names without dashes; {} where they have none.

    Raises:
        MemoryCoreError: A file of the host cannot be read.
    """
    words: list[str] = []
    for part in parts:
        try:
            text = part.path.read_text(encoding="utf-8-sig")
            words += _read_words(part, text)
        except (ValueError, TypeError, OSError) as error:
            raise MemoryCoreError(f"{part.path} cannot be read: {type(error).__name__}") from None
        if isinstance(part, OwnFile) and part.path.name == "__init__.py":
            # Keyword arguments, as `_plan_hermes` writes them.
            for key, value in re.findall(r"(\w+)=('[^']*'|\"[^\"]*\")", text):
                words += [f"--{key.replace('_', '-')}", value[1:-1]]
    return {word[2:]: value for word, value in pairwise(words) if word.startswith("--")}


def _read_words(part: Part, text: str) -> list[str]:
    """Return the command line of the server in the text of a part; [] in a part that starts none.

    Raises:
        ValueError: It is empty.
        TypeError: It is none.
    """
    if isinstance(part, Elements) or not part.keys:
        return []
    entry = find_entry(read_document(text, part.path.suffix), part.keys)
    command = entry.get("command") if isinstance(entry, dict) else None
    if command in (None, ""):
        return []
    first, *others = command if isinstance(command, list) else [command]
    return [*map(str, (first, *others, *(entry.get("args") or ())))]


def find_settings(linux: str, *, windows: str, mac: str, package: str = "") -> Path:
    """Return the folder of a desktop program's settings, which each system has elsewhere.

    Args:
        linux, windows, mac: Its name on each.
        package: The name of the folder in which Windows keeps the files of a packaged program apart, as a pattern.
    """
    if sys.platform == "win32":
        packages = find_folder_of("LOCALAPPDATA", "AppData", "Local") / "Packages"
        if package and (kept := sorted(packages.glob(f"{package}/LocalCache/Roaming/{windows}"))):
            return kept[0]
        return find_folder_of("APPDATA", "AppData", "Roaming") / windows
    if sys.platform == "darwin":
        return Path(find_home(), mac)
    return find_folder_of("XDG_CONFIG_HOME", ".config") / linux


def _serve(start: Start) -> dict[str, object]:
    """Return the entry of the server as most hosts write it."""
    command, *arguments = start.write("mcp")
    return {"command": command, "args": arguments}


def _quote_for_powershell(words: list[str]) -> str:
    """Return the line by which PowerShell starts a command."""
    return " ".join(["&", *("'" + word.replace("'", "''") + "'" for word in words)])


def _plan_claude_code(home: Path, start: Start) -> list[Part]:
    folder = home / "skills" / SLOT_ID  # a folder with a manifest in there is loaded as a plugin
    parts: list[Part] = []
    keys: tuple[str, ...]
    for path in sorted(path for path in PLUGIN.rglob("*") if path.is_file()):
        text, keys = path.read_text(encoding="utf-8"), ()
        if path.name == ".mcp.json":
            document, keys = json.loads(text), SERVER
            document["mcpServers"][SLOT_ID] |= _serve(start)
            text = json.dumps(document, indent=2) + "\n"
        elif path.name == "hooks.json":
            # Git Bash runs it on Windows.
            text = text.replace('"memory-core hook"', json.dumps(shlex.join(start.write("hook"))))
        parts.append(OwnFile(folder / path.relative_to(PLUGIN), text, keys))
    return parts


def _plan_codex(home: Path, start: Start) -> list[Part]:
    # Codex waits for required servers only; without that the first turn on a busy machine has no tools of ours.
    server = Entry(home / "config.toml", ("mcp_servers", SLOT_ID), {**_serve(start), "required": True})
    words = start.write("hook", "codex")
    command = quote_words(*words)  # cmd.exe runs it on Windows

    def make(does: str, seconds: int, **matcher: str) -> dict[str, object]:
        status = f"{HOOK_STATUS} {does}"
        return {
            **matcher,
            "hooks": [{"type": "command", "command": command, "timeout": seconds, "statusMessage": status}],
        }

    hooks = {
        "SessionStart": make("reads the notes", 20, matcher="startup|clear|compact"),
        "UserPromptSubmit": make("recalls", 10),
        "Stop": make("keeps the turn", 20),
        "SubagentStop": make("keeps the turn", 20),
        "PreCompact": make("saves what should last", HOOK_SECONDS),
    }
    return [server, Elements(home / "hooks.json", ("hooks",), hooks, f'"statusMessage": "{HOOK_STATUS} ')]


def _find_idle_hooks(home: Path) -> tuple[str, str]:
    """Return the events whose hook of ours Codex does not run: its user has not trusted it, or has switched it, or all, off.

    Codex keeps that in its configuration by the file of a hook, its event and its place there. It keeps a hash, too, by which it
    finds that a trusted hook has changed; how it makes that is its own affair, so a changed hook is not told of here.
    """
    elements = _plan_codex(home, Start(()))[1]
    assert isinstance(elements, Elements)
    file = elements.path
    try:
        lists = read_document(file.read_text(encoding="utf-8-sig"), file.suffix)["hooks"]
        kept = read_document((home / "config.toml").read_text(encoding="utf-8-sig"), ".toml")
    except (OSError, ValueError, LookupError):
        return "", ""  # what is wrong with the files is told elsewhere
    if find_entry(kept, ("features", "hooks")) is False:
        return "Codex runs no hooks, since features.hooks is false in its config.toml", "set it to true"
    states = find_entry(kept, ("hooks", "state"))
    if not isinstance(states, dict):
        states = {}  # Codex trusts nothing by that

    def is_trusted(event: str) -> bool:
        number = next(number for number, each in enumerate(lists[event]) if elements.is_ours(each))
        place = f":{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', event).lower()}:{number}:0"
        return any(
            isinstance(state, dict) and state.get("trusted_hash") and state.get("enabled", True)
            for key, state in states.items()
            if key.endswith(place) and os.path.realpath(key.removesuffix(place)) == os.path.realpath(file)
        )

    untrusted = [event for event in elements.find_lists(lists) if not is_trusted(event)]
    why = f"Codex does not run the hooks of memory-core before they are trusted: {', '.join(untrusted)}"
    return (why, "type /hooks in Codex, and trust them") if untrusted else ("", "")


def _plan_opencode(home: Path, start: Start) -> list[Part]:
    names = [name for name in ("opencode.jsonc", "opencode.json") if (home / name).exists()]
    entry = {"type": "local", "command": start.write("mcp"), "enabled": True}
    command = json.dumps(start.write("hook", "opencode"))
    plugin = OPENCODE_PLUGIN.read_text(encoding="utf-8").replace('["memory-core", "hook", "opencode"]', command)
    return [
        Entry(home / (names or ["opencode.json"])[0], ("mcp", SLOT_ID), entry),
        OwnFile(home / "plugin" / f"{SLOT_ID}.js", plugin),
    ]


def _plan_gemini(home: Path, start: Start) -> list[Part]:
    folder = home / "extensions" / SLOT_ID  # Gemini CLI loads an extension from there
    manifest = {"name": SLOT_ID, "version": __version__, "mcpServers": {SLOT_ID: _serve(start)}}
    words = start.write("hook", "gemini")
    command = _quote_for_powershell(words) if sys.platform == "win32" else shlex.join(words)  # Gemini CLI runs it there
    hook = {"type": "command", "name": SLOT_ID, "command": command, "timeout": 20_000}
    hooks = {"hooks": {name: [{"hooks": [hook]}] for name in HOSTS["gemini"].kinds}}
    files = {GEMINI_MANIFEST: manifest, "hooks/hooks.json": hooks}
    return [
        OwnFile(folder / name, json.dumps(text, indent=2) + "\n", SERVER if name == GEMINI_MANIFEST else ())
        for name, text in files.items()
    ]


def _plan_copilot(home: Path, start: Start) -> list[Part]:
    entry = {"type": "local", **_serve(start), "tools": ["*"]}
    words = start.write("hook", "copilot")
    lines = {"bash": shlex.join(words), "powershell": _quote_for_powershell(words)}
    hook = {"type": "command", **lines, "timeoutSec": 20}
    hooks = {"version": 1, "hooks": {name: [hook] for name in HOSTS["copilot"].kinds}}
    return [
        Entry(home / "mcp-config.json", ("mcpServers", SLOT_ID), entry),
        OwnFile(home / "hooks" / f"{SLOT_ID}.json", json.dumps(hooks, indent=2) + "\n"),
    ]


def _plan_openclaw(home: Path, start: Start) -> list[Part]:
    named = os.environ.get("OPENCLAW_CONFIG_PATH")
    path = Path(expand_home(named)) if named else home / "openclaw.json"
    return [Entry(path, ("mcp", "servers", SLOT_ID), _serve(start))]


def _plan_entry(
    home: Path, start: Start, *, file: str, keys: Sequence[str], also: Mapping[str, object] | None = None
) -> list[Part]:
    """Return the plan of a host that starts the server by one entry in a file of its home."""
    return [Entry(home / file, (*keys, SLOT_ID), {**(also or {}), **_serve(start)})]


def _plan_hermes(home: Path, start: Start) -> list[Part]:
    folder = home / "plugins" / SLOT_ID
    given = ", ".join(f"{name.replace('-', '_')}={value!r}" for name, value in start.options.items())
    module = (
        '"""Loads memory-core into Hermes, in whose environment it has to be installed."""\n\n'
        "from memory_core.hosts.hermes import MemoryCoreProvider\n\n\n"
        "def register(ctx):\n"
        f"    ctx.register_memory_provider(MemoryCoreProvider({given}))\n"
    )
    about = "Markdown notes, searched by meaning and by keyword, offline."
    manifest = f"name: {SLOT_ID}\nversion: {__version__}\ndescription: {about}\n"
    return [
        OwnFile(folder / "__init__.py", module),
        OwnFile(folder / "plugin.yaml", manifest),
        Entry(home / "config.yaml", ("memory", "provider"), SLOT_ID),
    ]


_PLANS = {
    "claude-code": _plan_claude_code,
    "codex": _plan_codex,
    "opencode": _plan_opencode,
    "gemini": _plan_gemini,
    "openclaw": _plan_openclaw,
    "copilot": _plan_copilot,
    "hermes": _plan_hermes,
}
_COPYING = {
    "claude-code": Copying("claude", "CLAUDE_PID", copy_claude_code),
    "codex": Copying("codex", "", copy_codex),
    "opencode": Copying("opencode", "", copy_opencode),
}
_FIND_IDLE = {"codex": _find_idle_hooks}


def _read_program(name: str, told: dict[str, Any]) -> Program:
    """Return a program as programs.toml describes it."""
    home, below = told.pop("home", ()), told.pop("below", "")
    find_home: Callable[[], Path] = partial(find_folder_of, *home, below=below) if home else Path.cwd
    if settings := told.pop("settings", None):
        find_home = partial(find_settings, **settings)
    entry = told.pop("entry", None)
    plan = partial(_plan_entry, **entry) if entry else _PLANS[name]
    return Program(find_home=find_home, plan=plan, find_idle=_FIND_IDLE.get(name), copying=_COPYING.get(name), **told)


def find_host(asked: str) -> str | None:
    """Return the id of the host that is meant by an id, a title or a command, whatever its case and hyphens; None if none is."""

    def fold(text: str) -> str:
        return re.sub(r"[\W_]", "", text).lower()

    for name, program in PROGRAMS.items():
        command = program.copying.program if program.copying else name
        if fold(asked) in map(fold, (name, program.title, command)):
            return name
    return None


_TABLES = tomllib.loads(Path(__file__).with_name("programs.toml").read_text(encoding="utf-8"))
PROGRAMS: Mapping[str, Program] = {name: _read_program(name, told) for name, told in _TABLES.items()}
