"""`memory-core sync` as its users have it: two machines, a bare repository, real processes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from memory_core import open_memory
from memory_core.hosts.mcp.server import Answers
from memory_core.plugin import sharing
from memory_core.plugin.slot import MemorySlot
from memory_core.records import Access, CallContext
from memory_core.sharing.repository import hold
from memory_core.sources.notes import find_intent
from tests.command import REPOSITORY, Command, Outcome
from tests.hosts.mcp_server import DEADLINE_SECONDS, Server
from tests.machines import git, make_remote, run_git
from tests.servers.mcp_messages import OPENING
from tests.waiting import eventually

SECRET = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Command, Command]:
    made = []
    for name in ("laptop", "desktop"):
        (tmp_path / name).mkdir()
        made.append(Command(tmp_path / name, tmp_path / f"{name}-state"))
    make_remote(tmp_path / "remote.git")
    return made[0], made[1]


def run(machine: Command, *words: str) -> Outcome:
    done = machine(*words)
    assert done.code == 0, done.err
    return done


def name(machine: Command) -> str:
    """The command that works on the notes of a machine, as a hint names it."""
    return f"memory-core --workspace {machine.workspace} --state-dir {machine.state_dir}"


def init(machines: tuple[Command, Command], *options: str) -> None:
    remote = str(machines[0].workspace.with_name("remote.git"))
    for machine in machines:
        run(machine, "sync", "init", remote, *options)


def test_two_machines_share_notes_and_items(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    run(laptop, "items", "add", "I like green tea.")
    init(machines)
    assert run(desktop, "search", "where is the boat").out.count("harbour of Thun") == 1
    assert "green tea" in run(desktop, "items", "list").out
    run(desktop, "items", "forget", "--query", "tea")
    assert run(desktop, "sync").out == "Sent 1 file, took 0.\n"
    assert run(laptop, "sync", "--json").json["taken"] == ["items/main.jsonl"]
    assert "green tea" not in run(laptop, "items", "list").out
    assert run(laptop, "sync").out == "Sent 0 files, took 0.\n"


def test_an_item_that_is_forgotten_after_a_broken_sync_has_taken_it_stays_forgotten(
    machines: tuple[Command, Command],
) -> None:
    laptop, desktop = machines
    init(machines)
    run(desktop, "items", "add", "I like green tea.")
    (desktop.workspace / "memory").mkdir()
    (desktop.workspace / "memory" / "boat.md").write_text("The boat is in the harbour of Thun.\n")
    run(desktop, "sync")
    lock = find_intent(laptop.workspace, laptop.state_dir).with_suffix(".lock")
    lock.mkdir(parents=True)
    assert "memory/boat.md: not written" in laptop("sync").error
    run(laptop, "items", "forget", "--query", "tea")
    lock.rmdir()
    run(laptop, "sync")
    run(desktop, "sync")
    assert "green tea" not in run(desktop, "items", "list").out
    assert "Thun" in (laptop.workspace / "memory" / "boat.md").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such terminals")
def test_a_terminal_is_told_what_is_waited_for_also_where_the_state_is_damaged(
    machines: tuple[Command, Command],
) -> None:
    laptop, _ = machines
    init(machines)
    (state,) = laptop.state_dir.rglob("state.json")
    state.write_text("torn")
    remote = str(laptop.workspace.with_name("remote.git"))
    with hold(state.with_name("lock")):
        own, terminal = os.openpty()
        words = [*laptop.start(), "sync", "init", remote]
        started = subprocess.Popen(words, stderr=terminal, cwd=REPOSITORY, env=laptop.variables())
        os.close(terminal)
        told = os.read(own, 1000).decode()
    assert started.wait(60) == 0
    os.close(own)
    assert told.startswith(f"Waiting for {remote}, which")


def test_status_says_when_it_was_synced_and_what_waits(machines: tuple[Command, Command]) -> None:
    laptop, _ = machines
    assert "not synced" in laptop("sync", "status").error
    run(laptop, "add", "--longterm", "One.")
    init(machines)
    told = run(laptop, "sync", "status", "--json").json
    assert (told["on"], told["problem"], told["synced"] > 0) == (True, "", True)
    remote = laptop.workspace.with_name("remote.git")
    remote.rename(remote.with_name("away"))
    failed = laptop("sync")
    assert failed.code == 1
    why = f"fatal: '{remote}' does not appear to be a git repository"
    check = "Check its address, the network, and your rights there."
    assert failed.error == f"memory-core: the remote cannot be read: {why}. {check}"
    told = run(laptop, "sync", "status", "--json").json
    assert (told["waits"], told["tried"] >= told["synced"]) == (True, True)
    assert f"{why}; it will be tried again" in run(laptop, "sync", "status").out
    remote.with_name("away").rename(remote)
    run(laptop, "sync", "off")
    assert laptop("sync").error == f"memory-core: these notes are not synced. Run: {name(laptop)} sync init {remote}"


def test_lines_that_both_changed_wait_for_review_until_one_version_is_gone(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    note = "# Memory\n\n- The car is red.\n\n- The boat is blue.\n\n- The bike is black.\n"
    (laptop.workspace / "MEMORY.md").write_text(note)
    init(machines)
    (laptop.workspace / "MEMORY.md").write_text(note.replace(".", " and new."))
    (desktop.workspace / "MEMORY.md").write_text(note.replace(".", " and old."))
    run(laptop, "sync")
    assert "Choose: memory-core review" in desktop("sync").err

    def list_proposed() -> dict[str, str]:
        found = run(desktop, "review", "--json").json["proposals"]
        assert all(each["new"] == "" for each in found if each["kind"] == "proposed")
        return {each["text"]: each["id"] for each in found if each["kind"] == "proposed"}

    found = list_proposed()
    assert sorted(found) == ["- The bike is black and new.", "- The boat is blue and new.", "- The car is red and new."]
    both = (desktop.workspace / "MEMORY.md").read_text()
    (desktop.workspace / "MEMORY.md").write_text("- mine\n" + both.replace("- The bike is black and old.\n", ""))
    run(desktop, "review", "accept", found["- The boat is blue and new."])
    assert list_proposed() == {"- The car is red and new.": found["- The car is red and new."]}
    run(desktop, "review", "accept", found["- The car is red and new."])
    lines = [line for line in (desktop.workspace / "MEMORY.md").read_text().split("\n") if line.startswith("- ")]
    assert lines == [
        "- mine",
        "- The car is red and old.",
        "- The boat is blue and old.",
        "- The bike is black and new.",
    ]


def test_lines_that_both_wrote_into_one_block_wait_for_review(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    note = "---\nstatus: {}\n---\n\n```sh\nset -e\n{}```\n"
    step = "if {0}; then\n  run {0}\nfi\n"
    (laptop.workspace / "memory").mkdir()
    (laptop.workspace / "memory" / "boat.md").write_text(note.format("open", ""))
    init(machines)
    for machine, status, name in ((laptop, "done", "linux"), (desktop, "late", "windows")):
        (machine.workspace / "memory" / "boat.md").write_text(note.format(status, step.format(name)))
    run(laptop, "sync")
    assert "both versions of 4 lines stand in memory/boat.md" in desktop("sync").err
    both = note.format("done\nstatus: late", step.format("linux") + step.format("windows"))
    assert (desktop.workspace / "memory" / "boat.md").read_text() == both
    found = run(desktop, "review", "--json").json["proposals"]
    proposed = {each["text"]: each["id"] for each in found if each["kind"] == "proposed"}
    assert set(proposed) == {"status: done", step.format("linux").rstrip()}
    run(desktop, "review", "accept", proposed[step.format("linux").rstrip()])
    assert (desktop.workspace / "memory" / "boat.md").read_text() == both.replace(step.format("linux"), "")
    run(desktop, "review", "undo")
    assert (desktop.workspace / "memory" / "boat.md").read_text() == both


def test_a_secret_is_named_by_its_place_alone(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    (laptop.workspace / "MEMORY.md").write_text(f"# Memory\n\n- token: {SECRET}\n")
    remote = str(laptop.workspace.with_name("remote.git"))
    done = run(laptop, "sync", "init", remote)
    assert "MEMORY.md:3 looks like a secret" in done.err
    assert SECRET not in done.err + done.out + run(laptop, "sync", "status").err
    run(desktop, "sync", "init", remote)
    assert not (desktop.workspace / "MEMORY.md").exists()


def test_a_workspace_that_is_gone_is_told_and_comes_back(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    run(laptop, "init", str(laptop.workspace))
    for number in range(4):
        note = laptop.workspace / "memory" / f"{number}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"# Note {number}\n\n- What stands in it: {number}.\n")
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    init(machines)
    shutil.rmtree(desktop.workspace)
    assert f"{name(desktop)} sync --restore" in desktop("sync").error
    run(desktop, "init", str(desktop.workspace))
    run(desktop, "add", "Begun anew.")
    run(desktop, "sync", "--behind")
    lost = "has lost 5 of its 5 notes, which would be deleted everywhere"
    way = "Take them back: memory-core sync --restore; or delete them on all machines: memory-core sync --delete"
    status = run(desktop, "sync", "status").out
    assert lost in status
    assert way.replace("memory-core", name(desktop)) in status
    assert lost in run(desktop, "status").err
    found = desktop("doctor", "--json").json["findings"]
    assert [each["action"] for each in found if each["subject"] == "sync"] == [way]
    shutil.rmtree(desktop.workspace)
    run(desktop, "init", str(desktop.workspace))
    assert run(desktop, "sync", "--restore").out == "Sent 0 files, took 5.\n"
    assert "Sent 0 files, took 0." in run(laptop, "sync").out
    assert "harbour of Thun" in (desktop.workspace / "MEMORY.md").read_text()
    assert not [each for each in desktop("doctor", "--json").json["findings"] if each["subject"] == "sync"]
    run(desktop, "sync", "off")
    run(desktop, "sync", "off")
    again = f"{name(desktop)} sync init {laptop.workspace.with_name('remote.git')}"
    assert again in run(desktop, "sync", "status").err


class Home:
    """A home folder with a repository of a project, in which commands are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shop = folder / "code" / "shop"
        git(self.shop, "init", "-q")

    def ask(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "memory_core", *words]
        environment = {**os.environ, "HOME": str(self.folder), "MEMORY_CORE_PROVIDER": "none"}
        return subprocess.run(
            command, cwd=self.shop, env=environment, input=given, capture_output=True, text=True, check=False
        )


@pytest.fixture
def laptop_home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_repository_without_notes_takes_none_into_the_default_workspace(laptop_home: Home, tmp_path: Path) -> None:
    folder, shop, ask = laptop_home.folder, laptop_home.shop, laptop_home.ask
    remote = make_remote(tmp_path / "remote.git")
    refused = ask("sync", "init", str(remote))
    assert (refused.returncode, [*folder.iterdir()]) == (2, [folder / "code"])
    told = f"{shop}: there are no notes in this repository. Make them: memory-core init; or for the default workspace: {{}}"
    named = ("--workspace", str(folder / "clawd"), "sync", "init")
    assert told.format(" ".join(["memory-core", *named, "URL"])) in refused.stderr
    (folder / "clawd").mkdir()
    (folder / "clawd" / "MEMORY.md").write_text("- Of the person.\n")
    refused = ask("sync", "init", str(remote))
    assert (refused.returncode, run_git(remote, "for-each-ref")) == (2, "")
    assert told.format(" ".join(["memory-core", *named, "URL"])) in refused.stderr
    assert ask(*named, str(make_remote(tmp_path / "person.git"))).returncode == 0
    assert ask("init").returncode == 0
    assert "memory/ in ~/code/shop and the items of this project" in ask("sync", "init", str(remote)).stderr
    assert (shop / "MEMORY.md").exists()


def test_a_session_of_a_project_syncs_the_notes_of_the_person(laptop_home: Home, tmp_path: Path) -> None:
    remote = make_remote(tmp_path / "person.git")
    person = laptop_home.folder / ".memory-core" / "person"
    laptop_home.ask("add", "--person", "Commit messages are in English.")
    assert laptop_home.ask("--workspace", str(person), "sync", "init", str(remote)).returncode == 0
    laptop_home.ask("add", "--person", "Tea without sugar.")
    event = {"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": str(laptop_home.shop)}
    assert laptop_home.ask("hook", given=json.dumps(event)).returncode == 0
    assert eventually(lambda: "without sugar" in run_git(remote, "show", "main:MEMORY.md"))
    remote.rename(tmp_path / "elsewhere.git")
    laptop_home.ask("sync", "--behind")
    told = laptop_home.ask("status").stderr
    assert "the notes of the layer person are not synced: the remote cannot be read" in told
    assert f"see: memory-core --workspace {person} sync status" in told


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found in /proc")
def test_a_long_session_of_a_project_syncs_no_layer_that_was_just_synced(laptop_home: Home, tmp_path: Path) -> None:
    ask, home = laptop_home.ask, laptop_home.folder
    ask("add", "--person", "Commit messages are in English.")
    ask("init")
    person = str(home / ".memory-core" / "person")
    for options, remote in ((("--workspace", person), "person.git"), ((), "shop.git")):
        assert ask(*options, "sync", "init", str(make_remote(tmp_path / remote))).returncode == 0
    states = {json.loads(path.read_text())["workspace"]: path for path in home.rglob("state.json")}
    shop = str(laptop_home.shop)
    os.utime(states[shop], (1.0, 1.0))
    config = tmp_path / "config.json"
    config.write_text('{"memory": {"sharing": {"intervalMinutes": 600}}}')
    before = {folder: path.read_bytes() for folder, path in states.items()}
    event = {"hook_event_name": "Stop", "session_id": "s1", "cwd": shop}
    assert ask("--config", str(config), "hook", given=json.dumps(event)).returncode == 0
    assert eventually(lambda: states[shop].read_bytes() != before[shop])
    assert eventually(lambda: not find_behind(config)), "a process behind does not end"
    assert states[person].read_bytes() == before[person]


def find_behind(config: Path) -> list[Path]:
    """The processes behind that have a configuration."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (each / "cmdline").read_bytes()
            found += [each] if b"--behind" in words and os.fsencode(config) in words else []
    return found


def test_what_to_do_about_the_notes_of_the_person_is_said_of_them_also_in_a_project(
    laptop_home: Home, tmp_path: Path
) -> None:
    remote = make_remote(tmp_path / "person.git")
    person = laptop_home.folder / ".memory-core" / "person"
    laptop_home.ask("add", "--person", "Commit messages are in English.")
    there = ("--workspace", str(person))
    assert laptop_home.ask(*there, "sync", "init", str(remote)).returncode == 0
    (person / "MEMORY.md").unlink()
    command = f"memory-core --workspace {person} sync"
    assert f"{command} --restore; or " in laptop_home.ask(*there, "sync").stderr
    finding = find_sync(laptop_home)
    assert (finding["level"], finding["action"]) == ("warn", f"see: {command} status")
    told = laptop_home.ask(*there, "sync", "status").stdout
    assert f"{command} --restore; or " in told
    assert f"{command} --delete" in told
    (state,) = laptop_home.folder.rglob("state.json")
    state.write_text("torn")
    finding = find_sync(laptop_home)
    assert (finding["level"], finding["action"]) == ("fail", f"see: {command} status")
    assert f"Name it again: {command} init URL" in laptop_home.ask(*there, "sync", "status").stderr


def find_sync(home: Home) -> dict[str, str]:
    """The only finding of `doctor` about the sync."""
    findings: list[dict[str, str]] = json.loads(home.ask("doctor", "--json").stdout)["findings"]
    (found,) = [each for each in findings if each["subject"] == "sync"]
    return found


def test_forgetting_names_the_remote_and_a_purge_empties_its_past(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    run(laptop, "items", "add", "The surprise party is on Sunday.")
    init(machines)
    forgotten = run(laptop, "items", "forget", "--query", "party", "--json").json
    assert "memory-core sync purge" in forgotten["remains"][-1]
    run(laptop, "sync", "purge")
    run(desktop, "sync")
    assert "party" not in run(desktop, "items", "list").out
    log = subprocess.run(
        ["git", f"--git-dir={laptop.workspace.with_name('remote.git')}", "log", "-p", "main"],
        capture_output=True,
        check=True,
    )
    assert b"party" not in log.stdout


def test_a_purge_of_old_versions_says_that_what_was_synced_holds_the_text(machines: tuple[Command, Command]) -> None:
    laptop, _ = machines
    note = laptop.workspace / "MEMORY.md"
    note.write_text("- The code is 9917-quokka.\n", encoding="utf-8")
    run(laptop, "index")
    init(machines)
    note.write_text("- There is no code.\n", encoding="utf-8")
    done = run(laptop, "history", "purge", "--match", "9917-quokka", "--yes")
    assert "left in the files of this agent but the copy of what was synced." in done.out
    assert "memory-core sync purge" in done.err


def test_an_encrypted_remote_is_set_up_with_a_key_to_keep(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    remote = str(laptop.workspace.with_name("remote.git"))
    done = run(laptop, "sync", "init", remote, "--encrypt")
    assert "nobody can help" in done.err
    key = next(laptop.state_dir.rglob("key.txt"))
    assert "is encrypted" in desktop("sync", "init", remote).err
    run(desktop, "sync", "init", remote, "--key", str(key))
    assert "harbour of Thun" in (desktop.workspace / "MEMORY.md").read_text()


def test_a_session_that_ends_is_synced(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    init(machines)
    run(laptop, "add", "--longterm", "The mast was mended.")
    end_by_hook(laptop)

    def arrives() -> bool:
        run(desktop, "sync")
        return "mast" in (desktop.workspace / "MEMORY.md").read_text()

    assert eventually(arrives, seconds=60)


def test_a_long_session_syncs_at_intervals(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    init(machines)
    turn = [{"role": "user", "content": "The mast was mended."}]
    for minutes, arrives in ((600.0, False), (0.0001, True)):
        document = {"memory": {"sharing": {"intervalMinutes": minutes}}}
        with open_memory(document, workspace=laptop.workspace, state_dir=laptop.state_dir) as memory:
            run(laptop, "add", "--longterm", f"Written at {minutes}.")
            memory.turn_ended(turn)
            assert eventually(lambda: "memory-core-sharing" not in {thread.name for thread in threading.enumerate()})
        run(desktop, "sync")
        assert (f"Written at {minutes}." in (desktop.workspace / "MEMORY.md").read_text()) is arrives


def end_by_hook(machine: Command, *options: str) -> None:
    event = json.dumps({"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": str(machine.workspace)})
    subprocess.run([*machine.start(), *options, "hook"], input=event.encode(), check=True, timeout=60)


def forget_the_last_try(machine: Command) -> Path:
    """Let a session that starts sync, though another one has just done so; return the state of the sync."""
    (state,) = machine.state_dir.rglob("state.json")
    os.utime(state, (1.0, 1.0))
    return state


def test_an_mcp_server_syncs_when_it_starts(machines: tuple[Command, Command]) -> None:
    laptop, desktop = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    init(machines)
    run(desktop, "add", "--longterm", "The mast was mended.")
    run(desktop, "sync")
    forget_the_last_try(laptop)
    with Server(laptop) as server:
        server.send("initialize", 1, **OPENING)
        server.receive_until(1)
        assert eventually(lambda: "mast" in (laptop.workspace / "MEMORY.md").read_text())
        assert eventually(lambda: not laptop.find_behind())


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("way", ["the client leaves", "SIGTERM", "SIGINT", "SIGTERM over HTTP"])
def test_what_an_mcp_session_wrote_is_sent_when_its_server_ends_also_to_a_slow_remote(
    machines: tuple[Command, Command], tmp_path: Path, way: str
) -> None:
    laptop, _ = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    init(machines)
    remote = tmp_path / "remote.git"
    state = name_remote(laptop, f"ssh://slow.invalid{remote}")
    ssh = write_ssh(tmp_path, 'sleep 1\nfor asked; do :; done\nexec sh -c "$asked"\n')
    options = ("--http", "127.0.0.1:0") if way.endswith("HTTP") else ()
    with Server(laptop, *options, GIT_SSH_COMMAND=str(ssh), GIT_SSH_VARIANT="simple") as server:
        if options:
            assert server.url
        else:
            server.send("initialize", 1, **OPENING)
            server.receive_until(1)
        run(laptop, "add", "--longterm", "The sail is white.")
        assert not laptop.find_behind()  # nothing starts within a minute of the last sync
        if way != "the client leaves":
            server.process.send_signal(signal.SIGINT if way == "SIGINT" else signal.SIGTERM)
        server.process.communicate(timeout=DEADLINE_SECONDS)
    assert eventually(lambda: not laptop.find_behind())
    assert "The sail is white." in run_git(remote, "show", "main:MEMORY.md")
    assert not json.loads(state.read_text())["problem"]


def test_an_mcp_server_syncs_in_a_quiet_minute_after_calls(
    machines: tuple[Command, Command],
) -> None:
    laptop, _ = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    init(machines)
    context = CallContext.local("s1")
    started: list[float] = []
    with closing(
        MemorySlot(None, workspace=laptop.workspace, state_dir=laptop.state_dir, start_sync=started.append)
    ) as slot:
        answers = Answers(slot, context)
        answers.rest()
        assert not started
        params = types.CallToolRequestParams(name="memory_append", arguments={"text": "The sail is white."})
        asked: Any = SimpleNamespace(protocol_version=HANDSHAKE_PROTOCOL_VERSIONS[0], meta=None)
        asyncio.run(answers.call_tool(asked, params))
        answers.rest()
        assert started == [0.0]
        answers.rest()
        assert started == [0.0]


def name_remote(machine: Command, url: str) -> Path:
    """Let a machine sync with another address from now on; return the state of the sync."""
    (state,) = machine.state_dir.rglob("state.json")
    state.write_text(json.dumps(json.loads(state.read_text()) | {"url": url}))
    return state


def write_ssh(folder: Path, script: str) -> Path:
    ssh = folder / "ssh"
    ssh.write_text(f"#!/bin/sh\n{script}")
    ssh.chmod(0o755)
    return ssh


def list_users(ssh: Path) -> list[int]:
    """Return the processes that were given an ssh of a test."""
    found = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            found += [int(each.parent.name)] if str(ssh).encode() in each.read_bytes() else []
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found in /proc")
@pytest.mark.parametrize("way", ["the client leaves", "SIGTERM"])
def test_an_mcp_server_answers_and_ends_while_the_remote_does_not_answer(
    machines: tuple[Command, Command], tmp_path: Path, way: str
) -> None:
    laptop, _ = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    init(machines)
    name_remote(laptop, "ssh://nowhere.invalid/notes.git")
    forget_the_last_try(laptop)
    ssh = write_ssh(tmp_path, "sleep 600\n")
    try:
        with Server(laptop, GIT_SSH_COMMAND=str(ssh)) as server:
            server.send("initialize", 1, **OPENING)
            server.receive_until(1)
            assert eventually(lambda: len(list_users(ssh)) > 3), "git and ssh do not run"
            server.send("tools/call", 2, name="memory_search", arguments={"query": "where is the boat"})
            assert "Thun" in json.dumps(server.receive_until(2)["result"])
            began = time.monotonic()
            if way == "SIGTERM":
                server.process.terminate()
            server.process.communicate(timeout=DEADLINE_SECONDS)
            assert time.monotonic() - began < 10
    finally:
        for process in (*laptop.find_behind(), *list_users(ssh)):  # which end by themselves in some minutes
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found in /proc")
def test_a_memory_that_closes_ends_a_sync_without_an_answer_and_all_that_it_has_started(
    machines: tuple[Command, Command], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, _ = machines
    init(machines)
    state = name_remote(laptop, "ssh://nowhere.invalid/notes.git")
    forget_the_last_try(laptop)
    ssh = write_ssh(tmp_path, "trap '' TERM\nsleep 600\n")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    monkeypatch.setattr(sharing, "CLOSE_SECONDS", 0.05)
    memory = open_memory(workspace=laptop.workspace, state_dir=laptop.state_dir)
    memory.session_started()
    assert eventually(lambda: len(list_users(ssh)) > 2), "git and ssh do not run"
    assert memory.close() == ()
    assert eventually(lambda: not list_users(ssh)), "git or ssh is left behind"
    with hold(state.with_name("lock")):
        pass
    assert "the program ended before the sync did" in json.loads(state.read_text())["problem"]


def test_a_closed_memory_starts_no_sync(machines: tuple[Command, Command]) -> None:
    laptop, _ = machines
    init(machines)
    with open_memory(workspace=laptop.workspace, state_dir=laptop.state_dir) as memory:
        config = memory.config()
    syncs = sharing.BackgroundSyncs()
    assert syncs.close() == ()
    syncs.start_if_due(config)
    assert "memory-core-sharing" not in {thread.name for thread in threading.enumerate()}


def test_items_of_the_person_travel_with_a_named_repository_until_it_is_set_up_without_them(
    machines: tuple[Command, Command],
) -> None:
    laptop, _ = machines
    git(laptop.workspace, "init", "-q")
    remote = laptop.workspace.with_name("remote.git")
    for option, fact in (("--items", "I like green tea."), ("", "I like rice.")):
        run(laptop, "items", "add", fact)
        run(laptop, "sync", "init", str(remote), *filter(None, [option]))
        run(laptop, "sync")
    past = run_git(remote, "log", "-p", "main")
    assert ("green tea" in past, "rice" in past) == (True, False)


@pytest.mark.parametrize("why", ["memory is off", "the session may not write", "sync is off"])
def test_a_session_sends_nothing_against_the_user_s_will(
    machines: tuple[Command, Command], tmp_path: Path, why: str
) -> None:
    laptop, _ = machines
    run(laptop, "add", "--longterm", "The boat is in the harbour of Thun.")
    init(machines)
    run(laptop, "add", "--longterm", "The mast was mended.")
    is_off = why == "memory is off"
    access: Access = "ro" if why == "the session may not write" else "rw"
    if why == "sync is off":
        run(laptop, "sync", "off")
    document = {
        "memorySearch": {"enabled": not is_off},
        "memory": {"sharing": {"intervalMinutes": 0.0001}},
    }
    (state,) = laptop.state_dir.rglob("state.json")
    before = state.read_bytes()
    context = CallContext(agent="main", session_key="agent:main:main", access=access)
    with closing(MemorySlot(document, workspace=laptop.workspace, state_dir=laptop.state_dir)) as slot:
        slot.session_started(context)
        slot.turn_ended(context, [{"role": "user", "content": "The mast was mended."}])
        slot.session_ended(context)
        assert "memory-core-sharing" not in {thread.name for thread in threading.enumerate()}
    if access == "rw":
        config = tmp_path / "config.json"
        config.write_text(json.dumps(document))
        end_by_hook(laptop, "--config", str(config))
        assert eventually(lambda: not laptop.find_behind()), "a process behind does not end"
    assert state.read_bytes() == before
