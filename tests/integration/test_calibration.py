"""The index learns what cosines of its space are worth: at its first sync, when it has grown, never where the model says so."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memory_core.embeddings.protocols import Calibrated, EmbeddingProvider
from memory_core.embeddings.static import CALIBRATION, StaticProvider
from memory_core.plugin.memory import open_memory
from memory_core.records import Calibration
from tests.fakes.providers import CountingProvider
from tests.index import Index, make_older


@dataclass
class KnownProvider(CountingProvider):
    """A provider that knows its model."""

    model: str = "known"

    @property
    def calibration(self) -> Calibration:
        """See `Calibrated`."""
        return Calibration(floor=0.4, span=0.3)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = Index(tmp_path / "workspace", tmp_path / "state")
    for number in range(12):
        made.note(f"memory/{number}.md", f"- The fence of field {number} was mended.\n\n- Gate {number} hangs loose.\n")
    yield made
    made.close()


def held(index: Index, provider: EmbeddingProvider) -> tuple[Calibration, int] | None:
    with index.store.read() as reader:
        return reader.load_calibration(reader.list_spaces()[provider.space])


def test_the_first_sync_estimates_and_every_index_of_these_notes_alike(index: Index, tmp_path: Path) -> None:
    provider, other = CountingProvider(), Index(index.workspace, tmp_path / "other")
    index.sync(provider)
    other.sync(provider)

    assert held(index, provider) == held(other, provider) is not None
    other.close()


def test_an_index_that_grew_is_looked_at_again(index: Index) -> None:
    provider = CountingProvider()
    index.sync(provider)
    before = held(index, provider)
    index.note("memory/0.md", "- The fence of field 0 was torn down.\n")
    index.sync(provider)
    assert held(index, provider) == before
    for number in range(20, 26):
        index.note(f"memory/{number}.md", f"- Cow {number} was sold at the market.\n")
    index.sync(provider)

    after = held(index, provider)
    assert before is not None
    assert after is not None
    assert after[1] == before[1] + 6


def test_each_space_keeps_its_own(index: Index) -> None:
    first, second = CountingProvider(), CountingProvider(model="fake-2", dimensions=64)
    index.sync(first)
    before = held(index, first)
    index.sync(second)

    assert held(index, first) == before
    assert held(index, second) is not None


def test_nothing_is_estimated_for_a_model_that_is_known(index: Index) -> None:
    provider = KnownProvider()
    assert isinstance(provider, Calibrated)
    assert not isinstance(CountingProvider(), Calibrated)
    index.sync(provider)

    assert held(index, provider) is None


def test_the_static_model_is_known() -> None:
    provider = StaticProvider()
    assert isinstance(provider, Calibrated)
    assert provider.calibration == CALIBRATION


def test_notes_in_another_language_than_the_model_s_claim_no_sure_answer(tmp_path: Path) -> None:
    notes = Path(__file__).parents[1] / "data" / "notebooks" / "falegname"
    questions = [each for each in json.loads((notes / "questions.json").read_bytes()) if each["kind"] == "none"]
    shutil.copytree(notes, tmp_path / "notes")
    with open_memory({}, workspace=tmp_path / "notes", state_dir=tmp_path / "state") as memory:
        memory.sync()
        best = [memory.call_tool("memory_search", {"query": each["question"]})["results"][:1] for each in questions]

    sure = [hits for hits in best if hits and hits[0]["score"] >= 0.6]
    assert len(sure) <= len(questions) / 3


def test_an_index_of_an_older_version_is_looked_at_by_the_next_sync(index: Index) -> None:
    provider = CountingProvider()
    index.sync(provider)
    requests = len(provider.requests)
    index.close()
    make_older(index.config.store_path, 2)
    index.sync(provider)

    assert held(index, provider) is not None
    assert len(provider.requests) == requests
