"""A package that is made lazy is what it was for whoever asks it for a name, and runs nothing before."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory_core.hosts.mcp.lazy_packages import leave_out, make_lazy
from tests.command import REPOSITORY


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a package with a part, `part`, and another in it, `inner.part`; each `__init__` writes down that it ran."""
    name = "made_for_this_test"
    for folder in (tmp_path / name, tmp_path / name / "inner"):
        folder.mkdir()
        (folder / "__init__.py").write_text(
            "import sys\nsys.ran = [*getattr(sys, 'ran', []), __name__]\nfrom .part import VALUE\nHEAVY = VALUE + 1\n",
            encoding="utf-8",
        )
        (folder / "part.py").write_text("VALUE = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "ran", [], raising=False)
    before = set(sys.modules)
    yield name
    for each in set(sys.modules) - before:
        if each.startswith(name):
            del sys.modules[each]


def ran() -> list[str]:
    found: list[str] = getattr(sys, "ran")  # noqa: B009 -- the packages make it
    return found


def test_parts_are_imported_without_what_the_package_runs(package: str) -> None:
    make_lazy(package, f"{package}.inner")
    assert importlib.import_module(f"{package}.part").VALUE == 1
    assert importlib.import_module(f"{package}.inner.part").VALUE == 1
    assert ran() == []


def test_the_first_missing_name_runs_it_once(package: str) -> None:
    make_lazy(package, f"{package}.inner")
    made = importlib.import_module(package)
    assert made.HEAVY == 2
    assert made.HEAVY == 2
    assert ran() == [package]
    assert made.inner.HEAVY == 2
    assert ran() == [package, f"{package}.inner"]
    with pytest.raises(AttributeError, match="nothing"):
        _ = made.nothing
    assert ran() == [package, f"{package}.inner"]


def test_a_name_that_is_imported_from_it_runs_it(package: str) -> None:
    make_lazy(package)
    space: dict[str, object] = {}
    exec(f"from {package} import HEAVY", space)
    assert space["HEAVY"] == 2
    assert ran() == [package]


def test_what_is_imported_already_stays(package: str) -> None:
    made = importlib.import_module(package)
    make_lazy(package)
    assert sys.modules[package] is made
    assert ran() == [package]


def test_a_package_that_fails_fails_again(package: str, tmp_path: Path) -> None:
    (tmp_path / package / "__init__.py").write_text(
        "import sys\nsys.ran += ['it']\nraise RuntimeError('no')\n", "utf-8"
    )
    make_lazy(package)
    made = importlib.import_module(package)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no"):
            _ = made.HEAVY
    assert ran() == ["it", "it"]


def test_threads_that_ask_at_once_all_find_the_name(package: str, tmp_path: Path) -> None:
    file = tmp_path / package / "__init__.py"
    file.write_text("import time\ntime.sleep(0.2)\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    make_lazy(package)
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(lambda _: importlib.import_module(package).HEAVY, range(4))]
    assert found == [2] * 4
    assert ran() == [package]


def test_what_its_own_init_asks_too_early_is_missing(package: str, tmp_path: Path) -> None:
    (tmp_path / package / "__init__.py").write_text(
        f"import {package}\nEARLY = hasattr({package}, 'LATE')\nLATE = 1\n", encoding="utf-8"
    )
    make_lazy(package)
    made = importlib.import_module(package)
    assert (made.LATE, made.EARLY) == (1, False)


def test_a_package_that_is_not_installed_is_said_so() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        make_lazy("no_such_package")


def test_a_module_is_left_out_inside_of_the_block_alone(package: str) -> None:
    name = f"{package}.part"
    with leave_out(name), pytest.raises(ModuleNotFoundError, match=package):
        importlib.import_module(name)
    part = importlib.import_module(name)
    with leave_out(name):
        assert importlib.import_module(name) is part
    assert sys.modules[name] is part


def test_the_server_loads_neither_a_client_nor_cryptography_nor_a_web_server() -> None:
    script = (
        "import sys; from memory_core.hosts.mcp.lazy_packages import leave_out, make_lazy; make_lazy('mcp', 'mcp.server')\n"
        "with leave_out('uvicorn.main'): import memory_core.hosts.mcp.server\n"
        "assert not {'cryptography', 'mcp.client', 'mcp.server.mcpserver', 'click'} & {*sys.modules};"
        "import uvicorn; assert uvicorn.Server;"
        "from mcp import ClientSession; from mcp.server import MCPServer; print(ClientSession.__name__, MCPServer.__name__)"
    )
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=60, cwd=REPOSITORY
    )
    assert said.stdout.split() == ["ClientSession", "MCPServer"]
