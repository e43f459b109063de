"""The cost of starting: a host pays for what it uses, and the command line answers at once."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import memory_core
from tests.command import REPOSITORY

BARE = {**os.environ, "PYTHONPATH": str(REPOSITORY)}  # without the guard of the tests, which costs some time itself
HEAVY = frozenset(
    "apsw httpx jsonschema litellm llama_cpp mcp numpy pydantic rich tokenizers watchdog wordllama".split()  # noqa: SIM905
)


def python(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, check=True, text=True, timeout=60
    )
    return done.stdout


def loaded_by(statement: str) -> set[str]:
    """The top-level packages that a statement loads in a fresh interpreter."""
    return set(python(f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})").split())


@pytest.mark.parametrize(
    "module", ["memory_core", "memory_core.cli.main", "memory_core.cli.app", "memory_core.hookspecs"]
)
def test_nothing_heavy_is_loaded_before_it_is_used(module: str) -> None:
    assert not loaded_by(f"import {module}") & HEAVY


# What a command may not load, because it does nothing with it: packages, and modules of ours by the beginning of their names.
NOT_FOR_THE_VERSION = {
    "click",
    "dataclasses",
    "json",
    "logging",
    "pathlib",
    "memory_core.cli.app",
    "memory_core.errors",
}
NOT_FOR_A_SEARCH = {
    *("asyncio", "ctypes", "httpx", "multiprocessing", "numpy", "rich"),
    *("subprocess", "tokenizers", "watchdog", "wordllama"),
    *("memory_core.hosts.adopt", "memory_core.plugin.flush", "memory_core.hosts", "memory_core.items"),
    *("memory_core.cli.adopt", "memory_core.cli.history", "memory_core.cli.hosts", "memory_core.cli.notes"),
    *("memory_core.embeddings.remote", "memory_core.embeddings.local", "memory_core.embeddings.static"),
    *("memory_core.embeddings.error_mapping", "memory_core.plugin.explaining", "memory_core.sources.redaction"),
}
NOT_FOR_A_START = {
    *("apsw", "asyncio", "filelock", "httpx", "jsonschema", "markdown_it", "numpy", "pydantic", "rich", "tokenizers"),
    *("memory_core.backends.builtin", "memory_core.backends.engine", "memory_core.history"),
    *(
        "memory_core.hosts.install",
        "memory_core.items.items",
        "memory_core.search",
        "memory_core.stores",
        "memory_core.sync",
    ),
}
NOT_FOR_A_TURN = {
    *("apsw", "asyncio", "httpx", "jsonschema", "multiprocessing", "numpy", "rich", "tokenizers", "wordllama"),
    *("memory_core.backends", "memory_core.embeddings", "memory_core.hosts.hooks", "memory_core.hosts.install"),
    *("memory_core.items", "memory_core.plugin", "memory_core.search", "memory_core.stores", "memory_core.sync"),
    *("memory_core.sources.notes", "memory_core.sources.roots", "memory_core.sources.session_logs"),
    *("memory_core.records", "memory_core.text.languages", "memory_core.text.markdown", "memory_core.text.periods"),
}
MOST_MODULES = 500  # of a search by keyword, those of the standard library, pydantic and jsonschema included


def modules_of(*command: str) -> set[str]:
    """The modules that a command loads."""
    script = (
        "import io, sys; from memory_core.cli.main import main; out = sys.stdout; sys.stdout = io.StringIO();"
        f"code = main({command!r}); said = sys.stdout.getvalue(); sys.stdout = out; assert code == 0 and said;"
        "print(*sys.modules)"
    )
    return set(python(script).split())


def among(loaded: set[str], names: set[str]) -> set[str]:
    return {name for name in loaded if any(f"{name}.".startswith(f"{each}.") for each in names)}


def test_the_version_loads_no_command() -> None:
    assert not among(modules_of("--version"), NOT_FOR_THE_VERSION)


def test_a_keyword_search_loads_only_what_it_works_with(tmp_path: Path) -> None:
    """Some of these cost a command 70 to 250 ms."""
    (tmp_path / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")
    config = tmp_path / "config.json5"
    config.write_text("{memorySearch: {provider: 'none', query: {maxResults: 3}}}", encoding="utf-8")
    common = ("--workspace", str(tmp_path), "--config", str(config), "--state-dir", str(tmp_path / "state"))
    modules_of("index", *common)
    loaded = modules_of("search", "fence", "--json", *common)
    assert not among(loaded, NOT_FOR_A_SEARCH)
    assert len(loaded) <= MOST_MODULES


def test_a_search_without_a_file_of_settings_loads_nothing_that_checks_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")
    monkeypatch.setenv("MEMORY_CORE_PROVIDER", "none")
    common = ("--workspace", str(tmp_path), "--state-dir", str(tmp_path / "state"))
    modules_of("index", *common)
    assert not among(modules_of("search", "fence", *common), {"pydantic", "jsonschema"})


def test_a_hook_that_keeps_a_turn_loads_only_what_it_works_with(tmp_path: Path) -> None:
    """The host waits for it at the end of every turn."""
    transcript = tmp_path / "projects" / "s1.jsonl"
    transcript.parent.mkdir()
    said = {"type": "user", "uuid": "1", "message": {"role": "user", "content": "The fence is green."}}
    transcript.write_text(f"{json.dumps(said)}\n", encoding="utf-8")
    config = tmp_path / "config.json5"
    config.write_text("{memorySearch: {items: {capture: {journal: true}}}}", encoding="utf-8")
    # What is new is kept at every event; this one starts no process behind it.
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "transcript_path": str(transcript)}
    script = (
        "import io, os, sys; from memory_core.cli.main import main;"
        f"os.environ['CLAUDE_CONFIG_DIR'] = {str(tmp_path)!r}; sys.stdin = io.StringIO({json.dumps(event)!r});"
        f"assert main(['--config', {str(config)!r}, '--state-dir', {str(tmp_path / 'state')!r}, 'hook']) == 0;"
        "print(*sys.modules)"
    )
    loaded = set(python(script).split())
    assert not among(loaded, NOT_FOR_A_TURN)
    assert "The fence is green." in next((tmp_path / "state").rglob("*.jsonl")).read_text(encoding="utf-8")


def test_a_hook_at_the_start_of_a_session_loads_only_what_it_works_with(tmp_path: Path) -> None:
    """The user waits for it before the first message; here, it has nothing to show."""
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}
    common = ["--workspace", str(tmp_path), "--state-dir", str(tmp_path / "state")]
    script = (
        f"import io, sys; from memory_core.cli.main import main; sys.stdin = io.StringIO({json.dumps(event)!r});"
        f"assert main({[*common, 'hook']!r}) == 0; print(*sys.modules)"
    )
    assert not among(set(python(script).split()), NOT_FOR_A_START)


def processor_seconds(*arguments: str) -> float:
    """Measure a whole Python process, the best of seven, in processor time, because the machine may be busy with more."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, env=BARE, stdout=subprocess.DEVNULL, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(7))


def test_importing_costs_less_than_importing_asyncio() -> None:
    assert processor_seconds("-c", "import memory_core") < processor_seconds("-c", "import asyncio")


def test_the_version_is_answered_at_once() -> None:
    assert python("import memory_core.cli.main; memory_core.cli.main.main(['--version'])").startswith("memory-core ")
    assert processor_seconds("-m", "memory_core", "--version") < processor_seconds("-c", "import asyncio")


def test_public_names_are_sorted_and_resolve() -> None:
    assert list(memory_core.__all__) == sorted(memory_core.__all__)
    for name in memory_core.__all__:
        assert getattr(memory_core, name) is not None
    assert set(memory_core.__all__) <= set(dir(memory_core))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(memory_core, "no_such_name")  # noqa: B009  # mypy would refuse the plain spelling
