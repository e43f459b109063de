"""memory_get: lines of a note as they stand in the file now, a page at a time."""

from __future__ import annotations

from memory_core import files, sessions
from memory_core.errors import FileUnreadable, PathRefused
from memory_core.records import Document
from memory_core.settings import AgentConfig

MAX_CHARS = 12_000


def get(config: AgentConfig, path: str, *, from_line: int, lines: int) -> Document:
    """At most `lines` lines from `from_line` on, and at most 12,000 characters; a single longer line is cut.

    Raises:
        PathRefused: The path is none of this agent's notes, or cannot be read as text.
    """
    sessions.refuse_log(path)
    file = files.resolve(config, path)
    if file is None:
        return Document(path=path, text="", from_line=from_line, lines=0, status="not_found")
    try:
        note = files.read_note(file)
    except FileUnreadable as error:
        raise PathRefused(path, error.reason) from error
    return page(file.path, note.text, from_line=from_line, lines=lines)


def page(path: str, text: str, *, from_line: int, lines: int, max_chars: int = MAX_CHARS) -> Document:
    """One page of a text. Pure.

    `next_from` names the first line that was not shown; a line that was cut counts as shown.
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
