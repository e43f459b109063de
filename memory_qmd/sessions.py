"""Session logs -> Markdown that QMD can index: what was said, without tool payloads and without secrets."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_core.durable import replace_file
from memory_core.redaction import redact

PREFIX = "session-"
HEADING = "# Session "
MAX_LINE_BYTES = 1_000_000  # of a log; longer lines are tool output that was pasted into a message
_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_DAY_SECONDS = 86_400.0


def export_sessions(logs: Path, folder: Path, *, retention_days: float | None, now: float | None = None) -> None:
    """Bring the exported sessions level with the logs.

    A log is exported again when its time changed, which the export carries. Exports stay when their log is gone, until
    they are too old; of the folder, only files that were written here are ever removed.

    Args:
        logs: Where the host keeps `*.jsonl`; need not exist.
        folder: Made when missing.
        retention_days: Sessions untouched for longer are not exported, and their exports removed; None keeps all.
        now: Unix seconds; the clock's when None.

    Raises:
        OSError: The folder cannot be written.
    """
    oldest = 0.0 if retention_days is None else (time.time() if now is None else now) - retention_days * _DAY_SECONDS
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for log in sorted(logs.glob("*.jsonl")):
        if not log.is_symlink() and log.is_file() and log.stat().st_mtime >= oldest:
            _export(log, folder / f"{PREFIX}{log.stem}.md")
    for target in folder.glob(f"{PREFIX}*.md"):
        if target.stat().st_mtime < oldest and _is_export(target):
            target.unlink()


def transcript(log: Path) -> str:
    """What user and assistant said, one paragraph a message, redacted; malformed lines and all else are left out."""
    return "\n\n".join(f"{speaker}: {redact(text)}" for speaker, text in _messages(log))


def _export(log: Path, target: Path) -> None:
    written = log.stat().st_mtime_ns
    try:
        if target.stat().st_mtime_ns == written:
            return
    except FileNotFoundError:
        pass
    said = transcript(log)
    if not said:
        return
    replace_file(target, f"{HEADING}{log.stem}\n\n{said}\n".encode(errors="replace"))
    os.utime(target, ns=(written, written))


def _is_export(target: Path) -> bool:
    with target.open("rb") as file:
        return file.read(len(HEADING)) == HEADING.encode()


def _messages(log: Path) -> Iterator[tuple[str, str]]:
    with log.open("rb") as file:
        for line in file:
            if len(line) > MAX_LINE_BYTES:
                continue
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            message = entry.get("message") if isinstance(entry, dict) and entry.get("type") == "message" else None
            if isinstance(message, dict) and message.get("role") in _SPEAKERS:
                text = _text(message.get("content"))
                if text:
                    yield _SPEAKERS[message["role"]], text


def _text(content: Any) -> str:
    """The text of a message: a string, or the text parts of a list; on one line, so that a message stays one paragraph."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = " ".join(part for part in parts if isinstance(part, str))
    return " ".join(content.split()) if isinstance(content, str) else ""
