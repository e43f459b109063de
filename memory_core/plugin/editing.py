"""Notes as files that a host's model edits: one change of a whole note, after which the history has it as it was before."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable, InvalidArgument, MemoryCoreError, NoteChanged, PathRefused, expect
from memory_core.history.notes import name_note
from memory_core.records import CallContext, Origin
from memory_core.sources import origins, writer
from memory_core.sources.notes import read_note
from memory_core.sources.pages import resolve
from memory_core.sources.roots import LONGTERM_NAMES, NOTES_FOLDER
from memory_core.text.messages import replace_surrogates
from memory_core.text.paragraphs import split_paragraphs
from memory_core.tools import scope
from memory_core.tools.results import describe_exception

Change = Callable[[str | None], str | None]
"""Takes the text of a note, None where there is no note, and returns the new text, None for no note."""


def change_note(
    config: AgentConfig, context: CallContext, path: str, change: Change, *, sync: Callable[[], object]
) -> dict[str, Any]:
    """Change, make or remove a note for a session that may read notes.

    Args:
        config: The agent's.
        context: The session.
        path: `MEMORY.md`, or a note in `memory/`.
        change: Makes the new text of the old one, lines ended by LF; an error of ours that it raises ends the change as it is.
        sync: Indexes what has changed in the notes, so that the history holds the note as it was.

    Returns:
        `{path, status}`: status is "created", "changed", "unchanged" or "removed".

    Raises:
        InvalidArgument: The host's function failed, or returned neither a text nor None.
        PathRefused: The session may not write there, or no note can stand there.
        FileUnreadable: The note is no UTF-8 text.
        NoteChanged, NoteNotWritten: See `writer.rewrite`.
    """
    file, name, seen = resolve(config, path), name_note(config, path), None
    _refuse(config, context, name)
    if file is not None:
        note = read_note(file)
        if note.replaced:
            raise FileUnreadable(name, "is not UTF-8", action="repair that note")
        seen = note.data
        if config.search.history.enabled:
            sync()
    texts: list[str | None] = []

    def rewrite(data: bytes | None) -> bytes | None:
        if data != seen:
            raise NoteChanged(name)
        mark = codecs.BOM_UTF8 if (data or b"").startswith(codecs.BOM_UTF8) else b""
        old = None if data is None else data.removeprefix(mark).decode()
        has_crlf = old is not None and old.count("\n") == old.count("\r\n") > 0
        old = old.replace("\r\n", "\n") if old is not None and has_crlf else old
        new = _call(change, old)
        texts.extend((old, new))
        if new is None or new == old:
            return None if new is None else data
        return mark + replace_surrogates(new.replace("\n", "\r\n") if has_crlf else new).encode()

    writer.rewrite(name, rewrite, workspace=config.workspace, state_dir=config.state_dir)
    before, after = texts
    known = {each.text for each in split_paragraphs(before or "")}
    if added := [each.text for each in split_paragraphs(after or "") if each.text not in known]:
        record = origins.find_record(config.workspace, config.state_dir)
        origins.record_written(name, added, Origin(by="agent", session=context.session_key), record)
    if before == after:
        return {"path": name, "status": "unchanged"}
    return {"path": name, "status": "created" if before is None else "removed" if after is None else "changed"}


def _call(change: Change, old: str | None) -> str | None:
    """Return the text that a host's function makes of a note."""
    try:
        new = change(old)
    except MemoryCoreError:
        raise
    except Exception as error:
        raise InvalidArgument("change", f"the function raised {describe_exception(error)}") from error
    expect(isinstance(new, str | None), "change", "a function that returns a text or None", new)
    return new


def _refuse(config: AgentConfig, context: CallContext, name: str) -> None:
    """Raise unless a session may write a note."""
    if context.access != "rw":
        raise PathRefused(name, "this session may not write in the workspace", action="use one with workspaceAccess rw")
    if name in LONGTERM_NAMES:
        if not scope.is_main(context, config.agent):
            raise PathRefused(name, "is written in the main private session only", action="write another note")
    elif not name.startswith(f"{NOTES_FOLDER}/"):
        raise PathRefused(name, f"is not in {NOTES_FOLDER}/", action=f"name a note in {NOTES_FOLDER}/, or MEMORY.md")
