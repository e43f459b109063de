"""`memory-core tidy` and `memory-core review` as their users have them."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from memory_core.cli.review import describe
from memory_core.upkeep.proposals import Proposal
from tests.command import Command
from tests.servers.chat import ChatServer

MEMORY = "# Memory\n\n- Rent: £410 a month\n- Evening class on Mondays at 18:30\n"


def write(workspace: Path) -> None:
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    for note in workspace.rglob("*.md"):
        note.unlink()
    (workspace / "MEMORY.md").write_text(MEMORY, encoding="utf-8")
    (workspace / "memory/2026-05-11.md").write_text("The rent goes up to £445 a month from June.\n", encoding="utf-8")
    (workspace / "memory/2026-06-08.md").write_text(
        "The evening class meets on Wednesdays from now on.\n", encoding="utf-8"
    )


def test_tidy_lists_and_review_accepts_rejects_and_undoes(command: Command) -> None:
    write(command.workspace)
    told = command("tidy")
    assert told.code == 0
    assert "- - Rent: £410 a month\n  + - Rent: £445 a month" in told.out
    assert "memory/2026-05-11.md:1: The rent goes up" in told.out
    assert "2 proposals; go through them: memory-core review" in told.out
    listed = command("review")  # without a terminal
    assert (listed.code, listed.out.splitlines()[:-1]) == (0, told.out.splitlines()[:-1])
    assert "memory-core review accept ID, or reject ID" in listed.out.splitlines()[-1]
    assert "go through them" not in listed.out
    found = {each["line"]: each for each in command("review", "--json").json["proposals"]}
    assert {each["kind"] for each in found.values()} == {"outdated"}
    assert (command.workspace / "MEMORY.md").read_text(encoding="utf-8") == MEMORY
    assert command("review", "accept", found[3]["id"], found[4]["id"]).code == 0
    changed = (command.workspace / "MEMORY.md").read_text(encoding="utf-8")
    assert "£445" in changed
    assert "Wednesdays" in changed
    assert (
        "£410" in command("get", "MEMORY.md", "--as-of", "2999-01-01").out or command("history", "MEMORY.md").code == 0
    )
    assert command("review", "undo").code == command("review", "undo").code == 0
    assert (command.workspace / "MEMORY.md").read_text(encoding="utf-8") == MEMORY
    undone = command("review", "undo")
    assert (undone.code, undone.error) == (1, "memory-core: there is nothing to undo.")
    assert command("review", "never", found[3]["id"]).code == 0
    assert [each["id"] for each in command("tidy", "--json").json["proposals"]] == [found[4]["id"]]
    assert command("review", "accept", "nonsense").error.endswith(
        "there is no proposal 'nonsense'. Run: memory-core review"
    )


def test_a_line_that_is_to_go_is_shown_with_no_new_one(command: Command) -> None:
    write(command.workspace)
    line = "- The garage code is on the back of the fuse box door"
    (command.workspace / "MEMORY.md").write_text(f"# Memory\n\n{line}\n", encoding="utf-8")
    (command.workspace / "memory/house.md").write_text(f"# House\n\n{line}\n", encoding="utf-8")
    told = command("tidy").out.splitlines()
    assert any("repeated" in each for each in told)
    assert f"  - {line}" in told
    assert [each for each in told if each.strip() in ("+", "-")] == []


def test_a_line_that_is_added_stands_alone() -> None:
    last = "- What is there already -->"
    added = Proposal(
        id="a1", kind="missing", path="MEMORY.md", line=4, text=last, new=f"{last}\n- The cat is Mia.", why="Often."
    )
    assert describe(added) == "a1  missing, MEMORY.md:4\n  + - The cat is Mia.\n  Often."


def test_no_change_is_made_where_one_id_is_unknown_or_two_change_one_line(command: Command) -> None:
    write(command.workspace)
    note = command.workspace / "MEMORY.md"
    note.write_text(MEMORY.replace("a month", "a month, see [[leese]]"), encoding="utf-8")
    (command.workspace / "memory/lease.md").write_text("# Lease\n", encoding="utf-8")
    before = note.read_text(encoding="utf-8")
    found = {each["kind"]: each["id"] for each in command("tidy", "--json").json["proposals"] if each["line"] == 3}
    for more in ((), ("--json",)):
        assert "there is no proposal 'zzz'" in command("review", "accept", found["outdated"], "zzz", *more).error
        assert "the same line, MEMORY.md:3" in command("review", "accept", *found.values(), *more).error
        assert note.read_text(encoding="utf-8") == before


def test_undo_says_what_it_takes_back_and_begins_with_what_was_rejected_last(command: Command) -> None:
    write(command.workspace)
    rent, lesson = sorted(command("tidy", "--json").json["proposals"], key=lambda each: each["line"])
    assert command("review", "accept", rent["id"]).code == 0
    assert command("review", "reject", lesson["id"]).code == 0
    told = command("review", "undo", "--json").json
    assert told == {
        "undone": lesson["id"], "path": "MEMORY.md", "line": 4, "text": lesson["text"], "rejected": True,
    }  # fmt: skip
    assert [each["id"] for each in command("tidy", "--json").json["proposals"]] == [lesson["id"]]
    assert command("review", "undo").out == "Taken back, MEMORY.md:3: - Rent: £410 a month\n"
    assert (command.workspace / "MEMORY.md").read_text(encoding="utf-8") == MEMORY
    assert command("review", "reject", lesson["id"]).code == 0
    (command.workspace / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    assert command("review", "undo").out == f"{lesson['id']} is rejected no more; its line has changed since.\n"


def test_the_old_text_is_in_the_history_after_an_edit(command: Command) -> None:
    write(command.workspace)
    rent = next(each for each in command("tidy", "--json").json["proposals"] if each["line"] == 3)
    assert command("review", "accept", rent["id"], "--text", "- Rent: £445 a month, from June").code == 0
    assert command("index").code == 0
    versions = command("history", "MEMORY.md", "--json").json
    assert len(versions["versions"]) == 2


def _is_cooked(terminal: int) -> bool:
    """Return True until the program waits for a single key."""
    return bool(termios.tcgetattr(terminal)[3] & termios.ICANON)


def _drain(process: subprocess.Popen[bytes], terminal: int) -> str:
    """Read what a program still writes, so that it ends."""
    told = b""
    while process.poll() is None or select.select([terminal], [], [], 0)[0]:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                told += os.read(terminal, 65536)
            except OSError:  # it has closed its end
                if process.poll() is not None:
                    break
    return told.decode(errors="replace")


def _review(command: Command, keys: Sequence[str], *options: str) -> str:
    """Type a key, or several in one go, whenever one is asked for; return what was shown."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [*command.start(), "review", *options],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=command.variables(),
        close_fds=True,
    ) as process:
        os.close(slave)
        shown = ""
        for answers, key in enumerate(keys):
            deadline = time.monotonic() + 60
            while (shown.count("left;") <= answers or _is_cooked(master)) and time.monotonic() < deadline:
                if select.select([master], [], [], 0.05)[0]:
                    shown += os.read(master, 65536).decode(errors="replace")
            os.write(master, key.encode())
        told = _drain(process, master)
        assert process.wait(60) == 0
    os.close(master)
    return shown + told


def test_a_person_goes_through_proposals_with_single_keys(command: Command) -> None:
    write(command.workspace)
    assert "1 change made" in _review(command, "anq")
    changed = (command.workspace / "MEMORY.md").read_text(encoding="utf-8")
    assert ("£445" in changed) != ("Wednesdays" in changed)
    assert command("tidy").out == "0 proposals\n"


def test_a_key_counts_with_enter_behind_it_and_an_unknown_one_is_told(command: Command) -> None:
    write(command.workspace)
    told = _review(command, ["x", "n\r", "q"])
    assert "This key does nothing here" in told
    assert "Never again" in told


def test_what_is_taken_back_is_asked_again_and_ctrl_c_ends_the_review(command: Command) -> None:
    write(command.workspace)
    told = _review(command, "au\x03")
    assert "0 changes made" in told
    assert "interrupted" not in told
    assert (command.workspace / "MEMORY.md").read_text(encoding="utf-8") == MEMORY


def test_what_was_settled_last_can_be_taken_back_before_the_review_ends(command: Command) -> None:
    write(command.workspace)
    told = _review(command, "nnuq")
    assert "0 left; u undo, q quit" in told
    assert "is proposed again" in told
    assert len(command("tidy", "--json").json["proposals"]) == 1


def test_of_a_note_elsewhere_only_what_can_be_done_is_offered(command: Command, tmp_path: Path) -> None:
    vault, config = tmp_path / "vault", tmp_path / "config.json"
    write(vault)
    command.workspace.mkdir(exist_ok=True)
    for note in command.workspace.rglob("*.md"):
        note.unlink()
    section = {"provider": "static", "extraPaths": [{"path": str(vault), "pattern": "**/*.md"}]}
    config.write_text(json.dumps({"memorySearch": section}), encoding="utf-8")
    settings = ("--config", str(config))
    (first, *_) = command("tidy", *settings, "--json").json["proposals"]
    told = _review(command, "aq", *settings)
    assert "so only you can change it" in told
    assert "left; s skip, n never again, u undo, q quit" in told
    for text in ((), ("--text", "Rent: £445")):
        assert "does not lie in the workspace" in command("review", "accept", first["id"], *text, *settings).error


def test_a_model_judges_only_where_it_is_named(command: Command) -> None:
    write(command.workspace)
    with ChatServer() as server:
        verdicts = [
            {"pair": 1, "outdated": True, "line": "Rent: £445 a month from June"},
            {"pair": 0, "outdated": False},
        ]
        server.script = [("judge_lines", {"verdicts": verdicts})]
        assert len(command("tidy", "--json").json["proposals"]) == 2
        assert server.requests == []
        told = command("tidy", "--model", "clever", "--base-url", server.url)
        assert "+ - Rent: £445 a month from June (since 2026-05-11, see memory/2026-05-11.md:1)" in told.out
        assert "1 proposal" in told.out
        assert [each["model"] for each in server.requests] == ["clever"]
        server.script, server.status = [], 503
        write(command.workspace)
        (command.workspace / "memory/2026-05-12.md").write_text("The rent is £450 a month now.\n", encoding="utf-8")
        refused = command("tidy", "--model", "clever", "--base-url", server.url)
        assert "answered 503" in refused.error
    assert "it is the endpoint of a model" in command("tidy", "--base-url", "http://localhost").error
