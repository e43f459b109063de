"""The same notes in both stores: builtin and postgres answer alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.backends.postgres import PostgresBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.config.settings import SearchSettings
from memory_core.explanations import NotePlace
from memory_core.hookspecs import BackendContext
from memory_core.records import Query, RelatedQuery, SearchResult
from memory_core.stores.postgres import PostgresConfig
from tests.command import SAMPLE
from tests.retrieval_sets import amid_others
from tests.servers.postgres import make_database

SETS = ("cjk", "code", "de", "es", "fr", "prose")


def places(result: SearchResult) -> list[tuple[str, int, int]]:
    return [(hit.path, hit.start_line, hit.end_line) for hit in result.hits]


@contextmanager
def open_both(
    workspace: Path, state: Path, search: SearchSettings | None = None, **settings: Any
) -> Iterator[tuple[BuiltinBackend, PostgresBackend]]:
    """Open the notes of a workspace in both stores."""
    config = AgentConfig(
        agent="main", workspace=workspace, state_dir=state, store_path=state / "index.sqlite",
        search=search or SearchSettings(),
    )  # fmt: skip
    database = make_database()
    dsn = Secret(database.add_role("host", writes=("main",)))
    section = PostgresConfig(dsn=dsn, schema=database.schema, **settings)
    one = BuiltinBackend(BackendContext(config=config))
    other = PostgresBackend(BackendContext(config=config, settings=section))
    yield one, other
    one.memory_close()
    other.memory_close()


@pytest.mark.parametrize("vectors", ["float32", "halfvec"])
def test_the_sample_is_answered_alike(tmp_path: Path, vectors: str) -> None:
    questions = [row["question"] for row in json.loads((SAMPLE.parent / "sample_questions.json").read_text())]
    with open_both(SAMPLE, tmp_path / "state", vectors=vectors) as (one, other):
        reports = [each.memory_sync(False, None) for each in (one, other)]
        assert reports[0].chunks == reports[1].chunks
        answers = [[each.memory_search(Query(text=question)) for question in questions] for each in (one, other)]
        assert list(map(places, answers[0])) == list(map(places, answers[1]))
        for text in (
            "what happened on 12 February",
            "what happened last week",
            "what was said of the puppy in January",
        ):
            asked = Query(text=text, today=date(2026, 3, 15))
            mine, theirs = (each.memory_search(asked) for each in (one, other))
            assert mine.hits
            assert (places(mine), mine.period) == (places(theirs), theirs.period)
        bound = 1e-3 if vectors == "float32" else 2e-2
        for mine, theirs in zip(*answers, strict=True):
            assert [hit.score for hit in mine.hits] == pytest.approx([hit.score for hit in theirs.hits], abs=bound)


def test_notes_are_told_from_logs(tmp_path: Path) -> None:
    workspace, settings = tmp_path / "notes", SearchSettings(provider="none", sources=("memory", "sessions"))
    workspace.mkdir()
    with open_both(workspace, tmp_path / "state", settings) as (_, other):
        folder = other._config.sessions_dir
        folder.mkdir(parents=True)
        said = {"type": "message", "message": {"role": "user", "content": "My violin?"}}
        (folder / "a-1.jsonl").write_text(json.dumps(said) + "\n")
        for expected in (False, True):
            if expected:
                (workspace / "MEMORY.md").write_text("The kettle is copper.\n")
            assert other.memory_sync(False, None).chunks == 1 + expected
            with other._server.read() as reader:
                assert reader.holds_notes() is expected


def test_misspelt_words_and_other_forms_are_answered_alike(tmp_path: Path) -> None:
    workspace = tmp_path / "notes"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text(
        "Müller bought the telescope.\n\nMueller paid.\n\nWir haben das Wi-Fi in der Straße gekauft.\n\n"
        "Der Fahrradschlüssel hängt am Haken.\n\nالمفتاح في الدرج\n\n"
        "It cost 8,450 at [x](M%C3%BChle%20Ost.md).\n\n"
        "กระเป๋าอยู่ใต้เตียง\n\nThe ﬂue rings +43 660 555-0192 🪴 in parseInvoiceTotal.\n"
    )
    with open_both(workspace, tmp_path / "state") as (one, other):
        for each in (one, other):
            each.memory_sync(False, None)
        taken = []
        for text in (
            "tellescope",
            "What did Muller buy?",
            "wifi",
            "Strasse",
            "Wann kaufte er das?",
            "the telescpoe",
            "Strase",
        ):
            answers = [each.memory_search(Query(text=text, min_score=0.0)) for each in (one, other)]
            assert places(answers[0]) == places(answers[1]), text
            assert answers[0].interpreted_as == answers[1].interpreted_as, text
            taken.append({*answers[0].interpreted_as.values()})
        assert taken == [{"telescope"}, set(), set(), set(), set(), {"telescope"}, {"straße"}]
        for text in (
            "Wo ist der Schlüssel?",
            "กระเป๋า",
            "flue",
            "+436605550192",
            "🪴",
            "invoice",
            "مفتاح",
            "8450",
            "Mühle Ost",
        ):
            mine, theirs = (each.memory_search(Query(text=text)) for each in (one, other))
            assert mine.hits, text
            assert places(mine) == places(theirs), text


def test_the_sample_is_related_alike(tmp_path: Path) -> None:
    with open_both(SAMPLE, tmp_path / "state") as (one, other):
        for each in (one, other):
            each.memory_sync(False, None)
        for name in (None, "gateway", "JetStream", "landlord portal", "横浜", "EMB-2131", "gatehous", "wave two' --"):
            asked = RelatedQuery(name=name, max_results=12)
            assert one.memory_related(asked) == other.memory_related(asked), name
        for name in ("gatehouse", "wave two", "横浜"):
            query = Query(text="Which tokens expire, and when was the meeting?", about=name, min_score=0.0)
            assert places(one.memory_search(query)) == places(other.memory_search(query)), name


@pytest.mark.parametrize("name", SETS)
def test_judged_questions_have_the_same_first_hit(tmp_path: Path, name: str) -> None:
    """Amid 200 notes about other things; of the other hits, some that are equally good may stand in another order."""
    questions = amid_others(name, tmp_path / "notes")
    with open_both(tmp_path / "notes", tmp_path / "state", statement_timeout_ms=60_000) as (one, other):
        for each in (one, other):
            each.memory_sync(False, None)
        answers = [
            [places(each.memory_search(Query(text=question.text))) for question in questions] for each in (one, other)
        ]
        assert [answer[:1] for answer in answers[0]] == [answer[:1] for answer in answers[1]]
        assert sum(mine == theirs for mine, theirs in zip(*answers, strict=True)) >= 0.98 * len(questions)


def test_the_days_of_sections_are_looked_at_alike(tmp_path: Path) -> None:
    journal = tmp_path / "ws/memory/journal.md"
    journal.parent.mkdir(parents=True)
    days = [date(2024, 1, 5) + timedelta(11 * number) for number in range(60)]
    journal.write_text("# Journal\n" + "".join(f"\n## {day}\n\nThe walrus had dinner {day:%j}.\n" for day in days))
    with open_both(tmp_path / "ws", tmp_path / "state") as (one, other):
        for each in (one, other):
            each.memory_sync(False, None)
        for text in ("the dinner of the walrus", "journal.md", "what happened in February 2025"):
            for after, before in ((days[7], days[9]), (days[50], None), (None, days[2])):
                query = Query(text=text, after=after, before=before, max_results=50, min_score=0)
                answers = [each.memory_search(query) for each in (one, other)]
                assert places(answers[0]) == places(answers[1])
                shown = "\n".join(hit.snippet for answer in answers for hit in answer.hits)
                found = {day for day in days if f"## {day}" in shown}
                asked = {day for day in days if (after or day) <= day <= (before or day)}
                assert found <= asked
                assert found == asked or text == "what happened in February 2025"
        place = NotePlace(path="memory/journal.md", line=5)
        for each in (one, other):
            told = each.memory_explain(Query(text="dinner", after=days[3]), place)
            assert told.verdict.reason.startswith("it is of 2024-01-05")
