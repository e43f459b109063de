"""Judged questions of a folder of conversations, and workspaces made of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Judged:
    """One question with its evidence: (path, line, text without the list mark, white space collapsed)."""

    id: str
    text: str
    gold: tuple[tuple[str, int, str], ...]


def collapsed(text: str) -> str:
    return " ".join(text.split())


def load_questions(folder: Path, prefix: str = "") -> list[Judged]:
    """The judged questions of one conversation; `prefix` is put before every path."""
    judged = []
    for row in json.loads((folder / "questions.json").read_text(encoding="utf-8")):
        if row["category"] in (1, 2, 3, 4) and row["gold"]:
            gold = []
            for path, line in row["gold"]:
                text = (folder / path).read_text(encoding="utf-8").split("\n")[line - 1]
                gold.append(
                    (f"{path[:7]}{prefix}{path[7:]}" if prefix else path, line, collapsed(text.removeprefix("- ")))
                )
            judged.append(Judged(row["id"], row["question"], tuple(gold)))
    return judged


def merge(folders: Sequence[Path], target: Path) -> list[Judged]:
    """All conversations in one workspace, every one in a folder of its own below memory/."""
    judged = []
    for folder in folders:
        shutil.copytree(folder / "memory", target / "memory" / folder.name)
        judged += load_questions(folder, f"{folder.name}/")
    return judged


def conversations(data: Path) -> list[Path]:
    """The folders that hold judged questions."""
    return sorted(path for path in data.iterdir() if (path / "questions.json").is_file())


def excerpt(notes: Sequence[tuple[Path, str]], target: Path) -> list[Judged]:
    """A workspace of some notes, each given by its conversation and its path there, and the questions they answer."""
    questions: list[Judged] = []
    for folder in sorted({folder for folder, _ in notes}):
        paths = {f"{path[:7]}{folder.name}/{path[7:]}": folder / path for owner, path in notes if owner == folder}
        for path, note in paths.items():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(note, target / path)
        judged = load_questions(folder, f"{folder.name}/")
        questions += [question for question in judged if all(path in paths for path, _, _ in question.gold)]
    return questions
