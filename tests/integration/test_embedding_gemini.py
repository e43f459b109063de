"""Gemini and Voyage, spoken to directly: their keys work without litellm."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.fields import Secret
from memory_core.config.settings import Remote
from memory_core.embeddings import registry
from memory_core.embeddings.credentials import KeyPlaces
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.embeddings.remote.provider import open_remote
from memory_core.errors import (
    InvalidEmbedding,
    ProviderError,
    RateLimited,
)
from memory_core.records import KeySources
from tests.servers.clients import KEY, QUICK, agent_config, assert_right, check_gemini_task, collected, texts_of
from tests.servers.gemini import GEMINI_FAULTS, GeminiServer
from tests.servers.loopback import Reply, openai_error
from tests.servers.openai import OpenAIServer

Open = Callable[..., EmbeddingProvider]
HEADERS = {"X-Team": Secret("notes")}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens providers and closes them at the end."""
    providers: list[EmbeddingProvider] = []

    def open_one(provider: str, url: str, **search: Any) -> EmbeddingProvider:
        remote = Remote(base_url=url, api_key=Secret(KEY), headers=HEADERS)
        config = agent_config(tmp_path, provider, remote=remote, **search)
        providers.append(open_remote(config, KeyPlaces({}), retries=QUICK))
        return providers[-1]

    yield open_one
    for provider in providers:
        provider.close()


@pytest.mark.parametrize("provider", ["gemini", "voyage", "mistral"])
def test_their_keys_need_no_litellm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str) -> None:
    monkeypatch.setitem(__import__("sys").modules, "litellm", None)
    with GeminiServer() as server_of_gemini, OpenAIServer(dimensions=1024) as server:
        remote = Remote(base_url=(server_of_gemini if provider == "gemini" else server).url, api_key=Secret(KEY))
        found = registry.open_provider(agent_config(tmp_path, provider, remote=remote), KeySources())
        assert found is not None
        assert found.embed_query("hello").any()
        found.close()


def test_gemini_takes_a_thousand_texts_in_ten_requests(gemini: GeminiServer, opened: Open) -> None:
    texts = texts_of(1000)
    provider = opened("gemini", gemini.url, output_dimensionality=64)

    assert_right(collected(provider, texts), texts, 64)
    assert len(gemini.batches()) == 10


def test_gemini_is_told_the_task_and_the_dimensions(gemini: GeminiServer, opened: Open) -> None:
    check_gemini_task(gemini, opened("gemini", gemini.url, output_dimensionality=64))


def test_gemini_has_3072_dimensions_by_default(gemini: GeminiServer, opened: Open) -> None:
    provider = opened("gemini", gemini.url)

    assert provider.space.dimensions == 3072
    assert provider.embed_query("hello").shape == (3072,)


@pytest.mark.parametrize("text", ["files/secret", "data:image/png;base64,AAAA", "gs://bucket/x.png"])
def test_a_note_is_sent_as_it_stands(gemini: GeminiServer, opened: Open, text: str) -> None:
    assert collected(opened("gemini", gemini.url, output_dimensionality=64), [text])[0].any()
    assert gemini.batches() == [[text]]


def test_googles_endpoint_for_openais_protocol_gets_that_protocol(openai: OpenAIServer, opened: Open) -> None:
    provider = opened("gemini", openai.url.removesuffix("/v1") + "/v1beta/openai", output_dimensionality=64)
    assert provider.embed_query("hello").shape == (64,)

    (request,) = openai.requests
    assert request.path == "/v1beta/openai/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json() == {"model": "gemini-embedding-001", "input": ["hello"], "dimensions": 64}


def test_voyage_is_told_the_input_type(openai: OpenAIServer, opened: Open) -> None:
    provider = opened("voyage", openai.url, output_dimensionality=256)
    texts = texts_of(1000)
    assert_right(collected(provider, texts), texts, 256)
    provider.embed_query("a question")

    document, query = openai.requests
    assert document.json()["input_type"] == "document"
    assert document.headers["authorization"] == f"Bearer {KEY}"
    assert document.headers["x-team"] == "notes"
    assert query.json() == {
        "input": ["a question"],
        "model": "voyage-4",
        "output_dimension": 256,
        "input_type": "query",
    }


@pytest.mark.parametrize(
    ("fault", "kind", "requests"),
    [
        *GEMINI_FAULTS,
        (Reply(200, {"embeddings": [{"values": "x"}]}), InvalidEmbedding, 4),
        (Reply(200, b"<html>"), InvalidEmbedding, 4),
    ],
)
def test_the_errors_of_gemini_are_ours_and_hold_no_key(
    gemini: GeminiServer, opened: Open, fault: Reply, kind: type[ProviderError], requests: int
) -> None:
    gemini.fail(*[replace(fault)] * 4)

    with pytest.raises(kind) as caught:
        opened("gemini", gemini.url).embed_query("hello")
    assert len(gemini.requests) == requests
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert KEY not in shown


def test_a_wait_that_gemini_asks_for_is_heard(gemini: GeminiServer, opened: Open) -> None:
    gemini.fail(openai_error(429, "slow down", headers={"Retry-After": "3600"}))

    with pytest.raises(RateLimited) as caught:
        opened("gemini", gemini.url).embed_query("hello")
    assert caught.value.retry_after_seconds == 3600
