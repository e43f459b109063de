"""Exports of other programs, a JSON file, a zip or a folder with some: memories, and conversations, each as a Markdown note.

A file may hold one JSON value a line. mem0: https://docs.mem0.ai/cookbooks/essentials/exporting-memories. OpenMemory:
openmemory/api/app/routers/backup.py of mem0. The MCP server memory: https://github.com/modelcontextprotocol/servers, src/memory.
ChatGPT, whose conversations are trees of messages, and Claude: the data that their settings export.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from memory_core.config.documents import get_mapping, get_rows
from memory_core.sources.session_logs import read_transcript
from memory_core.text.dates import get_day, read_time

SUFFIXES = (".json", ".jsonl", ".ndjson")
MOST_BYTES = 256 * 1024 * 1024  # of one JSON file
_ROLES = {"user": "user", "human": "user", "assistant": "assistant"}
_TEXTS = ("memory", "content", "text")  # of a memory
_CLAUDE = frozenset(("chat_messages", "conversations_memory", "project_memories"))  # of a row
_ROWS = ("results", "memories", "items", "data", "entities", "relations")  # of memories, in an object
_OWNERS = ("user_id", "agent_id", "run_id", "name")

Row = Mapping[str, Any]
Said = Iterator[tuple[str, str]]  # role and text of messages


class Export(NamedTuple):
    """An export as notes.

    Attributes:
        source, title: As in `Home`.
        notes: The text of each, by its name without a suffix.
        remark: What it holds, a few words.
    """

    source: str
    title: str
    notes: Mapping[str, str]
    remark: str


def read_export(place: Path, time_zone: str | None = None) -> Export | None:
    """Return the export in a file or folder; None if it is something else.

    Args:
        place: The file or folder.
        time_zone: Of the days in it; see `get_today`.
    """
    documents = _load(place)
    for name, document in documents:
        rows = _list_rows(document)
        rest = chain(rows, (row for _, each in documents for row in _list_rows(each)))
        if any("mapping" in row for row in rows):
            return _collect("chatgpt", "ChatGPT export", rest, _walk_tree, time_zone)
        if not all(map(_CLAUDE.isdisjoint, rows)):
            return _collect("claude", "Claude export", rest, _list_messages, time_zone)
        if found := _read_memories(document, Path(name).stem, time_zone):
            return found
    return None


def _load(place: Path) -> Iterator[tuple[str, Any]]:
    """Yield the JSON documents of an export, each with its file's name."""
    try:
        if place.suffix.lower() == ".zip" and place.is_file():
            with ZipFile(place) as archive:
                found = [each for each in archive.infolist() if each.filename.lower().endswith(SUFFIXES)]
                for each in sorted(found, key=lambda one: one.filename):
                    if each.file_size <= MOST_BYTES:
                        yield each.filename, _parse(archive.read(each))
            return
        files = [place] if place.suffix.lower() in SUFFIXES and place.is_file() else []
        if place.is_dir() and any(place.glob("conversations*.json")):
            files = sorted(place.glob("*.json"))
        for file in files:
            if file.stat().st_size <= MOST_BYTES:
                yield file.name, _parse(file.read_bytes())
    except (OSError, EOFError, BadZipFile, RuntimeError, zlib.error):  # RuntimeError: it is encrypted
        return


def _parse(data: bytes) -> Any:
    """Return the value in JSON, or a list of those that are one a line; None if it is no JSON."""
    with suppress(ValueError, RecursionError):
        return json.loads(data)
    with suppress(ValueError, RecursionError):
        return [json.loads(line) for line in data.splitlines() if line.strip()]
    return None


def _list_rows(document: Any) -> list[Row]:
    return [row for row in (document if isinstance(document, list) else [document]) if isinstance(row, Mapping)]


def _collect(
    source: str, title: str, rows: Iterable[Row], read: Callable[[Row], Said], time_zone: str | None
) -> Export:
    """Return the conversations of an export, each a note named after its day and title, and Claude's memory and projects."""
    notes: dict[str, str] = {}
    for row in rows:
        name = " ".join(str(row.get("title") or row.get("name") or "Untitled").split())[:80]
        lines = [json.dumps({"role": role, "content": text}).encode() for role, text in read(row)]
        if said := read_transcript(lines).text.strip():
            day = _read_day(row.get("create_time") or row.get("created_at"), time_zone) or ""
            _add(notes, f"{day} {name}".strip(), f"# {name}\n\n{said}\n")
        for text in (row.get("conversations_memory"), *get_mapping(row, "project_memories").values()):
            if isinstance(text, str) and text.strip():
                _add(notes, "memory", f"# What {title.split(maxsplit=1)[0]} remembers\n\n{text.strip()}\n")
        for page in (*get_rows(row, "docs"), {"filename": name, "content": row.get("prompt_template")}):  # of a project
            if isinstance(text := page.get("content"), str) and text.strip():
                head = str(page.get("filename") or name)
                _add(notes, head if head == name else f"{name}, {Path(head).stem}", f"# {head}\n\n{text.strip()}\n")
    return Export(source, title, notes, f"{len(notes)} conversation{'' if len(notes) == 1 else 's'}, as JSON")


def _add(notes: dict[str, str], name: str, text: str) -> None:
    number, wanted = 2, name
    while name in notes:
        name, number = f"{wanted} ({number})", number + 1
    notes[name] = text


def _walk_tree(row: Row) -> Said:
    """Yield role and text of the messages of ChatGPT's conversation, on the branch that was shown last."""
    nodes = get_mapping(row, "mapping")
    branch: list[Any] = []
    at, seen = row.get("current_node"), set[str]()
    while isinstance(at, str) and at in nodes and at not in seen:
        seen.add(at)
        node = get_mapping(nodes, at)
        branch.append(node.get("message"))
        at = node.get("parent")
    for message in branch[::-1] or [node.get("message") for node in nodes.values() if isinstance(node, Mapping)]:
        facts = message if isinstance(message, Mapping) else {}
        author, content, about = (get_mapping(facts, each) for each in ("author", "content", "metadata"))
        role, hidden = _ROLES.get(str(author.get("role"))), about.get("is_visually_hidden_from_conversation")
        if role is None or hidden or facts.get("recipient", "all") != "all":
            continue
        parts = content.get("parts")
        if content.get("content_type", "text") in ("text", "multimodal_text") and isinstance(parts, Sequence):
            spoken = (
                part.get("text")
                if isinstance(part, Mapping) and part.get("content_type") == "audio_transcription"
                else part
                for part in parts
            )
            yield role, "\n".join(part for part in spoken if isinstance(part, str))


def _list_messages(row: Row) -> Said:
    """Yield role and text of the messages of Claude's conversation."""
    for message in get_rows(row, "chat_messages"):
        parts = get_rows(message, "content")
        texts = [str(each.get("text") or "") for each in parts if each.get("type") == "text"]
        if role := _ROLES.get(str(message.get("sender"))):
            pasted = [str(each.get("extracted_content") or "") for each in get_rows(message, "attachments")]
            yield role, "\n\n".join(filter(None, ("\n".join(texts).strip() or str(message.get("text") or ""), *pasted)))


def _read_memories(document: Any, stem: str, time_zone: str | None) -> Export | None:
    """Return memories as one note: an item each, with its date, under the name of whom it is about."""
    rows = document if isinstance(document, list) else []
    if isinstance(document, Mapping):
        lists = [document[name] for name in _ROWS if isinstance(document.get(name), list)]
        rows = [*chain.from_iterable(lists)] if lists else [document]
    name = get_mapping(document, "user").get("user_id") if isinstance(document, Mapping) else None
    sections: defaultdict[str, list[str]] = defaultdict(list)
    source, title = "openmemory", "OpenMemory"
    for row in _list_rows([{"memory": row} if isinstance(row, str) else row for row in rows]):
        if row.get("state") == "deleted":
            continue
        if "memory" in row or "relationType" in row or "observations" in row:
            source, title = ("mem0", "mem0") if "memory" in row else ("mcp-memory", "an MCP server")
        owner = name or next((str(row[each]) for each in _OWNERS if row.get(each)), "")
        day = _read_day(row.get("created_at"), time_zone) or _read_day(row.get("updated_at"), time_zone)
        said = (" ".join(text.split()) for text in _list_texts(row))
        if found := [f"- {day}: {words}" if day else f"- {words}" for words in said if words]:
            sections[owner] += found
    if not sections:
        return None
    lines = [f"# Memories from {title}"]
    for owner, items in sections.items():
        lines += ["", *([f"## {owner}", ""] if owner else []), *items]
    count = sum(map(len, sections.values()))
    remark = f"{count} memor{'y' if count == 1 else 'ies'}, as JSON"
    return Export(source, f"{title.removeprefix('an ')} export", {stem: "\n".join([*lines, ""])}, remark)


def _list_texts(row: Row) -> list[str]:
    """Return the texts of a row: a memory's, those of an entity, or of a relation."""
    if "relationType" in row:
        return [" ".join(str(row.get(each, "")) for each in ("from", "relationType", "to"))]
    observed = row.get("observations")
    texts = observed if isinstance(observed, list) else [row[each] for each in _TEXTS if each in row][:1]
    return [text for text in texts if isinstance(text, str)]


def _read_day(value: object, time_zone: str | None) -> str | None:
    """Return the day of a time in a time zone; None if it is none."""
    seconds = read_time(value)
    return None if seconds is None else get_day(time_zone, seconds).isoformat()
