"""The events of all hosts that run commands of ours: a table says what each means to us. Unknown ones are ignored.

At the end of a turn, a hook does what is in here and no more; `hooks`, which needs the whole of memory, answers other events.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from memory_core.atomic import replace_file
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home, find_home
from memory_core.config.load import Config, ConfigSource
from memory_core.config.projects import find_project, find_repository
from memory_core.config.resolution import OWN_FOLDER, find_current_folder
from memory_core.errors import InvalidArgument, LoggedProblems, MemoryCoreError, PathRefused
from memory_core.sources.journal import Journal, JournalSession
from memory_core.sources.transcripts import SPEAKERS, Said, drop_asides

log = logging.getLogger(__name__)

# Names, in the copy, a file: its first line is the day of the turn, and the copy's server adds a line for each text that it has
# appended. The copy's hooks do nothing, and its server writes the note of that day only.
SAVING = "MEMORY_CORE_SAVING"
START_SECONDS = 0.3  # that a session's start waits for what was missed in others

FOLDERS = "folders"  # in our part of the state folder: a file for each host's process, with the folder of its session
WEEK_SECONDS = 7 * 24 * 3600  # after which such a file is of a process that was killed

Kind = Literal["start", "prompt", "turn", "left", "compact", "moved", "end", "unknown"]

# https://code.claude.com/docs/en/hooks
_CLAUDE_CODE: Mapping[str, Kind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "Stop": "turn",
    "SubagentStop": "turn",  # of a sub-agent: its event names the transcript of the session, which is all that is read
    "PreCompact": "compact",
    # WorktreeCreate is none of ours: whoever has a hook for it makes the worktree in place of the host.
    "CwdChanged": "moved",
    "SessionEnd": "end",
}


@dataclass(frozen=True, slots=True)
class HostEvents:
    """The events of a host, and the folders of its transcripts.

    Attributes:
        kinds: By the name of the event, what it means to us.
        variable: The variable of the environment that names the folder of the host.
        usual: That folder below the user's home, where the variable is not set.
        transcripts: The folders in it that hold transcripts of sessions; none if its events bring the messages.
        nests: It takes what a hook adds to a session in `hookSpecificOutput`; else the answer itself holds it.
        process: The variable that tells hooks the id of the host's process, which has started our server; "" if none does.
    """

    kinds: Mapping[str, Kind]
    variable: str = ""
    usual: str = ""
    transcripts: tuple[str, ...] = ()
    nests: bool = True
    process: str = ""


HOSTS: Mapping[str, HostEvents] = {
    "claude-code": HostEvents(_CLAUDE_CODE, "CLAUDE_CONFIG_DIR", ".claude", ("projects",), process="CLAUDE_PID"),
    # https://developers.openai.com/codex/hooks
    "codex": HostEvents(_CLAUDE_CODE, "CODEX_HOME", ".codex", ("sessions", "archived_sessions")),
    # Our own plugin in opencode sends them, and what sessions hold that opencode has left when it was killed.
    "opencode": HostEvents({**_CLAUDE_CODE, "SessionLeft": "left"}),
    # https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference: as Claude Code, by these names
    "copilot": HostEvents(_CLAUDE_CODE, "COPILOT_HOME", ".copilot", ("session-state",), nests=False),
    # https://geminicli.com/docs/hooks; AfterAgent brings the turn
    "gemini": HostEvents({"SessionStart": "start", "BeforeAgent": "prompt", "AfterAgent": "turn", "SessionEnd": "end"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event of a host.

    Attributes:
        host: Its name in `HOSTS`.
        name: The name of the event.
        kind: What it means to us.
        session: The host's name of the session; "main" if it has none.
        cwd: The folder of the session; "" if the event does not say.
        prompt: The message of the user that the event is about; "" if there is none.
        transcript: The path of the session's transcript, as the event has it; "" if there is none.
        messages: Those of the turn, where the event brings them.
        copy: The session that the host has copied for us; "" if none.
    """

    host: str
    name: str
    kind: Kind
    session: str = "main"
    cwd: str = ""
    prompt: str = ""
    transcript: str = ""
    messages: tuple[Said, ...] = ()
    copy: str = ""

    def find_transcript(self) -> str:
        """Return the real path of the transcript; "" where this host keeps none that we read.

        Raises:
            PathRefused: It is outside the host's folders.
        """
        known = HOSTS[self.host]
        if not self.transcript or not known.transcripts:
            return ""
        home = find_folder_of(known.variable, known.usual)
        path = Path(expand_home(self.transcript))
        real = Path(os.path.realpath(path.parent), path.name)  # a link in its place is refused when it is read
        if path.is_absolute() and any(
            Path(os.path.realpath(home / name)) in real.parents for name in known.transcripts
        ):
            return str(real)
        raise PathRefused(self.transcript, f"is no transcript below {home}", action="look at the hooks of the host")


def find_folder_of(variable: str, *usual: str, below: str = "") -> Path:
    """Return the folder that a variable of the environment names, or else the usual one below the user's home; or one in it."""
    named = os.environ.get(variable)
    return Path(expand_home(named) if named else find_home(), *([] if named else usual), below)


def read_event(host: str, given: IO[str]) -> Event:
    """Read an event as a host writes it.

    Args:
        host: The name of the host in `HOSTS`.
        given: The event, as JSON.

    Raises:
        InvalidArgument: The input is no event.
    """
    raw: Any
    try:
        raw = json.loads(given.read().removeprefix("\ufeff"), strict=False)
    except (ValueError, RecursionError) as error:
        raw = error
    if not isinstance(raw, dict) or not isinstance(raw.get("hook_event_name"), str):
        raise InvalidArgument("standard input", "expected the event of a hook, which is a JSON object")

    def find(name: str) -> str:
        value = raw.get(name)
        return value if isinstance(value, str) else ""

    name = raw["hook_event_name"]
    return Event(
        host=host, name=name, kind=HOSTS[host].kinds.get(name, "unknown"), session=find("session_id") or "main",
        cwd=find("cwd"), prompt=drop_asides(find("prompt")), transcript=find("transcript_path"), copy=find("copy_id"),
        messages=_read_messages(raw),
    )  # fmt: skip


def _read_messages(raw: Mapping[str, Any]) -> tuple[Said, ...]:
    """Return the messages that an event brings: in a list of ours, or as the prompt and the response of a turn."""
    listed = raw.get("messages")
    if not isinstance(listed, list):
        texts, time = {"user": raw.get("prompt"), "assistant": raw.get("prompt_response")}, raw.get("timestamp")
        listed = (
            [{"role": role, "text": text, "time": time} for role, text in texts.items()] if texts["assistant"] else []
        )
    found = []
    for each in listed:
        facts = each if isinstance(each, dict) else {}
        role, text, at, name = (facts.get(part) or "" for part in ("role", "text", "time", "id"))
        said = drop_asides(text) if isinstance(text, str) else ""
        if role in SPEAKERS and said:
            found.append(Said(role, said, at if isinstance(at, str) else "", str(name)))
    return tuple(found)


def keep_turns(event: Event, config: AgentConfig) -> bool:
    """Keep what is new in the session of an event, where the journal is on; what goes wrong is for `doctor` to tell.

    Returns:
        True if something of it is to be indexed, or still to be read.
    """
    journal = Journal(config.journal_dir)
    if not (config.enabled and config.search.items.capture.journal) or event.kind == "unknown":
        return False
    said: Sequence[Said] = ()
    try:
        session = JournalSession(
            event.host, event.session, event.cwd, event.find_transcript(), is_left_out=journal.is_paused
        )
        if event.kind == "turn" or (event.kind == "left" and journal.knows(session)):
            said = event.messages
        if said:
            journal.add(session, said)
        elif event.kind != "left":
            journal.follow(session)
        if event.kind == "end":
            journal.end(session)
        if event.kind == "start":
            journal.catch_up(seconds=START_SECONDS)
    except TimeoutError:  # of the lock
        journal.record_missed(session, said)
    except (MemoryCoreError, OSError) as error:
        journal.record_problem(f"session {event.session} of {event.host}: {error}")
    return event.kind != "prompt"


def record_folder(event: Event, state_dir: Path) -> Path | None:
    """Record the folder of a session, which the server of its host follows; return the one whose project is asked.

    A folder that belongs to no project and no repository changes nothing.

    Returns:
        None if this host does not tell which process of it has started the server, or no folder was recorded.
    """
    process = os.environ.get(HOSTS[event.host].process, "")
    if not process.isdigit():
        return None
    path, here = state_dir / OWN_FOLDER / FOLDERS / process, Path(event.cwd)
    home = os.environ.get("HOME", "") or os.environ.get("USERPROFILE", "")  # the latter on Windows
    with LoggedProblems(log, "the folder of the session is not recorded"):
        if event.kind == "end":
            path.unlink(missing_ok=True)
        elif event.cwd and (find_project(here, home) or find_repository(here, home)):
            if read_folder(state_dir, int(process)) != here:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                replace_file(path, os.fsencode(here))
        elif event.kind == "start":
            path.unlink(missing_ok=True)
        for each in path.parent.glob("*") if event.kind == "start" else ():
            if time.time() - each.stat().st_mtime > WEEK_SECONDS:
                each.unlink(missing_ok=True)
    return read_folder(state_dir, int(process))


def read_folder(state_dir: Path, process: int) -> Path | None:
    """Return the folder that was recorded last for the session of a host's process; None if none was."""
    try:
        return Path(os.fsdecode((state_dir / OWN_FOLDER / FOLDERS / str(process)).read_bytes()))
    except OSError:
        return None


class FollowingSource(ConfigSource):
    """The configuration of a server, which finds the project of the folder in which the host's session works now."""

    def current(self) -> Config:
        """See `ConfigSource.current`."""
        found = super().current()
        folder = read_folder(found.agent().state_dir, os.getppid())
        if folder in (None, self.folder or find_current_folder()):
            return found
        self.folder = folder
        return super().current()


def prepare_process(folder: str) -> None:
    """Work in the folder in which the host started the MCP server, so that both find the same workspace.

    When the host gives the hook up, it ends as if interrupted, so that a copy of the session ends with it.

    Args:
        folder: That of the session.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    project = os.environ.get("CLAUDE_PROJECT_DIR") or folder
    if project and Path(project).is_dir():
        os.chdir(project)


def is_saving() -> bool:
    """Return True in the hooks and the server of a copy that saves notes."""
    return bool(os.environ.get(SAVING))
