"""Session logs -> Markdown that QMD can index: what was said, without tool payloads and without secrets."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from pathlib import Path

from memory_core.durable import replace_file
from memory_core.errors import FileUnreadable
from memory_core.records import MemoryFile
from memory_core.sessions import list_sessions, read_session
from memory_core.settings import AgentConfig

log = logging.getLogger(__name__)

PREFIX = "session-"
HEADING = "# Session "
_DAY_SECONDS = 86_400.0


def export_sessions(
    config: AgentConfig, folder: Path, *, retention_days: float | None, now: float | None = None
) -> None:
    """Bring the exported sessions level with the agent's logs.

    A log is exported again when its time changed, which the export carries. Exports stay when their log is gone, until
    they are too old; of the folder, only files that were written here are ever removed.

    Args:
        config: The agent's; its logs need not exist.
        folder: Made when missing.
        retention_days: Sessions untouched for longer are not exported, and their exports removed; None keeps all.
        now: Unix seconds; the clock's when None.

    Raises:
        OSError: The folder cannot be written.
    """
    oldest = 0.0 if retention_days is None else (time.time() if now is None else now) - retention_days * _DAY_SECONDS
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for session in list_sessions(replace(config, search=replace(config.search, sources=("sessions",)))).files:
        if session.mtime_ns >= oldest * 1e9:
            _export(session, folder / f"{PREFIX}{session.real_path.stem}.md")
    for target in folder.glob(f"{PREFIX}*.md"):
        if target.stat().st_mtime < oldest and _is_export(target):
            target.unlink()


def _export(session: MemoryFile, target: Path) -> None:
    try:
        if target.stat().st_mtime_ns == session.mtime_ns:
            return
    except FileNotFoundError:
        pass
    try:
        said = read_session(session)
    except FileUnreadable as error:
        log.warning("not exported: %s", error)
        return
    if not said.text:
        return
    heading = HEADING + session.real_path.stem + (f", {said.date}" if said.date else "")
    replace_file(target, f"{heading}\n\n{said.text}".encode())
    os.utime(target, ns=(session.mtime_ns, session.mtime_ns))


def _is_export(target: Path) -> bool:
    with target.open("rb") as file:
        return file.read(len(HEADING)) == HEADING.encode()
