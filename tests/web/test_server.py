"""The server of the page: small while it idles, and nothing is left of it when it has ended."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import psutil

from tests.command import REPOSITORY
from tests.web.page import live, serve

MOST_MB = 90.0
QUESTIONS = (
    "notes",
    "items",
    "activity",
    "changes",
    "versions?path=MEMORY.md",
    "note?path=MEMORY.md",
    "health",
)


def test_a_script_reads_the_link_and_a_memory_that_is_off_is_told(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    off = tmp_path / "off.json5"
    off.write_text('{plugins: {slots: {memory: "none"}}}', encoding="utf-8")
    command = [sys.executable, "-m", "memory_core", "--workspace", str(tmp_path / "ws"), "--config", str(off), "--json"]
    with subprocess.Popen(
        [*command, "--state-dir", str(tmp_path / "state"), "inspect"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            told = process.stderr.readline()
        finally:
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
    assert 'plugins.slots.memory is "none", and the page shows nothing. Set plugins.slots.memory to' in told
    assert json.loads(out)["url"].startswith("http://127.0.0.1:")
    assert process.returncode == 0


def read(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files of a folder, without those of SQLite, which a search may write.

    Whoever only reads a SQLite file leaves an empty log beside it, which its next writer removes.
    """
    found = (file for file in folder.rglob("*") if file.is_file() and not file.name.endswith(("-wal", "-shm")))
    return {
        str(file.relative_to(folder)): b"" if ".sqlite" in file.name or ".lock" in file.name else file.read_bytes()
        for file in found
    }


def test_it_idles_small_and_leaves_nothing_behind(tmp_path: Path) -> None:
    live(tmp_path)
    before = read(tmp_path)
    with serve(tmp_path) as server, httpx.Client(headers=server.headers, timeout=60) as owner:
        process = psutil.Process(server.process.pid)
        owner.get(server.origin).raise_for_status()
        for question in QUESTIONS:
            owner.get(f"{server.origin}/api/{question}").raise_for_status()
        assert process.memory_info().rss / 1e6 < MOST_MB  # make bench measures it after a search, and over 2,500 notes
        owner.get(f"{server.origin}/api/search?q=guitar").raise_for_status()
        assert process.children(recursive=True) == []
        assert {each.laddr.ip for each in process.net_connections(kind="inet")} == {"127.0.0.1"}
    assert read(tmp_path) == before
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(server.origin.rpartition(":")[2]))) != 0
