"""Batch jobs against loopback servers: paid once, collected after a restart, given up after two failures."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memory_core.config.fields import Secret
from memory_core.config.settings import Batch, Remote
from memory_core.embeddings.credentials import KeyPlaces
from memory_core.embeddings.remote import batches
from memory_core.embeddings.remote.batches import FAILURES_ALLOWED, SMALLEST
from memory_core.embeddings.remote.openai_api import OpenAIApi
from memory_core.embeddings.remote.provider import open_remote
from memory_core.errors import ProviderUnavailable, TextRefused
from tests.servers.clients import KEY, QUICK, agent_config, assert_right, collected, texts_of
from tests.servers.gemini import GeminiServer
from tests.servers.loopback import openai_error
from tests.servers.openai import OpenAIServer
from tests.waiting import eventually

if TYPE_CHECKING:
    from memory_core.embeddings.remote.provider import RequestProvider

Open = Callable[..., "RequestProvider"]
TEXTS = texts_of(SMALLEST + 50)


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimensions=64) as server:
        yield server


@pytest.fixture
def gemini() -> Iterator[GeminiServer]:
    with GeminiServer(dimensions=64) as server:
        yield server


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """Failures of batches in this test alone, by provider and endpoint."""
    counted: Counter[tuple[str, str]] = Counter()
    monkeypatch.setattr(batches, "failures", counted)
    return counted


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens providers with batches on, and closes them at the end; all share one state folder."""
    providers: list[RequestProvider] = []

    def open_one(provider: str, url: str, **batch: Any) -> RequestProvider:
        settings = Batch(enabled=True, **{"poll_interval_ms": 5, **batch})
        remote = Remote(base_url=url, api_key=Secret(KEY), batch=settings)
        config = agent_config(tmp_path, provider, remote=remote, output_dimensionality=64)
        providers.append(open_remote(config, KeyPlaces({}), retries=QUICK))
        return providers[-1]

    yield open_one
    for provider in providers:
        provider.close()


def test_a_large_backfill_is_one_job_and_no_request(openai: OpenAIServer, opened: Open) -> None:
    openai.polls_until_done = 3
    rows = collected(opened("openai", openai.url), TEXTS)

    assert_right(rows, TEXTS, 64)
    assert openai.submitted() == [TEXTS]
    assert not openai.sent("/embeddings")


def test_a_text_that_stands_twice_is_paid_once(openai: OpenAIServer, opened: Open) -> None:
    assert_right(collected(opened("openai", openai.url), TEXTS * 2), TEXTS * 2, 64)
    assert openai.submitted() == [TEXTS]


def test_a_small_backfill_takes_requests(openai: OpenAIServer, opened: Open) -> None:
    collected(opened("openai", openai.url), TEXTS[: SMALLEST - 1])

    assert not openai.jobs
    assert len(openai.sent("/embeddings")) == 1


def test_lines_that_failed_are_sent_by_requests(
    openai: OpenAIServer, opened: Open, failures: Counter[tuple[str, str]]
) -> None:
    openai.refused = {"note 3", "note 7"}

    assert_right(collected(opened("openai", openai.url), TEXTS), TEXTS, 64)
    assert openai.batches() == [["note 3", "note 7"]]
    assert not failures.total()


@pytest.mark.parametrize("vector", [[1.0, 2.0], [float("nan")] * 64], ids=["short", "not finite"])
def test_a_vector_of_a_job_that_cannot_be_used_costs_that_text_alone(
    openai: OpenAIServer, opened: Open, failures: Counter[tuple[str, str]], vector: list[float]
) -> None:
    openai.replaced = {"note 3": vector}
    rows: dict[int, Any] = {}

    with pytest.raises(TextRefused):
        collected(opened("openai", openai.url), TEXTS, into=rows)
    assert sorted(rows) == [number for number in range(len(TEXTS)) if TEXTS[number] != "note 3"]
    assert {text for batch in openai.batches() for text in batch} == {"note 3", "memory"}
    assert not failures.total()


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_what_a_broken_off_job_did_is_kept(openai: OpenAIServer, opened: Open, status: str) -> None:
    openai.ends_as = status

    assert_right(collected(opened("openai", openai.url), TEXTS), TEXTS, 64)
    assert openai.batches() == [TEXTS[len(TEXTS) // 2 :]]


def test_a_job_of_before_a_restart_is_collected_and_not_paid_twice(openai: OpenAIServer, opened: Open) -> None:
    first = opened("openai", openai.url, wait=False)
    openai.polls_until_done = 10**9
    with pytest.raises(ProviderUnavailable, match="batch job batch_0 still runs") as caught:
        collected(first, TEXTS)
    assert caught.value.retryable
    first.close()
    openai.polls_until_done = 2

    assert_right(collected(opened("openai", openai.url), [*TEXTS, "one more"]), [*TEXTS, "one more"], 64)
    assert openai.submitted() == [TEXTS]
    assert openai.batches() == [["one more"]]
    assert_right(collected(opened("openai", openai.url), TEXTS[:5]), TEXTS[:5], 64)


def test_a_job_that_still_runs_is_not_sent_again(openai: OpenAIServer, opened: Open) -> None:
    openai.polls_until_done = 10**9
    provider = opened("openai", openai.url, wait=False)

    for _ in range(3):
        with pytest.raises(ProviderUnavailable, match="still runs"):
            collected(provider, TEXTS)
    assert len(openai.jobs) == 1
    assert not openai.sent("/embeddings")


def test_an_outage_loses_no_job(openai: OpenAIServer, opened: Open) -> None:
    openai.polls_until_done = 10**9
    with pytest.raises(ProviderUnavailable, match="still runs"):
        collected(opened("openai", openai.url, wait=False), TEXTS)
    openai.fail(*[openai_error(503, "down")] * 4)
    with pytest.raises(ProviderUnavailable, match="still runs"):
        collected(opened("openai", openai.url), TEXTS)
    openai.polls_until_done = 0

    assert_right(collected(opened("openai", openai.url), TEXTS), TEXTS, 64)
    assert len(openai.jobs) == 1


def test_a_job_the_provider_has_forgotten_is_replaced(openai: OpenAIServer, opened: Open) -> None:
    openai.polls_until_done = 10**9
    with pytest.raises(ProviderUnavailable, match="still runs"):
        collected(opened("openai", openai.url, wait=False), TEXTS)
    openai.jobs.clear()
    openai.polls_until_done = 0

    assert_right(collected(opened("openai", openai.url), TEXTS), TEXTS, 64)


@pytest.mark.parametrize("stage", ["job", "submission"])
def test_two_failures_turn_batches_off(
    openai: OpenAIServer, opened: Open, failures: Counter[tuple[str, str]], stage: str
) -> None:
    openai.ends_as = "failed"
    for number in range(4):
        texts = [f"{text} of run {number}" for text in TEXTS]
        if stage == "submission" and number < 2:
            openai.fail(openai_error(400, "no batches here"))
        assert_right(collected(opened("openai", openai.url), texts), texts, 64)

    assert failures.total() == FAILURES_ALLOWED
    assert len(openai.jobs) == (2 if stage == "job" else 0)
    assert len(openai.sent("/embeddings")) == 4


def polls(server: OpenAIServer) -> int:
    return sum(request.method == "GET" and "/batches/" in request.path for request in server.requests)


def in_background(provider: RequestProvider, texts: list[str]) -> tuple[threading.Thread, list[Any]]:
    """Embed in a thread; what came of it is put in the list: the rows, or the error."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(collected(provider, texts))
        except ProviderUnavailable as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


@pytest.mark.parametrize("concurrency", [1, 3])
def test_so_many_jobs_as_configured_run_at_a_time(
    openai: OpenAIServer, opened: Open, monkeypatch: pytest.MonkeyPatch, concurrency: int
) -> None:
    monkeypatch.setattr(OpenAIApi, "max_texts", 100)
    openai.polls_until_done = 10**9
    thread, outcome = in_background(opened("openai", openai.url, concurrency=concurrency), texts_of(500))
    assert eventually(lambda: len(openai.jobs) == concurrency and polls(openai) > 10 * concurrency)
    assert len(openai.jobs) == concurrency
    openai.polls_until_done = 0
    thread.join()

    assert len(openai.jobs) == 5
    assert_right(outcome[0], texts_of(500), 64)


def test_a_job_is_looked_at_as_often_as_configured(openai: OpenAIServer, opened: Open) -> None:
    openai.polls_until_done = 1
    provider = opened("openai", openai.url, poll_interval_ms=3_600_000)
    thread, outcome = in_background(provider, TEXTS)
    assert eventually(lambda: polls(openai))
    provider.close()
    thread.join()

    assert polls(openai) == 1
    assert isinstance(outcome[0], ProviderUnavailable)
    assert_right(collected(opened("openai", openai.url), TEXTS), TEXTS, 64)  # every 5 ms


def test_a_job_that_takes_too_long_is_cancelled(openai: OpenAIServer, opened: Open) -> None:
    openai.polls_until_done = 10**9

    assert_right(collected(opened("openai", openai.url, timeout_minutes=0.001), TEXTS), TEXTS, 64)
    assert len(openai.sent("/cancel")) == 1
    assert len(openai.sent("/embeddings")) == 1


def test_a_damaged_log_counts_as_empty(openai: OpenAIServer, opened: Open, tmp_path: Path) -> None:
    (tmp_path / "main.batches.json").write_text("{half of it")

    assert_right(collected(opened("openai", openai.url), TEXTS), TEXTS, 64)


def test_the_log_holds_neither_texts_nor_keys(openai: OpenAIServer, opened: Open, tmp_path: Path) -> None:
    openai.polls_until_done = 10**9
    with pytest.raises(ProviderUnavailable):
        collected(opened("openai", openai.url, wait=False), TEXTS)
    log = (tmp_path / "main.batches.json").read_text()

    assert "batch_0" in log
    assert KEY not in log
    assert "note 1" not in log


def test_gemini_batches_carry_the_task_and_the_dimensions(gemini: GeminiServer, opened: Open) -> None:
    gemini.polls_until_done = 2

    assert_right(collected(opened("gemini", gemini.url), TEXTS), TEXTS, 64)
    assert len(gemini.jobs) == 1
    assert not gemini.batches()
    assert b'"taskType": "RETRIEVAL_DOCUMENT"' in gemini.files["files/in"]
    assert b'"outputDimensionality": 64' in gemini.files["files/in"]
    assert {request.headers.get("x-goog-api-key") for request in gemini.requests} == {KEY}


@pytest.mark.parametrize("state", ["FAILED", "EXPIRED", "CANCELLED"])
def test_a_gemini_job_that_fails_counts(
    gemini: GeminiServer, opened: Open, failures: Counter[tuple[str, str]], state: str
) -> None:
    gemini.ends_as = state

    assert_right(collected(opened("gemini", gemini.url), TEXTS), TEXTS, 64)
    assert len(gemini.batches()) == 3
    assert failures.total() == 1
