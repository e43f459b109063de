"""A host module whose framework is not installed says what to install."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

HOSTS = {
    "adk": ("google", "pip install google-adk"),
    "anthropic_memory": ("anthropic", "pip install anthropic"),
    "hermes": ("agent", "install memory-core-py in the environment of hermes-agent"),
    "langchain": ("langchain", "pip install langchain"),
    "openai_agents": ("agents", "pip install openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pip install pydantic-ai-slim"),
    "strands": ("strands", "pip install strands-agents"),
}


@pytest.mark.parametrize("host", HOSTS)
def test_a_framework_that_is_missing_is_named_with_what_to_install(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, advice = HOSTS[host]
    monkeypatch.setitem(sys.modules, package, None)  # so that it cannot be imported, wherever this runs
    monkeypatch.delitem(sys.modules, f"memory_core.hosts.{host}", raising=False)
    with pytest.raises(ImportError, match=advice):
        importlib.import_module(f"memory_core.hosts.{host}")


def test_converters_load_no_framework() -> None:
    names = "adk, langchain, pydantic_ai, responses, strands"
    script = f"from memory_core.hosts.messages import {names}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=60)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"agents", "google", "langchain", "langchain_core", "openai", "pydantic_ai", "strands"}
