"""Notes, prompts, progress, changes and cancellation of `memory-core mcp`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.command import Command
from tests.hosts.mcp_server import NOTE, Server, call, do, grow, repeating, talk

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])  # without a handshake, and with one


@MODES
def test_the_official_client_lists_and_reads_notes_and_prompts(mcp_client: Path, command: Command, mode: str) -> None:
    odd = command.workspace / "memory" / "50% of ÄÖ? #1.md"
    odd.write_text("- The fence is green.\n", encoding="utf-8")
    uri = "memory:///memory/50%25%20of%20%C3%84%C3%96%3F%20%231.md"
    listed, templates, read, strange, missing, refused, foreign, prompts, flush, recall, empty, unknown = talk(
        mcp_client,
        command,
        do("list_resources"),
        do("list_resource_templates"),
        do("read_resource", uri=f"memory:///{NOTE}"),
        do("read_resource", uri=uri),
        do("read_resource", uri="memory:///memory/none.md"),
        do("read_resource", uri="memory:///../secret.md"),
        do("read_resource", uri="file:///etc/passwd"),
        do("list_prompts"),
        do("get_prompt", name="flush"),
        do("get_prompt", name="recall", arguments={"message": "Which retired teacher takes the puppy?"}),
        do("get_prompt", name="recall", arguments={"message": " "}),
        do("get_prompt", name="other"),
        mode=mode,
    )
    by_uri = {each["uri"]: each for each in listed["resources"]}
    files = {command.workspace / "MEMORY.md", *(command.workspace / "memory").rglob("*.md")}
    paths = {path.relative_to(command.workspace).as_posix() for path in files}
    assert paths == {each["name"] for each in by_uri.values()}
    assert by_uri[f"memory:///{NOTE}"]["size"] == (command.workspace / NOTE).stat().st_size
    assert by_uri[uri]["mimeType"] == "text/markdown"
    assert [each["uriTemplate"] for each in templates["resourceTemplates"]] == ["memory:///{+path}"]
    assert read["contents"][0]["text"] == (command.workspace / NOTE).read_text(encoding="utf-8")
    assert strange["contents"] == [{"uri": uri, "mimeType": "text/markdown", "text": "- The fence is green.\n"}]
    assert missing["error"]["message"] == "there is no note memory/none.md"
    assert missing["error"]["code"] == (-32002 if mode == "legacy" else -32602)
    assert "../secret.md" in refused["error"]["message"]
    assert "memory:///MEMORY.md" in foreign["error"]["message"]
    assert [each["name"] for each in prompts["prompts"]] == ["flush", "recall"]
    assert "memory_append" in flush["messages"][0]["content"]["text"]
    assert recall["messages"][0]["content"]["text"].endswith("\n\nWhich retired teacher takes the puppy?")
    assert f"{NOTE}#L" in recall["messages"][0]["content"]["text"]
    assert "message: " in empty["error"]["message"]
    assert "'other'" in unknown["error"]["message"]


def test_a_long_list_of_notes_comes_in_pages(mcp_client: Path, command: Command) -> None:
    for number in range(450):
        (command.workspace / "memory" / f"n{number:03}.md").write_text("x\n", encoding="utf-8")
    first, second = talk(mcp_client, command, do("list_resources"), do("list_resources", cursor="memory/n300.md"))
    assert len(first["resources"]) == 200
    assert first["nextCursor"] == first["resources"][-1]["name"]
    assert second["resources"][0]["name"] == "memory/n301.md"
    assert "nextCursor" not in second


def test_memory_that_is_off_shows_nothing(mcp_client: Path, command: Command, tmp_path: Path) -> None:
    config = tmp_path / "host.json5"
    config.write_text('{plugins: {slots: {memory: "none"}}}', encoding="utf-8")
    notes, read, prompts, flush = talk(
        mcp_client,
        command,
        do("list_resources"),
        do("read_resource", uri=f"memory:///{NOTE}"),
        do("list_prompts"),
        do("get_prompt", name="flush"),
        options=("--config", str(config)),
    )
    assert notes["resources"] == prompts["prompts"] == []
    assert "memory is off" in read["error"]["message"]
    assert 'the memory slot is "none"' in flush["error"]["message"]


def wait_for(server: Server, method: str) -> Any:
    """The params of the next notification of that method."""
    while (message := server.receive()).get("method") != method:
        assert "error" not in message
    return message.get("params")


def test_a_client_hears_of_the_changes_that_it_asked_for(server: Server, workspace: Path) -> None:
    server.greet()
    for number, name in ((2, "MEMORY.md"), (3, "memory/new.md")):
        server.send("resources/subscribe", number, uri=f"memory:///{name}")
        assert server.receive_until(number)["result"] == {}
    server.send("resources/list", 4)
    server.receive_until(4)
    with repeating(lambda: grow(workspace / "MEMORY.md")):
        assert wait_for(server, "notifications/resources/updated") == {"uri": "memory:///MEMORY.md"}
    (workspace / "memory" / "new.md").write_text("new\n", encoding="utf-8")
    wait_for(server, "notifications/resources/list_changed")
    assert wait_for(server, "notifications/resources/updated") == {"uri": "memory:///memory/new.md"}


def test_the_official_client_listens_to_a_note(mcp_client: Path, command: Command) -> None:
    uri = f"memory:///{NOTE}"
    step = {"listen": {"resource_subscriptions": [uri]}, "append": str(command.workspace / NOTE)}
    assert talk(mcp_client, command, step) == [f"ResourceUpdated(uri={uri!r})"]


def test_a_client_without_a_handshake_hears_of_changes_too(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "host.json5"
    config.write_text("{}", encoding="utf-8")
    with Server(command, "--config", str(config)) as server:
        asker = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
        meta = {f"io.modelcontextprotocol/{name}": value for name, value in asker.items()}
        server.send("server/discover", 1, _meta=meta)
        assert server.receive()["result"]["capabilities"]["resources"]["subscribe"]
        server.send("subscriptions/listen", 2, _meta=meta, notifications={"toolsListChanged": True})
        wait_for(server, "notifications/subscriptions/acknowledged")
        dice = random.Random(1)
        items = "{memorySearch: {items: {enabled: %s}}}"
        with repeating(lambda: config.write_text(items % dice.choice(["true", "false"]), encoding="utf-8")):
            wait_for(server, "notifications/tools/list_changed")


def test_a_first_search_tells_of_the_index_and_waits_for_none_longer_than_it_may(
    command: Command, tmp_path: Path
) -> None:
    config = tmp_path / "host.json5"
    config.write_text("{memorySearch: {sync: {onSearchBudgetMs: 0}}}", encoding="utf-8")
    for number in range(300):
        (command.workspace / "memory" / f"n{number}.md").write_text(
            f"- Item {number} is blue.\n" * 20, encoding="utf-8"
        )
    with Server(command, "--config", str(config)) as server:
        server.greet()
        server.send("tools/call", 2, name="memory_search", arguments={"query": "blue"}, _meta={"progressToken": "t"})
        answer = server.receive_until(2)["result"]["structuredContent"]
        assert answer["stale"]
        while not answer["results"]:
            server.send("tools/call", 3, name="memory_search", arguments={"query": "blue"}, _meta={"progressToken": 7})
            while (message := server.receive()).get("id") != 3:
                assert message["method"] == "notifications/progress"
                assert message["params"]["progressToken"] in ("t", 7)
                assert 0 <= message["params"]["progress"] <= message["params"]["total"]
            answer = message["result"]["structuredContent"]
        assert answer["stale"]  # it never waits


def test_a_call_that_is_cancelled_gets_no_answer_and_others_do(server: Server) -> None:
    server.greet()
    for number in range(2, 12):
        server.send("tools/call", number, name="memory_search", arguments={"query": "retired teacher"})
        if number % 2:
            server.send("notifications/cancelled", requestId=number)
    answered: list[int] = []
    while len(answered) < 5:
        message = server.receive()
        if "result" in message:
            answered.append(message["id"])
    assert {2, 4, 6, 8, 10} <= set(answered)
    server.send("ping", 99)
    assert server.receive_until(99)["result"] == {}


def test_every_result_fits_the_schema_that_its_tool_publishes(mcp_client: Path, command: Command) -> None:
    """The official client checks it, and raises if it does not."""
    tools, *answers = talk(
        mcp_client,
        command,
        {},
        call("memory_search", query="puppy"),
        call("memory_search", query=""),
        call("memory_get", path="memory/none.md"),
        call("memory_get", path="/etc/passwd"),
        call("memory_append", text="x", target="elsewhere"),
    )
    assert all(tool["outputSchema"]["type"] == "object" for tool in tools)
    assert [answer["is_error"] for answer in answers] == [False, True, False, True, True]
    assert all(json.loads(answer["text"]) == answer["structured"] for answer in answers)
