"""`make demo-sync`: two machines keep one memory over a bare repository, without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Let a laptop and a desktop write to the same notes, sync, and forget."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        subprocess.run(["git", "init", "--quiet", "--bare", str(folder / "remote.git")], check=True)
        for name in ("laptop", "desktop"):
            (folder / name).mkdir()
        _run(folder, "laptop", "add", "--longterm", "The boat is in the harbour of Thun.")
        for name in ("laptop", "desktop"):
            _run(folder, name, "sync", "init", str(folder / "remote.git"))
        _tell("Both write to the same notes, and neither waits for the other.")
        _run(folder, "laptop", "add", "--longterm", "The mast was mended in May.")
        _run(folder, "desktop", "add", "--longterm", "The sail is with the sailmaker in Spiez.")
        for name in ("laptop", "desktop", "laptop"):
            _run(folder, name, "sync")
        _run(folder, "laptop", "index")
        _run(folder, "laptop", "search", "Where is the sail?", "--max-results", "1")
        _tell("A line that both change stands twice, until somebody chooses.")
        note = folder / "laptop" / "MEMORY.md"
        note.write_text(note.read_text().replace("in May", "in early May"))
        note = folder / "desktop" / "MEMORY.md"
        note.write_text(note.read_text().replace("in May", "in late May"))
        for name in ("laptop", "desktop"):
            _run(folder, name, "sync")
        _run(folder, "desktop", "review")
        _tell("The remote keeps the past until it is purged.")
        _run(folder, "desktop", "sync", "purge")
        _run(folder, "laptop", "sync")
        _run(folder, "laptop", "sync", "status")


def _tell(sentence: str) -> None:
    print(f"\n# {sentence}", flush=True)


def _run(folder: Path, name: str, *words: str) -> None:
    print(f"{name}$ memory-core {' '.join(word if ' ' not in word else repr(word) for word in words)}", flush=True)
    places = {"MEMORY_CORE_WORKSPACE": str(folder / name), "MEMORY_CORE_STATE_DIR": str(folder / f"{name}-state")}
    environment = {**os.environ, **places, "MEMORY_CORE_PROVIDER": "static", "HOME": str(folder)}
    subprocess.run([sys.executable, "-m", "memory_core", *words], env=environment, check=True)


if __name__ == "__main__":
    main()
