"""The flush turn of hosts that run a command of ours before a compaction: a copy of the session saves while that waits.

The copy is forked from the session, so that it knows all of it, and is not kept. Of our tools it has `memory_append` only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from memory_core.hosts.copies import SAVING, Copy, Host
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext

MAX_SECONDS = 150.0  # below the timeouts of the hooks
POLL_SECONDS = 0.5
PREFIX = "memory-core-saving-"  # of the name of a folder for one turn
LEFT_SECONDS = 3600.0  # after which a folder is of a hook that was killed


def is_saving() -> bool:
    """Return True in the hooks and the server of a copy that saves notes."""
    return bool(os.environ.get(SAVING))


class CopySlot(MemorySlot):
    """The slot of the server in a copy: midnight does not change the note that it writes, and the hook learns what was stored."""

    def __init__(self, config: str | None, *, workspace: str | None, state_dir: str | None) -> None:
        self._file = Path(os.environ[SAVING])
        day = date.fromisoformat(self._file.read_text(encoding="utf-8").partition("\n")[0])
        super().__init__(config, workspace=workspace, state_dir=state_dir, today=lambda: day)

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run a tool, and note what was appended."""
        result = super().call_tool(name, arguments, context)
        if result.get("status") == "appended":
            with suppress(FileNotFoundError), self._file.open("a", encoding="utf-8") as file:  # the hook has ended
                file.write(f"{result['path']}\n")
        return result


def save_notes(host: Host, event: Mapping[str, Any], slot: MemorySlot, context: CallContext) -> str:
    """Run the turn that is due before a compaction, record how it went, and count the compaction.

    Returns:
        Why it failed; "" if it did not, or if no turn was due.
    """
    turn = slot.before_compaction(context, compacting=True)
    failure = ""
    if turn is not None:
        _remove_left_folders()
        with TemporaryDirectory(prefix=PREFIX) as folder:
            file = Path(folder, "saving")
            file.write_text(f"{turn.day.isoformat()}\n", encoding="utf-8")
            program = host.find_program()
            if program is None:
                failure = f"the command {host.program} was not found"
            else:
                failure = _run_copy(host, host.copy(program, event, turn, file))
            stored = len(file.read_text(encoding="utf-8").splitlines()) > 1
        slot.record_flush(turn, "stored" if stored else "failed" if failure else "nothing")
        failure = "" if stored else failure
    slot.compacted(context)
    return failure


def _remove_left_folders() -> None:
    """Remove what hooks have left that were killed; what belongs to other users stays."""
    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - LEFT_SECONDS:
                shutil.rmtree(folder)


def _run_copy(host: Host, copy: Copy) -> str:
    """Run a copy to its end; return why that failed, "" if it did not."""
    try:
        with subprocess.Popen(  # noqa: S603  # the host itself
            copy.words,
            env={**os.environ, **copy.variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process:
            try:
                return _wait_for(process, copy.prompt, host)
            finally:
                process.kill()
    except OSError as error:
        return f"{copy.words[0]} cannot be started: {error.strerror}"


def _wait_for(process: subprocess.Popen[str], prompt: str, host: Host) -> str:
    """Wait until the copy has ended; return why it failed, "" if it did not. It may not outlive its host."""
    end = time.monotonic() + MAX_SECONDS
    above = host.find_process()
    given: str | None = prompt
    while True:
        try:
            said, _ = process.communicate(given, timeout=POLL_SECONDS)
            break
        except subprocess.TimeoutExpired:
            given = None
        if time.monotonic() > end:
            return f"the copy of the session took longer than {MAX_SECONDS:.0f} s"
        if _is_gone(above):
            return f"{host.title} has ended"
    if process.returncode:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        return f"the copy of the session ended with status {process.returncode}: {last[0][:200]}"
    return ""


def _is_gone(number: int) -> bool:
    if os.name != "posix":
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it runs as another user
        return False
    return False
