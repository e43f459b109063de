"""Other people's programs as a user starts them: in a home of their own, with our command on the path."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.command import Outcome
from tests.frameworks.conftest import FACTS, read_daily
from tests.servers.chat import ChatServer
from tests.waiting import eventually

SECONDS = 180.0
SAVE = "Save what should last, else say NO_REPLY"  # to the scripted model, a flush turn

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")


class Program:
    """A program that runs in one folder with one environment.

    Args:
        words: The program and the arguments that it always gets.
        folder: The folder that it runs in.
        variables: Added to the test's environment.
    """

    def __init__(self, words: Sequence[str | Path], folder: Path, variables: Mapping[str, str]) -> None:
        self.words = [str(word) for word in words]
        self.folder = folder
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        told = {"PATH": path, "PWD": str(folder), "MEMORY_CORE_PROVIDER": "none"}  # opencode works in the folder PWD
        self.variables = {**os.environ, **told, **variables}

    def __call__(self, *arguments: str) -> Outcome:
        """Run to the end."""
        done = subprocess.run(
            [*self.words, *arguments],
            capture_output=True,
            check=False,
            cwd=self.folder,
            encoding="utf-8",
            env=self.variables,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def ask(self, *arguments: str) -> str:
        """Run to the end, and return what is printed; the program has to succeed."""
        done = self(*arguments)
        assert done.code == 0, (done.out, done.err)
        return done.out


SECRET = "swordfish-4711"
ENDED = "The ferry to Kinsale leaves at nine."  # said in a session that ends
KILLED = "Captain Byrne repaired the winch of the trawler."  # said in one whose host is killed
QUESTIONS = {ENDED: "When does the ferry to Kinsale leave?", KILLED: "Who repaired the winch of the trawler?"}
ENDED_WITH_SECRET = f"{ENDED} My password is {SECRET}."


def capture(program: Program, host: str, config: Path) -> None:
    """Install memory-core into a host anew, so that it keeps what is said in a journal and recalls it."""
    ours = Program([Path(sys.executable).with_name("memory-core")], program.folder, program.variables)
    ours.ask("--config", str(config), "--workspace", str(program.folder), "install", host, "--capture")
    program.variables |= {"MEMORY_CORE_PROVIDER": "static", "MEMORY_CORE_CONFIG": str(config)}


def kill_when_it_prints(program: Program, text: str, *arguments: str, given: bytes = b"") -> None:
    """Start a program, and kill it as soon as it prints a text.

    Args:
        program: The program.
        text: Stands in a line of its output.
        arguments: Of the program.
        given: Its input, which stays open.
    """
    words, pipe = [*program.words, *arguments], subprocess.PIPE
    with subprocess.Popen(words, cwd=program.folder, env=program.variables, stdin=pipe, stdout=pipe) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(given)
        if given:
            process.stdin.flush()
        else:
            process.stdin.close()
        while text.encode() not in (line := process.stdout.readline()):
            assert line, "it has ended before"
        process.kill()


def assert_both_are_recalled(ask: Callable[[str], object], server: ChatServer, *folders: Path) -> None:
    """Both a session that has ended and one that was killed are called to mind in new ones, and no file holds the secret.

    Args:
        ask: Asks in a new session.
        server: The model.
        folders: Those of the state and the notes.
    """
    for fact, question in QUESTIONS.items():
        number = len(server.requests)
        ask(question)
        assert fact in json.dumps(server.requests[number]), question
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file()):
        assert SECRET.encode() not in path.read_bytes(), path


# A busy machine may need longer for the first recall of a process than a person would wait.
RECALL = {"enabled": True, "timeoutMs": 60_000}
KEEPS = {"memorySearch": {"provider": "static", "items": {"capture": {"journal": True}}, "recall": RECALL}}
# Opens the slot that a program of a framework works with, and ends it with a loop over what is said.
OPENING = """
import asyncio, json, sys
from memory_core.plugin import MemorySlot

url, notes, state, config, session = *sys.argv[1:], str(__import__("os").getpid())
slot = MemorySlot(json.loads(config), workspace=notes, state_dir=state)
slot.start()
"""
TALKING = """
for line in sys.stdin:
    print("ANSWER", json.dumps(say(line.strip())), flush=True)
slot.close()
"""


def make_talking_program(code: str, notes: Path, state: Path, url: str) -> Program:
    """Return a program that is made of a framework's agent, for a `Conversation`.

    Args:
        code: Makes `say`, which takes what is said and returns the answer, of `slot`, `session` and the model's `url`.
        notes: The workspace.
        state: The folder of the state.
        url: Of the model.
    """
    script = OPENING + code + TALKING
    return Program([sys.executable, "-c", script, url, str(notes), str(state), json.dumps(KEEPS)], notes, {})


class Conversation:
    """A program that answers each line that it reads with one that begins with ANSWER, and JSON behind it.

    Args:
        program: The program.
        arguments: Its arguments.
    """

    def __init__(self, program: Program, *arguments: str) -> None:
        words, pipe = [*program.words, *arguments], subprocess.PIPE
        self.process = subprocess.Popen(
            words, cwd=program.folder, env=program.variables, stdin=pipe, stdout=pipe, encoding="utf-8"
        )

    def say(self, text: str) -> str:
        """Say something, and return the answer."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return str(json.loads(line.removeprefix("ANSWER ")))
        raise AssertionError(f"it ended with status {self.process.wait()}")

    def end(self) -> None:
        """Let it end by itself."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.communicate()


def assert_conversations_are_recalled(
    program: Program, server: ChatServer, host: str, state: Path, *, waits: bool = False
) -> None:
    """Say something in a program that ends, and in one that is killed: a third one, which runs all the time, recalls both.

    Args:
        program: Has memory in `state`, and notes in the folder in which it runs.
        server: The model.
        host: The name under which the journal has it.
        state: The folder of the state.
        waits: The program hands a turn on in a thread of its own, after it has answered.
    """
    first, second, third = (Conversation(program) for _ in range(3))
    first.say(ENDED_WITH_SECRET)
    first.end()
    second.say(KILLED)
    assert eventually(lambda: KILLED in _read_journal(state, host), seconds=SECONDS if waits else 0)
    second.kill()
    assert_both_are_recalled(third.say, server, state, program.folder)
    third.end()
    assert _read_journal(state, host).count('"assistant"') == 4


def _read_journal(state: Path, host: str) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in state.rglob(f"{host}-*.jsonl"))


class Terminal:
    """A program in a terminal.

    Args:
        program: The program.
        arguments: Its arguments.
    """

    def __init__(self, program: Program, *arguments: str) -> None:
        self._descriptor, below = pty.openpty()
        self.process = subprocess.Popen(
            [*program.words, *arguments], cwd=program.folder, env={**program.variables, "TERM": "xterm-256color"},
            stdin=below, stdout=below, stderr=below, start_new_session=True,
        )  # fmt: skip
        os.close(below)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("4H", 40, 120, 0, 0))
        self._shown = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):  # it has ended
            while data := os.read(self._descriptor, 1 << 16):
                self._shown += data

    def wait_for(self, text: str) -> None:
        """Wait until it shows a text."""
        assert eventually(lambda: text.encode() in self._shown, seconds=SECONDS), self._shown[-2000:]

    def type_line(self, text: str) -> None:
        """Type a line."""
        os.write(self._descriptor, text.encode())
        time.sleep(1)  # else it may take the end of the line for part of what was pasted
        os.write(self._descriptor, b"\r")

    def end(self) -> None:
        """Wait until it has ended by itself."""
        try:
            self.process.wait(SECONDS)
        finally:
            self.process.kill()
            os.close(self._descriptor)


def kill_while_it_stores(
    program: Program, server: ChatServer, notes: Path, *arguments: str, processes: int = 2
) -> None:
    """Kill a program while it waits for the model to save; no process of it is left, and no lock keeps others from writing.

    Args:
        program: Runs on the notes.
        server: The model.
        notes: The workspace.
        arguments: Those with which it gets to where it saves.
        processes: How many there are then at least: it, and our server, unless memory is within it.
    """
    server.stores = FACTS[0]
    server.released.clear()
    null = subprocess.DEVNULL
    words = [*program.words, *arguments]
    with subprocess.Popen(words, cwd=notes, env=program.variables, stdin=null, stdout=null, stderr=null) as process:
        assert eventually(lambda: server.kinds["store"], seconds=SECONDS)
        assert len(list_processes(notes)) >= processes
        process.kill()
    assert eventually(lambda: not list_processes(notes), seconds=SECONDS), list_processes(notes)
    server.released.set()
    assert_nothing_is_left(notes, program.variables)


def assert_nothing_is_left(notes: Path, variables: Mapping[str, str]) -> None:
    """No process is about a workspace any more, and no lock keeps others from writing into it."""
    assert eventually(lambda: not list_processes(notes), seconds=SECONDS), list_processes(notes)
    ours = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    ours.ask("--workspace", str(notes), "add", "It still works.")
    assert "It still works." in read_daily(notes)
    assert "It still works." in ours.ask("--workspace", str(notes), "search", "still works")


def list_processes(folder: Path) -> dict[int, str]:
    """The command lines of the processes that are about a folder: that run in it, or name it."""
    found = {}
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if not process.name.isdigit():
                continue
            words = (process / "cmdline").read_bytes()
            about = words + (process / "environ").read_bytes() + os.fsencode((process / "cwd").readlink())
            if words and int(process.name) != os.getpid() and os.fsencode(folder) in about:
                found[int(process.name)] = words.replace(b"\0", b" ").decode("utf-8", "replace")
    return found


def find_npm_program(*parts: str) -> Path:
    """A file of the npm packages that `make test-hosts` installed."""
    return Path(os.environ["TEST_HOSTS_NPM"], *parts)
