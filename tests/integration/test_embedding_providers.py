"""Providers against real servers on the loopback interface: requests counted, faults ordered, keys planted."""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from memory_core.config.fields import Secret
from memory_core.config.settings import Remote
from memory_core.embeddings.credentials import KeyPlaces
from memory_core.embeddings.models import make_plan
from memory_core.embeddings.protocols import EmbeddingProvider, TextKind
from memory_core.embeddings.remote.provider import HARMLESS, RequestProvider, open_remote
from memory_core.errors import (
    AuthenticationFailed,
    InputTooLarge,
    InvalidEmbedding,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    RequestTimeout,
)
from tests.servers.clients import KEY, QUICK, agent_config, assert_right, collected, texts_of, unit, wait_until
from tests.servers.loopback import Reply, openai_error
from tests.servers.openai import OpenAIServer
from tests.waiting import HANG_GUARD_SECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

Open = Callable[..., RequestProvider]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def opened(server: OpenAIServer, tmp_path: Path) -> Iterator[Open]:
    """Opens providers on the server and closes them at the end."""
    providers: list[RequestProvider] = []

    def open_one(provider: str = "openai-compatible", **search: Any) -> RequestProvider:
        search.setdefault("model", "some-model")
        search.setdefault("remote", Remote(base_url=server.url, api_key=Secret(KEY)))
        config = agent_config(tmp_path, provider, **search)
        providers.append(open_remote(config, KeyPlaces({}), retries=QUICK))
        return providers[-1]

    yield open_one
    for provider in providers:
        provider.close()


class TestRequests:
    @pytest.mark.parametrize(
        ("provider", "cap"),
        [("openai", 2048), ("openrouter", 2048), ("mistral", 256), ("ollama", 64), ("openai-compatible", 256)],
    )
    def test_a_thousand_texts_cost_no_more_requests_than_the_item_cap_needs(
        self, server: OpenAIServer, opened: Open, provider: str, cap: int
    ) -> None:
        texts = texts_of(1000)

        assert_right(collected(opened(provider), texts), texts)

        assert len(server.batches()) == -(-1000 // cap)
        assert max(map(len, server.batches())) <= cap

    def test_no_texts_cost_nothing(self, server: OpenAIServer, opened: Open) -> None:
        assert collected(opened(), []) == {}
        assert not server.requests

    def test_opening_sends_nothing_and_starts_no_thread(self, server: OpenAIServer, opened: Open) -> None:
        before = threading.active_count()
        provider = opened()

        assert isinstance(provider, EmbeddingProvider)
        assert provider.space.dimensions == 0
        assert not server.requests
        assert threading.active_count() == before

    def test_the_key_the_headers_and_the_model_are_sent(self, server: OpenAIServer, opened: Open) -> None:
        remote = Remote(base_url=server.url + "/", api_key=Secret(KEY), headers={"X-Team": Secret("notes")})
        opened(remote=remote, output_dimensionality=64, document_input_type="passage").embed_query("hello")
        collected(opened(remote=remote, output_dimensionality=64, document_input_type="passage"), ["hi"])

        query, document = server.requests
        assert query.headers["authorization"] == f"Bearer {KEY}"
        assert query.headers["x-team"] == "notes"
        assert query.path == "/v1/embeddings"
        assert query.json() == {
            "model": "some-model",
            "input": ["hello"],
            "dimensions": 64,
            "encoding_format": "base64",
        }
        assert document.json()["input_type"] == "passage"

    def test_a_configured_authorization_header_replaces_the_key(self, server: OpenAIServer, opened: Open) -> None:
        headers = {"authorization": Secret("Basic abc")}
        opened(remote=Remote(base_url=server.url, api_key=Secret(KEY), headers=headers)).embed_query("hello")

        assert server.requests[0].headers["authorization"] == "Basic abc"

    def test_an_asymmetric_model_gets_its_prefixes(self, server: OpenAIServer, opened: Open) -> None:
        provider = opened("ollama", model="nomic-embed-text:v1.5")
        server.dimensions = 768
        collected(provider, ["a note"])
        provider.embed_query("a question")

        assert server.batches() == [["search_document: a note"], ["search_query: a question"]]
        assert provider.space.input_type == "search_document:"

    def test_a_server_that_knows_no_base64_is_asked_again_once(self, server: OpenAIServer, opened: Open) -> None:
        server.base64 = False
        provider = opened()
        texts = texts_of(3)

        assert_right(collected(provider, texts), texts)
        assert_right(collected(provider, texts), texts)
        assert len(server.requests) == 3

    def test_dimensions_become_known_with_the_first_answer(self, opened: Open) -> None:
        provider = opened()
        provider.embed_query("hello")

        assert provider.space.dimensions == 8

    def test_a_matryoshka_model_on_a_server_that_cannot_shorten_is_shortened_here(
        self, server: OpenAIServer, opened: Open
    ) -> None:
        server.replaced = {"hello": [3.0] * 128, "title: none | text: hello": [3.0] * 128}
        provider = opened(model="embeddinggemma", output_dimensionality=64)

        assert collected(provider, ["hello"])[0].shape == (64,)

    def test_pieces_are_yielded_as_requests_return(self, server: OpenAIServer, opened: Open) -> None:
        held = threading.Event()
        provider = opened("ollama", model="m")
        pieces = provider.embed_documents(texts_of(128))
        first, rows = next(pieces)
        server.fail(Reply(500, after=held))

        assert (first, len(rows)) == (0, 64)
        held.set()
        assert [(first, len(rows)) for first, rows in pieces] == [(64, 64)]

    def test_requests_run_side_by_side_up_to_the_bound(self, server: OpenAIServer, opened: Open) -> None:
        held = threading.Event()
        server.fail(*[Reply(500, after=held)] * 4)
        provider = opened()
        rows: dict[int, NDArray[np.float32]] = {}
        worker = threading.Thread(target=lambda: rows.update(collected(provider, texts_of(256 * 6))))
        worker.start()

        wait_until(lambda: len(server.requests) == 4)
        time.sleep(0.05)  # a fifth request would come now
        assert len(server.requests) == 4
        held.set()
        worker.join(10)
        assert len(rows) == 256 * 6


class TestRetries:
    @pytest.mark.parametrize(
        "fault",
        [
            openai_error(500, "oops"),
            openai_error(503, "overloaded"),
            openai_error(429, "slow down"),
            Reply(200, b"x" * 200, truncated=True),
            Reply(200, b"<html>"),
            Reply(200, {"data": []}),
            Reply(200, {"error": {"message": "upstream", "code": 502}}),
        ],
        ids=["500", "503", "429", "cut off", "no JSON", "no vectors", "error within 200"],
    )
    def test_a_passing_fault_is_ridden_out(self, server: OpenAIServer, opened: Open, fault: Reply) -> None:
        server.fail(fault, fault, fault)
        texts = texts_of(3)

        assert_right(collected(opened(), texts), texts)
        assert len(server.requests) == 4

    def test_a_lasting_fault_is_tried_four_times(self, server: OpenAIServer, opened: Open) -> None:
        server.fail(*[openai_error(500, "oops")] * 9)

        with pytest.raises(ProviderUnavailable, match="HTTP 500: oops") as caught:
            collected(opened(), ["a"])
        assert caught.value.retryable
        assert server.batches() == [["a"]] * 4 + [["memory"]]  # which shows if it embeds another text

    @pytest.mark.parametrize("headers", [{"Retry-After": "0.3"}, {"retry-after-ms": "300"}])
    def test_retry_after_is_honoured(self, server: OpenAIServer, opened: Open, headers: dict[str, str]) -> None:
        server.fail(openai_error(429, "slow down", headers=headers))
        begun = time.monotonic()
        opened().embed_query("hello")

        assert time.monotonic() - begun >= 0.3

    def test_a_pause_longer_than_our_patience_is_handed_on(self, server: OpenAIServer, opened: Open) -> None:
        server.fail(openai_error(429, "slow down", headers={"Retry-After": "3600"}))

        with pytest.raises(RateLimited) as caught:
            collected(opened(), ["a"])
        assert caught.value.retry_after_seconds == 3600
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            (openai_error(401, "Incorrect API key provided"), AuthenticationFailed),
            (openai_error(403, "no"), AuthenticationFailed),
            (openai_error(429, "You exceeded your quota", code="insufficient_quota"), QuotaExhausted),
            (openai_error(402, "pay"), QuotaExhausted),
            (openai_error(404, "model not found"), ProviderUnavailable),
            (Reply(302, headers={"Location": "http://127.0.0.1:9/"}), ProviderUnavailable),
        ],
    )
    def test_what_no_retry_can_mend_is_asked_once(
        self, server: OpenAIServer, opened: Open, fault: Reply, kind: type[ProviderError]
    ) -> None:
        server.fail(*[fault] * 9)

        with pytest.raises(kind) as caught:
            collected(opened("ollama"), texts_of(200))
        assert not caught.value.retryable
        assert caught.value.action
        asked = [texts for texts in server.batches() if texts != [HARMLESS]]
        assert len(asked) == 1

    def test_nobody_listens(self, opened: Open) -> None:
        remote = Remote(base_url="http://127.0.0.1:9/v1")

        with pytest.raises(ProviderUnavailable, match=r"http://127\.0\.0\.1:9 cannot be reached"):
            opened(remote=remote).embed_query("hello")

    def test_an_outage_ends_the_run_and_what_was_had_is_kept(self, server: OpenAIServer, opened: Open) -> None:
        provider = opened("ollama", model="m")
        rows = provider.embed_documents(texts_of(64 * 10))
        assert next(rows)[0] == 0
        server.fail(*[openai_error(503, "down")] * 99)

        with pytest.raises(ProviderUnavailable):
            list(rows)
        assert len(server.requests) == 1 + 4 + 1  # at last one that asks whether a text was at fault


class TestSizes:
    def test_a_refused_size_is_halved_and_remembered(self, server: OpenAIServer, opened: Open) -> None:
        server.max_items = 32
        texts = texts_of(512)

        provider = opened()
        assert_right(collected(provider, texts), texts)
        first = len(server.requests)
        assert_right(collected(provider, texts), texts)
        assert len(server.requests) - first == 512 // 32

    def test_one_text_that_is_too_long_costs_the_others_nothing(self, server: OpenAIServer, opened: Open) -> None:
        server.max_characters = 300
        texts = [*texts_of(50), "long word " * 100, *texts_of(50)]
        rows = collected(opened(), texts)

        assert sorted(rows) == list(range(101))
        assert float(np.linalg.norm(rows[50])) == pytest.approx(1)
        np.testing.assert_allclose(rows[100], unit("note 49"), atol=1e-5)

    def test_a_model_that_takes_nothing_is_reported(self, server: OpenAIServer, opened: Open) -> None:
        server.max_characters = 0

        with pytest.raises(InputTooLarge):
            collected(opened(), ["hello"])

    def test_the_token_cap_bounds_a_request(self, server: OpenAIServer, opened: Open) -> None:
        texts = ["word " * 800] * 40
        collected(opened("mistral"), texts)

        assert max(sum(len(text) // 4 for text in batch) for batch in server.batches()) <= 16_384


class TestVectors:
    def test_zeros_are_reported_as_zeros(self, server: OpenAIServer, opened: Open) -> None:
        server.replaced = {"note 1": [0.0] * 8}
        rows = collected(opened(), texts_of(3))

        assert not rows[1].any()
        assert rows[2].any()

    def test_a_text_whose_vector_is_not_finite_is_reported_at_the_end(self, server: OpenAIServer, opened: Open) -> None:
        server.replaced = {"note 1": [float("nan")] * 8}
        rows: dict[int, NDArray[np.float32]] = {}

        with pytest.raises(InvalidEmbedding, match="not finite"):
            collected(opened(), texts_of(3), into=rows)
        assert sorted(rows) == [0, 2]

    def test_dimensions_that_change_are_tried_again_then_taken(self, server: OpenAIServer, opened: Open) -> None:
        provider = opened()
        provider.embed_query("hello")
        server.dimensions = 9

        assert len(provider.embed_query("other")) == 9
        assert provider.space.dimensions == 9
        assert len(server.requests) == 3

    def test_dimensions_that_were_asked_for_are_insisted_on(self, server: OpenAIServer, opened: Open) -> None:
        server.fail(*[server.embeddings({"model": "m", "input": ["other"], "dimensions": 9})] * 10)
        with pytest.raises(InvalidEmbedding, match="9 dimensions came back instead of 64"):
            opened(output_dimensionality=64).embed_query("other")


class TestDeadlines:
    def test_a_query_keeps_its_deadline(self, server: OpenAIServer, opened: Open) -> None:
        held = threading.Event()
        server.fail(Reply(200, after=held))
        begun = time.monotonic()

        with pytest.raises(RequestTimeout, match=r"no embedding within 0\.3 s"):
            opened().embed_query("hello", timeout_seconds=0.3)
        assert time.monotonic() - begun < HANG_GUARD_SECONDS  # the server answers only after this
        held.set()

    def test_a_deadline_covers_retries_and_names_what_went_before(self, server: OpenAIServer, opened: Open) -> None:
        server.fail(*[openai_error(500, "oops")] * 2, Reply(200, after=(held := threading.Event())))

        with pytest.raises(RequestTimeout, match=r"before that: .*oops"):
            opened().embed_query("hello", timeout_seconds=0.5)
        held.set()

    def test_a_pause_behind_the_deadline_is_not_begun(self, server: OpenAIServer, opened: Open) -> None:
        server.fail(openai_error(429, "slow down", headers={"Retry-After": "61"}))
        begun = time.monotonic()

        with pytest.raises(RateLimited):
            opened().embed_query("hello", timeout_seconds=60)
        assert time.monotonic() - begun < HANG_GUARD_SECONDS

    def test_a_request_that_hangs_is_given_up(self, server: OpenAIServer, opened: Open) -> None:
        held = threading.Event()
        server.fail(*[Reply(200, after=held)] * 4)
        remote = Remote(base_url=server.url, timeout_seconds=0.1)

        with pytest.raises(RequestTimeout, match=r"did not answer within 0\.1 s"):
            collected(opened(remote=remote), ["a"])
        held.set()

    def test_close_ends_what_runs_at_once(self, server: OpenAIServer, opened: Open) -> None:
        held = threading.Event()
        server.fail(*[Reply(200, after=held)] * 4)
        provider = opened()
        errors: list[ProviderError] = []

        def embed() -> None:
            try:
                collected(provider, texts_of(2000))
            except ProviderError as error:
                errors.append(error)

        worker = threading.Thread(target=embed)
        worker.start()
        wait_until(lambda: len(server.requests) == 4)
        begun = time.monotonic()
        provider.close()
        worker.join(HANG_GUARD_SECONDS)

        assert time.monotonic() - begun < HANG_GUARD_SECONDS
        assert "closed" in str(errors[0])
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("memory-core-openai")]
        with pytest.raises(ProviderUnavailable, match="closed"):
            provider.embed_query("hello")
        provider.close()
        held.set()

    def test_a_generator_that_is_dropped_sends_no_more(self, server: OpenAIServer, opened: Open) -> None:
        provider = opened("ollama", model="m")
        for _ in provider.embed_documents(texts_of(64 * 20)):
            break
        count = len(server.requests)
        provider.embed_query("hello")

        assert len(server.requests) <= count + 2


class TestSecrets:
    @pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
    def test_no_key_shows_in_an_error(self, server: OpenAIServer, opened: Open, status: int) -> None:
        leak = openai_error(
            status, f"Incorrect key {KEY}, header team-{KEY}, url http://x/?key=AIzaSyA-abcdefghijklmnopqrst"
        )
        server.fail(*[leak] * 4)
        remote = Remote(base_url=server.url, api_key=Secret(KEY), headers={"X-Team": Secret(f"team-{KEY}")})
        provider = opened(remote=remote)

        with pytest.raises(ProviderError) as caught:
            provider.embed_query("hello")
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(vars(provider))
        assert KEY not in shown
        assert "AIza" not in shown

    @pytest.mark.parametrize("key", [f"{KEY}\nX-Evil: 1", f"{KEY}ä"])
    def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(self, opened: Open, key: str) -> None:
        with pytest.raises(ProviderUnavailable, match="no header can carry") as caught:
            opened(remote=Remote(base_url="http://127.0.0.1:9", api_key=Secret(key)))
        assert KEY not in "".join(traceback.format_exception(caught.value))

    def test_the_space_names_the_endpoint_without_secrets(self, opened: Open) -> None:
        remote = Remote(base_url=f"https://user:{KEY}@gateway.example:8443/{KEY}/v1?token={KEY}")
        space = opened(remote=remote).space

        assert KEY not in repr(space)
        assert space.endpoint.startswith("https://gateway.example:8443/")
        other = opened(remote=replace(remote, base_url="https://gateway.example:8443/other/v1")).space
        assert other.endpoint != space.endpoint


class Loading:
    """A transport that takes longer to load than a question may wait, as litellm does."""

    async def load(self) -> None:
        await asyncio.sleep(1.5)

    async def send(self, texts: Sequence[str], kind: TextKind) -> Sequence[NDArray[np.float32]]:
        return [unit(text) for text in texts]

    async def close(self) -> None:
        """Nothing to let go of."""


def test_what_has_to_be_loaded_first_does_not_keep_a_question_from_the_provider(tmp_path: Path) -> None:
    config = agent_config(tmp_path, "litellm", model="m", output_dimensionality=8)
    provider = RequestProvider(make_plan(config, "litellm", endpoint=""), Loading())
    try:
        np.testing.assert_allclose(provider.embed_query("hello", timeout_seconds=1.0), unit("hello"), atol=1e-5)
    finally:
        provider.close()
