"""explain over the server: the same stages, ranks and verdicts as builtin gives for the same notes."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.backends.postgres import PostgresBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.explanations import NotePlace
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from memory_core.stores.postgres import PostgresConfig
from tests.command import SAMPLE
from tests.servers.postgres import make_database

PLACES = (
    NotePlace(path="memory/2026-01-05.md"), NotePlace(path="memory/2026-02-21.md", line=5), NotePlace(path="MEMORY.md", line=3),
    NotePlace(path="memory/projects/statement-redesign.md", line=43), NotePlace(path="memory/none.md"), None,
)  # fmt: skip


def test_both_stores_tell_the_same(tmp_path: Path) -> None:
    questions = [row["question"] for row in json.loads((SAMPLE.parent / "sample_questions.json").read_text())][:12]
    config = AgentConfig(
        agent="main", workspace=SAMPLE, state_dir=tmp_path / "state", store_path=tmp_path / "state/index.sqlite"
    )
    database = make_database()
    section = PostgresConfig(dsn=Secret(database.add_role("host", writes=("main",))), schema=database.schema)
    stages = set()
    with ExitStack() as closing:
        one = BuiltinBackend(BackendContext(config=config))
        closing.callback(one.memory_close)
        other = PostgresBackend(BackendContext(config=config, settings=section))
        closing.callback(other.memory_close)
        for backend in (one, other):
            backend.memory_sync(False, None)
        for number, question in enumerate([*questions, "what is it?", "zxqv brflt"]):
            place = PLACES[number % len(PLACES)]
            mine, theirs = (each.memory_explain(Query(text=question), place) for each in (one, other))
            assert (mine.backend, theirs.backend) == ("builtin", "postgres")
            assert mine.asked == theirs.asked
            assert mine.verdict.stage == theirs.verdict.stage
            assert (mine.place and mine.place.verdict.cause) == (theirs.place and theirs.place.verdict.cause)
            assert [(p.path, p.start_line, p.shown_as) for p in mine.passages[:6]] == [
                (p.path, p.start_line, p.shown_as) for p in theirs.passages[:6]
            ]
            for known, other_known in zip(mine.passages[:6], theirs.passages[:6], strict=True):
                assert (known.keyword_rank is None) == (other_known.keyword_rank is None)
                assert known.verdict.stage == other_known.verdict.stage
                assert known.cosine == pytest.approx(other_known.cosine, abs=1e-3)
                assert known.score == pytest.approx(other_known.score, abs=1e-3)
            stages.add(mine.verdict.stage)
    assert "shown" in stages
    assert len(stages) >= 3
