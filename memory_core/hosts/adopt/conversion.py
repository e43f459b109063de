"""Copies of notes in plain Markdown: what only their own program understands is left out or written otherwise."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from memory_core.hosts.adopt.homes import FoundNote
from memory_core.hosts.adopt.programs import read_mem0
from memory_core.sources.notes import MAX_NOTE_BYTES, open_file
from memory_core.text.markdown import SECTION_SIGN, leave_out_comments


def convert(note: FoundNote) -> bytes:
    """Return the copy of a note; of a plain one, its own bytes.

    Raises:
        FileUnreadable: The original cannot be read.
    """
    if note.layout == "mem0":
        return _convert_mem0(note).encode()
    with open_file(note.file, max_bytes=MAX_NOTE_BYTES) as (_, stream):
        data = stream.read()
    if note.layout == "plain":
        return data
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").replace("\r\n", "\n")
    converted = leave_out_comments(text) if note.layout == "obsidian" else _convert_hermes(note, text)
    return converted.encode()


def _convert_hermes(note: FoundNote, text: str) -> str:
    """Write every entry as an item of a list; the lines of a long one stay together."""
    entries = [entry.strip() for entry in SECTION_SIGN.split(text) if entry.strip()]
    items = ["- " + entry.replace("\n", "\n  ") for entry in entries]
    about = "the user" if note.file.real_path.name == "USER.md" else "the agent's work"
    return "\n".join([f"# Hermes: about {about}", "", *items, ""])


def _convert_mem0(note: FoundNote) -> str:
    """Write every memory as one item of a list, with its date, under the name of whom it is about."""
    sections: defaultdict[str, list[str]] = defaultdict(list)
    for row in read_mem0(note.file.real_path):
        owner = next((str(row[name]) for name in ("user_id", "agent_id", "run_id") if row.get(name)), "")
        date = _read_day(row.get("created_at")) or _read_day(row.get("updated_at"))
        words = " ".join(row["memory"].split())
        sections[owner].append(f"- {date}: {words}" if date else f"- {words}")
    lines = ["# Memories from mem0"]
    for owner, items in sections.items():
        lines += ["", *([f"## {owner}", ""] if owner else []), *items]
    return "\n".join([*lines, ""])


def _read_day(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).date().isoformat()
    except ValueError:
        return None
