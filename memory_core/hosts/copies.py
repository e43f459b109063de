"""The copy of a session that each host with a hook before compaction can start: from its own command line, with our tool only."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.config.settings import SLOT_ID

if TYPE_CHECKING:
    from memory_core.plugin.flush.policy import FlushTurn

# Names, in the copy, a file: its first line is the day of the turn, and the copy's server adds a line for each text that it has
# appended. The copy's hooks do nothing, and its server writes the note of that day only.
SAVING = "MEMORY_CORE_SAVING"
APPEND = "mcp__plugin_memory-core_memory-core__memory_append"  # what Claude Code calls the tool of the plugin's server
MAX_TURNS = 6
NO_HOOKS = '{"disableAllHooks": true}'  # the user's own would take the copy for a session of theirs
NO_LIMIT = 1_000_000_000  # tokens: a copy that compacts itself first could save only what the summary has kept


@dataclass(frozen=True, slots=True)
class Copy:
    """The start of a copy.

    Attributes:
        words: The command line.
        prompt: What it reads from standard input.
        variables: Added to the environment.
    """

    words: list[str]
    prompt: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Host:
    """A host that runs a command of ours before it compacts a session.

    Attributes:
        title: Its name.
        program: The name of its program.
        variable: The variable in which it gives its process id to hooks; "" if it gives none.
        copy: Returns the copy of a session. It takes the program's path, the event, the turn, and the file named by `SAVING`.
    """

    title: str
    program: str
    variable: str
    copy: Callable[[str, Mapping[str, Any], FlushTurn, Path], Copy]

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


def _copy_claude_code(program: str, event: Mapping[str, Any], turn: FlushTurn, file: Path) -> Copy:
    words = [program, "-p", "--resume", str(event.get("session_id")), "--fork-session", "--no-session-persistence"]
    words += ["--max-turns", str(MAX_TURNS), "--permission-mode", "default", "--tools", "", "--allowedTools", APPEND]
    words += ["--append-system-prompt", turn.system_prompt, "--settings", NO_HOOKS]
    if plugin := os.environ.get("CLAUDE_PLUGIN_ROOT"):
        words += ["--plugin-dir", plugin]
    return Copy(words, turn.prompt, {SAVING: str(file)})


def _copy_codex(program: str, event: Mapping[str, Any], turn: FlushTurn, file: Path) -> Copy:
    server = f"mcp_servers.{SLOT_ID}"
    settings: dict[str, object] = {
        "model_auto_compact_token_limit": NO_LIMIT,
        "model_context_window": NO_LIMIT,
        "sandbox_mode": "read-only",
        "approval_policy": "never",
        f"{server}.enabled_tools": ["memory_append"],
        f"{server}.env.{SAVING}": str(file),  # Codex hands on to servers what it is told to only
    }
    words = [program, "exec", "fork", str(event.get("session_id")), "-", "--ephemeral", "--skip-git-repo-check"]
    words += ["--disable", "hooks"]
    for key, value in settings.items():
        words += ["-c", f"{key}={json.dumps(value, ensure_ascii=False)}"]  # which is TOML, too
    return Copy(words, _say(turn))


def _copy_opencode(program: str, event: Mapping[str, Any], turn: FlushTurn, file: Path) -> Copy:
    # The plugin has forked the session: the copy of the command line would have the compaction that is due in it.
    tool = f"{SLOT_ID}_memory_append"
    settings = {
        "compaction": {"auto": False},
        "tools": {"*": False, tool: True},
        "permission": {tool: "allow"},
        "share": "disabled",
    }
    variables = {SAVING: str(file), "OPENCODE_CONFIG_CONTENT": json.dumps(settings)}
    return Copy([program, "run", "--session", str(event.get("copy_id"))], _say(turn), variables)


def _say(turn: FlushTurn) -> str:
    """Return a turn as one message, for a host that takes no system prompt beside it."""
    return f"{turn.system_prompt}\n\n{turn.prompt}"


HOSTS: Mapping[str, Host] = {
    "claude-code": Host("Claude Code", "claude", "CLAUDE_PID", _copy_claude_code),
    "codex": Host("Codex", "codex", "", _copy_codex),
    "opencode": Host("opencode", "opencode", "", _copy_opencode),
}
