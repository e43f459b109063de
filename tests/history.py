"""A workspace whose notes change in random ways, as tests of history need it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

WORDS = (
    "harbour", "crane", "dentist", "lease", "router", "invoice", "Lena", "Tom", "budget", "garden", "bicycle", "port", "lamp",
)  # fmt: skip
PATHS = (
    "MEMORY.md",
    *(f"memory/2026-01-{day:02d}.md" for day in range(1, 8)),
    "memory/house.md",
    "memory/trip/plan.md",
)


class Writer:
    """Edits, renames and deletes notes by a seeded dice.

    Attributes:
        notes: The notes as they stand, by path.
    """

    def __init__(self, workspace: Path, seed: int) -> None:
        self.workspace = workspace
        self.notes: dict[str, str] = {}
        self._dice = random.Random(seed)

    def change(self, times: int) -> None:
        """Change some notes, and write them."""
        for _ in range(times):
            self._change_one()
        write_notes(self.workspace, self.notes)

    def _change_one(self) -> None:
        dice, path = self._dice, self._dice.choice(PATHS)
        action = dice.choice(["edit", "edit", "edit", "append", "append", "delete", "rename", "new"])
        if path not in self.notes or action == "new":
            self.notes[path] = f"# Notes\n\n## {dice.choice(WORDS)}\n\n" + "".join(
                self._line() for _ in range(dice.randint(1, 12))
            )
        elif action == "append":
            self.notes[path] += self._line()
        elif action == "edit":
            lines = self.notes[path].splitlines(keepends=True)
            lines[dice.randrange(len(lines))] = self._line()
            self.notes[path] = "".join(lines)
        elif action == "delete":
            del self.notes[path]
        else:
            self.notes[dice.choice(PATHS)] = self.notes.pop(path)

    def _line(self) -> str:
        return f"- {' '.join(self._dice.choices(WORDS, k=5))} {self._dice.randint(1, 3)}\n"


def write_notes(workspace: Path, notes: Mapping[str, str]) -> None:
    """Make a workspace hold these notes and no others; files that are equal already are left alone."""
    for file in workspace.rglob("*.md"):
        if file.relative_to(workspace).as_posix() not in notes:
            file.unlink()
    for path, text in notes.items():
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
