"""A model belongs to the provider it was set beside: another provider takes its own default, and a warning says so."""

from __future__ import annotations

from typing import Any

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.config.load import load_config
from memory_core.config.resolution import WITHOUT_MODEL
from memory_core.config.settings import SearchSettings
from memory_core.embeddings.models import PROVIDERS
from memory_core.embeddings.registry import choose_provider, open_provider
from memory_core.records import KeySources
from tests.servers.clients import agent_config

OPENAI = "text-embedding-3-large"


def resolved(defaults: dict[str, Any], agent: dict[str, Any] | None = None, **environ: str) -> AgentConfig:
    document = {
        "agents": {"defaults": {"memorySearch": defaults}, "list": [{"id": "main", "memorySearch": agent or {}}]}
    }
    return load_config(document, environ={"HOME": "/nowhere", **environ}).agent()


@pytest.mark.parametrize(
    ("defaults", "agent", "environ", "model"),
    [
        ({"provider": "openai", "model": OPENAI}, {}, {}, OPENAI),
        ({"provider": "openai", "model": OPENAI}, {"provider": "openai"}, {}, OPENAI),
        ({"provider": "openai", "model": OPENAI}, {"provider": "static"}, {}, None),
        ({"provider": "openai", "model": OPENAI}, {"provider": "gemini"}, {}, None),
        ({"provider": "openai", "model": OPENAI}, {"provider": "gemini", "model": "m"}, {}, "m"),
        ({"provider": "openai", "model": OPENAI}, {"model": "m"}, {}, "m"),
        ({"model": OPENAI}, {"provider": "static"}, {}, None),
        ({"model": "m"}, {"provider": "openai-compatible"}, {}, "m"),
        ({"model": OPENAI}, {}, {}, OPENAI),
        ({"provider": "openai", "model": OPENAI}, {}, {"MEMORY_CORE_PROVIDER": "static"}, None),
        ({"provider": "openai", "model": OPENAI}, {"provider": "gemini"}, {"MEMORY_CORE_PROVIDER": "openai"}, OPENAI),
        ({"provider": "openai"}, {}, {"MEMORY_CORE_MODEL": OPENAI}, OPENAI),
    ],
)
def test_a_model_stays_with_its_provider(
    defaults: dict[str, Any], agent: dict[str, Any], environ: dict[str, str], model: str | None
) -> None:
    config = resolved(defaults, agent, **environ)
    assert config.search.model == model
    told = [warning for warning in config.warnings if "belongs to another provider" in warning]
    assert bool(told) == (model is None)


def test_the_warning_names_both_keys() -> None:
    config = resolved({"provider": "openai", "model": OPENAI}, {"provider": "static"})
    assert config.warnings == (
        "agents.defaults.memorySearch.model is left out: it belongs to another provider than the one that"
        " agents.list[0].memorySearch.provider names",
    )


def test_a_key_and_an_endpoint_never_reach_another_provider() -> None:
    remote = {"apiKey": "sk-openai", "baseUrl": "https://a.example", "headers": {"X": "y"}, "timeoutSeconds": 5}
    config = resolved({"provider": "openai", "remote": remote}, {"provider": "gemini"})
    assert (config.search.remote.api_key, config.search.remote.base_url) == (None, None)
    assert config.search.remote.headers == {}
    assert config.search.remote.timeout_seconds == 5
    assert not any("sk-openai" in warning for warning in config.warnings)
    config = resolved({"remote": remote}, {"provider": "gemini"})
    assert config.search.remote.base_url == "https://a.example"


@pytest.mark.parametrize(
    ("key", "provider"), [("OPENAI_API_KEY", "openai"), ("GEMINI_API_KEY", "gemini"), ("", "static")]
)
def test_auto_asks_no_provider_for_the_model_of_another(key: str, provider: str, tmp_path: Any) -> None:
    choice = choose_provider(agent_config(tmp_path, "auto", model=OPENAI), KeySources(auto_environ={key: "k"}))
    assert (choice.provider, choice.model) == (provider, OPENAI if provider == "openai" else None)
    assert ("takes its default" in choice.reason) == (choice.model is None)
    own = choose_provider(agent_config(tmp_path, "auto", model="m"), KeySources(auto_environ={"OPENAI_API_KEY": "k"}))
    assert own.model == "m"


def test_auto_opens_static_whatever_model_is_set(tmp_path: Any) -> None:
    provider = open_provider(agent_config(tmp_path, "auto", model=OPENAI), KeySources())
    assert provider is not None
    assert provider.space.provider == "static"


def test_providers_without_a_model_are_those_of_the_table() -> None:
    assert {name for name, row in PROVIDERS.items() if row.default_model is None} == WITHOUT_MODEL
    assert SearchSettings().provider == "auto"
