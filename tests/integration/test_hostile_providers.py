"""Whatever an embeddings endpoint sends ends as `ProviderError`, in bounded memory and time, and shows no key."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.fields import Secret
from memory_core.config.settings import Remote
from memory_core.embeddings.credentials import KeyPlaces
from memory_core.embeddings.error_mapping import scrub
from memory_core.embeddings.remote.provider import open_remote
from memory_core.errors import ProviderError
from tests.servers.clients import agent_config
from tests.servers.loopback import vector_of
from tests.servers.raw import RawServer, asked
from tests.torture import hostile
from tests.torture.leaks import exposed, new_key, spelled
from tests.torture.watch import told, watching

CASES = 12  # of each kind
TIMEOUT_SECONDS = 0.6
BUSY_SECONDS = 20.0  # on top, where a machine is shared
MAX_GROWTH_BYTES = 96 << 20


def well_formed(body: bytes) -> bytes:
    """A good answer to a request."""
    data = [{"index": at, "embedding": vector_of(text, 8)} for at, text in enumerate(asked(body))]
    return hostile.http(200, json.dumps({"data": data}).encode())


def ask(folder: Path, remote: Remote, timeout_seconds: float = TIMEOUT_SECONDS) -> ProviderError | None:
    """Embed one question; the error if there is one. Whatever else is raised fails the test."""
    provider = open_remote(agent_config(folder, "openai-compatible", model="m", remote=remote), KeyPlaces({}))
    try:
        provider.embed_query("Where is the kettle?", timeout_seconds=timeout_seconds)
    except ProviderError as error:
        return error
    finally:
        provider.close()
    return None


@pytest.mark.parametrize("kind", hostile.kinds())
def test_whatever_comes_ends_as_a_provider_error(kind: str, tmp_path: Path) -> None:
    dices: Iterator[random.Random] = iter(())
    key = ""

    def answer(head: str, body: bytes) -> Iterable[bytes]:
        given = hostile.Asked(asked(body), key)
        for piece in hostile.answer(kind, next(dices), given):
            if piece == hostile.RESET:
                return
            if isinstance(piece, float):
                time.sleep(min(piece, 1.0))
            elif isinstance(piece, bytes):
                yield piece

    with RawServer(answer) as server:
        for number in range(CASES if kind not in hostile.BULKY else 5):
            dices = (random.Random(f"{kind} {number}") for _ in range(1000))
            key = new_key(random.Random(number))
            remote = Remote(base_url=server.url, api_key=Secret(key), timeout_seconds=TIMEOUT_SECONDS)
            with watching() as seen:
                error = ask(tmp_path, remote)
            shown = "" if error is None else told(error)
            assert exposed(shown + seen.text, key) is None, (number, shown, seen.text)
            assert seen.seconds < TIMEOUT_SECONDS + BUSY_SECONDS, (number, seen.seconds)
            assert seen.grown_bytes < MAX_GROWTH_BYTES, (number, seen.grown_bytes)


@pytest.mark.parametrize("status", [200, 500])
def test_an_endless_answer_is_read_to_its_limit_only(status: int, tmp_path: Path) -> None:
    def answer(head: str, body: bytes) -> Iterable[bytes]:
        yield hostile.http(status, length=False)
        for _ in range(4000):
            yield b" " * 65536

    with RawServer(answer) as server:
        error = ask(tmp_path, Remote(base_url=server.url), timeout_seconds=3)
        assert error is not None
        assert server.sent_bytes < 60 << 20  # of 262, over all attempts, sockets' buffers included


def test_credentials_of_the_url_are_sent_but_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with RawServer(lambda head, body: [well_formed(body)]) as server:
        url = f"http://user:hunter2hunter2@{server.host}/v1?api_key=planted-7f3a9c1e5b"
        assert ask(tmp_path, Remote(base_url=url), timeout_seconds=10) is None
        first, *headers = server.heads[-1].split("\r\n")
    assert first == "POST /v1/embeddings?api_key=planted-7f3a9c1e5b HTTP/1.1"
    assert any(header.lower().startswith("authorization: basic ") for header in headers)
    for secret in ("hunter2hunter2", "planted-7f3a9c1e5b"):
        assert secret not in caplog.text
        assert secret not in repr(agent_config(tmp_path, "openai-compatible", remote=Remote(base_url=url)))


def test_requests_of_others_are_logged_as_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import httpx

    caplog.set_level(logging.INFO)
    caplog.set_level(logging.INFO, "httpx")  # which litellm, once imported, lets log warnings only
    with RawServer(lambda head, body: [well_formed(body)]) as server:
        assert ask(tmp_path, Remote(base_url=server.url), timeout_seconds=10) is None
        assert "HTTP Request" not in caplog.text
        httpx.post(server.url, json={"input": []})
    assert "HTTP Request" in caplog.text


@pytest.mark.parametrize("secret", ["sk-proj-abc123DEF456ghi789", "pass&word%with/odd+chars=", "kürzel-mit-umlaut-ß"])
def test_every_spelling_of_a_secret_is_struck_out(secret: str) -> None:
    for number in range(200):
        shown = scrub(f"refused {spelled(secret, random.Random(number))} by the server", (secret,))
        assert exposed(shown, secret) is None, shown
        assert shown.startswith("refused")
        assert shown.endswith("by the server")
    for length in range(8, len(secret)):
        assert secret[:length] not in scrub(f"no such key {secret[:length]}...", (secret,))
    escaped = json.dumps(json.dumps(secret))
    assert exposed(scrub(escaped, (secret,)), secret) is None


def test_a_message_without_secrets_stays_as_it_is() -> None:
    message = "the model 'text-embedding-3-small' does not exist or you do not have access to it"
    assert scrub(message, ("sk-proj-abc123DEF456ghi789", "user")) == message


BAD_URLS = [
    "http://[::1",
    "http://127.0.0.1:99999/v1",
    "http://exa mple/v1",
    "http://..",
    "http://" + "a" * 300 + ".localhost/v1",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_that_cannot_be_used_is_a_provider_error(url: str, tmp_path: Path) -> None:
    try:
        error: Any = ask(tmp_path, Remote(base_url=url))
    except ProviderError as refused:
        error = refused
    assert isinstance(error, ProviderError)
