"""Without the extra `postgres`, nothing imports psycopg, and the backend says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import importlib.abc, importlib.machinery, sys

class NoDriver(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"psycopg", "psycopg_binary"}:
            raise ModuleNotFoundError(name)

import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "psycopg" else real(name, package)
sys.meta_path.insert(0, NoDriver())
import memory_core, memory_core.cli.app, memory_core.cli.postgres
from memory_core.plugin import MemorySlot
memory = memory_core.open_memory({"memory": {"backend": "postgres"}}, workspace=sys.argv[1], state_dir=sys.argv[2])
answer = memory.call_tool("memory_search", {"query": "fence"})
print(answer["backend"], answer["backendFallback"]["reason"])
memory.close()
assert "psycopg" not in sys.modules
"""


def test_builtin_answers_and_the_reason_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/MEMORY.md").write_text("The fence is green.\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "notes"), str(tmp_path / "state")],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("builtin ")
    assert "psycopg is not installed" in done.stdout
