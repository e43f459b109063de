"""Notes leave the machine only with consent: a key in the environment is none inside a host, and elsewhere one line says so."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memory_core
from memory_core.config.settings import Remote
from memory_core.embeddings.credentials import KeyPlaces, resolve_endpoint
from memory_core.embeddings.registry import choose_provider
from memory_core.plugin import MemorySlot
from memory_core.records import KeySources
from tests.servers.clients import agent_config
from tests.servers.openai import OpenAIServer

PATIENT = {"sync": {"onSearchBudgetMs": 30_000}, "query": {"embedTimeoutMs": 30_000}}
ELSEWHERE = "http://127.0.0.2:9/v1"  # no alias of this machine that we know, and nobody listens


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimensions=1536) as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("The kettle is in the kitchen.\n")
    return tmp_path / "notes"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch, server: OpenAIServer) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-placeholder")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    return "sk-placeholder"


@pytest.mark.usefixtures("key")
def test_a_slot_sends_nothing_for_a_key_in_the_environment(
    tmp_path: Path, workspace: Path, server: OpenAIServer
) -> None:
    with MemorySlot({"memorySearch": PATIENT}, workspace=workspace, state_dir=tmp_path / "state") as slot:
        answer = slot.call_tool("memory_search", {"query": "Where is the kettle?"})
    assert answer["provider"] == "static"
    assert server.requests == []


def test_a_slot_uses_a_provider_that_is_named(tmp_path: Path, workspace: Path, server: OpenAIServer, key: str) -> None:
    config = {"memorySearch": {"provider": "openai", **PATIENT}}
    with MemorySlot(config, workspace=workspace, state_dir=tmp_path / "state") as slot:
        answer = slot.call_tool("memory_search", {"query": "Where is the kettle?"})
    assert answer["provider"] == "openai"
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"


def test_a_slot_uses_a_key_that_the_host_offers(
    tmp_path: Path, workspace: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    def offer(provider: str) -> str | None:
        return "sk-of-the-host" if provider == "openai" else None

    config = {"memorySearch": PATIENT}
    with MemorySlot(config, workspace=workspace, state_dir=tmp_path / "state", resolve_api_key=offer) as slot:
        assert slot.call_tool("memory_search", {"query": "kettle"})["provider"] == "openai"
    assert server.requests[0].headers["authorization"] == "Bearer sk-of-the-host"


@pytest.mark.usefixtures("key")
def test_outside_a_host_the_vendors_base_url_is_honoured(
    tmp_path: Path, workspace: Path, server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    with memory_core.open_memory(workspace=workspace, state_dir=tmp_path / "state") as memory:
        assert memory.sync().embedded == 1
    assert server.batches()[0] == ["The kettle is in the kitchen."]
    assert "are sent to" not in caplog.text  # it is this machine


def test_one_line_says_where_notes_go_before_they_go(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-placeholder")
    monkeypatch.setenv("OPENAI_BASE_URL", ELSEWHERE)
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        with memory_core.open_memory(workspace=workspace, state_dir=tmp_path / "state") as memory:
            memory.sync()
    lines = [record.getMessage() for record in caplog.records if "are sent to" in record.getMessage()]
    assert lines == [
        f"the notes in {workspace} are sent to openai at http://127.0.0.2:9 to be embedded; to keep them on this machine, "
        'set memorySearch.provider to "static" (in the environment: MEMORY_CORE_PROVIDER=static)'
    ]


def test_that_line_names_every_folder_also_one_that_comes_later(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-placeholder")
    monkeypatch.setenv("OPENAI_BASE_URL", ELSEWHERE)
    caplog.set_level(logging.WARNING)
    extra: list[str] = []
    for name in ("vault", "manuals"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lamp.md").write_text(f"The lamp of the {name} is green.\n")
        extra.append(str(tmp_path / name))
        for _ in range(2):
            config = {"memorySearch": {"extraPaths": extra}}
            with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "state") as memory:
                memory.sync()
    lines = [record.getMessage().split(" are sent to ")[0] for record in caplog.records if "are sent to" in record.msg]
    assert lines == [
        f"the notes in {workspace}, {tmp_path / 'vault'}",
        f"the notes in {workspace}, {tmp_path / 'vault'}, {tmp_path / 'manuals'}",
    ]


def test_the_command_prints_that_line(tmp_path: Path, workspace: Path) -> None:
    environ = {**os.environ, "OPENAI_API_KEY": "sk-placeholder", "OPENAI_BASE_URL": ELSEWHERE, "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "memory_core", "index", "--workspace", str(workspace)]
    for times in (1, 0):
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
        assert done.stderr.count("are sent to openai at http://127.0.0.2:9") == times, done.stderr


VARIABLES = [
    ("openai", "OPENAI_BASE_URL", "http://10.0.0.1:8000/v1/", "http://10.0.0.1:8000/v1"),
    ("gemini", "GOOGLE_GEMINI_BASE_URL", "https://proxy.example", "https://proxy.example/v1beta"),
    ("voyage", "VOYAGE_API_BASE", "https://proxy.example/v1", "https://proxy.example/v1"),
    ("mistral", "MISTRAL_BASE_URL", "https://proxy.example/v1", "https://proxy.example/v1"),
    ("openrouter", "OPENROUTER_BASE_URL", "https://proxy.example/v1", "https://proxy.example/v1"),
    ("ollama", "OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434/v1"),
    ("ollama", "OLLAMA_HOST", "box:8080", "http://box:8080/v1"),
    ("ollama", "OLLAMA_HOST", "https://box.example", "https://box.example/v1"),
    ("ollama", "OLLAMA_HOST", "http://box", "http://box:11434/v1"),
]


@pytest.mark.parametrize(("provider", "variable", "value", "url"), VARIABLES)
def test_vendors_base_urls(provider: str, variable: str, value: str, url: str, tmp_path: Path) -> None:
    environ = {variable: value, f"{provider.upper()}_API_KEY": "k"}
    found = resolve_endpoint(agent_config(tmp_path, provider), provider, KeyPlaces(environ))
    assert found.base_url == url
    configured = agent_config(tmp_path, provider, remote=Remote(base_url="https://mine.example/v1"))
    found = resolve_endpoint(configured, provider, KeyPlaces(environ))
    assert found.base_url == "https://mine.example/v1"


def test_auto_takes_no_key_of_the_environment_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    choice = choose_provider(agent_config(tmp_path, "auto"), KeySources())
    assert choice.provider == "static"
    assert "offered by the host" in choice.reason
