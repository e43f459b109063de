"""The flush turn of Claude Code: a copy of the session that may only append to the notes, run while the compaction waits.

The copy is forked from the session, so that it knows all of it, and is not kept. It has no tool but `memory_append`.
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
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from memory_core.plugin import MemorySlot
from memory_core.records import CallContext

if TYPE_CHECKING:
    from memory_core.flush.policy import FlushTurn

# Names, in the copy, a file: its first line is the day of the turn, and the copy's server adds a line for each text that it has
# appended. The copy's hooks do nothing, and its server writes the note of that day only.
SAVING = "MEMORY_CORE_SAVING"
APPEND = "mcp__plugin_memory-core_memory-core__memory_append"  # what Claude Code calls the tool of the plugin's server
MAX_SECONDS = 150.0  # below the timeout of the hook, in hooks.json
MAX_TURNS = 6
POLL_SECONDS = 0.5
NO_HOOKS = '{"disableAllHooks": true}'  # the user's own would take the copy for a session of theirs


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


def save_notes(event: Mapping[str, Any], slot: MemorySlot, context: CallContext) -> str:
    """Run the turn that is due before a compaction, record how it went, and count the compaction.

    Returns:
        Why it failed; "" if it did not, or if no turn was due.
    """
    turn = slot.before_compaction(context, compacting=True)
    failure = ""
    if turn is not None:
        with TemporaryDirectory(prefix="memory-core-") as folder:
            file = Path(folder, "saving")
            file.write_text(f"{turn.day.isoformat()}\n", encoding="utf-8")
            failure = _run_copy(str(event.get("session_id")), turn, file)
            stored = len(file.read_text(encoding="utf-8").splitlines()) > 1
        slot.record_flush(turn, "stored" if stored else "failed" if failure else "nothing")
        failure = "" if stored else failure
    slot.compacted(context)
    return failure


def _run_copy(session_id: str, turn: FlushTurn, file: Path) -> str:
    """Run the turn in a copy of a session; return why that failed, "" if it did not."""
    program = find_claude()
    if program is None:
        return "the command claude was not found"
    words = [program, "-p", "--resume", session_id, "--fork-session", "--no-session-persistence"]
    words += ["--max-turns", str(MAX_TURNS), "--permission-mode", "default", "--tools", "", "--allowedTools", APPEND]
    words += ["--append-system-prompt", turn.system_prompt, "--settings", NO_HOOKS]
    if plugin := os.environ.get("CLAUDE_PLUGIN_ROOT"):
        words += ["--plugin-dir", plugin]
    try:
        with subprocess.Popen(  # noqa: S603  # Claude Code itself
            words,
            env={**os.environ, SAVING: str(file)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process:
            try:
                return _wait_for(process, turn.prompt)
            finally:
                process.kill()
    except OSError as error:
        return f"{program} cannot be started: {error.strerror}"


def _wait_for(process: subprocess.Popen[str], prompt: str) -> str:
    """Wait until the copy has ended; return why it failed, "" if it did not. It may not outlive Claude Code."""
    end = time.monotonic() + MAX_SECONDS
    given: str | None = prompt
    while True:
        try:
            said, _ = process.communicate(given, timeout=POLL_SECONDS)
            break
        except subprocess.TimeoutExpired:
            given = None
        if time.monotonic() > end:
            return f"the copy of the session took longer than {MAX_SECONDS:.0f} s"
        if _host_is_gone():
            return "Claude Code has ended"
    if process.returncode:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        return f"the copy of the session ended with status {process.returncode}: {last[0][:200]}"
    return ""


def _host_is_gone() -> bool:
    number = os.environ.get("CLAUDE_PID", "")
    if os.name != "posix" or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it runs as another user
        return False
    return False


def find_claude() -> str | None:
    """Return the program that started the hook, or else the one on the path."""
    try:
        running = Path(f"/proc/{int(os.environ['CLAUDE_PID'])}/exe").resolve(strict=True)
    except (KeyError, ValueError, OSError):
        running = None  # an older version, or no Linux
    if running is not None and running.name.startswith("claude"):
        return str(running)
    return shutil.which("claude")
