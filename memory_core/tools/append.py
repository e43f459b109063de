"""The tool `memory_append`, by which an agent writes: its schema, and the notes that it may write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from memory_core.errors import InvalidArgument, PathRefused
from memory_core.records import Access
from memory_core.sources import writer
from memory_core.tools.arguments import make_optional, make_tool

APPEND = make_tool(
    "memory_append",
    "Store something that should outlast this conversation: appends Markdown paragraphs to a note. Existing text is"
    " never changed, and what the note holds already is skipped. Write what is new, in short self-contained"
    " paragraphs with names and dates; don't store again what memory_search returned.",
    {
        "text": {"type": "string", "minLength": 1, "description": "Markdown; paragraphs are parted by blank lines"},
        "target": make_optional(
            {"type": "string", "enum": ["daily", "longterm"]},
            "daily (default): today's note; longterm: MEMORY.md, for lasting facts and preferences",
        ),
    },
    required=["text"],
)

_LINE = {"type": "integer", "minimum": 1}
RESULT: Mapping[str, Any] = {
    "properties": {
        "path": {"type": "string"},
        "status": {"enum": ["appended", "nothing new"]},
        "appended": {"type": "integer", "minimum": 0},
        "skipped": {"type": "integer", "minimum": 1},
        "startLine": _LINE,
        "endLine": _LINE,
    },
    "required": ["path", "status", "appended"],
}

# In a flush turn the file is pinned, so there is nothing to choose.
PINNED_APPEND = make_tool(
    APPEND["name"], APPEND["description"], {"text": APPEND["parameters"]["properties"]["text"]}, required=["text"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """The permissions of one call of `memory_append`.

    Attributes:
        workspace: The folder of the notes.
        state_dir: The folder of the lock and the journal.
        today: The date in the user's timezone; names the daily note.
        access: What the session may do in the workspace.
        longterm: True if MEMORY.md may be written: in a main private session.
        pinned: In a flush turn, `FlushTurn.target`: the only note that is written; else None.
        recalled: Fingerprints of the passages that the session has been shown.
    """

    workspace: Path
    state_dir: Path
    today: date
    access: Access = "rw"
    longterm: bool = False
    pinned: str | None = None
    recalled: frozenset[str] = frozenset()


def memory_append(arguments: Mapping[str, Any], writing: Writing) -> dict[str, Any]:
    """Run the tool.

    Args:
        arguments: `text` and perhaps `target`, as the schema allows them.
        writing: The permissions of this call.

    Returns:
        `{path, status, appended, skipped?, startLine?, endLine?}`: status is "appended" or "nothing new", appended and
        skipped count paragraphs, and the lines are those that were added.

    Raises:
        PathRefused: The session may not write there.
        MemoryCoreError: As `writer.append`.
    """
    text, target = arguments.get("text"), arguments.get("target")
    if not isinstance(text, str):
        raise InvalidArgument("text", f"expected a string, not {type(text).__name__}")
    done = writer.append(
        text,
        path=choose_path(target, writing),
        workspace=writing.workspace,
        state_dir=writing.state_dir,
        recalled=writing.recalled,
    )
    return _shape(done)


def choose_path(target: object, writing: Writing) -> str:
    """Return the note that a target names; None is the usual one.

    Raises:
        InvalidArgument: The target does not exist.
        PathRefused: The session may not write there.
    """
    if target not in (None, "daily", "longterm"):
        raise InvalidArgument("target", f'expected "daily" or "longterm", not {target!r}')
    if writing.access != "rw":
        raise PathRefused(
            "memory_append",
            "this session may not write in the workspace",
            action="use a session with workspaceAccess rw",
        )
    if writing.pinned is not None:
        if target == "longterm":
            raise PathRefused(
                writer.longterm_path(writing.workspace),
                f"in this turn only {writing.pinned} is written",
                action="leave the target out",
            )
        return writing.pinned
    if target != "longterm":
        return writer.daily_path(writing.today)
    path = writer.longterm_path(writing.workspace)
    if not writing.longterm:
        raise PathRefused(path, "is written in the main private session only", action='Use the target "daily".')
    return path


def _shape(done: writer.Appended) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "path": done.path,
        "status": "appended" if done.paragraphs else "nothing new",
        "appended": len(done.paragraphs),
    }
    if done.skipped:
        shaped["skipped"] = len(done.skipped)
    if done.paragraphs:
        shaped.update(startLine=done.start_line, endLine=done.end_line)
    return shaped
