"""Keys are found in the order that is promised, "auto" picks by it, and nothing that is shown holds one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.config.settings import Local, ProviderAccount, Remote
from memory_core.embeddings.credentials import (
    Endpoint,
    KeyPlaces,
    find_key,
    resolve_endpoint,
)
from memory_core.embeddings.error_mapping import scrub
from memory_core.embeddings.registry import Choice, choose_provider
from memory_core.errors import ProviderUnavailable
from memory_core.records import KeySources
from tests.servers.clients import KEY, agent_config

PLACES = ["memorySearch.remote.apiKey", "models.providers.openai", "the host", "OPENAI_API_KEY"]


def configured(
    folder: Path, provider: str = "openai", *, accounts: dict[str, ProviderAccount] | None = None, **search: Any
) -> AgentConfig:
    return replace(agent_config(folder, provider, **search), providers=accounts or {})


@pytest.mark.parametrize("first", range(4))
def test_the_first_place_that_has_a_key_wins(tmp_path: Path, first: int) -> None:
    keys = [f"key {number}" if number >= first else None for number in range(4)]
    remote, account, host, environment = keys
    config = configured(
        tmp_path,
        accounts={"openai": ProviderAccount(api_key=Secret(account) if account else None)},
        remote=Remote(api_key=Secret(remote) if remote else None),
    )

    found = find_key(
        config,
        "openai",
        KeyPlaces({"OPENAI_API_KEY": environment or ""}, lambda provider: host if provider == "openai" else None),
    )

    assert found is not None
    assert found[0].reveal() == f"key {first}"
    assert found[1] == PLACES[first]


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_key_is_none(tmp_path: Path, blank: str) -> None:
    assert find_key(configured(tmp_path), "openai", KeyPlaces({"OPENAI_API_KEY": blank})) is None


@pytest.mark.parametrize(
    ("environ", "accounts", "expected"),
    [
        ({}, {}, "static"),
        ({"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}, {}, "openai"),
        ({"GEMINI_API_KEY": "k", "VOYAGE_API_KEY": "k"}, {}, "gemini"),
        ({"VOYAGE_API_KEY": "k", "MISTRAL_API_KEY": "k"}, {}, "voyage"),
        ({"MISTRAL_API_KEY": "k", "OPENROUTER_API_KEY": "k"}, {}, "mistral"),
        ({"OPENROUTER_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, {}, "static"),
        ({}, {"google": ProviderAccount(api_key=Secret("k"))}, "gemini"),
        ({}, {"google": ProviderAccount()}, "static"),
    ],
)
def test_auto_takes_the_first_provider_that_has_a_key(
    tmp_path: Path, environ: dict[str, str], accounts: dict[str, ProviderAccount], expected: str
) -> None:
    choice = choose_provider(configured(tmp_path, "auto", accounts=accounts), KeySources(auto_environ=environ))

    assert choice.provider == expected
    assert choice.reason


def test_auto_prefers_a_local_model_file_and_says_why(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    config = configured(tmp_path, "auto", local=Local(model_path=str(model)))
    environ = {"OPENAI_API_KEY": "k"}

    assert choose_provider(config, KeySources(auto_environ=environ)) == Choice(
        "openai", "a key was found in OPENAI_API_KEY"
    )
    model.touch()
    assert choose_provider(config, KeySources(auto_environ=environ)) == Choice(
        "local", "memorySearch.local.modelPath names a model"
    )


def test_auto_downloads_no_model(tmp_path: Path) -> None:
    config = configured(tmp_path, "auto", local=Local(model_path="hf:owner/repo/model.gguf"))

    assert choose_provider(config, KeySources(auto_environ={})).provider == "static"


def test_a_configured_provider_needs_no_reason_to_be_chosen(tmp_path: Path) -> None:
    assert choose_provider(configured(tmp_path, "voyage"), KeySources()).provider == "voyage"


def test_remote_beats_the_account_and_headers_merge(tmp_path: Path) -> None:
    config = configured(
        tmp_path,
        accounts={
            "openai": ProviderAccount(
                base_url="https://account.example/v1",
                headers={"X-Team": Secret("account"), "X-Only": Secret("account")},
            )
        },
        remote=Remote(base_url="https://remote.example/v1/", api_key=Secret(KEY), headers={"x-team": Secret("remote")}),
    )
    endpoint = resolve_endpoint(config, "openai", KeyPlaces({}))

    assert endpoint.base_url == "https://remote.example/v1"
    assert {name: value.reveal() for name, value in endpoint.headers.items()} == {
        "x-team": "remote",
        "X-Only": "account",
    }


def test_a_missing_key_says_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="no API key") as caught:
        resolve_endpoint(configured(tmp_path), "openai", KeyPlaces({}))
    assert "OPENAI_API_KEY" in caught.value.action
    assert not caught.value.retryable


def test_ollama_needs_no_key(tmp_path: Path) -> None:
    endpoint = resolve_endpoint(configured(tmp_path, "ollama"), "ollama", KeyPlaces({}))

    assert endpoint.api_key is None
    assert endpoint.base_url == "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize("url", ["ftp://host/v1", "host:8000", "http://", "http://host:port/v1"])
def test_what_is_no_http_url_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ProviderUnavailable, match="no http or https URL"):
        resolve_endpoint(configured(tmp_path, remote=Remote(base_url=url)), "openai-compatible", KeyPlaces({}))


def test_a_compatible_server_needs_a_url(tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="no URL is configured"):
        resolve_endpoint(configured(tmp_path), "openai-compatible", KeyPlaces({}))


def endpoint(url: str | None) -> Endpoint:
    return Endpoint(provider="p", base_url=url, api_key=Secret(KEY), headers={}, timeout_seconds=1)


def test_the_fingerprint_tells_endpoints_apart_and_hides_user_path_and_query() -> None:
    plain = endpoint("https://host.example/v1").fingerprint

    assert plain == endpoint(f"https://user:{KEY}@host.example/v1/?key={KEY}").fingerprint
    assert plain.startswith("https://host.example/")
    assert (
        len(
            {
                plain,
                endpoint("https://host.example/v2").fingerprint,
                endpoint("https://host.example:444/v1").fingerprint,
            }
        )
        == 3
    )
    assert endpoint("http://[::1]:8000").fingerprint == "http://[::1]:8000"
    assert endpoint(None).fingerprint == ""


def test_an_endpoint_shows_no_key() -> None:
    assert KEY not in repr(endpoint("http://host"))


@pytest.mark.parametrize(
    "text",
    [
        f"key {KEY} refused",
        "Incorrect API key: sk-proj-abcdefghij0123456789",
        "https://host/v1beta/models?key=AIzaSyA0123456789abcdefghijklmn&alt=json",
        "Authorization: Bearer abcdefgh12345678",
    ],
)
def test_messages_are_scrubbed(text: str) -> None:
    shown = scrub(text, (KEY,))

    assert "***" in shown
    assert not any(secret in shown for secret in (KEY, "sk-proj-abc", "AIzaSyA0", "abcdefgh12345678"))


def test_a_long_message_is_one_short_line() -> None:
    shown = scrub("<html>\n" + "word " * 200)

    assert len(shown) == 300
    assert "\n" not in shown
