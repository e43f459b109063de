"""A backend of somebody else's, built, installed with pip into a scratch environment, and chosen by its name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command import REPOSITORY, SAMPLE_NOTES

PACKAGE = Path(__file__).with_name("third_party")
Search = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the package, and sees ours and what we need."""
    folder = tmp_path_factory.mktemp("third-party")
    home, source = folder / "env", shutil.copytree(PACKAGE, folder / "source")
    _run(sys.executable, "-m", "venv", "--without-pip", str(home))
    python = home / "bin" / "python"
    site = Path(_run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "ours.pth").write_text(f"{REPOSITORY}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    _run(sys.executable, "-m", "pip", "--python", str(python), "install", *offline, str(source))
    return python


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def search(python: Path, workspace: Path, tmp_path: Path) -> Search:
    """`memory-core` in that environment with one configuration."""

    def run(config: dict[str, Any], *arguments: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "host.json5"
        path.write_text(json.dumps(config), encoding="utf-8")
        places = ["--config", str(path), "--workspace", str(workspace), "--state-dir", str(tmp_path / "state")]
        return subprocess.run(
            [python, "-m", "memory_core", *arguments, *places],
            check=False,
            capture_output=True,
            cwd=tmp_path,
            encoding="utf-8",
            env={**os.environ, "MEMORY_CORE_PROVIDER": "none"},
        )

    return run


def test_its_entry_point_is_chosen_by_name(search: Search) -> None:
    config = {"memory": {"backend": "scan"}}
    found = json.loads(search(config, "search", "dog sitter retired teacher", "--json").stdout)
    assert (found["backend"], found["backendFallback"]) == ("scan", None)
    assert found["results"][0]["path"] == "memory/2026-01-10.md"
    assert found["results"][0]["startLine"] == found["results"][0]["endLine"]
    assert search(config, "index").stdout.startswith(f"Indexed {SAMPLE_NOTES} notes")
    status = json.loads(search(config, "status", "--json").stdout)
    assert (status["backend"], status["files"]) == ("scan", SAMPLE_NOTES)


def test_its_own_section_is_validated_by_its_own_model(search: Search) -> None:
    def asked(**section: object) -> subprocess.CompletedProcess[str]:
        return search({"memory": {"backend": "scan", "scan": section}}, "search", "retired teacher", "--json")

    assert json.loads(asked(minWordChars=2).stdout)["results"]
    assert json.loads(asked(minWordChars=40).stdout)["results"] == []
    for section, told in (
        ({"minWordChars": "four"}, "memory.scan.minWordChars: expected a whole number"),
        ({"minWordChars": 0}, "memory.scan.minWordChars: expected at least 1"),
        ({"minWordChar": 2}, 'memory.scan.minWordChar: unknown key; did you mean "minWordChars"?'),
    ):
        wrong = asked(**section)
        assert told in wrong.stderr
        assert wrong.returncode == 2


def test_without_it_builtin_answers_and_says_why(workspace: Path, tmp_path: Path) -> None:
    from memory_core import open_memory

    config = {"memory": {"backend": "scan"}, "agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    with open_memory(config, workspace=workspace, state_dir=tmp_path) as memory:
        found = memory.call_tool("memory_search", {"query": "dog sitter"})
    assert found["backend"] == "builtin"
    assert "no installed package offers it; installed are builtin, postgres, qmd" in found["backendFallback"]["reason"]
