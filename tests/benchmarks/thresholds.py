"""What passes the default minScore, on one note, on 30, and on all conversations: questions, nonsense, small talk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from memory_core.builtin import BuiltinBackend
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from memory_core.settings import AgentConfig, SearchSettings
from tests.benchmarks.judged import Judged, conversations, excerpt, merge
from tests.benchmarks.nonsense import EVERYDAY_WORDS, SMALL_TALK, nonsense

NONSENSE = nonsense(300, EVERYDAY_WORDS)
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


def _line(workspaces: Sequence[Workspace], states: Iterator[Path], settings: SearchSettings) -> str:
    shares = [
        _passing(workspace, state, settings, ([question.text for question in questions], NONSENSE, SMALL_TALK))
        for (workspace, questions), state in zip(workspaces, states, strict=True)
    ]
    asked = sum(len(questions) for _, questions in workspaces)
    empty = asked - sum(questions for questions, _, _ in shares)
    odd, talk = (
        [found[kind] / count for found in shares] for kind, count in ((1, len(NONSENSE)), (2, len(SMALL_TALK)))
    )
    return (
        f"questions without result {empty / asked:.3f}  nonsense {sum(odd) / len(odd):.3f} (at most {max(odd):.3f})"
        f"  small talk {sum(talk) / len(talk):.3f} (at most {max(talk):.3f})"
    )


def _passing(workspace: Path, state: Path, settings: SearchSettings, kinds: Sequence[Sequence[str]]) -> list[int]:
    """How many texts of each kind get a result."""
    config = AgentConfig(
        agent="main", workspace=workspace, state_dir=state, store_path=state / "index.sqlite", search=settings
    )
    backend = BuiltinBackend(BackendContext(config=config))
    try:
        backend.memory_sync(force=False, progress=None)
        return [sum(bool(backend.memory_search(Query(text=text)).hits) for text in texts) for texts in kinds]
    finally:
        backend.memory_close()


def _sizes(data: Path, scratch: Path) -> Iterator[tuple[str, list[Workspace]]]:
    """Three single notes of every conversation, thirty notes of all, everything."""
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
    yield "30 notes", [(scratch / "thirty", excerpt(thirty, scratch / "thirty"))]
    yield "all notes", [(scratch / "everything", merge(folders, scratch / "everything"))]


def _notes(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in (folder / "memory").rglob("*.md"))
