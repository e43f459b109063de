"""FastMCP's own command line with the entry that `memory-core install fastmcp` writes into the current folder."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.frameworks.conftest import NOTE, read_daily
from tests.frameworks.programs import Program

pytestmark = pytest.mark.skipif(find_spec("fastmcp") is None, reason="make test-hosts installs FastMCP")


def test_it_finds_and_appends(notes: Path, tmp_path: Path) -> None:
    variables = {"MEMORY_CORE_STATE_DIR": str(tmp_path / "state")}
    ours = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    assert "in place in FastMCP" in ours.ask("--workspace", str(notes), "install", "fastmcp")
    fastmcp = Program([Path(sys.executable).with_name("fastmcp")], notes, variables)
    assert "memory_append" in fastmcp.ask("list", "mcp.json")
    assert NOTE in fastmcp.ask("call", "mcp.json", "memory_search", "query=When does the lease of the boat house end?")
    fastmcp.ask("call", "mcp.json", "memory_append", "text=The cat is called Minka.")
    assert "The cat is called Minka." in read_daily(notes)
    ours.ask("uninstall", "fastmcp")
    assert not (notes / "mcp.json").exists()
