"""Programs that hosts are, each in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest

from tests.command import Command
from tests.hosts.mcp_server import Server

# As it was before the tests closed the network, for pip alone.
_WITH_NETWORK = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@pytest.fixture(scope="session")
def mcp_client() -> Path:
    """A Python that has the official MCP client and nothing of ours; made once, beside the environment of the tests."""
    home = Path(sys.prefix) / "mcp-client"
    python = home / "bin" / "python"
    with filelock.FileLock(f"{home}.lock"):
        if not _has_client(python):
            _run(sys.executable, "-m", "venv", "--clear", str(home))
            _run(str(python), "-m", "pip", "install", "--quiet", "mcp>=2")
            assert _has_client(python)
    return python


def _has_client(python: Path) -> bool:
    if not python.exists():
        return False
    return (
        subprocess.run([python, "-I", "-c", "import mcp.client.client"], check=False, capture_output=True).returncode
        == 0
    )


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", env=_WITH_NETWORK)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def server(command: Command) -> Iterator[Server]:
    """A server that a test speaks to by hand."""
    with Server(command, "--debug") as server:
        yield server
