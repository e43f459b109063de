"""The frozen sets of tests/data/retrieval: questions and the lines that answer them, amid 200 notes about other things."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.hookspecs import BackendContext
from memory_core.records import Hit, Query

SETS = Path(__file__).parent / "data" / "retrieval"
DISTRACTORS = SETS / "distractors" / "memory"
Search = Callable[[str], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Placed:
    """A question with the place of its answer; lines count from 1."""

    text: str
    path: str
    first_line: int
    last_line: int

    def is_found(self, hits: Sequence[Hit]) -> bool:
        """Return True if one of the first three hits shows a line of the place."""
        return any(
            hit.path == self.path and hit.start_line <= self.last_line and hit.end_line >= self.first_line
            for hit in hits[:3]
        )


def placed(name: str) -> list[Placed]:
    """The questions of one set."""
    rows = json.loads((SETS / name / "questions.json").read_text(encoding="utf-8"))
    return [Placed(row["question"], row["path"], row["line"], row.get("end_line", row["line"])) for row in rows]


def amid_others(name: str, target: Path) -> list[Placed]:
    """A workspace of one set and the distractors, and the set's questions; "" is the distractors alone."""
    shutil.copytree(DISTRACTORS, target / "memory")
    if not name:
        return []
    shutil.copytree(SETS / name / "memory", target / "memory", dirs_exist_ok=True)
    return placed(name)


@contextmanager
def searching(workspace: Path, state: Path, settings: SearchSettings) -> Iterator[Search]:
    """Index a workspace and ask it at the default minScore.

    Args:
        state: A folder for the index; made when it is missing.
    """
    config = AgentConfig(
        agent="main", workspace=workspace, state_dir=state, store_path=state / "index.sqlite", search=settings
    )
    backend = BuiltinBackend(BackendContext(config=config))
    try:
        backend.memory_sync(force=False, progress=None)
        yield lambda text: backend.memory_search(Query(text=text)).hits
    finally:
        backend.memory_close()
