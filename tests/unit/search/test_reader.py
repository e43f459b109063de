"""Search needs a reader and nothing else: over plain lists it finds what it finds over SQLite, without SQLite."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.settings import Chunking, Hybrid, SearchSettings
from memory_core.embeddings.protocols import EmbeddingProvider, TokenEmbedder, TokenModel
from memory_core.embeddings.static import StaticProvider
from memory_core.records import Hit, Query
from memory_core.search.pipeline import cite, search
from memory_core.search.scoring import VectorQuery, choose_calibration
from memory_core.stores.interface import Reader
from memory_core.stores.joined import JoinedReader
from memory_core.stores.sqlite.connections import load_tokenizer
from memory_core.text.terms import split_question
from tests.command import SAMPLE
from tests.fakes.list_reader import ListReader
from tests.fakes.porter import stems
from tests.fakes.providers import CountingProvider, TokenProvider
from tests.index import Index

TODAY = date(2026, 3, 20)
ROOT = Path(__file__).parents[3]
QUESTIONS = [row["question"] for row in json.loads((SAMPLE.parent / "sample_questions.json").read_text())]
QUESTIONS += [
    "What did we decide last week?",
    "2026-02-16",
    "What is in MEMORY.md?",
    "statement-redesign.md",
    'the "error budget" of the server',
    "What happened in February 2026?",
    "港",
    "clock.max_self_drift_ms PRS-2209",
    "zxqvia brflot",
    "the",
]
SOME = QUESTIONS[2::4]


@dataclass
class Pair:
    """One workspace in both stores.

    Attributes:
        lists: The reader over plain lists.
        database: The builtin store's.
        provider: Embedded both; None for keywords alone.
    """

    lists: Reader
    database: Reader
    provider: EmbeddingProvider | None

    def ask(self, text: str, *, hybrid: Hybrid | None = None, **query: Any) -> list[Hit]:
        """Search the lists; the database must answer alike."""
        found, other = (
            _search(reader, self.provider, Query(text=text, **{"min_score": 0.0, **query}), hybrid or Hybrid())
            for reader in (self.lists, self.database)
        )
        assert [_rounded(hit) for hit in found] == [_rounded(hit) for hit in other], text
        return found


Open = Callable[..., Pair]


def _search(reader: Reader, provider: EmbeddingProvider | None, query: Query, hybrid: Hybrid) -> list[Hit]:
    vectors = None
    serving = reader.load_serving_space()
    if serving is not None:
        assert provider is not None
        tokens = None
        if isinstance(provider, TokenEmbedder):
            tokens = provider.embed_query_tokens([part for part, _ in split_question(query.text)])
        vector = provider.embed_query(query.text) if tokens is None else tokens.row
        table = provider if isinstance(provider, TokenModel) else None
        vectors = VectorQuery(serving.id, vector, choose_calibration(serving, provider), tokens, table)
    hits = search(reader, replace(query, today=TODAY), hybrid, vectors=vectors).hits
    return cite(reader, hits)


def _rounded(hit: Hit) -> Hit:
    """Scores to three digits: sums of floats differ in the last."""
    return replace(
        hit,
        score=round(hit.score, 3),
        vector_score=None if hit.vector_score is None else round(hit.vector_score, 3),
        text_score=None if hit.text_score is None else round(hit.text_score, 3),
    )


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with closing(Index(tmp_path / "notes", tmp_path / "state")) as made:
        yield made


@pytest.fixture
def both(index: Index) -> Iterator[Open]:
    """Opens the index's notes in both stores."""
    with ExitStack() as opened:

        def open_both(provider: EmbeddingProvider | None = None) -> Pair:
            index.sync(provider)
            lists = ListReader(index.config, provider)
            return Pair(lists, opened.enter_context(index.store.read()), provider)

        yield open_both


@pytest.fixture(scope="module", params=["keywords", "static", "tokens", "plain"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The sample notes in both stores, with one provider."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copytree(SAMPLE, folder / "notes")
    makers = {"static": StaticProvider, "tokens": TokenProvider, "plain": CountingProvider}
    provider = makers[request.param]() if request.param in makers else None
    with closing(Index(folder / "notes", folder / "state", SearchSettings())) as index:
        index.sync(provider)
        with index.store.read() as reader:
            yield Pair(ListReader(index.config, provider), reader, provider)


@pytest.mark.parametrize("text", QUESTIONS)
def test_the_sample_is_answered_alike(text: str, sample: Pair) -> None:
    found = sample.ask(text)
    assert bool(found) or text == "the" or sample.provider is None


@pytest.mark.parametrize(
    "query",
    [
        {"after": date(2026, 2, 10)},
        {"before": date(2026, 1, 31)},
        {"after": date(2026, 2, 1), "before": date(2026, 2, 28), "max_results": 20},
        {"max_snippet_chars": 60},
        {"min_score": 0.35},
    ],
    ids=["after", "before", "between", "short", "threshold"],
)
def test_filters_and_limits_give_the_same(query: dict[str, Any], sample: Pair) -> None:
    for text in SOME:
        for hit in sample.ask(text, **query):
            assert hit.score >= query.get("min_score", 0.0)


@pytest.mark.parametrize(
    "hybrid",
    [
        Hybrid(enabled=False),
        Hybrid(vector_weight=0.0, text_weight=1.0),
    ],
    ids=["vector", "text"],
)
def test_weights_give_the_same(hybrid: Hybrid, sample: Pair) -> None:
    for text in SOME:
        sample.ask(text, hybrid=hybrid)


def test_words_names_dates_periods_phrases_and_cjk_find_their_notes(index: Index, both: Open) -> None:
    index.note("memory/2026-03-12.md", "- The kettle boiled dry\n")
    index.note("memory/2026-03-17.md", "- The violin has a new bridge\n")
    index.note("memory/projects/harbour.md", "# Harbour\n\nThe build-42 release waits for the dentist.\n")
    index.note("memory/garden.md", "The 42 roses of the build stand in a row.\n")
    index.note("memory/diary.md", "- 昨日は雨だった\n- 姉の猫が庭で寝ている\n")
    pair = both()

    def first(text: str) -> str:
        return pair.ask(text)[0].path

    assert first("boiling kettles") == "memory/2026-03-12.md"
    assert first("what about harbour.md?") == "memory/projects/harbour.md"
    assert first("2026-03-17") == "memory/2026-03-17.md"
    assert first("What happened last week, to the violin or the kettle?") == "memory/2026-03-12.md"
    assert first("build-42") == "memory/projects/harbour.md"
    assert first("猫") == first("庭で寝る") == "memory/diary.md"
    assert pair.ask("the") == []
    assert {hit.path for hit in pair.ask("the violin, the kettle", after=date(2026, 3, 17))} == {"memory/2026-03-17.md"}


def test_other_forms_of_words_are_found_in_the_language_of_the_question(index: Index, both: Open) -> None:
    index.note("memory/de.md", "- Wir haben die Häuser mit den Nachbarn gestrichen.\n- Der Zaun ist noch nicht da.\n")
    index.note("memory/fr.md", "- Les chevaux sont dans le pré avec nous.\n- La barrière est ouverte.\n")
    index.note("memory/en.md", "- The horse stands in the hall with us.\n")
    pair = both()
    assert [hit.path for hit in pair.ask("Welches Haus hat der Nachbar?")] == ["memory/de.md"]
    assert [hit.path for hit in pair.ask("Où est le cheval ?")] == ["memory/fr.md"]
    assert [hit.path for hit in pair.ask("Haus Nachbar")] == ["memory/de.md"]
    assert pair.ask("What about the Haus?") == []


def test_hits_in_sessions_cite_the_log(index: Index, both: Open) -> None:
    index.set(sources=("memory", "sessions"), chunking=Chunking(tokens=60, overlap=12))
    folder = index.config.sessions_dir
    folder.mkdir(parents=True)
    entries: list[dict[str, Any]] = [
        {"type": "session", "id": "a-1", "timestamp": "2026-01-12T12:00:00Z"},
        {"type": "message", "message": {"role": "user", "content": "My violin?"}},
        {"type": "message", "message": {"role": "toolResult", "content": "noise"}},
        {"type": "message", "message": {"role": "assistant", "content": "In the attic:\n\n- behind the lantern"}},
    ]
    (folder / "a-1.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    index.note("MEMORY.md", "The kettle is copper.\n")
    pair = both(TokenProvider())
    (hit,) = pair.ask("violin lantern", after=date(2026, 1, 12), before=date(2026, 1, 12))
    assert (hit.source, hit.path, hit.start_line, hit.end_line) == ("sessions", "sessions/a-1.jsonl", 2, 4)


def test_notes_are_told_from_logs(index: Index, both: Open) -> None:
    index.set(sources=("memory", "sessions"))
    index.config.sessions_dir.mkdir(parents=True)
    said = {"type": "message", "message": {"role": "user", "content": "My violin?"}}
    (index.config.sessions_dir / "a-1.jsonl").write_text(json.dumps(said) + "\n")
    for expected in (False, True):
        if expected:
            index.note("MEMORY.md", "The kettle is copper.\n")
        pair = both()
        assert pair.database.count_chunks() == 1 + expected
        readers = (pair.lists, pair.database, JoinedReader({"": pair.database, "person:": pair.lists}))
        assert [reader.holds_notes() for reader in readers] == [expected] * 3


def test_an_empty_index_answers_nothing(both: Open) -> None:
    pair = both(StaticProvider())
    assert not pair.lists.count_chunks()
    assert not pair.database.count_chunks()
    assert pair.ask("kettle") == []


def test_search_over_lists_needs_no_sqlite(index: Index) -> None:
    index.note("memory/a.md", "- The kettle boiled dry\n")
    script = f"""
import sys
sys.modules["apsw"] = sys.modules["sqlite3"] = None
from pathlib import Path
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Hybrid, SearchSettings
from memory_core.records import Query
from memory_core.search.pipeline import cite, search
from tests.fakes.list_reader import ListReader
workspace = Path({str(index.workspace)!r})
config = AgentConfig(
    agent="main", workspace=workspace, state_dir=workspace, store_path=workspace / "none", search=SearchSettings()
)
reader = ListReader(config)
trace = search(reader, Query(text="kettle"), Hybrid(), vectors=None)
print(cite(reader, trace.hits)[0].snippet, trace.mode, [name for name in sys.modules if "stores.sqlite" in name])
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (done.stdout, done.stderr) == ("- The kettle boiled dry keyword []\n", "")


# The stemmer of the fake.

_WORDS = st.text("abcdefghilmnorstuvyz", min_size=1, max_size=12)
_ENDINGS = st.sampled_from(
    ["", "s", "es", "ies", "ed", "ing", "ational", "iveness", "ement", "ion", "ll", "y", "ization"]
)


@given(st.lists(st.tuples(_WORDS, _ENDINGS).map("".join), min_size=1))
def test_the_fake_stems_as_the_keyword_index(words: list[str]) -> None:
    assert stems(" ".join(words)) == STEM(" ".join(words).encode())


def test_the_fake_stems_the_sample_as_the_keyword_index() -> None:
    for note in sorted(SAMPLE.rglob("*.md")):
        text = note.read_text()
        assert stems(text) == STEM(text.encode()), note


STEM = load_tokenizer(apsw.Connection(":memory:"))
