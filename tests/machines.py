"""Machines that sync their notes over one bare repository, each with a workspace and a state folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.config.load import load_config
from memory_core.plugin.sharing import open_sharing
from memory_core.sharing.losses import Losses
from memory_core.sharing.sharing import ItemsOf, Shared, Sharing

GIT = ("-c", "user.email=a@example.org", "-c", "user.name=a", "-c", "protocol.file.allow=always")
MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine of a person.

    Attributes:
        folder: Holds its workspace and its state folder.
        remote: The bare repository.
    """

    folder: Path
    remote: Path

    @property
    def workspace(self) -> Path:
        return self.folder / "notes"

    @property
    def config(self) -> AgentConfig:
        self.workspace.mkdir(parents=True, exist_ok=True)
        return load_config({}, workspace=self.workspace, state_dir=self.folder / "state").agent("main")

    @property
    def sharing(self) -> Sharing:
        return Sharing(self.config)

    @property
    def repository(self) -> Path:
        return self.config.sharing_dir / "notes.git"

    def init(self, *, encrypt: bool = False, key: Path | None = None) -> Shared:
        return self.sharing.init(str(self.remote), encrypt=encrypt, key=key)

    def sync(self) -> Shared:
        return self.sharing.sync()

    def path(self, name: str) -> Path:
        return self.workspace / name

    def write(self, name: str, text: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text, encoding="utf-8")

    def append(self, name: str, text: str) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        with self.path(name).open("a", encoding="utf-8") as file:
            file.write(text)

    def read(self, name: str) -> str:
        return self.path(name).read_text(encoding="utf-8")

    def notes(self) -> dict[str, bytes]:
        """All files of the workspace, hidden ones included."""
        return {
            path.relative_to(self.workspace).as_posix(): path.read_bytes()
            for path in sorted(self.workspace.rglob("*"))
            if path.is_file()
        }

    def count_lines(self) -> Counter[str]:
        """How often each line stands in all notes."""
        lines = (line.strip() for data in self.notes().values() for line in data.decode().splitlines())
        return Counter(line for line in lines if line)

    def start_sync(self, step: int, *, items: bool = False) -> subprocess.Popen[bytes]:
        """Sync notes, or items too, in a process that kills itself before its n-th run of git or change of a file."""
        command = [sys.executable, "-c", _KILLED, str(step), str(self.workspace), str(self.folder / "state")]
        return subprocess.Popen([*command, "items"] if items else command)

    def sync_until(self, step: int, *, items: bool = False) -> bool:
        """Wait for `start_sync`; return True if it ended before that step."""
        code = self.start_sync(step, items=items).wait(60)
        assert code in (0, -signal.SIGKILL), code
        return code == 0


_KILLED = """
import os, subprocess, sys
left = int(sys.argv[1])

def count(function):
    def call(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return function(*arguments, **options)
    return call

from memory_core.config.load import load_config
from memory_core.plugin.sharing import open_sharing
from memory_core.sharing.sharing import Sharing
config = load_config({}, workspace=sys.argv[2], state_dir=sys.argv[3]).agent("main")
subprocess.Popen, os.replace, os.unlink = map(count, (subprocess.Popen, os.replace, os.unlink))
if sys.argv[4:]:
    with open_sharing(config) as sharing:
        sharing.sync()
else:
    Sharing(config).sync()
"""


def init_with_items(config: AgentConfig, remote: Path, whose: ItemsOf = "") -> Shared:
    """Set up the sync of a workspace and its items with a remote."""
    with open_sharing(config, whose) as sharing:
        return sharing.init(str(remote))


def sync_with_items(config: AgentConfig, losses: Losses = "refuse") -> Shared:
    """Sync a workspace and its items."""
    with open_sharing(config) as sharing:
        return sharing.sync(losses)


def git(folder: Path, *words: str) -> None:
    """Run git in a folder, which is made, with a name for commits and without the variables of a git around it."""
    folder.mkdir(parents=True, exist_ok=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *GIT, *words], cwd=folder, check=True, capture_output=True, env=clean)


def run_git(repository: Path, *arguments: str) -> str:
    """Run git on a repository as the user would; return its output."""
    command = ["git", f"--git-dir={repository}", *arguments]
    return subprocess.run(command, check=True, capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout.decode()


def make_remote(path: Path) -> Path:
    """Make an empty bare repository."""
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    return path


def make_machines(folder: Path, names: Sequence[str], *, encrypt: bool = False) -> Iterator[Machine]:
    """Make machines that are set up with one remote; with `encrypt`, the first one makes the key that all have."""
    remote, key = make_remote(folder / "remote.git"), None
    for name in names:
        machine = Machine(folder / name, remote)
        machine.init(encrypt=encrypt and key is None, key=key)
        key = machine.sharing.key if encrypt else None
        yield machine


def list_objects(repository: Path) -> list[bytes]:
    """The content of every object of a repository, whether a ref leads to it or not."""
    listed = run_git(repository, "cat-file", "--batch-check=%(objectname) %(objecttype)", "--batch-all-objects")
    return [
        subprocess.run(
            ["git", f"--git-dir={repository}", "cat-file", kind, name], check=True, capture_output=True
        ).stdout
        for name, kind in (line.split() for line in listed.splitlines())
    ]
