"""The slot as a host sees it: its values, its results, and a configuration that is asked again at every call."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pluggy
import pytest

from memory_core import CallContext
from memory_core.config.settings import SLOTS_GROUP
from memory_core.hookspecs import PROJECT, HostHooks
from memory_core.plugin import MemorySlot
from memory_core.plugin import memory as memory_module
from memory_core.plugin.flush.policy import FlushTurn, Session
from memory_core.text.paragraphs import is_recalled
from memory_core.tools import shown as shown_module
from memory_core.tools.shown import Shown
from tests.fakes.installed import install

DIRECT = CallContext(session_key="agent:main:telegram:direct:7", chat_type="direct", channel="telegram")
GROUP = CallContext(session_key="agent:main:telegram:group:42", chat_type="group", channel="telegram")
MAIN = CallContext(session_key="agent:main:main", chat_type="direct")
SEARCH = ("memory_search", {"query": "What is the fence made of?"})
GET = ("memory_get", {"path": "MEMORY.md"})


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A workspace with one note."""
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("The fence is made of oak.\nThe gate is made of iron.\n", encoding="utf-8")
    return folder


class Host:
    """Makes slots that need no model, and closes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._slots: list[MemorySlot] = []

    def slot(self, config: Any = None, **options: Any) -> MemorySlot:
        places = {"workspace": self.folder / "ws", "state_dir": self.folder / "state"}
        slot = MemorySlot({} if config is None else config, **(places | options))
        self._slots.append(slot)
        return slot

    def close(self) -> None:
        for slot in self._slots:
            assert slot.close() == ()


@pytest.fixture
def host(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("MEMORY_CORE_PROVIDER", "none")
    host = Host(tmp_path)
    yield host
    host.close()


def slot_value(value: object) -> dict[str, Any]:
    return {"plugins": {"slots": {"memory": value}}}


ON = [None, {}, slot_value("memory-core"), slot_value("Memory-Core")]
SWITCH_TO_US = 'set plugins.slots.memory to "memory-core"'
OFF = [
    slot_value("none"),
    slot_value("NONE"),
    slot_value("other"),
    slot_value("Told"),
    {"memorySearch": {"enabled": False}},
]


@pytest.mark.parametrize("config", ON, ids=repr)
def test_the_slot_is_ours_unless_said_otherwise(host: Host, config: Mapping[str, Any] | None) -> None:
    slot = host.slot(config)
    assert [tool["name"] for tool in slot.tool_schemas()] == ["memory_search", "memory_get", "memory_append"]
    assert slot.call_tool(*SEARCH)["results"][0]["path"] == "MEMORY.md"
    assert "call memory_search" in slot.prompt_section()
    assert "> The fence" in slot.session_context()
    assert slot.status().backend == "builtin"


@pytest.mark.parametrize("config", OFF, ids=repr)
def test_off_means_no_tool_no_prompt_no_index_and_nothing_that_runs(
    host: Host, config: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path / "site", SLOTS_GROUP, {"other": "json:loads"})  # never loaded, only known
    slot = host.slot(config, other_slots=["TOLD"])
    slot.start()
    slot.session_started(DIRECT)
    slot.session_updated("agent:main:main")
    for tool in (SEARCH, GET, ("memory_append", {"text": "x"}), ("nonsense", {})):
        answer = slot.call_tool(*tool)
        reason = answer.pop("error")
        assert reason.startswith("memory is off for this agent: ")
        assert answer == {
            "results": [],
            "disabled": True,
            "action": "set memorySearch.enabled to true" if "memorySearch" in config else SWITCH_TO_US,
        }
    assert slot.tool_schemas() == []
    assert slot.prompt_section() == slot.session_context() == ""
    assert slot.status().warnings == (reason,)
    assert slot.before_compaction(Session(agent="main", key="k"), compacting=True) is None
    assert not (host.folder / "state").exists()


def test_an_unknown_slot_is_an_error_that_lists_those_known(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path / "site", SLOTS_GROUP, {"other": "json:loads"})
    answer = host.slot(slot_value("memroy-core"), other_slots=["told"]).call_tool(*SEARCH)
    assert answer["unavailable"]
    assert answer["results"] == []
    assert answer["error"] == (
        'mapping: plugins.slots.memory: no plugin "memroy-core" is known;'
        ' known are "memory-core", "none", "other", "told"'
    )


# Every shape of a result.


def test_success(host: Host) -> None:
    found = host.slot().call_tool(*SEARCH, DIRECT)
    (hit,) = found.pop("results")
    assert found == {
        "provider": "none",
        "model": None,
        "fallback": None,
        "backend": "builtin",
        "backendFallback": None,
        "citations": "auto",
        "mode": "keyword",
    }
    assert 0.35 <= hit.pop("score") <= 1
    assert 0.35 <= hit.pop("textScore") <= 1
    citation = f"MEMORY.md#L{hit['startLine']}" + (f"-L{hit['endLine']}" if hit["endLine"] > hit["startLine"] else "")
    assert "Source:" not in hit.pop("snippet")
    assert {"path": "MEMORY.md", "source": "memory", "citation": citation}.items() <= hit.items()


def test_a_note(host: Host) -> None:
    slot = host.slot()
    assert slot.call_tool("memory_get", {"path": "MEMORY.md", "lines": 1}, GROUP) == {
        "path": "MEMORY.md",
        "text": "The fence is made of oak.",
        "from": 1,
        "lines": 1,
        "status": "ok",
        "truncated": True,
        "nextFrom": 2,
    }
    assert slot.call_tool("memory_get", {"path": "memory/2026-01-01.md"}, GROUP) == {
        "path": "memory/2026-01-01.md",
        "text": "",
        "from": 1,
        "lines": 0,
        "status": "not_found",
    }


def test_a_note_is_read_at_its_citation(host: Host, notes: Path) -> None:
    (notes / "MEMORY.md").write_text("The fence is made of oak.\n\nAda prefers tea.\nBo prefers coffee.\n\nEnd.\n")
    slot = host.slot()
    (hit,) = slot.call_tool("memory_search", {"query": "Who prefers tea?", "maxResults": 1, "after": None}, DIRECT)[
        "results"
    ]
    assert hit["citation"].startswith("MEMORY.md#L")
    cited = slot.call_tool("memory_get", {"path": hit["citation"], "from": None, "lines": None}, DIRECT)
    assert (cited["path"], cited["from"], cited["status"]) == ("MEMORY.md", hit["startLine"], "ok")
    assert cited["lines"] == hit["endLine"] - hit["startLine"] + 1
    assert "Ada prefers tea." in cited["text"]
    assert slot.call_tool("memory_get", {"path": "MEMORY.md#L3"})["text"] == "Ada prefers tea."
    assert slot.call_tool("memory_get", {"path": "MEMORY.md#L3-L4"})["text"] == "Ada prefers tea.\nBo prefers coffee."
    assert slot.call_tool("memory_get", {"path": "MEMORY.md#L3-L4", "from": 1, "lines": 1})["text"].startswith(
        "The fence"
    )


def test_an_empty_index_says_so(host: Host, notes: Path) -> None:
    (notes / "MEMORY.md").unlink()
    answer = host.slot().call_tool(*SEARCH)
    assert answer["results"] == []
    assert "No memories indexed yet" in answer["warning"]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("memory_search", {}, "query: is required"),
        ("memory_search", {"query": 5}, "query: expected a string that is not empty, not 5"),
        ("memory_search", {"query": "x", "maxResults": 0}, "maxResults: expected a whole number from 1 to 100, not 0"),
        ("memory_search", {"query": "x", "maxResults": "6"}, "maxResults: expected a whole number from 1 to 100, "),
        ("memory_search", {"query": "x", "minScore": 2}, "minScore: expected a number from 0 to 1, not 2"),
        ("memory_search", {"query": "x", "minScore": float("nan")}, "minScore: expected a number from 0 to 1"),
        ("memory_search", {"query": "x", "after": "soon"}, "after: expected a date as YYYY-MM-DD, not 'soon'"),
        ("memory_search", {"query": "x", "after": "2026-02-01", "before": "2026-01-01"}, "after: 2026-02-01 is later"),
        ("memory_search", {"query": "x", "limit": 3}, "limit: is not an argument of memory_search; known are query,"),
        (
            "memory_get",
            {"path": "MEMORY.md", "from": "zz"},
            'from: expected a whole number, at least 1, not the string "zz"',
        ),
        ("memory_get", {"path": "MEMORY.md", "lines": 0}, "lines: expected a whole number, at least 1, not 0"),
        ("memory_append", {"text": ""}, "text: "),
        (
            "memory_append",
            {"text": "x", "target": "notes/x.md"},
            'target: expected "daily" or "longterm" or "person", not the string "notes/x.md"',
        ),
        ("memory_append", {"text": "x", "path": "x.md"}, "path: is not an argument of memory_append"),
        ("memory_search", ["query"], "arguments: expected an object, not a list"),
        ("memory_search", None, "arguments: expected an object, not null"),
        ("shell", {}, "name: there is no tool 'shell'"),
    ],
)
def test_bad_arguments_are_named(host: Host, tool: str, arguments: Any, told: str) -> None:
    answer = host.slot().call_tool(tool, arguments)
    assert set(answer) == {"error", "code"}
    assert answer["code"] == "invalid_argument"
    assert answer["error"].startswith(told)


@pytest.mark.parametrize("agent", ["../x", "", "ä", "a" * 65])
def test_an_agent_that_is_none_reaches_no_path(host: Host, agent: str) -> None:
    slot, context = host.slot(), CallContext(agent=agent)
    if agent:
        assert slot.call_tool(*SEARCH, context)["code"] == "invalid_agent"
        assert slot.tool_schemas(context) == []
        assert slot.prompt_section(context) == slot.session_context(context) == ""
        assert slot.status(agent).warnings
    slot.session_started(context)
    slot.session_updated("k", agent)
    assert not [path for path in host.folder.rglob("*") if path.name.startswith("a" * 65)]


@pytest.mark.parametrize("path", ["../outside.md", "/etc/hostname", "notes.txt", "memory/link.md", "sessions/x.jsonl"])
def test_a_path_that_is_no_note_is_denied_with_a_reason(host: Host, notes: Path, path: str) -> None:
    (notes / "memory").mkdir()
    (notes / "memory" / "link.md").symlink_to("/etc/hostname")
    answer = host.slot().call_tool("memory_get", {"path": path})
    assert (answer["results"], answer["denied"]) == ([], True)
    assert answer["error"].startswith(path)
    assert answer["action"]


def test_no_access_and_no_index(host: Host) -> None:
    slot = host.slot()
    none = slot.call_tool(*SEARCH, CallContext(session_key="x", access="none"))
    assert none["disabled"]
    assert slot.tool_schemas(CallContext(access="none")) == []
    assert slot.prompt_section(CallContext(access="none")) == ""

    read_only = CallContext(session_key="x", access="ro")
    assert slot.call_tool(*SEARCH, read_only)["unavailable"]
    assert "nothing is indexed" in slot.call_tool(*SEARCH, read_only)["error"]
    assert slot.call_tool(*GET, read_only)["status"] == "ok"
    assert [tool["name"] for tool in slot.tool_schemas(read_only)] == ["memory_search", "memory_get"]
    slot.call_tool(*SEARCH)
    assert slot.call_tool(*SEARCH, read_only)["results"]


# Scope and citations, through the slot.

DENY_GROUPS = {"rules": [{"action": "deny", "match": {"chatType": "group"}}]}
SCOPES: list[tuple[dict[str, Any], CallContext, bool]] = [
    ({}, GROUP, True),
    ({"default": "deny"}, GROUP, False),
    ({"default": "deny"}, DIRECT, False),
    ({"default": "deny"}, CallContext(), True),
    (DENY_GROUPS, GROUP, False),
    (DENY_GROUPS, DIRECT, True),
    ({"rules": [{"action": "deny", "match": {"channel": "telegram"}}]}, DIRECT, False),
    ({"rules": [{"action": "deny", "match": {"keyPrefix": "agent:main:telegram:group:"}}]}, GROUP, False),
    ({"rules": [{"action": "deny", "match": {"keyPrefix": "agent:main:telegram:group:"}}]}, DIRECT, True),
    ({"default": "deny", "rules": [{"action": "allow", "match": {"channel": "telegram"}}]}, GROUP, True),
]


@pytest.mark.parametrize(("scope", "context", "allowed"), SCOPES)
def test_scope_covers_every_tool_and_the_opening_notes(
    host: Host, notes: Path, scope: dict[str, Any], context: CallContext, allowed: bool
) -> None:
    today = date(2026, 3, 1)
    (notes / "memory").mkdir()
    (notes / "memory" / f"{today}.md").write_text("A pear tree.")
    slot = host.slot({"memory": {"scope": scope}}, today=lambda: today)
    for tool in (SEARCH, GET, ("memory_append", {"text": "A plum tree."})):
        answer = slot.call_tool(*tool, context)
        assert answer.get("denied", False) is not allowed
        if not allowed:
            assert answer == {
                "results": [],
                "denied": True,
                "error": "memory may not be used in this chat",
                "action": "ask in a direct chat, or change memory.scope"
                if scope == DENY_GROUPS
                else "change memory.scope",
            }
    assert ("pear tree" in slot.session_context(context)) is allowed
    assert ("plum" in (notes / "memory" / f"{today}.md").read_text()) is allowed


@pytest.mark.parametrize(
    ("citations", "context", "cited"),
    [
        ("auto", DIRECT, True),
        ("auto", CallContext(), True),
        ("auto", GROUP, False),
        ("auto", CallContext(session_key="x"), False),
        ("auto", CallContext(session_key="x", chat_type="channel"), False),
        ("on", GROUP, True),
        ("off", DIRECT, False),
    ],
)
def test_citations_by_chat_type(host: Host, citations: str, context: CallContext, cited: bool) -> None:
    answer = host.slot({"memory": {"citations": citations}}).call_tool(*SEARCH, context)
    (hit,) = answer["results"]
    assert answer["citations"] == citations
    assert hit["path"] == "MEMORY.md"
    assert ("citation" in hit) is cited
    assert hit["snippet"] in (host.folder / "ws" / "MEMORY.md").read_text()


# A configuration that is asked at every call.


def disabled(slot: MemorySlot) -> bool:
    return bool(slot.call_tool(*SEARCH).get("disabled", False))


def test_a_file_is_read_again_when_it_has_changed_in_any_way(host: Host) -> None:
    path = host.folder / "host.json5"
    path.write_text(json.dumps(slot_value("none")))
    slot = host.slot(path)
    assert disabled(slot)

    stamp = path.stat()
    path.write_text("{}")  # another size
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert not disabled(slot)
    path.write_text("[]")  # the same size, another time
    assert slot.call_tool(*SEARCH)["unavailable"]

    other = host.folder / "new.json5"  # the same size and time, another file: an editor that saves by rename
    other.write_text("{}")
    stamp = path.stat()
    os.utime(other, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    other.replace(path)
    assert not disabled(slot)

    path.unlink()
    gone = slot.call_tool(*SEARCH)
    assert gone["unavailable"]
    assert str(path) in gone["error"]


def test_a_mapping_that_the_host_changes_and_a_callable(host: Host) -> None:
    mapping = slot_value("memory-core")
    asked: list[int] = []

    def current() -> dict[str, Any]:
        asked.append(1)
        return mapping

    held, called = host.slot(mapping), host.slot(current)
    assert not disabled(held)
    assert not disabled(called)
    mapping["plugins"]["slots"]["memory"] = "none"
    before = len(asked)
    assert disabled(held)
    assert disabled(called)
    assert len(asked) > before


def test_the_file_that_the_environment_names_is_watched_too(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    path = host.folder / "host.json5"
    path.write_text("{}")
    monkeypatch.setenv("MEMORY_CORE_CONFIG", str(path))
    with MemorySlot(workspace=host.folder / "ws", state_dir=host.folder / "state") as slot:
        assert not disabled(slot)
        path.write_text(json.dumps(slot_value("none")))
        assert disabled(slot)


def wrong() -> dict[str, Any]:
    raise RuntimeError("sk-planted-key")


def test_the_sessions_that_have_started_are_not_kept_for_ever(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "MAX_SESSIONS", 3)
    slot = host.slot(None)
    for number in range(10):
        slot.session_started(CallContext.local(f"s{number}"))
    slot.session_started(CallContext.local("s9"))
    assert list(slot._memory("main")._greeted) == ["s7", "s8", "s9"]


WRONG = [{"memory": {"citation": "on"}}, {"agents": 5}, wrong, lambda: 5, lambda: {"memory": {"backend": ""}}]


@pytest.mark.parametrize("config", WRONG)
def test_a_configuration_gone_wrong_makes_memory_unavailable_and_never_raises(host: Host, config: Any) -> None:
    slot = host.slot(config)
    slot.start()
    slot.session_started(DIRECT)
    slot.session_updated("agent:main:main")
    answer = slot.call_tool(*SEARCH, DIRECT)
    assert (answer["results"], answer["unavailable"]) == ([], True)
    assert answer["error"]
    assert answer["action"]
    assert "sk-planted" not in json.dumps(answer)
    assert slot.tool_schemas() == []
    assert slot.prompt_section() == slot.session_context() == ""
    assert slot.status().warnings == (answer["error"],)
    assert not slot.should_flush(Session(agent="main", key="k")).due
    assert slot.before_compaction(Session(agent="main", key="k"), compacting=True) is None
    assert slot.session(DIRECT, "k").key == "k"


def test_an_agents_own_settings_hold_for_it_alone(host: Host) -> None:
    config = {"agents": {"list": [{"id": "a", "memorySearch": {"enabled": False}}, {"id": "b"}]}}
    slot = host.slot(config)
    assert slot.call_tool(*SEARCH, CallContext(agent="A"))["disabled"]
    assert slot.call_tool(*SEARCH, CallContext(agent="b"))["results"]
    assert slot.tool_schemas(CallContext(agent="a")) == []


# Forms, dialects, asynchronous calls, hooks.


def test_the_forms_of_the_tools(host: Host) -> None:
    slot = host.slot()
    bare = slot.tool_schemas()
    assert slot.tool_schemas(form="openai") == [{"type": "function", "function": tool} for tool in bare]
    for form, key in (("anthropic", "input_schema"), ("mcp", "inputSchema")):
        (first, *_) = slot.tool_schemas(form=form)  # type: ignore[arg-type]  # two of the four
        said = {"name": "memory_search", "description": bare[0]["description"], key: bare[0]["parameters"]}
        assert first.items() >= said.items()
        assert form == "mcp" or first == said  # MCP clients are told more; tests/unit/tools has it


ORBIT = "[embedding]\nprovider = 'none'\n"


def test_orbits_names_are_taken_always_and_offered_in_its_dialect(host: Host, notes: Path) -> None:
    config = host.folder / "config.toml"
    config.write_text(ORBIT)
    slot = host.slot(config)
    assert [tool["name"] for tool in slot.tool_schemas()] == ["search_memory", "get_memory", "memory_append"]
    assert "call search_memory" in slot.prompt_section()
    assert "ask for a path that search_memory returned" in slot.call_tool("get_memory", {"path": "x.txt"})["action"]
    assert "an argument of search_memory" in slot.call_tool("search_memory", {"query": "x", "limit": 1})["error"]
    (notes / "MEMORY.md").write_text("line\n" * 200)
    assert slot.call_tool("get_memory", {"path": "MEMORY.md"})["lines"] == 50
    assert slot.call_tool("memory_get", {"path": "MEMORY.md"})["lines"] == 50
    (notes / "MEMORY.md").write_text("line\n" * 9000)
    assert "(cut; read the rest with get_memory)" in slot.session_context(MAIN)
    turn = slot.before_compaction(Session(agent="main", key="agent:main:main"), compacting=True)
    assert turn is not None
    assert "search_memory" in turn.tools["memory_append"]["description"]

    ours = host.slot()
    assert ours.call_tool("get_memory", {"path": "MEMORY.md"})["lines"] == 120
    assert "results" in ours.call_tool("search_memory", {"query": "line"})


def test_asynchronous_hosts_are_not_held_up(host: Host) -> None:
    slot = host.slot()

    async def both() -> tuple[dict[str, Any], dict[str, Any]]:
        return await asyncio.gather(slot.acall_tool(*SEARCH, DIRECT), slot.acall_tool(*GET, GROUP))

    found, note = asyncio.run(both())
    assert found == slot.call_tool(*SEARCH, DIRECT)
    assert note == slot.call_tool(*GET, GROUP)


def test_a_host_with_pluggy_calls_the_hooks(host: Host) -> None:
    slot = host.slot()
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(HostHooks)
    manager.register(slot)
    manager.check_pending()

    manager.hook.session_started(context=MAIN)
    manager.hook.session_updated(session_key="agent:main:main", agent="main")
    manager.hook.turn_ended(context=MAIN, messages=[{"role": "user", "content": "Hello."}], complete=None)
    manager.hook.session_ended(context=MAIN)
    session = Session(agent="main", key="agent:main:main", total_tokens=10, context_window=200_000, timezone="UTC")
    assert manager.hook.before_compaction(session=session, compacting=False) is None
    turn = manager.hook.before_compaction(session=session, compacting=True)
    assert isinstance(turn, FlushTurn)
    assert turn == slot.before_compaction(session, compacting=True)


# Writing.


def appended(host: Host, context: CallContext, **arguments: Any) -> dict[str, Any]:
    slot = host.slot(today=lambda: date(2026, 3, 1))
    return slot.call_tool("memory_append", {"text": "A plum tree.", **arguments}, context)


def test_appending_to_the_day_and_to_long_term_memory(host: Host, notes: Path) -> None:
    daily = appended(host, GROUP)
    assert daily == {"path": "memory/2026-03-01.md", "status": "appended", "appended": 1, "startLine": 3, "endLine": 3}
    assert (notes / "memory" / "2026-03-01.md").read_text() == "# 2026-03-01\n\nA plum tree.\n"
    assert appended(host, GROUP)["status"] == "nothing new"
    assert appended(host, MAIN, target="longterm")["path"] == "MEMORY.md"
    assert (notes / "MEMORY.md").read_text().endswith("iron.\n\nA plum tree.\n")


@pytest.mark.parametrize("context", [GROUP, DIRECT, CallContext(session_key="agent:main:main", main=False)])
def test_long_term_memory_is_written_in_the_main_private_session_only(
    host: Host, notes: Path, context: CallContext
) -> None:
    before = (notes / "MEMORY.md").read_text()
    answer = appended(host, context, target="longterm")
    assert answer["denied"]
    assert "main private session" in answer["error"]
    assert (notes / "MEMORY.md").read_text() == before


def test_a_read_only_session_writes_nothing(host: Host, notes: Path) -> None:
    answer = appended(host, CallContext(session_key="x", access="ro"))
    assert answer["denied"]
    assert not (notes / "memory").exists()
    assert appended(host, CallContext(session_key="x", access="none"))["disabled"]


def test_what_was_just_recalled_is_not_written_down_as_new(host: Host, notes: Path) -> None:
    slot = host.slot(today=lambda: date(2026, 3, 1))
    slot.call_tool(*SEARCH, MAIN)
    echo = {"text": "> The fence is made of oak.\n\nThe fence was painted."}

    stored = slot.call_tool("memory_append", echo, MAIN)
    assert (stored["appended"], stored["skipped"]) == (1, 1)
    assert (notes / "memory" / "2026-03-01.md").read_text() == "# 2026-03-01\n\nThe fence was painted.\n"
    other = slot.call_tool("memory_append", {"text": "The fence is made of oak."}, DIRECT)
    assert other["appended"] == 1  # another session was shown nothing


def test_what_was_recalled_may_be_promoted(host: Host, notes: Path) -> None:
    (notes / "memory").mkdir()
    (notes / "memory" / "2026-02-01.md").write_text("The fence has forty posts.\n")
    slot = host.slot()
    assert slot.call_tool("memory_search", {"query": "How many posts has the fence?"}, MAIN)["results"]
    asked = {"text": "The fence has forty posts.", "target": "longterm"}
    assert slot.call_tool("memory_append", asked, MAIN)["appended"] == 1


def test_a_flush_turn_of_a_host_without_nested_turns(host: Host, notes: Path) -> None:
    slot = host.slot()
    slot.call_tool(*SEARCH, MAIN)
    turn = slot.before_compaction(slot.session(MAIN, "agent:main:main", timezone="UTC"), compacting=True)
    assert turn is not None
    answers = iter(["The fence is made of oak.", "Ada prefers tea.", None])

    def complete(messages: Any, tools: Any, **_: Any) -> dict[str, Any]:
        text = next(answers)
        if text is None:
            return {"content": "NO_REPLY"}
        call = {"name": tools[0]["function"]["name"], "arguments": json.dumps({"text": text})}
        return {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]}

    outcome = slot.run_flush(turn, complete)
    assert (outcome.status, outcome.appended) == ("stored", 1)
    assert "oak" not in (notes / turn.target).read_text()
    assert "Ada prefers tea." in (notes / turn.target).read_text()
    again = slot.session(MAIN, "agent:main:main")
    assert slot.should_flush(again, compacting=True).code == "flushed"


def test_only_what_was_shown_lately_is_remembered() -> None:
    recalled = Shown()
    for number in range(shown_module.FINGERPRINTS + 10):
        recalled.add("a", [f"Fact {number}."])
    assert len(recalled.of("a")) == shown_module.FINGERPRINTS
    for number in range(shown_module.SESSIONS):
        recalled.add(f"s{number}", ["A fact."])
    assert recalled.of("a") == frozenset()
    assert recalled.of("s0")


def test_texts_are_remembered_in_the_order_in_which_they_came_until_they_fill_their_room() -> None:
    recalled = Shown()
    recalled.add("a", ["The oldest fact."])
    recalled.add("a", [f"Fact {number}." for number in range(shown_module.FINGERPRINTS)])
    assert not is_recalled("The oldest fact.", recalled.of("a"))
    recalled.add("a", ["Ada prefers tea."])
    recalled.add("a", ["The lease ends in May."])
    shown = recalled.of("a")
    assert is_recalled("- Ada prefers tea.", shown)
    assert is_recalled("The lease ends in May.", shown)
    assert recalled.of("a") == shown
