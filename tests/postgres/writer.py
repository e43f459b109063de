"""A process that changes notes and syncs them until it is killed: `python -m tests.postgres.writer FOLDER NAME SEED`.

Revisions of a note are numbered through a locked file of the note. The journal of the process holds a line `begun NOTE REVISION
KIND` before each change of a note, and `synced NOTE REVISION KIND` once a sync after it has succeeded.
"""

from __future__ import annotations

import fcntl
import os
import random
import sys
import time
from pathlib import Path

from memory_core.errors import MemoryCoreError
from tests.postgres.agents import open_agent

NOTES = 50
SHARED = 20  # paragraphs that several notes hold, so that one embedding serves many chunks


def write_text(note: int, revision: int) -> str:
    """Return a note whose heading tells its revision, with one to four paragraphs."""
    parts = [f"Paragraph {(note + revision * each) % SHARED} is about harbours and fences.\n" for each in range(4)]
    return "\n".join([f"# Note {note} revision {revision}\n", *parts[: 1 + revision % 4]])


def change(folder: Path, note: int, dice: random.Random, journal: int) -> tuple[int, str]:
    """Write or delete one note, alone; return its new revision and what was done."""
    with (folder / "revisions" / str(note)).open("a+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.seek(0)
        revision = int(held.read() or 0) + 1
        held.truncate(0)
        held.write(str(revision))
        held.flush()
        kind = "deleted" if dice.random() < 0.25 else "written"
        os.write(journal, f"begun {note} {revision} {kind}\n".encode())
        path = folder / "notes/memory" / f"note-{note:02}.md"
        if kind == "deleted":
            path.unlink(missing_ok=True)
        else:
            draft = folder / "drafts" / f"{os.getpid()}"
            draft.write_text(write_text(note, revision))
            draft.replace(path)
        return revision, kind


def main(folder: Path, name: str, seed: str) -> None:
    """Change and sync, again and again."""
    dsn, schema = (folder / "dsn").read_text().split()
    dice = random.Random(seed)
    journal = os.open(folder / "journals" / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    waiting: list[str] = []
    while True:
        backend = open_agent(folder / "states", name, dsn, schema, workspace=folder / "notes", tenant="shared")
        try:
            while True:
                for _ in range(dice.randint(1, 4)):
                    note = dice.randrange(NOTES)
                    revision, kind = change(folder, note, dice, journal)
                    waiting.append(f"synced {note} {revision} {kind}\n")
                report = backend.memory_sync(False, None)
                if not report.failures and not report.pending:
                    os.write(journal, "".join(waiting).encode())
                    waiting.clear()
        except MemoryCoreError as error:  # the server was killed, or another writer is at work: a new one tries again
            os.write(journal, f"failed {type(error).__name__} {error}\n".encode())
            time.sleep(0.2)
        finally:
            backend.memory_close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
