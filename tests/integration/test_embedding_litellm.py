"""Providers that go through the real litellm, against servers on the loopback interface."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memory_core.config.fields import Secret
from memory_core.config.settings import Remote
from memory_core.embeddings.credentials import KeyPlaces
from memory_core.embeddings.remote.provider import open_remote
from memory_core.errors import (
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    RequestTimeout,
)
from tests.command import REPOSITORY
from tests.servers.clients import (
    KEY,
    QUICK,
    agent_config,
    assert_right,
    check_gemini_task,
    collected,
    texts_of,
    wait_until,
)
from tests.servers.gemini import GEMINI_FAULTS, GeminiServer, gemini_error
from tests.servers.loopback import Reply, openai_error
from tests.servers.openai import OpenAIServer
from tests.waiting import HANG_GUARD_SECONDS

if TYPE_CHECKING:
    from memory_core.embeddings.remote.provider import RequestProvider

# Looked for, not imported: litellm imported without our precautions goes to the network.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="litellm is not installed")

Open = Callable[..., "RequestProvider"]
HEADERS = {"X-Team": Secret("notes")}
GEMINI = "gemini/gemini-embedding-001"
VOYAGE = "voyage/voyage-4"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens providers and closes them at the end."""
    providers: list[RequestProvider] = []

    def open_one(model: str, url: str, *, remote: Remote | None = None, **search: Any) -> RequestProvider:
        remote = remote or Remote(base_url=url, api_key=Secret(KEY), headers=HEADERS)
        config = agent_config(tmp_path, "litellm", model=model, remote=remote, **search)
        providers.append(open_remote(config, KeyPlaces({}), retries=QUICK))
        return providers[-1]

    yield open_one
    for provider in providers:
        provider.close()


def test_a_thousand_texts_are_sent_in_requests_of_96(gemini: GeminiServer, opened: Open) -> None:
    texts = texts_of(1000)
    provider = opened(GEMINI, gemini.url, output_dimensionality=64)

    assert_right(collected(provider, texts), texts, 64)
    assert len(gemini.batches()) == 11


def test_gemini_is_told_the_task_and_the_dimensions(gemini: GeminiServer, opened: Open) -> None:
    check_gemini_task(gemini, opened(GEMINI, gemini.url, output_dimensionality=64))


def test_gemini_has_3072_dimensions_by_default(gemini: GeminiServer, opened: Open) -> None:
    provider = opened(GEMINI, gemini.url)

    assert provider.space.dimensions == 3072
    assert provider.embed_query("hello").shape == (3072,)


@pytest.mark.parametrize("text", ["files/secret", "data:image/png;base64,AAAA", "gs://bucket/x.png"])
def test_a_note_is_never_taken_for_a_file_to_fetch(gemini: GeminiServer, opened: Open, text: str) -> None:
    provider = opened(GEMINI, gemini.url, output_dimensionality=64)
    rows = collected(provider, [text])

    assert rows[0].any()
    assert gemini.batches() == [[" " + text]]
    assert len(gemini.requests) == 1


def test_voyage_is_told_the_input_type(openai: OpenAIServer, opened: Open) -> None:
    provider = opened(VOYAGE, openai.url, output_dimensionality=256)
    texts = texts_of(1000)
    assert_right(collected(provider, texts), texts, 256)
    provider.embed_query("a question")

    document, *_, query = openai.requests
    assert document.json()["input_type"] == "document"
    assert document.headers["authorization"] == f"Bearer {KEY}"
    assert document.headers["x-team"] == "notes"
    assert query.json() == {
        "input": ["a question"],
        "model": "voyage-4",
        "output_dimension": 256,
        "input_type": "query",
    }


def test_any_model_string_of_litellm_works(openai: OpenAIServer, opened: Open) -> None:
    openai.dimensions = 3072
    provider = opened("litellm/openai/text-embedding-3-large", openai.url)

    assert provider.embed_query("hello").shape == (3072,)

    assert openai.requests[0].json()["model"] == "text-embedding-3-large"
    assert openai.requests[0].headers["x-team"] == "notes"


@pytest.mark.parametrize(
    ("fault", "kind", "requests"),
    [
        *GEMINI_FAULTS,
        (Reply(200, b"<html>"), ProviderUnavailable, 4),
    ],
)
def test_its_errors_are_ours_and_hold_no_key(
    gemini: GeminiServer, opened: Open, fault: Reply, kind: type[ProviderError], requests: int
) -> None:
    gemini.fail(*[fault] * 4)

    with pytest.raises(kind) as caught:
        opened(GEMINI, gemini.url).embed_query("hello")
    assert len(gemini.requests) == requests
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert KEY not in shown
    assert "Traceback" not in str(caught.value)
    seen: BaseException | None = caught.value
    while seen is not None:
        assert KEY not in repr(seen) + str(seen)
        seen = seen.__cause__ or seen.__context__


def test_a_passing_fault_is_ridden_out(gemini: GeminiServer, opened: Open) -> None:
    gemini.fail(*[gemini_error(503, "overloaded")] * 3)

    assert opened(GEMINI, gemini.url, output_dimensionality=64).embed_query("hello").shape == (64,)


@pytest.mark.parametrize("model", [GEMINI, VOYAGE])
def test_retry_after_passes_through_litellm(openai: OpenAIServer, opened: Open, model: str) -> None:
    openai.fail(openai_error(429, "slow down", headers={"Retry-After": "3600"}))

    with pytest.raises(RateLimited) as caught:
        opened(model, openai.url).embed_query("hello")
    assert caught.value.retry_after_seconds == 3600


def test_a_query_keeps_its_deadline(gemini: GeminiServer, opened: Open) -> None:
    held = threading.Event()
    provider = opened(GEMINI, gemini.url)
    provider.embed_query("litellm is imported now")
    gemini.fail(Reply(200, after=held))
    begun = time.monotonic()

    with pytest.raises(RequestTimeout):
        provider.embed_query("hello", timeout_seconds=0.3)
    assert time.monotonic() - begun < HANG_GUARD_SECONDS  # the server answers only after this
    held.set()
    wait_until(lambda: "memory-core-blocking" not in {thread.name for thread in threading.enumerate()})


def test_litellm_is_imported_in_silence(tmp_path: Path) -> None:
    """In a process of its own: no socket (the guard would raise), no `.env`, no output, callbacks and environment as before."""
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n")
    script = """
import os
before = dict(os.environ)
from memory_core.embeddings.remote.litellm_api import import_litellm
litellm = import_litellm()
assert dict(os.environ) == before, set(os.environ) ^ set(before)
assert litellm.telemetry is False and litellm.suppress_debug_info is True
assert not litellm.success_callback and not litellm.failure_callback
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_opening_imports_nothing_heavy(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from memory_core.embeddings.credentials import KeyPlaces
from memory_core.embeddings.remote.provider import open_remote
from tests.servers.clients import agent_config
for name, heavy in (("gemini", {{"httpx"}}), ("openai", {{"httpx"}}), ("litellm", set())):
    key = {{"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k"}}
    open_remote(agent_config(Path({str(tmp_path)!r}), name, model="openai/m"), KeyPlaces(key)).close()
    loaded = (heavy | {{"litellm", "tenacity", "openai"}}) & set(sys.modules)
    assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, check=True)
