"""The questions that pass the default minScore through the real QMD: python -m tests.qmd.thresholds DATA CACHE [search|vsearch].

DATA holds judged conversations (see tests/benchmarks), CACHE is the folder that `install.py` filled. A line is printed for
each conversation: the share of its questions that are answered, and that have a note with evidence among the first three;
the share of nonsense, and of small talk, that is answered. About two minutes each, on two cores.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import cast

from memory_qmd.backend import QmdBackend
from memory_qmd.config import QmdDaemon, QmdLimits, QmdModels, SearchMode
from tests.benchmarks.judged import conversations, load_questions
from tests.benchmarks.nonsense import EVERYDAY_WORDS, SMALL_TALK, nonsense
from tests.qmd.conftest import agent_on, ask, paths
from tests.waiting import eventually

NONSENSE = nonsense(200, EVERYDAY_WORDS)


def open_warm(cache: Path, workspace: Path, scratch: Path, mode: SearchMode) -> QmdBackend:
    """Open a backend, index the workspace and wait for the warm server."""
    backend = agent_on(scratch, workspace, cache / "bin" / "qmd").open(
        search_mode=mode,
        models=QmdModels(embed=str(cache / "all-MiniLM-L6-v2.gguf")),
        daemon=QmdDaemon(enabled=True),
        limits=QmdLimits(timeout_ms=60_000),
    )
    backend.memory_sync(force=False, progress=None)
    backend.memory_start()

    def ready() -> bool:
        ask(backend, EVERYDAY_WORDS[0])
        ask(backend, "Who was it?")
        return backend.memory_status().details["warm server"] == "ready"

    if not eventually(ready, seconds=120):
        sys.exit("the warm server did not get ready")
    return backend


def measure(backend: QmdBackend, folder: Path) -> str:
    """Measure the shares of one conversation, as a line."""
    questions = load_questions(folder)
    found = [paths(ask(backend, question.text)) for question in questions]
    right = [
        bool({path for path, _, _ in question.gold} & set(names[:3]))
        for question, names in zip(questions, found, strict=True)
    ]
    shares = {
        "answered": sum(map(bool, found)) / len(questions),
        "right in three": sum(right) / len(questions),
        "nonsense": sum(bool(paths(ask(backend, text))) for text in NONSENSE) / len(NONSENSE),
        "small talk": sum(bool(paths(ask(backend, text))) for text in SMALL_TALK) / len(SMALL_TALK),
    }
    return f"{folder.name:10} {len(questions):4} questions   " + "   ".join(f"{k} {v:.3f}" for k, v in shares.items())


def main() -> None:
    """Print a line a conversation."""
    data, cache = Path(sys.argv[1]), Path(sys.argv[2])
    mode = cast("SearchMode", sys.argv[3] if len(sys.argv) > 3 else "vsearch")
    for folder in conversations(data):
        with tempfile.TemporaryDirectory() as scratch:
            workspace = Path(shutil.copytree(folder, Path(scratch) / "workspace"))
            backend = open_warm(cache, workspace, Path(scratch), mode)
            try:
                print(measure(backend, folder), flush=True)
            finally:
                backend.memory_close()


if __name__ == "__main__":
    main()
