"""Packages that look installed: what `pip install` leaves for `importlib.metadata` to find, in a folder on the path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, group: str, entry_points: Mapping[str, str]) -> None:
    """Let one package offer entry points of a group, given as `module:attribute` by name."""
    info = folder / f"{group.replace('.', '_')}_offer-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {group}-offer\nVersion: 1.0\n", encoding="utf-8")
    rows = "\n".join(f"{name} = {target}" for name, target in entry_points.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{rows}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
