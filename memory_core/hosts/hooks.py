"""Answers the hooks of Claude Code and of hosts with hooks like its own; each starts `memory-core hook` with the event as input.

Before a compaction, a copy of the session saves while that waits. It is forked from the session, so that it knows all of it, and
is not kept. Of our tools it has `memory_append` only.

https://code.claude.com/docs/en/hooks, https://developers.openai.com/codex/hooks
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import IO, Any

from memory_core.config.load import ConfigSource
from memory_core.config.settings import SLOT_ID
from memory_core.hosts.events import HOSTS, SAVING, Event
from memory_core.plugin import MemorySlot
from memory_core.plugin.flush.policy import FlushTurn
from memory_core.records import CallContext
from memory_core.sources.roots import advise_workspace
from memory_core.tools.shown import Shown

MAX_CHARS = 9_500  # Claude Code shows the model the beginning only of a text with more than 10,000
POLL_SECONDS = 0.05
WARM_UP_SECONDS = 5.0  # below the timeout of the hook, in hooks.json
APPEND = "mcp__plugin_memory-core_memory-core__memory_append"  # what Claude Code calls the tool of the plugin's server
MAX_TURNS = 6
NO_HOOKS = '{"disableAllHooks": true}'  # the user's own would take the copy for a session of theirs
MAX_SECONDS = 150.0  # below the timeouts of the hooks
LOOK_SECONDS = 0.5
PREFIX = "memory-core-saving-"  # of the name of a folder for one turn
LEFT_SECONDS = 3600.0  # after which a folder is of a hook that was killed
NO_LIMIT = 1_000_000_000  # tokens: a copy that compacts itself first could save only what the summary has kept


def answer_hook(
    event: Event, output: IO[str], slot: MemorySlot, agent: str, *, copying: Copying | None, shown_dir: Path
) -> None:
    """Write the answer to an event that has one; nothing if there is nothing to say.

    Args:
        event: The event.
        output: Takes the answer, as JSON.
        slot: The memory.
        agent: The id of its agent.
        copying: The way to copy a session of the host, before a compaction; None if it has no such event.
        shown_dir: The folder in which hooks remember what each session has been shown.
    """
    context, shown = CallContext.local(event.session, agent=agent), Shown(shown_dir)
    answer: dict[str, Any] = {}
    if event.kind == "compact" and copying is not None:
        shown.forget(event.session)
        if failure := save_notes(copying, event, slot, context):  # the compaction goes on whatever happens
            answer = {"systemMessage": f"memory-core: no notes were saved before this compaction: {failure}"}
    elif event.kind in ("start", "prompt"):
        show = _show_notes if event.kind == "start" else _recall
        if text := show(event, slot, context, shown):
            added = {"additionalContext": text}
            answer = (
                {"hookSpecificOutput": {"hookEventName": event.name, **added}} if HOSTS[event.host].nests else added
            )
    if answer:
        output.write(json.dumps(answer, ensure_ascii=False) + "\n")


def _show_notes(_: Event, slot: MemorySlot, context: CallContext, shown: Shown) -> str:
    text = slot.session_context(context, budget_chars=MAX_CHARS)
    workspace = slot.find_workspace(context)
    if not text and workspace is not None and (problem := slot.explain_no_workspace(context)):
        text = f"memory-core has no notes for this session: {problem}. To change that, {advise_workspace(workspace)}."
    shown.forget(context.session_key)
    if text:
        shown.add(context.session_key, [text])
    return text


def _recall(event: Event, slot: MemorySlot, context: CallContext, shown: Shown) -> str:
    prompt = event.prompt
    if not prompt or prompt.startswith("/"):
        return ""
    end = time.monotonic() + WARM_UP_SECONDS
    known = shown.of(context.session_key)
    recalled = slot.recall_for_message(prompt, context, shown=known)
    # The deadline of recall is for a process that has all packages loaded.
    while recalled.late and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
        recalled = slot.recall_for_message(prompt, context, shown=known)
    shown.add(context.session_key, (piece.text for piece in recalled.pieces))
    return recalled.text[:MAX_CHARS]


Copy = tuple[list[str], str, Mapping[str, str]]
"""The start of a copy: the command line, what it reads from standard input, and what is added to the environment."""


@dataclass(frozen=True, slots=True)
class Copying:
    """The way to copy a session of a host that runs a command of ours before it compacts one.

    Attributes:
        program: The name of the host's program.
        variable: The variable in which it gives its process id to hooks; "" if it gives none.
        copy: Returns the copy of a session. It takes the program's path, the event, the turn, and the file named by `SAVING`.
    """

    program: str
    variable: str
    copy: Callable[[str, Event, FlushTurn, Path], Copy]

    def find_process(self) -> int:
        """Return the id of the process that has started this one: as the host says, else the parent."""
        number = os.environ.get(self.variable, "") if self.variable else ""
        return int(number) if number.isdigit() else os.getppid()

    def find_program(self) -> str | None:
        """Return the program that has started this process, as far as Linux tells it, or else the one on the path."""
        try:
            running = Path(f"/proc/{self.find_process()}/exe").resolve(strict=True)
        except OSError:  # no Linux, or it has ended
            running = Path()
        return str(running) if running.name.startswith(self.program) else shutil.which(self.program)


def copy_claude_code(program: str, event: Event, turn: FlushTurn, file: Path) -> Copy:
    """Return a fork of a session of Claude Code."""
    words = [program, "-p", "--resume", event.session, "--fork-session", "--no-session-persistence"]
    words += ["--max-turns", str(MAX_TURNS), "--permission-mode", "default", "--tools", "", "--allowedTools", APPEND]
    words += ["--append-system-prompt", turn.system_prompt, "--settings", NO_HOOKS]
    if plugin := os.environ.get("CLAUDE_PLUGIN_ROOT"):
        words += ["--plugin-dir", plugin]
    return words, turn.prompt, {SAVING: str(file)}


def copy_codex(program: str, event: Event, turn: FlushTurn, file: Path) -> Copy:
    """Return a fork of a session of Codex."""
    server = f"mcp_servers.{SLOT_ID}"
    settings: dict[str, object] = {
        "model_auto_compact_token_limit": NO_LIMIT,
        "model_context_window": NO_LIMIT,
        "sandbox_mode": "read-only",
        "approval_policy": "never",
        f"{server}.enabled_tools": ["memory_append"],
        f"{server}.env.{SAVING}": str(file),  # Codex hands on to servers what it is told to only
    }
    words = [program, "exec", "fork", event.session, "-", "--ephemeral", "--skip-git-repo-check"]
    words += ["--disable", "hooks"]
    for key, value in settings.items():
        words += ["-c", f"{key}={json.dumps(value, ensure_ascii=False)}"]  # which is TOML, too
    return words, _say(turn), {"RUST_BACKTRACE": "0"}  # so that its last line is its error


def copy_opencode(program: str, event: Event, turn: FlushTurn, file: Path) -> Copy:
    """Return the fork that our plugin in opencode has made of a session."""
    # The plugin has forked the session: the copy of the command line would have the compaction that is due in it.
    tool = f"{SLOT_ID}_memory_append"
    settings = {
        "compaction": {"auto": False},
        "tools": {"*": False, tool: True},
        "permission": {tool: "allow"},
        "share": "disabled",
    }
    variables = {SAVING: str(file), "OPENCODE_CONFIG_CONTENT": json.dumps(settings)}
    return [program, "run", "--session", event.copy], _say(turn), variables


def _say(turn: FlushTurn) -> str:
    """Return a turn as one message, for a host that takes no system prompt beside it."""
    return f"{turn.system_prompt}\n\n{turn.prompt}"


class CopySlot(MemorySlot):
    """The slot of the server in a copy: midnight does not change the note that it writes, and the hook learns what was stored."""

    def __init__(self, config: ConfigSource, *, start_sync: Callable[[float], object]) -> None:
        self._file = Path(os.environ[SAVING])
        day = date.fromisoformat(self._file.read_text(encoding="utf-8").partition("\n")[0])
        super().__init__(config, today=lambda: day, start_sync=start_sync)

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run a tool, and note what was appended, without secrets."""
        from memory_core.plugin.flush.runner import leave_out_secrets

        result = super().call_tool(
            name, leave_out_secrets(arguments) if name == "memory_append" else arguments, context
        )
        if result.get("status") == "appended":
            with suppress(FileNotFoundError), self._file.open("a", encoding="utf-8") as file:  # the hook has ended
                file.write(f"{result['path']}\n")
        return result


def save_notes(copying: Copying, event: Event, slot: MemorySlot, context: CallContext) -> str:
    """Run the turn that is due before a compaction, record how it went, and count the compaction.

    Args:
        copying: The way to copy the host's session.
        event: The event of its hook.
        slot: The memory.
        context: The session.

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
            program = copying.find_program()
            if program is None:
                failure = f"the command {copying.program} was not found"
            else:
                failure = _run_copy(copying, copying.copy(program, event, turn, file))
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


def _run_copy(copying: Copying, copy: Copy) -> str:
    """Run a copy to its end; return why that failed, "" if it did not."""
    words, prompt, variables = copy
    try:
        with subprocess.Popen(  # noqa: S603  # the host itself
            words,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process:
            try:
                return _wait_for(process, prompt, copying)
            finally:
                process.kill()
    except OSError as error:
        return f"{words[0]} cannot be started: {error.strerror}"


def _wait_for(process: subprocess.Popen[str], prompt: str, copying: Copying) -> str:
    """Wait until the copy has ended; return why it failed, "" if it did not. It may not outlive its host."""
    end = time.monotonic() + MAX_SECONDS
    above = copying.find_process()
    given: str | None = prompt
    while True:
        try:
            said, _ = process.communicate(given, timeout=LOOK_SECONDS)
            break
        except subprocess.TimeoutExpired:
            given = None
        if time.monotonic() > end:
            return f"the copy of the session took longer than {MAX_SECONDS:.0f} s"
        if _is_gone(above):
            return "the host has ended"
    if process.returncode:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        return f"the copy of the session ended with status {process.returncode}: {last[0][:200]}"
    return ""


def _is_gone(number: int) -> bool:
    try:
        if os.name == "posix":
            os.kill(number, 0)
    except OSError as error:  # PermissionError: it runs as another user
        return isinstance(error, ProcessLookupError)
    return False
