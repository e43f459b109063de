"""The wheel that users install, and the source distribution that it can be built from."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from memory_core.config.settings import SHIPPED_BACKENDS
from tests.command import REPOSITORY


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=REPOSITORY, check=False, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(folder / done.stdout.strip())


def test_the_manifests_ship_as_they_stand_in_the_repository(wheel: zipfile.ZipFile) -> None:
    for name in ("plugin.json", "mcp.json"):
        assert json.loads(wheel.read(f"memory_core/{name}")) == json.loads((REPOSITORY / name).read_bytes())


def test_the_plugin_of_claude_code_ships_whole(wheel: zipfile.ZipFile) -> None:
    plugin = REPOSITORY / "memory_core" / "hosts" / "claude_code" / "plugin"
    files = [path for path in plugin.rglob("*") if path.is_file()]
    assert {".mcp.json", "plugin.json", "hooks.json", "SKILL.md"} == {path.name for path in files}
    for path in files:
        assert wheel.read(path.relative_to(REPOSITORY).as_posix()) == path.read_bytes()


def test_every_module_ships_and_no_test(wheel: zipfile.ZipFile) -> None:
    shipped = {name for name in wheel.namelist() if name.endswith(".py")}
    here = {
        str(path.relative_to(REPOSITORY))
        for package in ("memory_core", "memory_qmd")
        for path in (REPOSITORY / package).rglob("*.py")
    }
    assert shipped == here
    assert {Path(name).parts[0] for name in shipped} == {"memory_core", "memory_qmd"}
    assert {"memory_core/py.typed", "memory_qmd/py.typed"} <= set(wheel.namelist())


def test_the_entry_points_are_the_backends_that_are_found_without_a_scan(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith("/entry_points.txt")]
    text = wheel.read(name).decode()
    for backend, target in SHIPPED_BACKENDS.items():
        assert f"{backend} = {target}" in text
    assert "[memory_core.slots]\nmemory-core = memory_core.plugin:MemorySlot" in text


def test_the_source_distribution_has_all_that_the_wheel_is_made_from_and_the_documentation(tmp_path: Path) -> None:
    build = f"from hatchling.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=REPOSITORY, check=True, capture_output=True, encoding="utf-8"
    )
    with tarfile.open(tmp_path / done.stdout.strip()) as source:
        held = {name.partition("/")[2] for name in source.getnames()}
    pages = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "docs").rglob("*") if path.is_file()}
    assert {"plugin.json", "mcp.json", "README.md", "CONTRIBUTING.md", "Makefile", *pages} <= held


def test_the_source_distribution_holds_what_its_own_tests_read(tmp_path: Path) -> None:
    """Outside of version control a test may read nothing that is not packed."""
    build = f"from hatchling.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=REPOSITORY, check=True, capture_output=True, encoding="utf-8"
    )
    with tarfile.open(tmp_path / done.stdout.strip()) as source:
        held = {name.partition("/")[2] for name in source.getnames()}
    assert {".ci/run", "tests/data/sample/MEMORY.md", "tests/guard/sitecustomize.py", "pyproject.toml"} <= held
    assert not [name for name in held if name.startswith((".venv", ".cache"))]


def test_a_fresh_environment_gets_no_vendors_library(wheel: zipfile.ZipFile) -> None:
    """litellm pins openai, huggingface-hub and filelock, and so downgraded them beside agent frameworks."""
    (name,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    about = message_from_bytes(wheel.read(name))
    assert (about["Name"], about["Requires-Python"]) == ("memory-core-py", ">=3.11")
    needed = about.get_all("Requires-Dist", [])
    core = {re.split(r"[^\w.-]", row)[0] for row in needed if "extra ==" not in row}
    assert core == {
        *(
            "annotated-types",
            "apsw",
            "click",
            "filelock",
            "httpx",
            "jsonschema",
            "markdown-it-py",
            "numpy",
            "pluggy",
            "pydantic",
            "pyjson5",
            "pystemmer",
            "pyyaml",
        ),
        *(
            "rich",
            "ruamel-yaml",
            "sqlite-vec",
            "tenacity",
            "threadpoolctl",
            "tokenizers",
            "tomlkit",
            "tzdata",
            "watchdog",
            "wordllama",
        ),
    }
    assert set(about.get_all("Provides-Extra", [])) == {
        "all",
        "encrypt",
        "inspect",
        "litellm",
        "local",
        "mcp",
        "postgres",
    }
