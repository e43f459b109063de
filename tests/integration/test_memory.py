"""`open_memory`, as a script uses it: every shape of result, every kind of access, configurations that change meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core import CallContext
from memory_core.errors import ConfigError, InvalidArgument, MemoryCoreError, StoreReadOnly
from memory_core.plugin import MemorySlot
from memory_core.plugin.memory import Memory
from memory_core.records import Access
from tests.command import SAMPLE_NOTES, Command, as_ordinary_owner

QUESTION = "What did commit 0ad3e88 change?"
ANSWER = "memory/2026-02-04.md"
DIRECT = CallContext(session_key="agent:main:telegram:dm:7", chat_type="direct", channel="telegram")
GROUP = CallContext(session_key="agent:main:telegram:group:42", chat_type="group", channel="telegram")
SUCCESS = {"results", "provider", "model", "fallback", "backend", "backendFallback", "citations", "mode"}
HIT = {"path", "startLine", "endLine", "score", "source", "snippet"}


def document(*, memory: Mapping[str, Any] | None = None, slot: str = "memory-core", **search: Any) -> dict[str, Any]:
    """A configuration without embeddings, unless told otherwise, in which a search waits for its sync on a busy machine."""
    search["sync"] = {"onSearchBudgetMs": 60_000, **search.get("sync", {})}
    return {
        "plugins": {"slots": {"memory": slot}},
        "memory": dict(memory or {}),
        "agents": {"defaults": {"memorySearch": {"provider": "none", **search}}},
    }


class Opener:
    """Opens memories over one workspace with one state folder, and closes them."""

    def __init__(self, workspace: Path, state: Path) -> None:
        self.workspace = workspace
        self.state = state
        self._opened: list[Memory] = []

    def __call__(self, config: Any = None, **options: Any) -> Memory:
        places = {"workspace": self.workspace, "state_dir": self.state}
        memory = memory_core.open_memory(document() if config is None else config, **(places | options))
        self._opened.append(memory)
        return memory

    def close(self) -> None:
        for memory in self._opened:
            assert memory.close() == ()
            assert memory.close() == ()


@pytest.fixture
def opened(workspace: Path, tmp_path: Path) -> Iterator[Opener]:
    opener = Opener(workspace, tmp_path / "state")
    yield opener
    opener.close()


def search(
    memory: Memory, query: str = QUESTION, context: CallContext | None = None, **arguments: Any
) -> dict[str, Any]:
    return memory.call_tool("memory_search", {"query": query, **arguments}, context)


def get(memory: Memory, path: str = ANSWER, context: CallContext | None = None, **arguments: Any) -> dict[str, Any]:
    return memory.call_tool("memory_get", {"path": path, **arguments}, context)


def first(answer: Mapping[str, Any]) -> str:
    path: str = answer["results"][0]["path"]
    return path


def test_opening_starts_nothing_and_writes_nothing(opened: Opener) -> None:
    before = threading.active_count()
    memory = opened()
    assert threading.active_count() == before
    assert memory.tool_schemas()
    assert memory.status().indexed is False
    assert not opened.state.exists()


# The shapes of results.


@pytest.mark.parametrize("provider", ["static", "none"])
def test_success(provider: str, opened: Opener) -> None:
    answer = search(opened(document(provider=provider)))
    assert set(answer) == SUCCESS
    assert answer["provider"] == provider
    assert answer["model"] == (None if provider == "none" else "l2_supercat_256")
    assert (answer["fallback"], answer["backend"], answer["backendFallback"]) == (None, "builtin", None)
    assert answer["mode"] == ("keyword" if provider == "none" else "hybrid")
    assert first(answer) == ANSWER
    for hit in answer["results"]:
        assert set(hit) >= HIT
        assert set(hit) <= {*HIT, "origin", "vectorScore", "textScore", "citation"}
        assert hit["source"] == "memory"
    assert json.loads(json.dumps(answer)) == answer


def test_vectors_alone_where_hybrid_is_off(opened: Opener) -> None:
    answer = search(opened(document(provider="static", query={"hybrid": {"enabled": False}})), "guitar lesson")
    assert answer["mode"] == "vector"
    assert first(answer) == "memory/2026-02-21.md"
    assert "textScore" not in answer["results"][0]
    keyword = search(opened(document(query={"hybrid": {"enabled": False}})), "guitar lesson")
    assert keyword["mode"] == "keyword"


@pytest.mark.parametrize("config", [document(slot="none"), document(slot="NONE"), document(enabled=False)])
def test_disabled(config: dict[str, Any], opened: Opener) -> None:
    memory = opened(config)
    assert memory.tool_schemas() == []
    for answer in (search(memory), get(memory), memory.call_tool("no_such_tool", {})):
        assert set(answer) == {"results", "disabled", "error", "action"}
        assert (answer["results"], answer["disabled"]) == ([], True)
        assert answer["error"]
        assert answer["action"]
    memory.start()
    assert not opened.state.exists()


def test_no_access_to_the_workspace_is_disabled(opened: Opener) -> None:
    answer = search(opened(), context=CallContext(access="none"))
    assert (answer["results"], answer["disabled"]) == ([], True)
    assert not opened.state.exists()


def test_unavailable(opened: Opener) -> None:
    index = opened.state / "diary.txt"
    opened.state.mkdir()
    index.write_text("dear diary, " * 100)
    answer = search(opened(document(store={"path": str(index)})))
    assert set(answer) == {"results", "unavailable", "error", "action"}
    assert (answer["results"], answer["unavailable"]) == ([], True)
    assert "no index of memory-core" in answer["error"]
    assert "memorySearch.store.path" in answer["action"]
    assert get(opened())["status"] == "ok"  # reading needs no index


def test_denied_by_scope(opened: Opener) -> None:
    rule = {"action": "deny", "match": {"chatType": "group"}}
    memory = opened(document(memory={"scope": {"default": "allow", "rules": [rule]}}))
    for answer in (search(memory, context=GROUP), get(memory, context=GROUP)):
        assert set(answer) == {"results", "denied", "error", "action"}
        assert (answer["results"], answer["denied"]) == ([], True)
    assert first(search(memory, context=DIRECT)) == first(search(memory)) == ANSWER


@pytest.mark.parametrize("path", ["../outside.md", "/etc/passwd", "memory", "secret.txt", ""])
def test_denied_by_path(path: str, opened: Opener) -> None:
    answer = get(opened(), path)
    assert (answer["results"], answer["denied"]) == ([], True)
    assert answer["error"]


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("memory_search", {}, "query: is required"),
        ("memory_search", {"query": "x", "maxResults": 0}, "maxResults: "),
        ("memory_search", {"query": "x", "limit": 3}, "limit: is not an argument"),
        ("memory_search", {"query": "x", "after": "soon"}, "after: expected a date"),
        ("memory_search", ["x"], "arguments: expected an object"),
        ("memory_search", None, "arguments: expected an object"),
        ("memory_get", {"path": 7}, "path: "),
        ("memory_erase", {}, "name: there is no tool 'memory_erase'"),
    ],
)
def test_bad_arguments(tool: str, arguments: Any, named: str, opened: Opener) -> None:
    answer = opened().call_tool(tool, arguments)
    assert set(answer) == {"error", "code"}
    assert answer["error"].startswith(named)


def test_an_empty_workspace_says_so(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for workspace in (tmp_path / "empty", tmp_path / "missing"):
        answer = search(opened(workspace=workspace, state_dir=tmp_path / workspace.name / "state"))
        assert (answer["results"], answer["warning"]) == ([], "No memories indexed yet")
        assert get(opened(workspace=workspace))["status"] == "not_found"


def test_a_search_before_the_first_sync_has_ended_says_to_search_again(opened: Opener) -> None:
    answer = search(opened({"memorySearch": {"provider": "none", "sync": {"onSearchBudgetMs": 0}}}))
    assert (answer["results"], answer["stale"], answer["warning"]) == ([], True, "No memories indexed yet")
    assert "search again in a moment" in answer["action"]


def test_what_an_unfinished_sync_lacks_is_not_said_to_be_in_no_note(opened: Opener) -> None:
    opened().sync()
    (opened.workspace / "memory" / "new.md").write_text("The zeppelin is in the hangar.\n")
    answer = search(opened(document(sync={"onSearchBudgetMs": 0})), "harpsichord")
    assert (answer["results"], answer["stale"]) == ([], True)
    assert answer["hint"] == "not all notes are indexed yet: search again in a moment"


WIDE = "memory/wide.md is left out: it is UTF-16: save it as UTF-8"


@pytest.mark.parametrize(
    ("provider", "asked", "action"),
    [
        (
            {"provider": "openai", "remote": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "k"}},
            {},
            "Check that it runs",
        ),
        ({}, {"about": "Nobody Known"}, "See which names there are"),
    ],
)
def test_a_note_that_cannot_be_read_takes_the_place_of_no_other_action(
    provider: dict[str, Any], asked: dict[str, Any], action: str, opened: Opener
) -> None:
    (opened.workspace / "memory" / "wide.md").write_bytes("x\n".encode("utf-16"))
    memory = opened(document(**provider))
    search(memory)  # the sync finds that the provider is down, and says so; the next search has to say it itself
    answer = search(memory, **asked)
    assert answer["warning"].endswith(f"; {WIDE}")
    assert answer["action"].startswith(action)


def test_names_near_to_one_that_no_note_mentions_are_named(opened: Opener) -> None:
    (opened.workspace / "memory" / "Thomas.md").write_text("He mends boilers.\n")
    memory = opened()
    answer = search(memory, "boiler", about="Tomass")
    assert answer["warning"] == "no note that is searched mentions 'Tomass'"
    assert answer["action"] == "did you mean Thomas? See which names there are: memory-core related"
    late = search(memory, "boiler", about="Thomas", after="2999-01-01")
    assert "did you mean" not in late["action"]


def test_only_a_sync_before_the_search_says_what_cannot_be_read(opened: Opener) -> None:
    wide = opened.workspace / "memory" / "wide.md"
    wide.write_bytes("x\n".encode("utf-16"))
    for on_search in (True, False):
        memory = opened(document(sync={"onSearch": on_search}))
        memory.sync()
        assert search(memory).get("warning") == (WIDE if on_search else None)
    wide.unlink()
    assert "warning" not in search(memory)


def test_a_workspace_that_is_not_there_is_named_and_not_made(opened: Opener, tmp_path: Path) -> None:
    missing = tmp_path / "missspelt"
    memory = opened(workspace=missing)
    told = f"the workspace {missing} does not exist"
    stored = memory.call_tool("memory_append", {"text": "The boiler was serviced."})
    assert stored["unavailable"]
    assert told in stored["error"]
    assert "--workspace" in stored["action"]
    found = search(memory)
    assert found["results"] == []
    assert found["warning"].startswith(told)
    assert "--workspace" in found["action"]
    assert memory.call_tool("memory_get", {"path": "MEMORY.md"})["status"] == "not_found"
    assert any(warning.startswith(told) for warning in memory.sync().warnings)
    assert any(warning.startswith(told) for warning in memory.status().warnings)
    memory.start()
    memory.close()
    assert not missing.exists()


def test_the_result_of_a_get(opened: Opener) -> None:
    whole = get(opened())
    assert set(whole) == {"path", "text", "from", "lines", "status"}
    assert whole["text"] + "\n" == (opened.workspace / ANSWER).read_text()
    page = opened().call_tool("memory_get", {"path": ANSWER, "from": 2, "lines": 3})
    assert (page["from"], page["lines"], page["truncated"], page["nextFrom"]) == (2, 3, True, 5)
    assert page["text"].split("\n") == whole["text"].split("\n")[1:4]
    assert get(opened(), "memory/1999-01-01.md") == {
        "path": "memory/1999-01-01.md", "text": "", "from": 1, "lines": 0, "status": "not_found",
    }  # fmt: skip


def test_citations(opened: Opener) -> None:
    for setting, direct, group in (("auto", True, False), ("on", True, True), ("off", False, False)):
        memory = opened(document(memory={"citations": setting}))
        for context, cited in ((DIRECT, direct), (GROUP, group), (None, direct)):
            answer = search(memory, context=context)
            hit = answer["results"][0]
            assert answer["citations"] == setting
            assert ("citation" in hit) is cited
            assert "Source:" not in hit["snippet"]
            assert hit["path"] == ANSWER


@pytest.mark.parametrize("provider", ["static", "none"])
def test_snippets_are_no_longer_than_asked_for_with_a_citation(provider: str, opened: Opener) -> None:
    memory = opened(document(provider=provider, query={"maxSnippetChars": 60}, memory={"citations": "on"}))
    found = search(memory, maxResults=100, minScore=0)["results"]
    assert max(len(hit["snippet"]) for hit in found) > 40
    assert all(len(hit["snippet"]) <= 60 for hit in found)
    assert all(hit["citation"].startswith(f"{hit['path']}#L{hit['startLine']}") for hit in found)


def test_the_other_names_of_the_tools(opened: Opener) -> None:
    memory = opened()
    assert first(memory.call_tool("search_memory", {"query": QUESTION})) == ANSWER
    assert memory.call_tool("get_memory", {"path": ANSWER})["status"] == "ok"


# Access.


def test_a_session_that_only_reads(opened: Opener) -> None:
    reading: Access = "ro"
    context = CallContext(access=reading)
    memory = opened()
    before = search(memory, context=context)
    assert before["unavailable"] is True
    assert "nothing is indexed yet" in before["error"]
    assert not opened.state.exists()
    assert [tool["name"] for tool in memory.tool_schemas("ro")] == ["memory_search", "memory_get"]
    memory.sync()
    (opened.workspace / "memory/new.md").write_text("A xylophone.\n")
    assert first(search(memory, context=context)) == ANSWER
    assert search(memory, "xylophone", context)["results"] == []
    assert first(search(memory, "xylophone")) == "memory/new.md"
    assert first(search(memory, "xylophone", context)) == "memory/new.md"
    assert memory.call_tool("memory_append", {"text": "x"}, context)["denied"] is True


def test_a_folder_that_cannot_be_written(command: Command, workspace: Path) -> None:
    command("index")
    (workspace / "memory/new.md").write_text("A xylophone.\n")
    for folder in (command.state_dir, command.state_dir / "memory-core"):
        folder.chmod(0o500)
    for file in (command.state_dir / "memory-core").iterdir():
        file.chmod(0o400)
    try:
        answer = command("search", QUESTION, "--json", before=as_ordinary_owner).json
        assert first(answer) == ANSWER
        status = command("status", "--json", before=as_ordinary_owner).json
        assert (status["indexed"], status["dirty"]) == (True, True)
    finally:
        (command.state_dir / "memory-core").chmod(0o700)
        command.state_dir.chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="this system opens no folder that cannot be listed")
def test_folders_above_need_only_be_entered(command: Command, workspace: Path) -> None:
    workspace.parent.chmod(0o311)  # as /home is where many people share a machine
    try:
        for words in (("index",), ("add", "A xylophone."), ("search", "xylophone")):
            done = command(*words, before=as_ordinary_owner)
            assert done.code == 0, done.err
    finally:
        workspace.parent.chmod(0o700)


def test_each_search_tells_what_could_not_be_read(opened: Opener, workspace: Path) -> None:
    wide = workspace / "memory" / "wide.md"
    wide.write_bytes("A xylophone.\n".encode("utf-16"))
    memory = opened()
    for _ in range(2):
        assert search(memory)["warning"] == "memory/wide.md is left out: it is UTF-16: save it as UTF-8"
    assert memory.related("xylophone").warning is not None
    wide.write_text("A xylophone.\n")
    assert "warning" not in search(memory)


def test_syncing_says_what_it_cannot_write(opened: Opener) -> None:
    opened.state.write_text("a file where a folder should be")
    memory = opened()
    with pytest.raises(StoreReadOnly):
        memory.sync()
    answer = search(memory)
    assert answer["unavailable"] is True
    assert str(opened.state) in answer["error"]


# A configuration that changes.


def test_a_wrong_configuration_is_refused_at_once(opened: Opener, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"memory\.citation"):
        opened({"memory": {"citation": "on"}})
    with pytest.raises(ConfigError, match="cannot be read"):
        opened(tmp_path / "missing.json5")
    with pytest.raises(MemoryCoreError, match="agent"):
        opened(agent="../other")


def test_a_file_is_read_again_when_it_changes(opened: Opener, tmp_path: Path) -> None:
    file = tmp_path / "host.json5"
    clock = iter(range(1_700_000_000, 1_800_000_000))

    def write(text: str) -> None:
        file.write_text(text)
        os.utime(file, (next(clock),) * 2)

    write(json.dumps(document()))
    memory = opened(file)
    assert first(search(memory)) == ANSWER
    write(json.dumps(document(slot="none")))
    assert search(memory)["disabled"] is True
    assert memory.tool_schemas() == []
    write("{memory: {citation: 'on'}}")
    wrong = search(memory)
    assert wrong["unavailable"] is True
    assert "memory.citation" in wrong["error"]
    assert memory.tool_schemas() == []
    with pytest.raises(ConfigError):
        memory.status()
    file.unlink()
    assert search(memory)["unavailable"] is True
    write(json.dumps(document(query={"maxResults": 1})))
    assert len(search(memory)["results"]) == 1


def test_a_key_in_a_wrong_place_is_logged_once(opened: Opener, caplog: pytest.LogCaptureFixture) -> None:
    config = document() | {"recall": {"enabled": True}}
    config["agents"] = {**config["agents"], "list": [{"id": "main", "items": {"enabled": True}}]}
    memory = opened(config)
    told = [record.getMessage() for record in caplog.records if "nothing is read here" in record.getMessage()]
    assert told == [
        "mapping: recall: nothing is read here; did you mean memorySearch.recall?",
        "mapping: agents.list[0].items: nothing is read here; did you mean agents.list[0].memorySearch.items?",
    ]
    search(memory)
    assert "nothing is read here" not in "".join(record.getMessage() for record in caplog.records[len(told) :])
    assert [f"mapping: {each}" for each in memory.status().warnings] == told


def test_a_callable_is_asked_each_time(opened: Opener) -> None:
    asked = [document()]
    memory = opened(lambda: asked[-1])
    assert first(search(memory)) == ANSWER
    asked.append(document(memory={"scope": {"default": "deny"}}))
    assert search(memory, context=DIRECT)["denied"] is True
    asked.append(document(provider="static"))
    assert search(memory, context=DIRECT)["provider"] == "static"


def test_each_agent_has_its_own_index(opened: Opener, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "MEMORY.md").write_text("A xylophone.\n")
    config = document() | {"agents": {**document()["agents"], "list": [{"id": "helper", "workspace": str(other)}]}}
    main, helper = opened(config), opened(config, agent="Helper", workspace=None)
    assert first(search(helper, "xylophone")) == "MEMORY.md"
    assert search(main, "xylophone")["results"] == []
    assert helper.status().store != main.status().store


def test_the_memory_of_one_agent_refuses_others(opened: Opener) -> None:
    """Whoever opens Ann's and passes Bob's session has mistaken one for the other."""
    memory = opened(agent="Ann")
    assert search(memory, context=CallContext.local("t"))["results"]
    assert search(memory, context=CallContext.local("t", agent="ANN"))["results"]
    refused = search(memory, context=CallContext.local("t", agent="bob"))
    assert refused == {
        "error": "agent: this is the memory of 'ann', not of 'bob'; a MemorySlot serves all agents",
        "code": "invalid_agent",
    }
    assert "expected at most 64" in search(memory, context=CallContext.local("t", agent="bob@example.com"))["error"]
    for call in (memory.system_text, memory.prompt_section, memory.session_context, memory.session_started):
        with pytest.raises(InvalidArgument, match="not of 'bob'"):
            call(CallContext.local("t", agent="bob"))
    with pytest.raises(InvalidArgument, match="not of 'bob'"):
        memory.turn_ended([{"role": "user", "content": "Hello"}], context=CallContext.local("t", agent="bob"))
    with pytest.raises(InvalidArgument, match="not of 'bob'"):
        memory.recall(CallContext.local("t", agent="bob"), QUESTION)


# Threads, and the end.


def test_a_slot_without_a_workspace_says_so_when_it_starts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with MemorySlot(
        {"memorySearch": {"provider": "none"}}, workspace=tmp_path / "nowhere", state_dir=tmp_path / "state"
    ):
        told = [record.getMessage() for record in caplog.records if "has no notes" in record.getMessage()]
    assert len(told) == 1
    assert str(tmp_path / "nowhere") in told[0]


def test_threads_may_call_at_once(opened: Opener) -> None:
    memory = opened(document(provider="static"))

    def work(number: int) -> Any:
        if number % 4 == 0:
            return memory.sync(force=number == 8).files == SAMPLE_NOTES
        if number % 4 == 1:
            return get(memory)["status"] == "ok"
        if number % 4 == 2:
            return memory.status().agent == "main"
        return first(search(memory)) == ANSWER

    memory.sync()
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))


def test_searches_survive_a_configuration_that_changes_beneath_them(opened: Opener) -> None:
    """A change closes the open index while other threads still search it."""
    configs = [document(query={"maxResults": number}) for number in (1, 2)]
    calls = iter(range(10_000))
    memory = opened(lambda: configs[next(calls) // 3 % 2])
    memory.sync()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: search(memory), range(60)))
    assert [answer for answer in answers if "error" in answer] == []
    assert {first(answer) for answer in answers} == {ANSWER}


def test_notes_may_change_while_they_are_searched(opened: Opener) -> None:
    memory = opened()
    memory.sync()
    done = threading.Event()

    def edit() -> None:
        for number in range(40):
            (opened.workspace / f"memory/new-{number % 5}.md").write_text(f"Xylophone {number}.\n" * (number % 7 + 1))
            if number % 3 == 0:
                (opened.workspace / f"memory/new-{(number + 2) % 5}.md").unlink(missing_ok=True)
        done.set()

    editor = threading.Thread(target=edit)
    editor.start()
    while not done.is_set():
        assert first(search(memory)) == ANSWER
    editor.join()
    last = search(memory, "xylophone 39")
    assert last["results"]


def test_it_may_be_closed_twice_and_stays_closed(opened: Opener) -> None:
    memory = opened()
    assert first(search(memory)) == ANSWER
    before = threading.active_count()
    assert memory.close() == ()
    assert memory.close() == ()
    assert threading.active_count() <= before
    answer = search(memory)
    assert answer["unavailable"]
    assert "closed" in answer["error"]
    assert threading.active_count() <= before


def test_an_index_deleted_while_it_is_open_is_made_anew(opened: Opener) -> None:
    memory = opened()
    assert first(search(memory)) == ANSWER
    shutil.rmtree(opened.state)
    assert first(search(memory)) == ANSWER
    assert memory.status().indexed is True


def test_start_keeps_level_and_close_ends_it(opened: Opener) -> None:
    threads = threading.active_count()
    with opened(document(sync={"onSearch": False, "watchDebounceMs": 20})) as memory:
        memory.start()
        memory.start()
        _until(lambda: memory.status().indexed)
        (opened.workspace / "memory/new.md").write_text("A xylophone.\n")
        _until(lambda: search(memory, "xylophone").get("results"))
    _until(lambda: threading.active_count() <= threads)


def _until(holds: Any, *, seconds: float = 20.0) -> None:
    ended = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if holds():
            return
        ended.wait(0.02)
    raise AssertionError("it never held")
