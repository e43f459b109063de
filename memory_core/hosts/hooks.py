"""Answers the hooks of Claude Code and of hosts with hooks like its own; each starts `memory-core hook` with the event as input.

https://code.claude.com/docs/en/hooks, https://developers.openai.com/codex/hooks
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from memory_core.atomic import locked, replace_file
from memory_core.errors import InvalidArgument
from memory_core.hosts.install.programs import HOOKED
from memory_core.hosts.saving import is_saving, save_notes
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext

MAX_CHARS = 9_500  # Claude Code shows the model the beginning only of a text with more than 10,000
POLL_SECONDS = 0.05
WARM_UP_SECONDS = 5.0  # below the timeout of the hook, in hooks.json
SESSIONS = 64  # that have a file of what they were shown: those shown something last
FINGERPRINTS = 1024  # of one session: those shown last; 65 bytes each
LOCK_SECONDS = 2.0
SUFFIX = ".shown"
FINGERPRINT = re.compile(r"^[0-9a-f]{64}$", re.MULTILINE)  # a line of a file

log = logging.getLogger(__name__)

Event = Mapping[str, Any]


def answer_hook(
    given: IO[str],
    said: IO[str],
    slot: MemorySlot,
    agent: str,
    *,
    host: str,
    shown: Path,
    index: Callable[[], object],
) -> None:
    """Read one event, and write the answer to it; nothing if there is nothing to say.

    Args:
        given: The event, as JSON.
        said: Takes the answer, as JSON.
        slot: The memory.
        agent: The id of its agent.
        host: Whose hook it is, a key of `HOOKED`.
        shown: The folder in which hooks remember what each session has been shown.
        index: Starts to index what has changed in the notes, at the end of a session.

    Raises:
        InvalidArgument: The input is no event.
    """
    event: Any
    try:
        event = json.load(given)
    except ValueError as error:
        event = error
    if not isinstance(event, dict) or not isinstance(event.get("hook_event_name"), str):
        raise InvalidArgument("standard input", "expected the event of a hook, which is a JSON object")
    if is_saving():
        return
    session = str(event.get("session_id") or "main")
    context, known = CallContext.local(session, agent=agent), Shown(shown, session)
    if event["hook_event_name"] == "SessionEnd":
        index()
    elif event["hook_event_name"] == "PreCompact":
        known.forget()
        # The compaction goes on whatever happens.
        if failure := save_notes(HOOKED[host], event, slot, context):
            answer = {"systemMessage": f"memory-core: no notes were saved before this compaction: {failure}"}
            said.write(json.dumps(answer, ensure_ascii=False) + "\n")
    elif answer := _ANSWERS.get(event["hook_event_name"], _say_nothing)(event, slot, context, known):
        said.write(json.dumps(answer, ensure_ascii=False) + "\n")


def prepare_process() -> None:
    """Work in the folder in which Claude Code started the MCP server, so that both find the same workspace.

    When the host gives the hook up, it ends as if interrupted, so that a copy of the session ends with it.
    """
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    project = os.environ.get("CLAUDE_PROJECT_DIR")
    if project and Path(project).is_dir():
        os.chdir(project)


def _show_notes(_: Event, slot: MemorySlot, context: CallContext, shown: Shown) -> dict[str, Any]:
    text = slot.session_context(context, budget_chars=MAX_CHARS)
    shown.forget()
    shown.add([text])
    return _add_context("SessionStart", text)


def _recall(event: Event, slot: MemorySlot, context: CallContext, shown: Shown) -> dict[str, Any]:
    prompt = str(event.get("prompt") or "")
    if not prompt or prompt.startswith("/"):
        return {}
    end = time.monotonic() + WARM_UP_SECONDS
    known = shown.read()
    recalled = slot.recall_for_message(prompt, context, shown=known)
    # The deadline of recall is for a process that has all packages loaded.
    while recalled.late and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
        recalled = slot.recall_for_message(prompt, context, shown=known)
    shown.add(piece.text for piece in recalled.pieces)
    return _add_context("UserPromptSubmit", recalled.text[:MAX_CHARS])


def _say_nothing(_: Event, __: MemorySlot, ___: CallContext, ____: Shown) -> dict[str, Any]:
    return {}


def _add_context(name: str, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}} if text else {}


_ANSWERS = {"SessionStart": _show_notes, "UserPromptSubmit": _recall}


class Shown:
    """Fingerprints of what one session was shown, in a file: each hook is a process of its own, and remembers nothing.

    Where the file cannot be used, a text may be shown again.

    Args:
        folder: The folder of the files of all sessions; made when the first text has been shown.
        session: The id of the session.
    """

    def __init__(self, folder: Path, session: str) -> None:
        self._folder = folder
        self._path = folder / f"{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()[:32]}{SUFFIX}"

    def read(self) -> frozenset[str]:
        """Return the fingerprints of all that the session has been shown, as `text.paragraphs.is_recalled` takes them."""
        return frozenset(self._read())

    def add(self, texts: Iterable[str]) -> None:
        """Record that the session has been shown these texts."""
        from memory_core.text.paragraphs import fingerprint_recalled

        found = sorted(fingerprint_recalled(texts))
        if not found:
            return
        try:
            with locked(self._folder / ".lock", timeout_seconds=LOCK_SECONDS):
                kept = list(dict.fromkeys([*self._read(), *found]))[-FINGERPRINTS:]
                replace_file(self._path, "".join(f"{each}\n" for each in kept).encode("ascii"))
                self._remove_old()
        except (OSError, TimeoutError) as error:
            log.warning("What has been shown may be shown again in this session: %s", error)

    def forget(self) -> None:
        """Let the session be shown everything again, since its context begins anew."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("What has been shown is not shown again in this session: %s", error)

    def _read(self) -> list[str]:
        try:
            return FINGERPRINT.findall(self._path.read_text(encoding="ascii", errors="replace"))
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("What has been shown may be shown again in this session: %s", error)
            return []

    def _remove_old(self) -> None:
        files = {path: path.stat().st_mtime_ns for path in self._folder.glob(f"*{SUFFIX}")}
        for path in sorted(files, key=files.__getitem__)[:-SESSIONS]:
            path.unlink(missing_ok=True)
