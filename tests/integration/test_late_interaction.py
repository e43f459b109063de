"""Vectors of tokens in the index: for every unit, as a calculation by hand has them, for as long as its chunk is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw
import numpy as np
import pytest

from memory_core.config.settings import Cache, Chunking, Hybrid
from memory_core.embeddings.protocols import TokenEmbedder
from memory_core.embeddings.static import StaticProvider
from memory_core.embeddings.vectors import DEFAULT_CALIBRATION, MAX_TOKENS
from memory_core.records import Hit, Query
from memory_core.search.candidates import find_candidates
from memory_core.search.pipeline import search
from memory_core.search.question import Question, analyse
from memory_core.search.scores import Weights
from memory_core.search.scoring import VectorQuery
from memory_core.search.similarity import AROUND, AROUND_IN_CONTEXT, compare_table, compare_tokens
from memory_core.stores.values import DateRange, IndexedChunk
from memory_core.text.terms import split_question
from tests.fakes.providers import CountingProvider, TokenProvider
from tests.index import Index
from tests.integration.test_sync import prose

if TYPE_CHECKING:
    from numpy.typing import NDArray

Nearness: TypeAlias = "NDArray[np.floating]"
QUESTION = "Where did the kettle, the violin and the lantern go?"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = Index(tmp_path / "notes", tmp_path / "state")
    made.note("memory/a.md", prose(30))
    made.note("memory/b.md", "- kettle\n- ...\n- A violin, a lantern: 2024-05-01!\n\n```\nmarble = copper\n```\n")
    yield made
    made.close()


@pytest.fixture
def provider() -> TokenProvider:
    return TokenProvider()


def bits(index: Index) -> Any:
    return index.content()["token_bits"]


def compared(index: Index, provider: TokenProvider) -> tuple[list[float] | None, list[IndexedChunk], Question]:
    """The nearness of the units of all candidates."""
    parts = [part for part, _ in split_question(QUESTION)]
    with index.store.read() as reader:
        serving = reader.load_serving_space()
        assert serving is not None
        asked = provider.embed_query_tokens(parts)
        question = analyse(reader, QUESTION, _today())
        near = reader.find_nearest(serving.id, asked.row, DateRange(), 32)
        query = Query(text=QUESTION, max_results=100)
        candidates, _, _ = find_candidates(
            reader, question, query, Weights(0.5, 0.5), multiplier=4, find_near=lambda _: near
        )
        found = [candidate.chunk for candidate in candidates]
        nearness = compare_tokens(reader, serving.id, asked, question, found)
        return None if nearness is None else nearness.units, found, question


def by_hand(provider: TokenProvider, question: Question, units: Sequence[str], windows: Sequence[str]) -> Nearness:
    """Late interaction: for every token asked for its best cosine with the signs of the unit's tokens, and its weight.

    Shape (units, tokens of the question).
    """
    asked = provider.embed_query_tokens([part for part, _ in split_question(QUESTION)])
    assert asked.tokens is not None
    ends = list(accumulate(asked.counts))
    found = []
    for unit, window in zip(units, windows, strict=True):
        row = provider.embed_query(window)
        made = provider._by_token([unit], row).tokens
        assert made is not None
        best = []
        for end, count, weight in zip(ends, asked.counts, question.part_weights, strict=True):
            for token in asked.tokens[end - count : end]:
                cosines = (_cosine(token, np.where(own > 0, 1.0, -1.0)) for own in made)
                best.append(weight / count / sum(question.part_weights) * max(cosines, default=0.0))
        found.append(best)
    return np.array(found)


def in_context(own: Nearness, found: Sequence[IndexedChunk], share: float) -> list[float]:
    """What a unit has, and a share of what its chunk has: for every token the best of its units."""
    nearness: list[float] = []
    for chunk in found:
        units = own[len(nearness) : len(nearness) + len(chunk.units)]
        nearness += [(1 - share) * float(unit.sum()) + share * float(units.max(axis=0).sum()) for unit in units]
    return nearness


def _cosine(one: NDArray[np.floating], other: NDArray[np.floating]) -> float:
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return float(one @ other / (lengths or 1))  # a token that only spells has no vector


def _today() -> date:
    return date(2024, 5, 2)


def _windows(index: Index, found: Sequence[IndexedChunk]) -> list[str]:
    """For every unit of the chunks the text of its window."""
    texts = []
    with index.store.database.read() as connection:
        for chunk in found:
            own = [chunk.text[unit.start : unit.end] for unit in chunk.units]
            rows = connection.execute("SELECT first, last FROM windows WHERE chunk_id = ? ORDER BY 1", (chunk.id,))
            texts += ["\n".join(own[first : last + 1]) for first, last in rows for _ in range(first, last + 1)]
    return texts


def test_units_are_compared_as_by_hand(index: Index, provider: TokenProvider) -> None:
    assert isinstance(provider, TokenEmbedder)
    index.sync(provider)
    nearness, found, question = compared(index, provider)
    units = [text for chunk in found for text in _texts(chunk)]

    own = by_hand(provider, question, units, _windows(index, found))
    assert nearness == pytest.approx(in_context(own, found, AROUND_IN_CONTEXT), abs=1e-5)
    assert not own[units.index("- ...")].any()


def test_units_are_compared_as_by_hand_with_the_table_of_the_static_model(index: Index) -> None:
    model = StaticProvider()
    index.sync(model)
    with index.store.read() as reader:
        question = analyse(reader, QUESTION, _today())
        candidates, _, _ = find_candidates(
            reader, question, Query(text=QUESTION), Weights(0.0, 1.0), multiplier=4, find_near=lambda _: {}
        )
    found = [candidate.chunk for candidate in candidates]
    words = [word.text for word in question.words]
    asked = [
        (row, weight / len(rows))
        for word, weight in zip(words, question.weights, strict=True)
        for rows in [model.token_vectors(np.array(model.token_ids([word])[0], dtype=np.uint16))]
        for row in rows
    ]
    own = [
        [share / sum(question.weights) * max(0.0, *(_cosine(row, token) for token in tokens)) for row, share in asked]
        for chunk in found
        for unit in _texts(chunk)
        for tokens in [model.token_vectors(np.array(model.token_ids([unit])[0], dtype=np.uint16))]
    ]
    nearness = compare_table(model, question, found)
    assert nearness is not None
    assert nearness.units == pytest.approx(in_context(np.array(own), found, AROUND), abs=1e-5)
    assert len(own) > len(found) > 1


def _texts(chunk: IndexedChunk) -> list[str]:
    return [chunk.text[unit.start : unit.end] for unit in chunk.units]


def test_every_window_has_its_tokens_and_they_go_with_the_note(index: Index, provider: TokenProvider) -> None:
    index.sync(provider)
    windows = {row[-1] for row in index.content()["windows"]}
    assert {key for key, _ in bits(index)} == windows

    sent = len(provider.sent)
    (index.workspace / "memory" / "a.md").rename(index.workspace / "memory" / "moved.md")
    before = bits(index)
    index.sync(provider)
    assert (bits(index), len(provider.sent)) == (before, sent)

    (index.workspace / "memory" / "moved.md").unlink()
    index.sync(provider)
    assert {key for key, _ in bits(index)} == {row[-1] for row in index.content()["windows"]} < windows

    index.note("memory/a.md", prose(30))
    index.sync(provider)
    assert bits(index) == before


def test_a_rebuild_and_another_provider_and_back_cost_nothing(index: Index, provider: TokenProvider) -> None:
    index.sync(provider)
    before, sent = bits(index), len(provider.sent)
    index.sync(provider, force=True)
    index.sync(CountingProvider())
    report = index.sync(provider)

    assert (bits(index), len(provider.sent), report.pending) == (before, sent, 0)


def test_other_chunks_get_tokens_of_their_own(index: Index, provider: TokenProvider) -> None:
    index.sync(provider)
    index.set(chunking=Chunking(tokens=30, overlap=0))
    index.sync(provider)
    twin = Index(index.workspace, index.state / "twin", index.search)
    with closing(twin):
        twin.sync(TokenProvider())
        assert bits(index) == bits(twin)


def test_tokens_of_evicted_embeddings_go_too(index: Index, provider: TokenProvider) -> None:
    index.set(cache=Cache(enabled=False))
    index.sync(provider)
    index.note("memory/a.md", prose(1))
    index.sync(provider)
    with index.store.database.read() as connection:
        strays = connection.execute(
            "SELECT count(*) FROM token_bits WHERE embedding_id NOT IN (SELECT id FROM embedding_cache)"
        ).get
    assert strays == 0


def test_an_index_without_tokens_gets_them_at_the_next_sync(index: Index, provider: TokenProvider) -> None:
    index.sync(provider)
    before = bits(index)
    with closing(apsw.Connection(str(index.config.store_path))) as db:
        db.execute("DELETE FROM token_bits WHERE embedding_id % 2")
        db.execute("DELETE FROM meta WHERE key = 'complete'")
    assert compared(index, provider)[0] is None  # cosines answer alone meanwhile
    report = index.sync(provider)

    assert bits(index) == before
    assert 0 < report.embedded < len(before)
    assert index.sync(provider).embedded == 0


def test_a_model_without_tokens_is_asked_once_and_does_without(index: Index) -> None:
    provider = TokenProvider(pools_by_mean=False)
    index.sync(provider)
    sent = len(provider.sent)
    index.sync(provider)
    index.note("memory/c.md", "- A lantern was found.\n")
    index.sync(provider)

    assert len(provider.sent) == sent + 1
    assert compared(index, provider)[0] is None
    assert next(hit.path for hit in searched(index, provider, "Was a lantern found?")) == "memory/c.md"


def test_a_unit_of_very_many_tokens_keeps_the_first(index: Index) -> None:
    index.note("memory/c.md", "- " + " ".join(["1", "2", "3", "4", "5", "6", "7", "8", "9"] * 60) + " kettle\n")
    provider = TokenProvider()
    index.sync(provider)
    size = (provider.dimensions + 7) // 8

    assert max(len(blob) for _, blob in bits(index)) <= 2 + MAX_TOKENS * size + 2 * 40
    assert compared(index, provider)[0] is not None


def test_tokens_tell_units_of_one_window_apart(index: Index) -> None:
    """Without keywords and with one vector for all of them, only their tokens can."""
    items = [f"- {word}\n" for word in ("harbour", "dentist", "fence", "paint", "school", "kettle", "marble", "violin")]
    index.note("memory/a.md", "".join(items))
    (index.workspace / "memory" / "b.md").unlink()
    plain, tokens = TokenProvider(pools_by_mean=False), TokenProvider()
    hybrid = Hybrid(vector_weight=1.0, text_weight=0.0)
    index.sync(tokens)
    assert searched(index, tokens, "marble", hybrid=hybrid)[0].snippet.startswith("- marble")
    with closing(Index(index.workspace, index.state / "plain", index.search)) as twin:
        twin.sync(plain)
        assert not searched(twin, plain, "marble", hybrid=hybrid)[0].snippet.startswith("- marble")


def searched(index: Index, provider: TokenProvider, text: str, *, hybrid: Hybrid | None = None) -> list[Hit]:
    """A search in the space that serves, without a threshold and one line a passage."""
    asked = provider.embed_query_tokens([part for part, _ in split_question(text)])
    query = replace(Query(text=text), min_score=0.0, max_snippet_chars=10)
    with index.store.read() as reader:
        serving = reader.load_serving_space()
        assert serving is not None
        vectors = VectorQuery(serving.id, asked.row, DEFAULT_CALIBRATION, asked)
        hits = search(reader, query, hybrid or Hybrid(), vectors=vectors).hits
    return [*hits]
