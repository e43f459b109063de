"""Other people's programs as a user starts them: in a home of their own, with our command on the path."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.command import Outcome
from tests.frameworks.conftest import read_daily
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
    server.stores = "- The gate code is 4711."
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
