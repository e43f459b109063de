"""The page of `memory-core inspect` over a sample memory that has lived: notes, facts, old versions, activity."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any

from memory_core.plugin import MemorySlot
from memory_core.records import CallContext, Origin
from memory_core.sources.journal import Journal, JournalSession
from memory_core.sources.transcripts import Said
from tests.command import REPOSITORY, SAMPLE

CHROMIUM = Path("/usr/bin/chromium")
AXE = REPOSITORY / ".cache/web/node_modules/axe-core/axe.min.js"
MISSING = "needs Debian's chromium, playwright and axe-core, which `make test-web` installs"
MAIN = CallContext.local("agent:main:main")
PHONE = CallContext(session_key="agent:main:telegram:direct:7", chat_type="direct", channel="telegram")


@dataclass
class Server:
    """A running `memory-core inspect`. `link` opens it."""

    process: subprocess.Popen[str]
    link: str

    @property
    def origin(self) -> str:
        """The address without the secret."""
        return self.link.partition("/#")[0]

    @property
    def headers(self) -> dict[str, str]:
        """The headers by which the page's script shows the secret."""
        return {"authorization": f"Bearer {self.link.partition('#token=')[2]}"}


def start(folder: Path, *options: str, review: bool = False) -> Server:
    """Serve the memory of `folder/ws`, whose state is in `folder/state`."""
    environment = {
        **os.environ, "HOME": str(folder), "MEMORY_CORE_PROVIDER": "static", "MEMORY_CORE_WORKSPACE": str(folder / "ws"),
        "MEMORY_CORE_STATE_DIR": str(folder / "state"),
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "memory_core", *options, "inspect", *(["--review"] if review else [])],
        stdout=subprocess.PIPE, text=True, env=environment, cwd=REPOSITORY,
    )  # fmt: skip
    assert process.stdout is not None
    return Server(process, process.stdout.readline().strip())


def end(server: Server) -> int:
    """Interrupt a server, and return its exit code."""
    server.process.send_signal(signal.SIGINT)
    code = server.process.wait(60)
    assert server.process.stdout is not None
    server.process.stdout.close()
    return code


@contextmanager
def serve(folder: Path, *options: str, review: bool = False) -> Iterator[Server]:
    """Serve as `start` does, and assert that it ends well."""
    server = start(folder, *options, review=review)
    try:
        yield server
    finally:
        code = end(server)
    assert code == 0


def live(folder: Path) -> None:
    """Make the sample memory in a folder, and let two sessions use it."""
    copytree(SAMPLE, folder / "ws")
    search = {"provider": "static", "items": {"enabled": True}, "sync": {"watch": False}}
    with MemorySlot({"memorySearch": search}, workspace=folder / "ws", state_dir=folder / "state") as slot:

        def call(name: str, context: CallContext = MAIN, **arguments: Any) -> dict[str, Any]:
            answer = slot.call_tool(name, arguments, context)
            assert "error" not in answer, answer
            return answer

        call("memory_search", query="Which musical instrument am I learning?")
        note = folder / "ws/memory/2026-02-21.md"
        _edit(note, lambda text: text.replace("\n", "\n- Practised for an hour; the left hand is still slow.\n", 1))
        call("memory_search", PHONE, query="What does PRS-2209 complain about?")
        _edit(
            folder / "ws/MEMORY.md", lambda text: text.rstrip("\n").rpartition("\n")[0] + "\n- The bicycle is blue.\n"
        )
        call("memory_store", text="Prefers tea to coffee after four.", kind="preference", tags=["food"])
        call("memory_store", text="The vet is Dr. Lind, at the harbour.", tags=["cat", "health"])
        gone = call("memory_store", text="The spare key is with Mrs. Okafor.")["id"]
        call("memory_recall", query="who is the vet?")
        call("memory_get", PHONE, path="MEMORY.md")
        call("memory_append", PHONE, text="- The ladder is lent to Tom until Sunday.", target="daily")
        call("memory_forget", ids=[gone])
        turn = slot.before_compaction(slot.session(MAIN, "agent:main:main", context_window=1000), compacting=True)
        assert turn is not None
        assert slot.record_flush(turn, "stored")
        call("memory_search", query="ladder")  # and so what changed is indexed
    _keep_more(folder, search)


def _keep_more(folder: Path, search: dict[str, Any]) -> None:
    """Keep facts that were said again, guessed and corrected."""
    import memory_core

    document = {"agents": {"defaults": {"memorySearch": search}}}
    with memory_core.open_memory(document, workspace=folder / "ws", state_dir=folder / "state") as memory:
        said = Origin(by="user", session="agent:main:telegram:direct:7")
        memory.items.write("Prefers tea to coffee after four.", kind="preference", origin=said)
        journal, told = Journal(memory.config().journal_dir), JournalSession("claude-code", "7")
        (line,) = journal.add(told, [Said("user", "Lena writes that she may visit us in May, with both cats.")])
        heard = replace(said, host=told.host, path=f"sessions/{told.file_name}", line=line["line"])
        memory.items.write("Lena may visit in May.", pending=True, origin=heard)
        memory.items.write("The dentist is on 3 March at nine.", kind="decision", origin=said)
        memory.items.write("The dentist is on 5 March at nine, not on 3 March.", corrects=True, origin=said)


def _edit(note: Path, change: Callable[[str], str]) -> None:
    note.write_text(change(note.read_text(encoding="utf-8")), encoding="utf-8")
