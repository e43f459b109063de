"""Judged questions of a folder of workspaces, and workspaces made of them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LIST_MARK = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+", re.MULTILINE)


@dataclass(frozen=True)
class Judged:
    """One question with its evidence.

    Attributes:
        id: Of the question.
        text: Of the question.
        gold: The lines that answer it: path, number from 1, text without the list mark, white space collapsed.
        evidence: The texts that must be shown, collapsed alike: those lines, or the parts of them that the set names.
    """

    id: str
    text: str
    gold: tuple[tuple[str, int, str], ...]
    evidence: tuple[str, ...]


def collapsed(text: str) -> str:
    """A text without list marks, its white space collapsed."""
    return " ".join(_LIST_MARK.sub("", text).split())


def load_questions(folder: Path, prefix: str = "") -> list[Judged]:
    """The judged questions of one workspace that have an answer; `prefix` is put before every path."""
    judged = []
    for row in json.loads((folder / "questions.json").read_text(encoding="utf-8")):
        if row.get("category", 1) in (1, 2, 3, 4) and row["gold"]:
            gold = []
            for path, line in row["gold"]:
                text = (folder / path).read_text(encoding="utf-8").split("\n")[line - 1]
                gold.append((f"{path[:7]}{prefix}{path[7:]}" if prefix else path, line, collapsed(text)))
            evidence = tuple(map(collapsed, row.get("gold_text", ()))) or tuple(text for _, _, text in gold)
            judged.append(Judged(row["id"], row["question"], tuple(gold), evidence))
    return judged


def merge(folders: Sequence[Path], target: Path) -> list[Judged]:
    """All workspaces in one, every one in a folder of its own below memory/."""
    judged = []
    for folder in folders:
        shutil.copytree(folder / "memory", target / "memory" / folder.name)
        judged += load_questions(folder, f"{folder.name}/")
    return judged


def find_sets(data: Path) -> Mapping[str, Sequence[Path]]:
    """The workspaces below a folder that have judged questions, by their set: the folder in which they stand."""
    sets: dict[str, list[Path]] = {}
    for path in sorted(data.rglob("questions.json")):
        sets.setdefault(path.parent.parent.name, []).append(path.parent)
    return sets


def conversations(data: Path) -> list[Path]:
    """The workspaces of the set of conversations, `locomo`; of a folder without it, those that stand in it."""
    return sorted(
        path.parent for path in (data / "locomo" if (data / "locomo").is_dir() else data).glob("*/questions.json")
    )


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
