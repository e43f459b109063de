"""One person with several repositories: real git, the hooks as Claude Code runs them, and the MCP server that it starts."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from tests.command import REPOSITORY
from tests.integration.test_project_folders import make_repository
from tests.machines import git

CONFIG = """{memorySearch: {provider: "static", recall: {enabled: true, timeoutMs: 20000},
  items: {enabled: true, capture: {enabled: true}}}}"""
START = [sys.executable, "-P", "-m", "memory_core"]


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """That of every process of the host."""
    config = home / "config.json5"
    config.write_text(CONFIG)
    return {**os.environ, "HOME": str(home), "PYTHONPATH": str(REPOSITORY), "MEMORY_CORE_CONFIG": str(config),
            "MEMORY_CORE_STATE_DIR": str(home / "state")}  # fmt: skip


class Session:
    """A session in a folder: the server that the host has started there, and its hooks."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        # The shell stands for the process of the host, whose id hooks are told.
        host = ["/bin/sh", "-c", f"{shlex.join(START)} mcp; exit $?"]
        self._server = subprocess.Popen(
            host, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        pid = str(self._server.pid)
        self._environment = {**environment, "CLAUDE_PROJECT_DIR": str(folder), "CLAUDE_PID": pid}
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self._ask("initialize", client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate(timeout=60)
        assert self._server.returncode == 0

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        self._server.stdin.flush()
        while True:
            answer = json.loads(self._server.stdout.readline())
            if answer.get("id") == 1:
                result: dict[str, Any] = answer["result"]
                return result

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return what a tool of the server returns."""
        found: dict[str, Any] = self._ask("tools/call", {"name": name, "arguments": arguments})["structuredContent"]
        return found

    def hook(self, event: str, cwd: Path | None = None, **facts: str) -> str:
        """Run the hook of an event in the session's folder, or in another one; return what it shows the model."""
        given = {"hook_event_name": event, "session_id": self.folder.name, "cwd": str(cwd or self.folder), **facts}
        done = subprocess.run(
            [*START, "hook"], cwd=self.folder, env=self._environment, input=json.dumps(given), text=True,
            capture_output=True, check=True,
        )  # fmt: skip
        return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""

    def find(self, question: str) -> str:
        """Return all that a search of the notes and one of the items show."""
        found = self.call("memory_search", query=question), self.call("memory_recall", query=question)
        return json.dumps([each["results"] for each in found])


@pytest.fixture
def start(home: Path, environment: dict[str, str]) -> Iterator[Callable[[str], Session]]:
    """Starts sessions in two worktrees of a repository, shop and fox, in another one, and in a private one, secret."""
    shop, _, secret = (make_repository(home / "code" / name) for name in ("shop", "other", "secret"))
    git(shop, "remote", "add", "origin", "https://git.example.org/shop.git")
    git(shop, "worktree", "add", "-q", "../fox", "-b", "fox")
    (secret / ".memory-core.toml").write_text("[memory]\nprivate = true\n")
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(Session(home / "code" / name, environment))


def test_what_is_said_in_one_project_is_known_where_it_belongs(start: Callable[[str], Session], home: Path) -> None:
    shop, fox, other, secret = map(start, ("shop", "fox", "other", "secret"))
    assert shop.call("memory_append", text="- We decided to keep carts in Redis.")["status"] == "appended"
    shop.call("memory_store", text="The staging cluster is called Walnut.", kind="decision")
    fox.call("memory_append", text="- I write commit messages in English.", target="person")
    fox.call("memory_store", text="I prefer pull requests below 300 lines.", kind="preference")
    secret.call("memory_append", text="- The merger partner is Halcyon Ltd.")
    secret.call("memory_store", text="The merger closes on 3 May.", kind="fact")
    assert secret.call("memory_append", text="I like the Halcyon logo.", target="person")["status"] == "proposed"
    assert (
        secret.call("memory_store", text="I prefer to call the merger Heron.", kind="preference")["status"] == "added"
    )

    carts, cluster = "Where do we keep carts?", "What is our staging cluster called?"
    prefers = "In which language do I write commit messages, and how long are the pull requests that I prefer?"
    merger = "Who is our merger partner, Halcyon, and what do I prefer to call the merger that closes on 3 May?"
    assert "Redis" in fox.hook("UserPromptSubmit", prompt=carts)
    assert "Walnut" in fox.find(cluster)
    recalled = other.hook("UserPromptSubmit", prompt=prefers)
    assert "English" in recalled
    assert "300 lines" in recalled
    found = other.find(f"{carts} {cluster} {merger}")
    for private in ("Redis", "Walnut", "Halcyon", "Heron", "3 May"):
        assert private not in found
    assert "English" in other.find(prefers)
    assert "Halcyon" in secret.find(merger)
    for session in (shop, fox, other):
        assert not list(session.folder.rglob("*.md")), "nothing was written into a repository that did not ask for it"


def test_the_next_search_asks_the_project_of_the_new_folder(start: Callable[[str], Session], home: Path) -> None:
    other, code = start("other"), home / "code"
    assert other.hook("SessionStart", source="startup") == ""
    other.hook("CwdChanged", code / "shop")
    other.call("memory_append", text="- We decided to keep carts in Redis.")
    question = "Where do we keep carts?"
    for cwd, found in ((code / "other", False), (code / "fox" / "src", True), (home, True)):
        other.hook("CwdChanged", cwd)
        assert ("Redis" in other.find(question)) is found
    other.hook("CwdChanged", code / "other")
    assert "Redis" in other.hook("UserPromptSubmit", code / "shop", prompt=question), "a host without that event"
    assert "Redis" in other.find(question)
