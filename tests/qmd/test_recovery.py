"""QMD behind the selector: builtin answers while it is down, and it gets its place back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from memory_core.records import Query
from memory_core.selector import Selector
from memory_core.settings import MemorySettings
from tests.qmd.conftest import Bench, FakeQmd


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def selector(bench: Bench, clock: Clock) -> Iterator[Selector]:
    section = {"command": str(bench.settings.command), "limits": {"timeoutMs": 2000}}
    search = replace(bench.config.search, provider="none")
    config = replace(
        bench.config, memory=MemorySettings(backend="qmd"), search=search, backend_sections={"qmd": section}
    )
    selector = Selector(config, clock=clock)
    yield selector
    selector.close()


def test_builtin_answers_while_qmd_is_down_and_qmd_gets_its_place_back(
    bench: Bench, fake: FakeQmd, clock: Clock, selector: Selector
) -> None:
    bench.note("MEMORY.md", "The fence is of oak.")
    assert selector.search(Query(text="fence")).backend == "qmd"
    assert selector.status().backend_fallback is None

    fake.fail(any="exit 1 SqliteError: boom")
    down_until = clock.now + 60
    while clock.now < down_until:
        result = selector.search(Query(text="fence"))
        assert (result.backend, [hit.path for hit in result.hits]) == ("builtin", ["MEMORY.md"])
        assert result.backend_fallback is not None
        assert (result.backend_fallback.origin, result.backend_fallback.to) == ("qmd", "builtin")
        assert result.backend_fallback.reason
        clock.now += 1
    status = selector.status()
    assert status.backend_fallback is not None
    assert "boom" in status.backend_fallback.reason
    asked = len(fake.calls("query"))
    assert asked < 20  # the breaker spared most of the sixty

    fake.fail()
    served = []
    for _ in range(300):
        served.append(selector.search(Query(text="fence")).backend)
        clock.now += 1
    assert served[-1] == "qmd"
    assert served == sorted(served)  # "builtin" up to the trial, "qmd" from then on
    assert selector.status().backend_fallback is None


def test_an_empty_index_does_not_move_the_breaker(bench: Bench, fake: FakeQmd, selector: Selector) -> None:
    bench.note("MEMORY.md", "The fence is of oak.")
    fake.fail(update="say nothing done")
    for _ in range(6):
        result = selector.search(Query(text="fence"))
        assert (result.backend, len(result.hits)) == ("builtin", 1)
        assert result.backend_fallback is not None
        assert "empty" in result.backend_fallback.reason
    assert selector.status().details.get("breaker", "closed") == "closed"


def test_a_missing_program_leaves_memory_working(bench: Bench, clock: Clock) -> None:
    bench.note("MEMORY.md", "The fence is of oak.")
    search = replace(bench.config.search, provider="none")
    config = replace(
        bench.config,
        memory=MemorySettings(backend="qmd"),
        search=search,
        backend_sections={"qmd": {"command": "no-such-qmd"}},
    )
    selector = Selector(config, clock=clock)
    result = selector.search(Query(text="fence"))
    selector.close()
    assert (result.backend, len(result.hits)) == ("builtin", 1)
    assert result.backend_fallback is not None
    assert "not installed" in result.backend_fallback.reason
