"""Notes and session logs of today that hold a text: a purge of the past does not reach them."""

from __future__ import annotations

from collections.abc import Iterator

from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable
from memory_core.sources import files, session_logs
from memory_core.sources.notes import read_bytes
from memory_core.text.wording import Wording


def find_holders(config: AgentConfig, text: str) -> Iterator[str]:
    """Yield a sentence for each note and indexed session log that holds a text, or that cannot be read."""
    wording = Wording(text)
    for note in files.list_files(config).files:
        if wording.stands_in(note.path):
            yield f"the path {note.path} holds the text"
        try:
            found = _find_line(wording, read_bytes(note)[0].decode(errors="surrogateescape"))
        except FileUnreadable as error:
            yield str(error)
        else:
            if found is not None:
                yield f"{note.path}#L{found} holds the text"
    if session_logs.SOURCE in config.search.sources:
        for log in session_logs.list_sessions(config).files:
            try:
                held = wording.stands_in(session_logs.read_session(log).text)
            except FileUnreadable as error:
                yield str(error)
            else:
                if held:
                    yield f"the session log {log.path} holds the text"


def _find_line(wording: Wording, text: str) -> int | None:
    at = wording.find(text)
    return None if at is None else text.count("\n", 0, at) + 1
