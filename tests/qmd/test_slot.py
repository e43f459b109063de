"""QMD as a host meets it, through the slot: a warm server, its death, QMD's own, and the way back."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from tests.qmd.conftest import WARM_SECONDS, QmdAgent
from tests.waiting import eventually

DIRECT = CallContext(session_key="agent:main:telegram:direct:1", chat_type="direct")
GROUP = CallContext(session_key="agent:main:telegram:group:1", chat_type="group")


def servers(agent: QmdAgent) -> list[int]:
    """The process ids of warm servers in this agent's home."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                home = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"mcp" in words and f"INDEX_PATH={agent.home / 'index.sqlite'}".encode() in home:
                found.append(int(entry.name))
    return found


def end_servers(agent: QmdAgent) -> None:
    for pid in servers(agent):
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not servers(agent))


@pytest.mark.parametrize("which", ["fake", "real"])
def test_qmd_through_the_slot(request: pytest.FixtureRequest, which: str, tmp_path: Path) -> None:
    agent: QmdAgent = request.getfixturevalue("agent" if which == "fake" else "real")
    launcher = tmp_path / "qmd-launcher"
    works = f'#!/bin/sh\nexec {shlex.quote(agent.settings.command)} "$@"\n'
    launcher.write_text(works)
    launcher.chmod(0o755)
    agent.note("memory/garden.md", "The hedgehog sleeps under the shed.\n")
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "paint.md").write_text("The wallpaper is teal.\n")
    config = {
        "memory": {
            "backend": "qmd",
            "qmd": {
                "command": str(launcher),
                "daemon": {"enabled": True},
                "limits": {"timeoutMs": 60_000},
                "paths": [{"path": str(tmp_path / "team")}],
            },
        },
        "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"onSearchBudgetMs": 60_000}}}},
    }
    with MemorySlot(config, workspace=agent.workspace, state_dir=agent.config.state_dir) as slot:

        def search(query: str, context: CallContext = DIRECT) -> dict[str, Any]:
            return slot.call_tool("memory_search", {"query": query}, context)

        def served() -> tuple[str, list[str]]:
            result = search("hedgehog")
            assert all("citation" in hit and "Source:" not in hit["snippet"] for hit in result["results"])
            return result["backend"], [hit["path"] for hit in result["results"]]

        def warm() -> bool:
            assert served() == ("qmd", ["memory/garden.md"])
            return slot.status().details["warm server"] == "ready"

        assert eventually(warm, seconds=WARM_SECONDS)
        assert search("hedgehog", GROUP)["denied"]
        end_servers(agent)
        assert served() == ("qmd", ["memory/garden.md"])  # a process of its own answers
        assert str(slot.status().details["warm server"]).startswith("the warm server ")  # failed, or ended

        launcher.write_text("#!/bin/sh\nexit 1\n")
        for _ in range(5):
            assert served() == ("builtin", ["memory/garden.md"])
        fallback = search("wallpaper")["backendFallback"]
        assert (fallback["from"], fallback["to"]) == ("qmd", "builtin")
        assert "status 1" in fallback["reason"]
        status = slot.status()
        assert status.backend_fallback is not None
        assert status.details["breaker"] == "open"
        (hit,) = search("wallpaper")["results"]
        assert hit["path"] == "qmd/team-main/paint.md"
        got = slot.call_tool("memory_get", {"path": hit["path"]}, DIRECT)
        assert got["text"] == "The wallpaper is teal."
        assert search("hedgehog", GROUP)["denied"]

        launcher.write_text(works)
        assert eventually(lambda: served()[0] == "qmd", seconds=WARM_SECONDS)
        assert slot.status().backend_fallback is None
    assert servers(agent) == []
