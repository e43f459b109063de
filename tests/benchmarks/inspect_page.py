"""The page of `memory-core inspect` over 2,500 notes: the server's time for the first paint, and its memory when idle.

The time is that of the server's processor, so that a busy machine does not change it. Fails above the limits.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil

from memory_core.hosts.serving import REST_SECONDS
from tests.command import Command
from tests.waiting import eventually
from tests.web.page import Server, serve

NOTES = 2_500
MOST_SECONDS = 0.3  # of processor time, from the link to all that the first paint shows
MOST_MB = 90.0
STILL_SECONDS = 2.0  # in which its memory does not change, when it rests
FIRST = (
    "",
    "static/inspect.css",
    *(f"static/{name}.js" for name in ["inspect", "calendar", "common", "facts", "note", "past", "search"]),
)


def write_notes(folder: Path) -> None:
    """Write the notes into `folder/ws`."""
    for number in range(NOTES):
        year, month, day = 2019 + number // 336, 1 + number % 336 // 28, 1 + number % 28
        note = folder / f"ws/memory/{year}-{month:02d}-{day:02d}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(
            f"# Day {number}\n\n- The heron {number} stood at the pond.\n- The boat is green.\n", encoding="utf-8"
        )


def paint(owner: httpx.Client, origin: str) -> None:
    """Ask for all that the first paint needs."""
    for path in FIRST:
        owner.get(f"{origin}/{path}").raise_for_status()
    notes = owner.get(f"{origin}/api/notes").raise_for_status().json()["notes"]
    assert len(notes) == NOTES


def measure_seconds(server: Server) -> float:
    """Return the processor time that the server has taken so far."""
    times = psutil.Process(server.process.pid).cpu_times()
    return float(times.user + times.system)


def measure_mb(server: Server) -> float:
    """Return the resident memory of the server."""
    return float(psutil.Process(server.process.pid).memory_info().rss / 1e6)


def measure_settled_mb(server: Server) -> float:
    """Return the resident memory of the server once it stays as it is: closing a memory gives it back piece by piece."""
    before = 0.0
    while (now := measure_mb(server)) != before:
        before = now
        time.sleep(STILL_SECONDS)
    return now


def main() -> int:
    """Measure, print, and return 1 above a limit."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_notes(folder)
        Command(folder / "ws", folder / "state")("index", timeout_seconds=600)
        with serve(folder) as server, httpx.Client(headers=server.headers, timeout=120) as owner:
            begun = measure_seconds(server)
            owner.get(server.link)
            paint(owner, server.origin)
            first = measure_seconds(server) - begun
            idle = measure_mb(server)
            paint(owner, server.origin)
            second = measure_seconds(server) - begun - first
            for question in ("Where did the heron stand?", "green boat", "heron 1200"):
                owner.get(f"{server.origin}/api/search", params={"q": question}).raise_for_status()
            searched = measure_mb(server)
            eventually(lambda: measure_mb(server) < searched - 5, seconds=REST_SECONDS + 30)
            rested = measure_settled_mb(server)
    print(f"inspect, {NOTES:,} notes: first paint {first * 1000:.0f} ms of server time, again {second * 1000:.0f} ms")
    print(
        f"inspect, {NOTES:,} notes: {idle:.0f} MB resident after it, {searched:.0f} MB after searches, {rested:.0f} MB at rest"
    )
    return int(first > MOST_SECONDS or max(idle, rested) > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
