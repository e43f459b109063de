"""memory_get: lines of a note as the file holds them now, one page at a time."""

from __future__ import annotations

from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable, PathRefused
from memory_core.records import Document
from memory_core.sources import notes, requested_paths, session_logs

MAX_CHARS = 12_000


def get_document(config: AgentConfig, path: str, *, from_line: int, lines: int) -> Document:
    """Read at most `lines` lines from `from_line` on, and at most 12,000 characters; a single longer line is cut.

    Raises:
        PathRefused: The path is none of this agent's notes, or cannot be read as text.
    """
    session_logs.refuse_log(path)
    file = requested_paths.resolve(config, path)
    if file is None:
        return Document(path=path, text="", from_line=from_line, lines=0, status="not_found")
    try:
        note = notes.read_note(file)
    except FileUnreadable as error:
        action = error.action or "correct the file, or read another note"
        raise PathRefused(path, error.reason, action=action) from error
    return cut_page(file.path, note.text, from_line=from_line, lines=lines)


def cut_page(path: str, text: str, *, from_line: int, lines: int, max_chars: int = MAX_CHARS) -> Document:
    """Cut one page out of a text; pure.

    `next_from` is the first line that is not on the page; a line that was cut counts as shown.
    """
    every = text.split("\n")
    if every and not every[-1]:
        every.pop()  # the end of the last line is no line of its own
    wanted = every[from_line - 1 : from_line - 1 + lines]
    shown: list[str] = []
    room = max_chars
    for line in wanted:
        if shown and len(line) + 1 > room:
            break
        shown.append(line[:room])
        room -= len(line) + 1
        if room <= 0:
            break
    behind = from_line + len(shown)
    more = bool(shown) and behind <= len(every)
    cut = bool(shown) and len(shown[-1]) < len(wanted[len(shown) - 1])
    return Document(
        path=path,
        text="\n".join(shown),
        from_line=from_line,
        lines=len(shown),
        truncated=more or cut,
        next_from=behind if more else None,
    )
