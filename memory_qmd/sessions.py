"""Session logs -> Markdown that QMD can index: what was said, without tool payloads and without secrets."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memory_core.durable import replace_file

PREFIX = "session-"
HEADING = "# Session "
MAX_LINE_BYTES = 1_000_000  # of a log; longer lines are tool output that was pasted into a message
HIDDEN = "[redacted]"
_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_DAY_SECONDS = 86_400.0

# Secrets by their usual shapes: what follows a telling name, keys with a known prefix, tokens, private keys.
_NAMED = re.compile(
    r"""(?ix) \b ( [\w-]* (?: api[_-]?key | token | secret | passw(?:or)?d | passphrase | credential ) s?
    ["']? \s* [:=] \s* ["']? ) [^\s"',;]{4,}"""
)
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[opsru]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{30,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+|(?i:\bbearer\s+)[\w.~+/=-]{12,}|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)",
    re.DOTALL,
)


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
    return "\n\n".join(f"{speaker}: {redacted(text)}" for speaker, text in _messages(log))


def redacted(text: str) -> str:
    """The text with secrets in their usual shapes replaced."""
    return _NAMED.sub(rf"\1{HIDDEN}", _SHAPES.sub(HIDDEN, text))


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
