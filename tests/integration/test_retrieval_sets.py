"""The frozen sets: every question finds its place among the first three, amid more than 200 other notes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memory_core.builtin import BuiltinBackend
from memory_core.hookspecs import BackendContext
from memory_core.records import Hit, Query
from memory_core.settings import AgentConfig, ProviderId, SearchSettings, SyncSettings
from tests.benchmarks.nonsense import EVERYDAY_WORDS, SMALL_TALK, nonsense

STRANGERS = (
    " anvil breeze copper dune ember fjord glacier harpoon igloo jasmine kettle lantern meadow nectar orchid pilgrim"
)
SETS = Path(__file__).parents[1] / "data" / "retrieval"
Search = Callable[[str], tuple[Hit, ...]]
Open = Callable[[str, ProviderId], Search]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Indexes one set mixed into the distractors, for one provider; "" is the distractors alone."""
    backends: list[BuiltinBackend] = []

    def build(name: str, provider: ProviderId) -> Search:
        workspace = tmp_path / "workspace"
        shutil.copytree(SETS / "distractors" / "memory", workspace / "memory")
        if name:
            shutil.copytree(SETS / name / "memory", workspace / "memory", dirs_exist_ok=True)
        settings = SearchSettings(provider=provider, sync=SyncSettings(on_search=False))
        config = AgentConfig(
            agent="main", workspace=workspace, state_dir=tmp_path, store_path=tmp_path / "index.sqlite", search=settings
        )
        backends.append(BuiltinBackend(BackendContext(config=config)))
        backends[-1].memory_sync(force=False, progress=None)
        return lambda text: backends[-1].memory_search(Query(text=text)).hits

    yield build
    for backend in backends:
        backend.memory_close()


@pytest.mark.parametrize(
    ("name", "provider"), [("cjk", "none"), ("prose", "static"), ("code", "static"), ("code", "none")]
)
def test_nine_of_ten_questions_find_their_place_among_the_first_three(
    opened: Open, name: str, provider: ProviderId
) -> None:
    search = opened(name, provider)
    questions = json.loads((SETS / name / "questions.json").read_text(encoding="utf-8"))
    missed = [row["question"] for row in questions if not _found(row, search(row["question"])[:3])]
    assert len(missed) <= len(questions) // 10, missed


def _found(row: dict[str, Any], hits: Sequence[Hit]) -> bool:
    last = row.get("end_line", row["line"])
    return any(hit.path == row["path"] and hit.start_line <= last and hit.end_line >= row["line"] for hit in hits)


@pytest.mark.parametrize(("provider", "share"), [("static", 0.04), ("none", 0.06)])
def test_nonsense_finds_nothing(opened: Open, provider: ProviderId, share: float) -> None:
    search = opened("", provider)
    queries = nonsense(300, EVERYDAY_WORDS)
    answered = [query for query in queries if search(query)]
    assert len(answered) <= share * len(queries), answered
    assert sum(bool(search(text)) for text in SMALL_TALK) <= len(SMALL_TALK) // 10
