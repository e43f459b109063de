"""The smallest host works, is short, and is what docs/hosts.md shows."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

from tests.command import REPOSITORY

if TYPE_CHECKING:
    import pytest

HOST = Path(__file__).with_name("minimal_host.py")


def test_it_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Enables the slot, gets schemas, calls both tools, and meets memory turned off; its own asserts tell."""
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setenv("MEMORY_CORE_STATE_DIR", str(tmp_path))
    left = runpy.run_path(str(HOST))
    assert left["refused"]["disabled"] is True


def test_it_is_at_most_forty_lines_and_stands_in_the_documentation() -> None:
    lines = HOST.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40
    code = "\n".join(lines[lines.index("") + 1 :])
    assert f"```python\n{code}\n```" in (REPOSITORY / "docs" / "hosts.md").read_text(encoding="utf-8")
