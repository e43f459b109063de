"""Tool calls with anything at all in their names, arguments and contexts: never an exception, never a byte too many.

Twenty calls share a world: two agents' workspaces, files outside of them that nobody may read, a configuration, a slot.
Every file holds a token of its own, so that what an answer shows tells which files were read.
"""

# ruff: noqa: E501 - lists of hostile values are kept short in lines, which are long
from __future__ import annotations

import asyncio
import json
import random
import shutil
import string
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, ClassVar

import memory_core
from memory_core import CallContext
from memory_core.plugin import MemorySlot
from tests.torture.attack import Attack, Outcome
from tests.torture.notes import contents
from tests.torture.watch import brief, watching

CALL_SECONDS = 10.0
TODAY = date(2026, 3, 7)
NOTE, LONGTERM, OUTSIDE = "TOKENNOTE", "TOKENLONGTERM", "TOKENOUTSIDE"
AGENTS = ("main", "bob")

# A scope by name -> whether a chat of that type is let in, when it is no trusted local call.
_DIRECT_ONLY = {"default": "deny", "rules": [{"action": "allow", "match": {"chatType": "direct"}}]}
SCOPES: Mapping[str, Any] = {"all": {"default": "allow"}, "direct": _DIRECT_ONLY, "nobody": {"default": "deny"}}


@dataclass(frozen=True, slots=True)
class Setup:
    """The configuration of a world, as far as the verdicts need it."""

    scope: str
    on: bool
    config: dict[str, Any]


@dataclass(slots=True)
class World:
    """Folders, a slot, and how the files stood before the next call."""

    base: Path
    setup: Setup
    slot: MemorySlot
    before: dict[str, bytes]

    def workspace(self, agent: str) -> Path:
        return self.base / agent


class ToolAttack(Attack):
    """See the module."""

    name: ClassVar[str] = "tools"
    full: ClassVar[int] = 10_000
    group: ClassVar[int] = 20
    share: ClassVar[float] = 0.25

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self._world: tuple[int, World] | None = None
        self._template = folder / "template"
        _make_files(self._template)
        for agent in AGENTS:
            config = _config("all", on=True)
            with memory_core.open_memory(
                config, agent=agent, workspace=self._template / agent, state_dir=self._template / "state"
            ) as memory:
                memory.sync()

    def run(self, number: int) -> Outcome:
        world = self._world_of(number)
        dice, outcome = self.dice(number), Outcome()
        context = _context(dice)
        name, call = self._call(dice, world.slot, context)
        answer: Any = None
        with watching() as seen:
            begun = time.monotonic()
            try:
                answer = call()
            except Exception as error:  # noqa: BLE001 - that any came is the finding
                outcome.add("down", f"{name} raises {type(error).__name__}", f"{context!r}\n{brief(error)}")
            seconds = time.monotonic() - begun
        if seconds > CALL_SECONDS:
            outcome.add("down", f"{name} takes too long", f"{seconds:.1f} s")
        if seen.stray:
            outcome.add("down", "an error of a thread reaches nobody", seen.stray[0])
        self._judge(name, answer, context, world, outcome)
        self._compare(name, context, world, outcome)
        return outcome

    def close(self) -> None:
        if self._world is not None:
            _, world = self._world
            world.slot.close()
            shutil.rmtree(world.base, ignore_errors=True)
            self._world = None

    def _world_of(self, number: int) -> World:
        group = number // self.group
        if self._world is None or self._world[0] != group:
            self.close()
            dice = self.dice(group, "world")
            base = self.folder / f"world-{number}"
            shutil.copytree(self._template, base, symlinks=True)
            setup = _setup(dice, base)
            if not setup.on or dice.random() < 0.2:
                shutil.rmtree(base / "state")
            slot = MemorySlot(lambda: setup.config, state_dir=base / "state", today=lambda: TODAY)
            self._world = group, World(base, setup, slot, contents(base))
        return self._world[1]

    def _call(self, dice: random.Random, slot: MemorySlot, context: Any) -> tuple[str, Callable[[], Any]]:
        """A method by name, and its call."""
        name, arguments = _tool(dice)
        session = _junk(dice) if dice.random() < 0.5 else context
        others: list[tuple[str, Callable[[], Any]]] = [
            ("acall_tool", lambda: asyncio.run(slot.acall_tool(name, arguments, context))),
            ("tool_schemas", lambda: slot.tool_schemas(context)),
            ("prompt_section", lambda: slot.prompt_section(context)),
            *[("session_context", lambda: slot.session_context(context))] * 6,
            ("session_started", lambda: slot.session_started(context)),
            ("session_updated", lambda: slot.session_updated(dice.choice(_KEYS))),
            ("before_compaction", lambda: str(slot.before_compaction(session))),
            ("should_flush", lambda: str(slot.should_flush(session))),
            ("session", lambda: str(slot.session(_as_context(context), dice.choice(_KEYS)))),
            ("status", lambda: str(slot.status(dice.choice(_AGENTS)))),
        ]
        return (
            ("call_tool", lambda: slot.call_tool(name, arguments, context))
            if dice.random() < 0.75
            else dice.choice(others)
        )

    def _judge(self, name: str, answer: Any, context: Any, world: World, outcome: Outcome) -> None:
        """Add a finding for all that the answer shows and this context may not see."""
        try:
            text = json.dumps(answer, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            outcome.add("down", f"{name} returns what json.dumps refuses", f"{error}: {answer!r}")
            return
        try:
            json.dumps(answer, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            outcome.add("down", f"{name} returns what UTF-8 cannot carry", f"{error}: {text}")
        if name in {"call_tool", "acall_tool"} and answer is not None:
            if not isinstance(answer, dict):
                outcome.add("down", f"{name} returns no dict", text)
            elif "defect" in answer.get("action", ""):
                outcome.add(
                    "down", f"{name} answers an internal error: {answer['error'].split(':')[0]}", f"{context!r}\n{text}"
                )
            else:
                outcome.count(_verdict(answer))
        else:
            outcome.count(name)
        if OUTSIDE in text:
            outcome.add("leaked", f"{name} shows a file that is no note", f"{context!r}\n{text}")
        asked = _agent(context)
        for agent in AGENTS:
            if agent != asked and f"{NOTE}{agent}" in text:
                outcome.add("leaked", f"{name} shows another agent's note", f"{context!r}\n{text}")
        if (NOTE in text or LONGTERM in text) and (why := _barred(context, world.setup)):
            outcome.add("leaked", f"{name} shows notes although {why}", f"{world.setup.config}\n{context!r}\n{text}")
        if name == "session_context" and LONGTERM in text and not _is_main(context):
            outcome.add("leaked", "MEMORY.md is offered to what is not the main private session", repr(context))

    def _compare(self, name: str, context: Any, world: World, outcome: Outcome) -> None:
        """Add a finding for all that changed on the disk and that this context may not change."""
        after = contents(world.base)
        for path, old in world.before.items():
            new = after.get(path)
            if path.startswith("state/"):
                continue
            if new is None:
                outcome.add("lost", f"{name} removes a file", path)
            elif not new.startswith(old):
                outcome.add("lost", f"{name} changes what a file held", f"{path}: {new[:300]!r}")
        for path in after:
            new_bytes = after[path][len(world.before.get(path, b"")) :]
            if not new_bytes or path.startswith("state/"):
                continue
            self._written(name, path, context, world, outcome)
        if not world.setup.on and any(path.startswith("state/") and ".sqlite" in path for path in after):
            outcome.add(
                "leaked",
                f"{name} indexes notes although memory is off",
                [path for path in after if path.startswith("state/")],
            )
        world.before = after

    def _written(self, name: str, path: str, context: Any, world: World, outcome: Outcome) -> None:
        """One file that has grown, or is new."""
        agent = _agent(context)
        access = getattr(context, "access", "rw")
        if name not in {"call_tool", "acall_tool"} or access != "rw" or not world.setup.on:
            outcome.add("lost", f"{name} writes although it may not", f"{path}, {context!r}, on {world.setup.on}")
        elif path not in {f"{agent}/MEMORY.md", f"{agent}/memory/{TODAY}.md"}:
            outcome.add("lost", f"{name} writes another file than a note of its agent", f"{path}, {context!r}")
        elif path.endswith("MEMORY.md") and not _is_main(context):
            outcome.add("leaked", "MEMORY.md is written from what is not the main private session", repr(context))
        elif why := _barred(context, world.setup):
            outcome.add("leaked", f"{name} writes although {why}", f"{path}, {context!r}")


def _make_files(base: Path) -> None:
    for agent in AGENTS:
        workspace = base / agent
        (workspace / "memory" / "deep").mkdir(parents=True)
        (workspace / ".hidden").mkdir()
        note = f"# Notes\n\nThe kettle of {NOTE}{agent} is copper, and the dentist is in the harbour.\n"
        (workspace / "MEMORY.md").write_text(
            f"# Memory\n\nThe lantern of {LONGTERM} {NOTE}{agent} hangs in the cellar.\n"
        )
        for at in range(3):
            (workspace / "memory" / f"{TODAY - timedelta(days=at)}.md").write_text(note)
        (workspace / "memory" / "deep" / "fence.md").write_text(f"# Fence\n\nThe fence of {NOTE}{agent} is green.\n")
        for inside in (
            "secret.txt",
            ".hidden/secret.md",
            "memory/secret.txt",
            "memory/.secret.md",
            "notes.md",
            "IDENTITY.md",
            "memory/x.md.bak",
        ):
            (workspace / inside).write_text(f"# Kettle\n\nThe kettle of {OUTSIDE} is in the harbour.\n")
        (workspace / "memory" / "link.md").symlink_to(base / "outside" / "secret.md")
        (workspace / "memory" / "linked").symlink_to(base / "outside")
    (base / "outside").mkdir()
    for name in ("secret.md", "MEMORY.md", "2026-03-07.md"):
        (base / "outside" / name).write_text(f"# Kettle\n\nThe kettle of {OUTSIDE} is in the harbour.\n")
    (base / "secret.md").write_text(f"The kettle of {OUTSIDE}.\n")
    (base / "state").mkdir()


def _config(scope: str, *, on: bool, **more: Any) -> dict[str, Any]:
    return {
        "plugins": {"slots": {"memory": "memory-core"}},
        "memory": {"scope": SCOPES[scope], "citations": more.pop("citations", "auto")},
        "agents": {"defaults": {"memorySearch": {"provider": "static", "enabled": on, "sync": {"watch": False}}}},
        **more,
    }


def _setup(dice: random.Random, base: Path) -> Setup:
    scope = dice.choices(list(SCOPES), [5, 2, 1])[0]
    off = dice.choices(["", "enabled", "slot", "other slot"], [12, 1, 1, 1])[0]
    config = _config(scope, on=off != "enabled", citations=dice.choice(["auto", "on", "off"]))
    if off == "slot":
        config["plugins"]["slots"]["memory"] = dice.choice(["none", "None", "NONE"])
    elif off == "other slot":
        config["plugins"]["slots"]["memory"] = "nobody-knows-this"
    config["agents"]["list"] = [{"id": agent, "workspace": str(base / agent)} for agent in AGENTS]
    if dice.random() < 0.2:
        config["agents"]["defaults"]["memorySearch"]["provider"] = "none"
    return Setup(scope, not off, config)


# What a call may see, by the rules that users are told.


def _agent(context: Any) -> str:
    told_agent = getattr(context, "agent", None)
    return told_agent.lower() if isinstance(told_agent, str) and told_agent else "main"


def _chat_type(context: Any) -> Any:
    found = getattr(context, "chat_type", None)
    return found.casefold() if isinstance(found, str) else found


def _is_local(context: Any) -> bool:
    """A trusted local caller: nothing says that a chat asks. An empty chat type says nothing, as an empty channel does."""
    return context is None or (
        isinstance(context, CallContext) and context.session_key is None and _chat_type(context) in (None, "", "direct")
    )


def _is_main(context: Any) -> bool:
    """The agent's main private session. A bare "main" may count as one."""
    if not isinstance(context, CallContext):
        return context is None
    if context.main is not None and isinstance(context.main, bool):
        return context.main
    if _is_local(context):
        return True
    key = context.session_key.casefold() if isinstance(context.session_key, str) else None
    return key in {f"agent:{_agent(context)}:main", "main"} and _chat_type(context) in (None, "", "direct")


def _barred(context: Any, setup: Setup) -> str:
    """Why this context may see no note; "" when it may."""
    if not setup.on:
        return "memory is off"
    if getattr(context, "access", "rw") == "none":
        return "the session has no access"
    if _is_local(context) or setup.scope == "all":
        return ""
    if setup.scope == "nobody" or _chat_type(context) != "direct":
        return "the scope denies it"
    return ""


def _verdict(answer: Mapping[str, Any]) -> str:
    for name in ("disabled", "denied", "unavailable"):
        if answer.get(name):
            return name
    if "code" in answer:
        return str(answer["code"])
    if "results" in answer:
        return "search" if answer["results"] else "search, no hits"
    return f"get {answer['status']}" if "text" in answer else str(answer.get("status"))


# Dice.

_KEYS: tuple[Any, ...] = (
    "agent:main:main", "agent:bob:main", "main", "slack:channel:main", "telegram:group:main", "cron:x:main", "subagent:7:main", "agent:main:main:",
    ":main", "::main", "agent::main", "AGENT:MAIN:MAIN", "agent:main:telegram:group:42", "agent:main:telegram:direct:7", "agent:main:subagent:main",
    "agent:main:cron:main", "", " ", "agent:main:main\n", "agent:main:ma\u0131n", "\0", "\ud800", "a" * 5000, "heartbeat", "agent:main\0:main",
    "agent:alice:main", "hook:agent:main", "agent:main:main:thread:9", "x:y:main", "agent:*:main", "agent:../x:main", 0, 5, b"main", ["main"], {}, True,
)  # fmt: skip
_AGENTS: tuple[Any, ...] = (
    None,
    "main",
    "bob",
    "Main",
    "alice",
    "",
    "..",
    "../bob",
    "bob/..",
    "a" * 200,
    "main\0",
    "\ud800",
    " main",
    "bob\n",
    "m\u0131in",
    5,
    [],
    "-x",
)
_CHAT_TYPES: tuple[Any, ...] = (
    None,
    None,
    "direct",
    "direct",
    "group",
    "channel",
    "Direct",
    "",
    "dm",
    "\0",
    5,
    [],
    {},
    True,
    "thread",
    "\ud800",
)
_ACCESS: tuple[Any, ...] = ("rw", "rw", "rw", "rw", "rw", "ro", "none", None, "RW", "", 5, [], "root")
_PATHS: tuple[str, ...] = (
    *("MEMORY.md", "memory/2026-03-07.md", "memory/2026-03-06.md", "memory/deep/fence.md") * 4, "memory.md", "../outside/secret.md", "../secret.md",
    "memory/../../outside/secret.md", "memory/link.md", "memory/linked/secret.md", "memory/linked/../../secret.md", "..\\outside\\secret.md",
    "%2e%2e/secret.md", "..%2fsecret.md", "file:///etc/passwd", "/etc/passwd", "~/secret.md", "~root/x.md", "$HOME/secret.md", "MEMORY.md\0.txt", "MEMORY.md\n",
    "memory/2026-03-07.md#L1-L3", "MEMORY.md#L3", "MEMORY.md:L1-L2", "MEMORY.md#L0-L99999999999999999999", "MEMORY.md#L3-L1", "Source: MEMORY.md#L1-L3",
    "./MEMORY.md", "memory//2026-03-07.md", "memory/./2026-03-07.md", "/memory/2026-03-07.md", "memory/2026-03-07.md/", "memory/", "memory", ".", "..", "", "/", "//",
    "MEMORY\u2024md", "\uff0e\uff0e/secret.md", "memory\uff0fsecret.md", "a/" * 3000 + "x.md", "a" * 5000 + ".md", "/dev/zero", "/proc/self/environ", "qmd/x/../../secret.md",
    "qmd/memory/MEMORY.md", "\ud800.md", "secret.txt", ".hidden/secret.md", "memory/secret.txt", "memory/.secret.md", "notes.md", "IDENTITY.md", "memory/x.md.bak",
    "memory/deep/../../.hidden/secret.md", "../bob/MEMORY.md", "../main/MEMORY.md", "../bob/memory/2026-03-07.md", "../state/memory/main.sqlite", "CON", "memory/2026-03-07.MD",
    "{base}/outside/secret.md", "{base}/main/MEMORY.md", "{base}/bob/MEMORY.md", "memory/\u202efence.md", "MEMORY.md;cat /etc/passwd", "memory/*.md", "memory/????-??-??.md",
)  # fmt: skip
_QUERIES: tuple[str, ...] = (
    *("kettle", "Where is the copper kettle?", "the green fence", "dentist harbour") * 4, "lantern in the cellar", f"{OUTSIDE}", f"{NOTE}bob", LONGTERM, "", " ", "\0", "\n\n", "*", '"', "'", "a AND b OR NOT (", 'NEAR("x" 5)',
    "kettle*", "path:MEMORY", "^kettle", "{a b}: c", "'; DROP TABLE chunks; --", "%", "_", "\\", "\ud800 kettle", "\ufeff", "\u202ekettle", "🫖", "今天", "ひらがな", "x" * 3000,
    "kettle " * 2000, "(" * 2000, "2026-03-07", "yesterday", "last week kettle", "in the year 99999", "between 0000-00-00 and 9999-99-99", "-1 days ago", "1e400 kettles", "\x1b[31mkettle",
    "between " * 500, "3 days before 2026-03-07", "999999999999 weeks ago", "../../secret.md", "a.b.c." * 500, "1" * 3000, "e\u0301" * 1000, "kettle\0dentist", "the of and",
)  # fmt: skip
_TEXTS: tuple[str, ...] = (
    "The new fence is green.", "# Heading\n\nText under it.", "", " \n ", "\0", "\ud800", "```\ncode that never ends", "<!-- a comment that never ends", "<script>", "---\na: b\n---\n",
    "> quoted\n\n- list\n  - deeper", "\r\n\r\nlines\r\n", "a" * 20_000, "\x1b[2J control \x07", "# Memory", "# 2026-03-07", "~~~~\nother fence", "\u2028\u2029", "a\n" * 3000,
    "[link](x)\n\n[x]: file:///etc/passwd", "<pre>\nopen", "\t\tindented", "![CDATA[", "\ufeffmark", "Source: MEMORY.md#L1", "para one\n\npara two\n\npara one", "***", "=====", "1" * 400,
)  # fmt: skip
_NAMES: tuple[Any, ...] = (
    "", " ", None, 5, [], {}, ("memory_get",), b"memory_get", "memory_search\0", "MEMORY_SEARCH", "memory_delete", "__class__", "memory_search ", "\ud800", "a" * 10_000, True, "exec", "../memory_get",
)  # fmt: skip
_SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 6, 100, 101, 2**31, 2**63, -(2**63), 10**400, 0.0, 0.5, 1.0, 1.5, -0.5, float("nan"), float("inf"), 1e308, "3", "0", "-1", "1e3", "", "abc", "null", "3.0",
    [], [1], {}, {"a": 1}, "2026-03-07", "2026-13-45", "0000-00-00", "9999-12-31", "0001-01-01", "2026-03-07T00:00:00Z", "20260307", "2026-W10-1", "tomorrow", "\ud800", "\0", b"3", (1, 2), {3},
)  # fmt: skip


def _junk(dice: random.Random) -> Any:
    """Any value that a careless host may pass."""
    deep: Any = []
    for _ in range(dice.choice([3, 500])):
        deep = [deep] if dice.random() < 0.9 else {"a": deep}
    made = [
        "".join(dice.choices(string.printable, k=dice.randrange(60))),
        deep,
        object,
        {"agent": "main"},
        dice.randbytes(20),
        10 ** dice.randrange(300),
    ]
    return dice.choice([*_SCALARS, *made])


def _context(dice: random.Random) -> Any:
    if dice.random() < 0.25:
        return None
    if dice.random() < 0.03:
        return dice.choice([{}, {"agent": "main"}, "main", 5, [], object()])
    plain = dice.random() < 0.9  # most contexts have at most one thing wrong with them, or nothing would be answered
    strange = dice.choice(["agent", "session_key", "session_key", "chat_type", "access", "", "", ""]) if plain else ""
    told_facts = {
        "agent": dice.choice(_AGENTS if strange == "agent" or not plain else (None, "main", "bob")),
        "session_key": dice.choice(_KEYS if strange == "session_key" or not plain else (None, *_KEYS[:10])),
        "chat_type": dice.choice(
            _CHAT_TYPES if strange == "chat_type" or not plain else (None, "direct", "group", "channel")
        ),
        "channel": dice.choice([None, "telegram", "slack", "", 5, "\ud800"]) if not plain else None,
        "access": dice.choice(_ACCESS if strange == "access" or not plain else ("rw",) * 8 + ("ro", "none")),
        "main": dice.choice([None, None, None, True, False]),
    }
    return CallContext(**told_facts)


def _as_context(context: Any) -> CallContext:
    """For a method that promises nothing of other values."""
    return context if isinstance(context, CallContext) else CallContext()


def _tool(dice: random.Random) -> tuple[Any, Any]:
    """A tool's name and its arguments, the more often the less wrong."""
    name = dice.choice(
        [
            "memory_search",
            "memory_get",
            "memory_append",
            "memory_search",
            "memory_get",
            "memory_append",
            "search_memory",
            "get_memory",
        ]
    )
    arguments = dict(_arguments(dice, name))
    if dice.random() < 0.05:
        name = dice.choice(_NAMES)
    if dice.random() < 0.06:
        arguments[
            dice.choice(["path", "query", "text", "limit", "", "\0", "\ud800", "__proto__", "maxResults", "from"])
        ] = _junk(dice)
    if dice.random() < 0.03:
        arguments[dice.choice([5, None, ("a",), b"x", True])] = _junk(dice)  # type: ignore[index]
    return name, _junk(dice) if dice.random() < 0.04 else arguments


def _arguments(dice: random.Random, name: str) -> Iterator[tuple[str, Any]]:
    def odd(usual: tuple[Any, ...]) -> Any:
        return dice.choice(usual) if dice.random() < 0.93 else _junk(dice)

    optional: tuple[tuple[str, tuple[Any, ...]], ...]
    if "search" in name:
        yield "query", odd(_QUERIES)
        optional = (
            ("maxResults", (1, 3, 6, 100)), ("minScore", (0, 0.0, 0.2, 1)), ("after", ("2026-03-06", "0001-01-01")), ("before", ("2026-03-06", "9999-12-31")),
        )  # fmt: skip
    elif "get" in name:
        yield "path", odd(_PATHS)
        optional = (("from", (1, 2, 10**9)), ("lines", (1, 5, 10**9)))
    else:
        yield "text", odd(_TEXTS)
        optional = (("target", ("daily", "longterm", "longterm", "longterm")),)
    for key, values in optional:
        if dice.random() < 0.3:
            yield key, dice.choice(values if dice.random() < 0.6 else _SCALARS)
