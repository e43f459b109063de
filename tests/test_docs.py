"""The documentation holds: README code runs, and nothing that a user meets is missing from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

import memory_core
from memory_core import arguments, commands, errors
from memory_core.config import load_config
from memory_core.hookspecs import MemoryBackend
from tests.command import REPOSITORY

README = REPOSITORY / "README.md"


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)


def test_readme_code_runs() -> None:
    document = Sybil(parsers=[PythonCodeBlockParser()]).parse(README)
    examples = list(document.examples())
    assert len(examples) >= 2
    for example in examples:
        example.evaluate()


def test_readme_begins_with_a_complete_example() -> None:
    beginning = "\n".join(README.read_text(encoding="utf-8").splitlines()[:30])
    shown = re.search(r"```console\n\$ memory-core search .*\n(memory/\S+):L\d+-L\d+  0\.\d\d\n    \S", beginning)
    assert shown is not None, "run: make docs"
    assert shown[1] == "memory/2026-03-07.md"


def test_readme_configurations_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    blocks = re.findall(r"```json5\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for number, block in enumerate(blocks):
        config = tmp_path / f"{number}.json5"
        config.write_text(block, encoding="utf-8")
        found = load_config(config).agent("main")
        assert (found.search.query.max_results == 8) == ("maxResults: 8" in block)


@pytest.mark.parametrize(
    "word",
    [
        *(command.name for command in commands.COMMANDS),
        *(name for command in commands.COMMANDS for argument in command.arguments for name in argument.names[:1]),
        *(name for argument in arguments.COMMON for name in argument.names),
        *(name for name in vars(MemoryBackend) if name.startswith("memory_")),
        *(name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)),
        "memory_search",
        "memory_get",
        "memory_core.hookimpl",
        "memory_core.backends",
    ],
)
def test_readme_names_everything_a_user_meets(word: str) -> None:
    readme = README.read_text(encoding="utf-8")
    assert word in readme or word.upper() in readme, "run: make docs"


def test_the_error_tree_is_drawn_as_it_is() -> None:
    """Every error stands in the module's drawing, below its base."""
    drawn: list[tuple[int, str]] = [
        (line.index(found[0]), found[0])
        for line in (errors.__doc__ or "").splitlines()
        if (found := re.search(r"(?<=── )\w+|^MemoryCoreError$", line))
    ]
    bases = {
        name: next((above for column, above in reversed(drawn[:index]) if column < own), "Exception")
        for index, (own, name) in enumerate(drawn)
    }
    real = {
        name: value.__base__.__name__
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.MemoryCoreError) and value.__base__ is not None
    }
    assert bases == real


def test_the_changelog_names_the_version() -> None:
    assert memory_core.__version__ in (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
