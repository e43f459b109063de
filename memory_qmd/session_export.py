"""Session logs exported as Markdown that QMD can index, without tool payloads and without secrets."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from pathlib import Path

from memory_core.atomic import replace_file
from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable
from memory_core.records import MemoryFile
from memory_core.sources.session_logs import list_sessions, read_session

log = logging.getLogger(__name__)

PREFIX = "session-"
HEADING = "# Session "
_DAY_SECONDS = 86_400.0


def export_sessions(
    config: AgentConfig, folder: Path, *, retention_days: float | None, now: float | None = None
) -> None:
    """Export the agent's session logs that are new or have changed, and remove exports that are too old.

    An export has the time of its log, which shows whether the log has changed since. The export of a log that is gone is
    kept until it is too old. Only files that this function wrote are ever removed from the folder.

    Args:
        config: The agent's configuration; there need not be any logs.
        folder: Made if it is missing.
        retention_days: Sessions that have not changed for longer are not exported, and their exports removed; None keeps all.
        now: Unix seconds; None takes the clock's.

    Raises:
        OSError: The folder cannot be written.
    """
    oldest = 0.0 if retention_days is None else (time.time() if now is None else now) - retention_days * _DAY_SECONDS
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for session in list_sessions(replace(config, search=replace(config.search, sources=("sessions",)))).files:
        if session.stamp.mtime_ns >= oldest * 1e9:
            _export(session, folder / f"{PREFIX}{session.real_path.stem}.md")
    for target in folder.glob(f"{PREFIX}*.md"):
        if target.stat().st_mtime < oldest and _is_export(target):
            target.unlink()


def _export(session: MemoryFile, target: Path) -> None:
    try:
        if target.stat().st_mtime_ns == session.stamp.mtime_ns:
            return
    except FileNotFoundError:
        pass
    try:
        said = read_session(session)
    except FileUnreadable as error:
        log.warning("a session is not exported for QMD: %s", error)
        return
    if not said.text:
        return
    heading = HEADING + session.real_path.stem + (f", {said.date}" if said.date else "")
    replace_file(target, f"{heading}\n\n{said.text}".encode())
    os.utime(target, ns=(session.stamp.mtime_ns, session.stamp.mtime_ns))


def _is_export(target: Path) -> bool:
    with target.open("rb") as file:
        return file.read(len(HEADING)) == HEADING.encode()
