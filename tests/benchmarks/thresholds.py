"""Texts that pass the default minScore, on one note, on 30, and on all conversations.

Asked are the questions, as they are and as bare lists of their words, nonsense, small talk, and questions about other things:
those of tests/data/retrieval. Thirty notes are looked at alone and amid the 200 distractors from there.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from memory_core.config.settings import SearchSettings
from memory_core.text.terms import extract_identifiers, extract_words
from tests.benchmarks.judged import Judged, conversations, excerpt, merge
from tests.benchmarks.nonsense import EVERYDAY_WORDS, SMALL_TALK, nonsense
from tests.retrieval_sets import DISTRACTORS, amid_others, placed, searching

NONSENSE = nonsense(300, EVERYDAY_WORDS)
OTHERS = [question.text for name in ("prose", "code") for question in placed(name)]
Workspace = tuple[Path, Sequence[Judged]]


def tables(data: Path, scratch: Path, systems: Mapping[str, SearchSettings]) -> Iterator[str]:
    """One table a size of workspace: a line for each system, with the shares over all workspaces of that size."""
    for size, workspaces in _sizes(data, scratch):
        asked = sum(len(questions) for _, questions in workspaces)
        lines = [f"\nat the default minScore, {size}: {asked} questions in {len(workspaces)} workspace(s)"]
        for number, (name, settings) in enumerate(systems.items()):
            states = (scratch / f"passing-{size}-{number}-{place}" for place in range(len(workspaces)))
            lines.append(f"{name:28s} {_line(workspaces, states, settings)}")
        yield "\n".join(lines)
    yield "\nat the default minScore, of the questions of tests/data/retrieval amid others, found among the first three"
    for name, settings in systems.items():
        yield f"{name:28s} {_sets(scratch / f'sets-{name}', settings)}"


def _sets(scratch: Path, settings: SearchSettings) -> str:
    shares = []
    for name in ("prose", "code", "cjk"):
        questions = amid_others(name, scratch / name)
        with searching(scratch / name, scratch / f"{name}.sqlite", settings) as search:
            shares.append(f"{name} {sum(question.is_found(search(question.text)) for question in questions)}")
            if name == "code":
                named = [(one, question) for question in questions for one in extract_identifiers(question.text)]
                hits = sum(any(hit.path == q.path for hit in search(f"{one} wobbling gizmo")[:1]) for one, q in named)
                shares.append(f"identifiers beside unknown words {hits} of {len(named)}")
    return "  ".join(shares)


def _line(workspaces: Sequence[Workspace], states: Iterator[Path], settings: SearchSettings) -> str:
    passing = [
        _passing(workspace, state, settings, questions)
        for (workspace, questions), state in zip(workspaces, states, strict=True)
    ]
    asked = sum(len(questions) for _, questions in workspaces)
    empty, empty_lists = (1 - sum(each[kind] for each in passing) / asked for kind in (0, 1))
    odd, talk, other = (
        [each[kind + 2] / len(texts) for each in passing] for kind, texts in enumerate((NONSENSE, SMALL_TALK, OTHERS))
    )
    return (
        f"without result: questions {empty:.3f}, as lists of words {empty_lists:.3f}"
        f"  with one: nonsense {sum(odd) / len(odd):.3f} (at most {max(odd):.3f})"
        f"  small talk {sum(talk) / len(talk):.3f} (at most {max(talk):.3f})"
        f"  about other things {sum(other) / len(other):.3f}"
    )


def _passing(workspace: Path, state: Path, settings: SearchSettings, questions: Sequence[Judged]) -> list[int]:
    """Count the texts of each kind that get a result."""
    asked = [question.text for question in questions]
    lists = [" ".join(word for word in re.findall(r"\w+", text) if extract_words(word)) for text in asked]
    with searching(workspace, state, settings) as search:
        return [sum(bool(search(text)) for text in texts) for texts in (asked, lists, NONSENSE, SMALL_TALK, OTHERS)]


def _sizes(data: Path, scratch: Path) -> Iterator[tuple[str, list[Workspace]]]:
    """Three single notes of every conversation; thirty notes of all, alone and amid others; everything."""
    folders = conversations(data)
    notes = [(folder, path) for folder in folders for path in _notes(folder)]
    single: list[Workspace] = []
    for folder in folders:
        own = _notes(folder)
        for quarter in (1, 2, 3):
            target = scratch / f"one-{folder.name}-{quarter}"
            single.append((target, excerpt([(folder, own[len(own) * quarter // 4])], target)))
    yield "one note", single
    thirty = [notes[len(notes) * number // 30] for number in range(30)]
    few = excerpt(thirty, scratch / "thirty")
    yield "30 notes", [(scratch / "thirty", few)]
    amid = shutil.copytree(scratch / "thirty", scratch / "amid")
    shutil.copytree(DISTRACTORS, amid / "memory", dirs_exist_ok=True)
    yield "30 notes amid others", [(amid, few)]
    yield "all notes", [(scratch / "everything", merge(folders, scratch / "everything"))]


def _notes(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in (folder / "memory").rglob("*.md"))
