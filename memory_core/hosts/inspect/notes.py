"""Notes for the page: their days, and one note as HTML in which nothing of the note itself can act."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from memory_core.config.agent import AgentConfig
from memory_core.errors import PathRefused
from memory_core.records import MemoryFile
from memory_core.sources import files, notes, pages
from memory_core.sources.notes import NoteText
from memory_core.sync.syncer import cut
from memory_core.text.messages import quote_safely

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_UNITS = 600  # of one note that are shown
MAX_CHARS = 4_000  # of one unit that are shown


def list_days(config: AgentConfig) -> list[dict[str, Any]]:
    """Return every note with its day, by its path; a note without a date in its path has the day of its last change."""
    return [
        {"path": file.path, "day": notes.find_note_day(file, "").isoformat()} for file in files.list_files(config).files
    ]


def show_note(config: AgentConfig, path: str) -> dict[str, Any]:
    """Return a note cut as it is indexed: passages of units, each as harmless HTML.

    Raises:
        PathRefused: It is none of this agent's notes, or there is none.
        FileUnreadable: It cannot be read.
    """
    file = pages.resolve(config, path)
    if file is None:
        raise PathRefused(path, "there is no such note", action="search, and open a note from a result")
    return shape_note(config, file, notes.read_note(file))


def shape_note(config: AgentConfig, file: MemoryFile, note: NoteText) -> dict[str, Any]:
    """Return the text of a note as `show_note` does."""
    prepared = cut(file, note, config.search.chunking)
    room, passages = MAX_UNITS, []
    for each in prepared.chunks:
        shown, text, first = each.units[:room], each.chunk.text, each.chunk.start_line
        room -= len(shown)
        passages.append(
            {
                "startLine": first,
                "endLine": each.chunk.end_line,
                "units": [
                    {
                        "startLine": first + unit.first_line,
                        "endLine": first + unit.last_line,
                        "html": render(text[unit.start : unit.end]),
                    }
                    for unit in shown
                ],
            }
        )
        if not room:
            break
    return {"path": file.path, "day": prepared.date, "passages": passages, "truncated": not room}


def render(text: str) -> str:
    """Return Markdown as HTML without links, images and HTML of its own, which are shown as the text they are."""
    cut_off = "…" if len(text) > MAX_CHARS else ""
    html: str = _open_renderer().render(quote_safely(text[:MAX_CHARS]) + cut_off)
    return html


@lru_cache(maxsize=1)
def _open_renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return renderer.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])
