"""Answers the hooks of Claude Code and of hosts with hooks like its own; each starts `memory-core hook` with the event as input.

https://code.claude.com/docs/en/hooks, https://developers.openai.com/codex/hooks
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from memory_core.errors import InvalidArgument
from memory_core.hosts.install.programs import HOOKED
from memory_core.hosts.saving import is_saving, save_notes
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from memory_core.tools.shown import Shown

MAX_CHARS = 9_500  # Claude Code shows the model the beginning only of a text with more than 10,000
POLL_SECONDS = 0.05
WARM_UP_SECONDS = 5.0  # below the timeout of the hook, in hooks.json

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
    context, known = CallContext.local(session, agent=agent), Shown(shown)
    if event["hook_event_name"] == "SessionEnd":
        index()
    elif event["hook_event_name"] == "PreCompact":
        known.forget(session)
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
    shown.forget(context.session_key)
    shown.add(context.session_key, [text])
    return _add_context("SessionStart", text)


def _recall(event: Event, slot: MemorySlot, context: CallContext, shown: Shown) -> dict[str, Any]:
    prompt = str(event.get("prompt") or "")
    if not prompt or prompt.startswith("/"):
        return {}
    end = time.monotonic() + WARM_UP_SECONDS
    known = shown.of(context.session_key)
    recalled = slot.recall_for_message(prompt, context, shown=known)
    # The deadline of recall is for a process that has all packages loaded.
    while recalled.late and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
        recalled = slot.recall_for_message(prompt, context, shown=known)
    shown.add(context.session_key, (piece.text for piece in recalled.pieces))
    return _add_context("UserPromptSubmit", recalled.text[:MAX_CHARS])


def _say_nothing(_: Event, __: MemorySlot, ___: CallContext, ____: Shown) -> dict[str, Any]:
    return {}


def _add_context(name: str, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}} if text else {}


_ANSWERS = {"SessionStart": _show_notes, "UserPromptSubmit": _recall}
