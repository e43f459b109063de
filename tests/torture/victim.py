"""A process that indexes, appends and searches until it is killed: `python -m tests.torture.victim WORKSPACE STATE NAME`.

Says on standard output what it is about to do, and after each append which paragraph is on the disk.
"""

from __future__ import annotations

import os
import random
import sys
import zlib
from pathlib import Path
from typing import Any

import memory_core
from memory_core import CallContext, MemoryCoreError

CONFIG: dict[str, Any] = {
    "memorySearch": {
        "provider": "static",
        "chunking": {"tokens": 60, "overlap": 12},
        "sync": {"watch": False, "onSearchBudgetMs": 5000},
    }
}
CALLER = CallContext(session_key="agent:main:main", chat_type="direct")


def paragraph(word: str, size: int) -> str:
    """A paragraph that tells whether it is whole."""
    body = f"Paragraph {word}: " + "Ünï " * size
    return f"{body}end {zlib.crc32(body.encode()):08x}."


def is_whole(text: str) -> bool:
    """Return True if a paragraph is a whole one of `paragraph`."""
    body, _, end = text.rpartition("end ")
    return text.startswith("Paragraph ") and end == f"{zlib.crc32(body.encode()):08x}."


def word_of(text: str) -> str:
    """The word of a paragraph."""
    return text.removeprefix("Paragraph ").partition(":")[0]


def main() -> None:
    """Work for ever."""
    workspace, state, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    dice = random.Random(name)

    def tell(line: str) -> None:
        os.write(1, f"{line}\n".encode())

    with memory_core.open_memory(CONFIG, workspace=workspace, state_dir=state) as memory:
        memory.tool_schemas()
        tell("ready")
        for number in range(10**6):
            what = dice.choices(["append", "search", "index", "rebuild"], [6, 2, 2, 1])[0]
            tell(what)
            if what == "append":
                word = f"{name}n{number}"
                text = paragraph(word, dice.choice([3, 30, 3000, 9000]))
                answer = memory.call_tool("memory_append", {"text": text}, CALLER)
                tell(f"{'appended' if answer.get('status') == 'appended' else 'refused ' + str(answer)} {word}")
            elif what == "search":
                answer = memory.call_tool("memory_search", {"query": "copperkettle"}, CALLER)
                if answer.get("unavailable"):
                    tell(f"down {answer}")
            else:
                _edit(workspace / "memory" / "topics", dice)
                try:
                    memory.sync(force=what == "rebuild")
                except MemoryCoreError as error:
                    tell(f"busy {error!r}")


def _edit(folder: Path, dice: random.Random) -> None:
    """Give a note new text by renaming a whole one over it, so that there is something to index."""
    file = folder / f"edited-{dice.randrange(5)}.md"
    draft = file.with_suffix(f".draft{os.getpid()}")
    lines = (
        f"- The {dice.choice(('dentist', 'harbour', 'fence'))} on shelf {dice.randrange(10**6)}." for _ in range(60)
    )
    draft.write_text("# Edited\n\n" + "\n".join(lines) + "\n")
    draft.replace(file)


if __name__ == "__main__":
    main()
