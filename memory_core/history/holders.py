"""Notes and session logs of today that hold a text: a purge of the past does not reach them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable
from memory_core.history.store.purging import compile_text
from memory_core.sources import files, session_logs
from memory_core.sources.notes import read_bytes


def find_holders(config: AgentConfig, text: str) -> Iterator[str]:
    """Yield a sentence for each note and indexed session log that holds a text in any case, or that cannot be read."""
    pattern = compile_text(text)
    for note in files.list_files(config).files:
        if pattern.search(note.path):
            yield f"the path {note.path} holds the text"
        try:
            found = _find_line(pattern, read_bytes(note)[0].decode(errors="surrogateescape"))
        except FileUnreadable as error:
            yield str(error)
        else:
            if found is not None:
                yield f"{note.path}#L{found} holds the text"
    if session_logs.SOURCE in config.search.sources:
        for log in session_logs.list_sessions(config).files:
            try:
                held = pattern.search(session_logs.read_session(log).text)
            except FileUnreadable as error:
                yield str(error)
            else:
                if held:
                    yield f"the session log {log.path} holds the text"


def _find_line(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1
