"""Workspaces to attack: a few notes, each with a word of its own, and what must be true of them afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

# A word that stands in one note only -> that note.
WORDS: Mapping[str, str] = {
    "quartzlantern": "MEMORY.md",
    "copperkettle": "memory/2026-01-05.md",
    "marblestair": "memory/2026-01-06.md",
    "violinpeg": "memory/2026-01-07.md",
    "harbourcrane": "memory/topics/harbour.md",
    "fencepaint": "memory/topics/fence.md",
}


def write_notes(workspace: Path, *, sections: int = 3) -> None:
    """Make the notes of `WORDS` in a new workspace."""
    for word, path in WORDS.items():
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"# Notes on {Path(path).stem}", f"The {word} was agreed on with the neighbours in spring."]
        for at in range(sections):
            parts += [
                f"## Part {at}",
                f"Item {at} of {word[:4]}: the dentist, a school trip and shelf {at} in the cellar.",
            ]
        file.write_text("\n\n".join(parts) + "\n")


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by relative path; links as what they point to."""
    if not folder.exists():
        return {}
    return {
        str(path.relative_to(folder)): b"-> " + str(path.readlink()).encode()
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def finds(answer: Mapping[str, Any], word: str, path: str | None = None) -> bool:
    """Return True if a search's answer has the word's note among its hits, with the word in the snippet."""
    wanted = path or WORDS[word]
    return any(hit["path"] == wanted and word in hit["snippet"] for hit in answer.get("results", []))
