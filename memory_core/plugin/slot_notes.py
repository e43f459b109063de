"""The part of the slot that shows whole notes, to hosts that offer them to their user or model as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory_core.errors import FileUnreadable, InvalidArgument, PathRefused
from memory_core.plugin.agents import AgentMemories
from memory_core.plugin.boundary import check_context, never_raises
from memory_core.records import CallContext, Document, MemoryFile
from memory_core.tools import results


class SlotNotes:
    """The methods of `MemorySlot` that show notes. None of them raises."""

    _agents: AgentMemories

    @never_raises(lambda _: None)
    def find_workspace(self, context: CallContext | None = None) -> Path | None:
        """Return the folder of a session's notes, which may not exist; None when memory is off."""
        found = self._agents.resolve_if_on(check_context(context))
        return None if found is None else found[1].workspace

    @never_raises(lambda _: ())
    def list_notes(self, context: CallContext | None = None) -> tuple[MemoryFile, ...]:
        """Return the notes that a session may read, sorted by path; session logs are not among them.

        None when memory is off, or when its scope lets this chat see no notes.
        """
        from memory_core.sources.files import list_files

        found = self._agents.resolve_if_on(check_context(context), readable=True)
        return () if found is None else tuple(sorted(list_files(found[1]).files, key=lambda file: file.path))

    def read_note(self, path: str, context: CallContext | None = None) -> dict[str, Any]:
        """Return a whole note as its file holds it now. Whatever goes wrong is in the result, as with `call_tool`.

        Args:
            path: As `list_notes` or a search returned it.
            context: The session.

        Returns:
            The result of memory_get, on one page.
        """
        return results.catch_errors("memory_get", lambda: self._read_note(path, check_context(context)))

    def _read_note(self, path: str, context: CallContext) -> dict[str, Any]:
        from memory_core.sources.notes import read_note
        from memory_core.sources.pages import resolve

        if not isinstance(path, str):
            raise InvalidArgument("path", f"expected a string, not {type(path).__name__}")
        found = self._agents.resolve_if_on(context, readable=True)
        if found is None:
            return results.shape_denied("memory is off, or may not be used in this chat", "run: memory-core status")
        if (file := resolve(found[1], path)) is None:
            return results.shape_document(Document(path=path, text="", from_line=1, lines=0, status="not_found"))
        try:
            text = read_note(file).text
        except FileUnreadable as error:
            raise PathRefused(path, error.reason) from error
        return results.shape_document(Document(path=file.path, text=text, from_line=1, lines=text.count("\n") + 1))
