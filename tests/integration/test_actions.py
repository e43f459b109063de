"""Advice: for every situation in which memory gives some, the advice mends it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_core.__about__ import explain_install
from memory_core.cli.output import print_probe, print_report, print_status
from memory_core.config.load import load_config
from memory_core.hookspecs import BACKENDS_GROUP
from memory_core.plugin.memory import Memory, open_memory
from memory_core.records import CallContext
from memory_core.tools.append import memory_append
from memory_core.tools.results import run_safely
from tests.fakes.installed import install
from tests.servers.loopback import openai_error
from tests.servers.openai import OpenAIServer

LOCAL = CallContext()
GROUP = CallContext(session_key="agent:main:telegram:group:1", chat_type="group", channel="telegram")
DIRECT = CallContext(session_key="agent:main:telegram:direct:1", chat_type="direct", channel="telegram")
SEARCH = ("memory_search", {"query": "What is the fence made of?"})
GET = ("memory_get", {"path": "MEMORY.md"})
APPEND = ("memory_append", {"text": "The gate is of iron."})
DIRECT_ONLY = {"default": "deny", "rules": [{"action": "allow", "match": {"chatType": "direct"}}]}
TODAY = date(2026, 3, 1)
ASK_FOR_A_HIT = "ask for a path that memory_search returned"
MAKE_IT = (
    "make it: memory-core init {folder}/workspace; or name another, with --workspace, MEMORY_CORE_WORKSPACE, "
    "or workspace= in Python"
)
INSTALL_LLAMA = f"{explain_install('local')} It compiles for some minutes."
SET_A_KEY = "Set OPENAI_API_KEY, or memorySearch.remote.apiKey."


@dataclass
class Place:
    """A workspace with one note, and whatever a situation needs besides."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def open(self, config: Mapping[str, Any]) -> Memory:
        return open_memory(fill_in(config, self), workspace=self.workspace, state_dir=self.state)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "MEMORY.md").write_text("The fence is made of oak.\n", encoding="utf-8")
    return Place(tmp_path, monkeypatch)


@dataclass(frozen=True)
class Call:
    """A call of a tool and the action in its result."""

    name: str
    action: str | None
    tool: tuple[str, Mapping[str, Any]] = SEARCH
    config: Mapping[str, Any] = field(default_factory=dict)
    context: CallContext = LOCAL
    prepare: Callable[[Place], object] = lambda place: None
    times: int = 1  # the last call's action is compared


def search_with(**settings: Any) -> dict[str, Any]:
    return {"memorySearch": {"provider": "none", **settings}}


def link_notes(place: Place) -> None:
    (place.folder / "elsewhere").mkdir()
    (place.workspace / "memory").symlink_to(place.folder / "elsewhere")


def spoil_today(place: Place) -> None:
    (place.workspace / "memory").mkdir()
    (place.workspace / "memory" / f"{datetime.now().astimezone().date()}.md").write_bytes("# Märchen".encode("utf-16"))


def remove_workspace(place: Place) -> None:
    (place.workspace / "MEMORY.md").unlink()
    place.workspace.rmdir()


def hide_llama(place: Place) -> None:
    place.monkeypatch.setitem(sys.modules, "llama_cpp", None)
    (place.folder / "model.gguf").write_bytes(b"GGUF" + bytes(100))


def offer_strange_backends(place: Place) -> None:
    targets = {"unscoped": "tests.fakes.moody:NO_SCOPE", "raising": "tests.fakes.moody:RAISING"}
    install(place.monkeypatch, place.folder / "site", BACKENDS_GROUP, targets)


def index(place: Place) -> None:
    with place.open(search_with()) as memory:
        memory.sync()


def put_garbage(place: Place) -> None:
    place.state.mkdir()
    (place.state / "mine.sqlite").write_bytes(b"the accounts of 2025 " * 1000)


CALLS = [
    Call("all is well", None, config=search_with()),
    # Who may see notes in which chat.
    Call("a group, memory.scope", "ask in a direct chat, or change memory.scope",
         config={"memory": {"scope": DIRECT_ONLY}}, context=GROUP),
    Call("a group, memory.qmd.scope", "ask in a direct chat, or change memory.qmd.scope",
         config={"memory": {"backend": "qmd"}}, context=GROUP),
    Call("a group, memory.qmd.scope, get", "ask in a direct chat, or change memory.qmd.scope", GET,
         config={"memory": {"backend": "qmd"}}, context=GROUP),
    Call("a direct chat", "change memory.scope", config={"memory": {"scope": {"default": "deny"}}}, context=DIRECT),
    Call("a group, where no direct chat may", "change memory.scope", APPEND,
         config={"memory": {"scope": {"default": "deny"}}}, context=GROUP),
    Call("a direct chat of a denied channel", "change memory.scope", context=DIRECT,
         config={"memory": {"scope": {"rules": [{"action": "deny", "match": {"channel": "telegram"}}]}}}),
    Call("a chat of no known type", "ask in a direct chat, or change memory.scope",
         config={"memory": {"scope": DIRECT_ONLY}}, context=CallContext(session_key="x")),
    Call("a backend whose scope cannot be read", "run: memory-core doctor", context=DIRECT,
         config={"memory": {"backend": "unscoped"}}, prepare=offer_strange_backends),
    Call("a backend that is not installed, with a scope", "run: memory-core doctor", context=DIRECT,
         config={"memory": {"backend": "nowhere", "nowhere": {"scope": {}}}}),
    Call("no access", "use a session with workspaceAccess ro or rw", context=CallContext(access="none")),
    # Which files are served and written.
    Call("a path outside", ASK_FOR_A_HIT, ("memory_get", {"path": "/etc/passwd"})),
    Call("a path outside, by Orbit's name", "ask for a path that search_memory returned", ("get_memory", {"path": "../x.md"})),
    Call("a session's log", "search for it, or read a note", ("memory_get", {"path": "sessions/a.jsonl"})),
    Call("a session that may not write", "use a session with workspaceAccess rw", APPEND,
         context=CallContext(access="ro")),
    Call("long-term memory from a group", 'Use the target "daily".',
         ("memory_append", {"text": "x", "target": "longterm"}), context=GROUP),
    Call("notes behind a link", "put a folder in place of the link memory", APPEND, prepare=link_notes),
    Call("a note in another encoding", "repair that note, or move it away", APPEND, prepare=spoil_today),
    Call("no workspace, append", MAKE_IT, APPEND, prepare=remove_workspace),
    Call("no workspace, search", MAKE_IT, config=search_with(), prepare=remove_workspace),
    Call("a tool that does not exist", None, ("memory_teleport", {})),
    Call("items are off", "set memorySearch.items.enabled to true", ("memory_forget", {})),
    # Memory that is off.
    Call("the slot is empty", 'set plugins.slots.memory to "memory-core"', config={"plugins": {"slots": {"memory": "none"}}}),
    Call("memorySearch.enabled is false", "set memorySearch.enabled to true",
         config={"memorySearch": {"enabled": False}}),
    Call("both", 'set plugins.slots.memory to "memory-core" and memorySearch.enabled to true',
         config={"plugins": {"slots": {"memory": "none"}}, "memorySearch": {"enabled": False}}),
    # The index.
    Call("nothing indexed, and not allowed to", "run: memory-core index", context=CallContext(access="ro")),
    Call("another program's file", "delete it if nothing else needs it, or choose another file: "
         "--state-dir (state_dir= in Python) or memorySearch.store.path",
         config=search_with(store={"path": "{state}/mine.sqlite"}), prepare=put_garbage),
    # The provider of embeddings.
    *(
        Call(f"llama.cpp is missing, search {times}", INSTALL_LLAMA, times=times, prepare=hide_llama,
             config=search_with(provider="local", local={"modelPath": "{folder}/model.gguf"}))
        for times in (1, 2)
    ),
    Call("no model file", "Name a GGUF file, the folder of a model, or hf:owner/repo/file.gguf.",
         config=search_with(provider="local", local={"modelPath": "/no/such/model.gguf"})),
    Call("no key", SET_A_KEY, config=search_with(provider="openai")),
    Call("no model", "Set memorySearch.model.",
         config=search_with(provider="openai-compatible", remote={"baseUrl": "http://127.0.0.1:9"})),
    Call("no URL", "Set memorySearch.remote.baseUrl, such as http://127.0.0.1:8000/v1.",
         config=search_with(provider="openai-compatible", model="m")),
    Call("another static model", "leave memorySearch.model out", config=search_with(provider="static", model="m")),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_the_action_of_a_tool(call: Call, place: Place) -> None:
    call.prepare(place)
    with place.open(call.config) as memory:
        for _ in range(call.times):
            result = memory.call_tool(*call.tool, call.context)
    assert result.get("action") == (call.action and call.action.replace("{folder}", str(place.folder))), result


def fill_in(config: Any, place: Place) -> Any:
    if isinstance(config, Mapping):
        return {key: fill_in(value, place) for key, value in config.items()}
    if not isinstance(config, str):
        return config
    return config.replace("{state}", str(place.state)).replace("{folder}", str(place.folder))


@pytest.mark.parametrize("target", ["longterm", None])
def test_the_action_of_a_pinned_append(place: Place, target: str | None) -> None:
    pinned = "memory/2026-03-01.md"
    config = load_config({}, workspace=place.workspace, state_dir=place.state).agent("main")
    asked = {"text": "x", "target": target}
    result = run_safely("memory_append", lambda: memory_append(asked, config, LOCAL, today=TODAY, pinned=pinned))
    assert result.get("action") == (None if target is None else "leave the target out")


# A server that refuses, by what it answers: the first search asks it, the second knows of the outage.
REFUSALS = [
    (401, "invalid_api_key", r"Check the API key: .*"),
    (429, "insufficient_quota", r"Add credit to the account, or choose another provider\."),
    (404, "model_not_found", r"Check memorySearch\.model and memorySearch\.remote\.baseUrl\."),
    (503, "overloaded", r".*to try it now: memory-core probe"),
]


@pytest.mark.parametrize(("status", "code", "action"), REFUSALS, ids=str)
def test_the_action_when_a_server_refuses(place: Place, status: int, code: str, action: str) -> None:
    with OpenAIServer() as server:
        server.fail(*[openai_error(status, code, code=code)] * 50)
        remote = {"baseUrl": server.url, "apiKey": "sk-loopback"}
        with place.open(search_with(provider="openai", remote=remote)) as memory:
            for _ in range(2):
                result = memory.call_tool(*SEARCH)
    assert re.fullmatch(action, result["action"]), result


def test_the_action_when_nobody_listens(place: Place) -> None:
    remote = {"baseUrl": "http://127.0.0.1:9", "apiKey": "sk-loopback"}
    with place.open(search_with(provider="openai", remote=remote)) as memory:
        actions = [memory.call_tool(*SEARCH)["action"] for _ in range(2)]
    assert "baseUrl" in actions[0]
    assert actions[1].endswith("to try it now: memory-core probe")


# The commands: what they print says what to do, and never to run the command that prints it.


def test_index_prints_how_to_install_llama(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    hide_llama(place)
    with place.open(search_with(provider="local", local={"modelPath": "{folder}/model.gguf"})) as memory:
        print_report(memory.sync(), {})
        assert 'pip install "memory-core-py[local]"' in capsys.readouterr().err
        print_status(memory.status())
        assert 'pip install "memory-core-py[local]"' in "".join(capsys.readouterr())


FINDINGS: list[tuple[str, Mapping[str, Any], Callable[[Place], object], str, str]] = [
    ("no workspace", search_with(), remove_workspace, "workspace", MAKE_IT),
    ("vec0 off", search_with(store={"vector": {"extensionPath": "/no/vec0.so"}}), index, "vectors",
     "correct memorySearch.store.vector.extensionPath, or leave it out"),
    ("llama.cpp is missing", search_with(provider="local", local={"modelPath": "{folder}/model.gguf"}), hide_llama, "provider",
     INSTALL_LLAMA),
    ("no key", search_with(provider="openai"), index, "provider", SET_A_KEY),
    ("no backend", {"memory": {"backend": "nowhere"}, **search_with()}, index, "nowhere",
     "correct memory.backend, or install it"),
    ("a backend that fails", {"memory": {"backend": "raising"}, **search_with()}, offer_strange_backends, "raising",
     "report it to the authors of that backend, or choose another: memory.backend"),
    ("no qmd", {"memory": {"backend": "qmd", "qmd": {"command": "no-such-qmd"}}, **search_with()}, index, "qmd program",
     "install Node 22.14 or newer and QMD (npm install -g @tobilu/qmd), or set memory.qmd.command"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("config", "prepare", "subject", "action"), [row[1:] for row in FINDINGS], ids=[row[0] for row in FINDINGS]
)
def test_the_action_of_a_finding(
    config: Mapping[str, Any], prepare: Callable[[Place], object], subject: str, action: str, place: Place
) -> None:
    prepare(place)
    with place.open(config) as memory:
        findings = {finding.subject: finding for finding in memory.diagnose()}
    assert findings[subject].action == action.replace("{folder}", str(place.folder))
    for finding in findings.values():
        assert bool(finding.action) == (finding.level != "ok"), finding
        assert "memory-core doctor" not in finding.message + finding.action


@pytest.mark.parametrize(
    "config",
    [
        search_with(provider="openai"),
        search_with(provider="openai", remote={"baseUrl": "http://127.0.0.1:9", "apiKey": "sk-loopback"}),
        search_with(provider="local", local={"modelPath": "/no/such/model.gguf"}),
        {"memory": {"backend": "raising"}, **search_with(provider="openai")},
        {"memory": {"backend": "qmd", "qmd": {"command": "no-such-qmd"}}, **search_with()},
    ],
    ids=["no key", "nobody listens", "no model", "a backend that fails", "no qmd"],
)
def test_a_probe_that_fails_says_what_to_do_and_not_to_probe(
    config: Mapping[str, Any], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    offer_strange_backends(place)
    with place.open(config) as memory:
        for _ in range(2):
            probe = memory.probe()
            assert not probe.ok
            assert probe.action
            print_probe(probe)
    assert "memory-core probe" not in capsys.readouterr().err


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
