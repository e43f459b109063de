"""The tool `memory_append`, by which an agent writes, and the notes that it may write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from memory_core.config.agent import AgentConfig
from memory_core.errors import PathRefused
from memory_core.records import CallContext, Origin
from memory_core.sources import origins
from memory_core.tools.arguments import TOOLS, check_arguments
from memory_core.tools.scope import is_main

APPEND = TOOLS["memory_append"]
SHOWN_CHARS = 80  # of a line with a secret, which is blanked
UNDO = "if it is one, take the line out of the note, then what was kept of it: memory-core history purge --match TEXT"
# In a flush turn the file is pinned, so there is nothing to choose.
PINNED_APPEND = {
    **APPEND,
    "parameters": {**APPEND["parameters"], "properties": {"text": APPEND["parameters"]["properties"]["text"]}},
}


def memory_append(
    arguments: Mapping[str, Any],
    config: AgentConfig,
    context: CallContext,
    *,
    today: date,
    pinned: str | None = None,
    recalled: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Run the tool.

    Args:
        arguments: `text` and perhaps `target` and `by`, as the schema allows them.
        config: Of the layer in which is written.
        context: The session. MEMORY.md is written in a main private one only. What its user says is not recorded: it counts as
            a line of theirs.
        today: The date in the user's timezone; names the daily note.
        pinned: In a flush turn, `FlushTurn.target`: the only note that is written; else None.
        recalled: Fingerprints of the passages that the session has been shown.

    Returns:
        `{path, status, appended, skipped?, startLine?, endLine?, warning?, action?}`: status is "appended" or "nothing
        new", appended and skipped count paragraphs, the lines are those that were added, and the warning is of a secret.

    Raises:
        InvalidArgument: An argument is wrong.
        PathRefused: The session may not write there.
        MemoryCoreError: As `writer.append`.
    """
    if pinned is not None and isinstance(
        arguments, Mapping
    ):  # a flush turn has one try: an argument too many is left out
        arguments = {name: arguments[name] for name in arguments if name in APPEND["parameters"]["properties"]}
    arguments = check_arguments(APPEND, arguments)
    text, target = arguments["text"], arguments.get("target")
    if context.access != "rw":
        reason, action = "this session may not write in the workspace", "use a session with workspaceAccess rw"
        raise PathRefused("memory_append", reason, action=action)
    from memory_core.sources import writer
    from memory_core.sources.redaction import redact

    workspace, state_dir = config.workspace, config.state_dir
    path = pinned or writer.find_note(target, workspace, today)
    if target in ("longterm", "person"):
        if pinned is not None:
            raise PathRefused(path, f"in this turn only {pinned} is written", action="leave the target out")
        if not is_main(context, config.agent):
            raise PathRefused(path, "is written in the main private session only", action='Use the target "daily".')
    done = writer.append(text, path=path, workspace=workspace, state_dir=state_dir, recalled=recalled)
    status = "appended" if done.paragraphs else "nothing new"
    shaped: dict[str, Any] = {"path": done.path, "status": status, "appended": len(done.paragraphs)}
    if done.skipped:
        shaped["skipped"] = len(done.skipped)
    if done.paragraphs:
        origin = Origin(by=arguments.get("by", context.by), session=context.session_key)
        if origin.by != "user":
            origins.record_written(done.path, done.paragraphs, origin, origins.find_record(workspace, state_dir))
        shaped.update(startLine=done.start_line, endLine=done.end_line)
        written = "\n".join(done.paragraphs)
        if (safe := redact(written)) != written:
            line = next(new for new, old in zip(safe.split("\n"), written.split("\n"), strict=True) if new != old)
            warning = f'"{line[:SHOWN_CHARS]}" looks like a secret, and stands in the note as it is'
            shaped.update(warning=warning, action=UNDO)
    return shaped
