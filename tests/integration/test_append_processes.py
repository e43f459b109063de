"""Real processes that append to one note and record in one sessions.json at the same time, and are killed meanwhile."""

from __future__ import annotations

import json
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory_core.atomic import OPENS_BELOW
from memory_core.sources import writer
from memory_core.sources.sessions_json import read
from tests.waiting import HANG_GUARD_SECONDS, eventually

NOTE = "memory/2026-11-21.md"
PROCESSES, PARAGRAPHS = 8, 100
KILLS = 40

APPENDER = """
import sys
from pathlib import Path
from memory_core.sources import writer as notes
base, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    texts = (f"{name} wrote paragraph {number}.", f"Shared paragraph {number}.")
    notes.append("\\n\\n".join(texts), path="memory/2026-11-21.md", workspace=base / "ws", state_dir=base / "state",
                 lock_timeout_seconds=120)
"""

# Says after each append which paragraph is on the disk; the last one it says nothing of may or may not be.
VICTIM = """
import sys
from pathlib import Path
from memory_core.sources import writer as notes
base, trial = Path(sys.argv[1]), sys.argv[2]
for number in range(10**6):
    text = f"Trial {trial}, paragraph {number}: " + "Ünï " * (5 + 3001 * (number % 4)) + "end."
    notes.append(text, path="memory/2026-11-%02d.md" % (1 + number % 3), workspace=base / "ws", state_dir=base / "state")
    print(number, flush=True)
"""

# Rewrites or removes a note to which a shell, which has it open, appends just before or after; is killed before the n-th call of
# the system from then on, for each n; and tells what the next start makes of that. "again": n is 0, and that start is killed so.
REWRITER = """
import fcntl, json, os, signal, sys
import filelock  # else it were imported, call by call, in each child
from pathlib import Path
from memory_core.sources import writer as notes
base, when, new, again = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
note, folders = base / "ws/MEMORY.md", {"workspace": base / "ws", "state_dir": base / "state"}
real, left = notes._Rewriter._place, None
os.fsync = id  # a kill needs none, and a busy disk takes its time

def count(frame, event, called):
    global left
    if event == "c_call" and getattr(called, "__module__", "") == "posix" and left is not None:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

def run(work, *arguments):
    child = os.fork()
    if child == 0:
        sys.setprofile(count)
        work(*arguments)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

def rewrite(step):
    shell = os.open(note, os.O_WRONLY | os.O_APPEND)
    def append():
        global left
        if left is None:
            os.write(shell, b"from a shell\\n")
            os.close(shell)
            left = step
    def place(*arguments):
        if when == "before":
            append()
        real(*arguments)
        append()
    notes._Rewriter._place = place
    notes.rewrite("MEMORY.md", lambda data: new.encode() or None, **folders)

def finish(step):
    global left
    left = step
    notes.finish_interrupted(**folders)

ended, step = False, 0
while not ended:
    note.write_bytes(b"first\\n")
    ended = run(rewrite, step) or again == "again"
    at = 0
    while again == "again" and not run(finish, at):
        at += 1
    notes.finish_interrupted(**folders)
    print(json.dumps([note.read_text(), os.listdir(base / "ws")]))
    step += 1
"""

RECORDER = """
import sys
from pathlib import Path
from memory_core.sources.sessions_json import record_flush, update
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
def counted(entry):
    entry["count"] = entry.get("count", 0) + 1
for number in range(count):
    update(path, "shared", counted, lock_timeout_seconds=120)
    record_flush(path, name, compaction_count=number, at_ms=number)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_together(script: str, arguments: list[tuple[object, ...]]) -> None:
    """Start all, let them go at once when all are ready, and wait until all are done."""
    children = [start(script, *one) for one in arguments]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.communicate("go\n", timeout=300)
        assert [child.returncode for child in children] == [0] * len(children)
    finally:
        for child in children:
            child.kill()
            child.communicate()


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()


def test_eight_processes_lose_and_duplicate_nothing(tmp_path: Path) -> None:
    run_together(APPENDER, [(tmp_path, f"Writer {name}", PARAGRAPHS) for name in range(PROCESSES)])

    head, *paragraphs = (tmp_path / "ws" / NOTE).read_text().removesuffix("\n").split("\n\n")
    expected = [f"Writer {name} wrote paragraph {number}." for name in range(PROCESSES) for number in range(PARAGRAPHS)]
    assert head == "# 2026-11-21"
    assert Counter(paragraphs) == Counter(expected + [f"Shared paragraph {number}." for number in range(PARAGRAPHS)])
    for name in range(PROCESSES):
        own = [paragraph for paragraph in paragraphs if paragraph.startswith(f"Writer {name} ")]
        assert own == expected[name * PARAGRAPHS : (name + 1) * PARAGRAPHS]
    assert [path.name for path in (tmp_path / "ws" / "memory").iterdir()] == ["2026-11-21.md"]


def test_a_killed_writer_leaves_every_note_whole(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    for trial in range(KILLS):
        acknowledged |= {f"Trial {trial}, paragraph {number}" for number in _kill_one(tmp_path, trial)}
        writer.finish_interrupted(
            workspace=tmp_path / "ws", state_dir=tmp_path / "state", lock_timeout_seconds=HANG_GUARD_SECONDS
        )
        found = Counter(title for path in sorted((tmp_path / "ws" / "memory").iterdir()) for title in _titles(path))
        assert max(found.values()) == 1
        assert acknowledged <= set(found)
        assert len(found) <= len(acknowledged) + trial + 1
    assert len(acknowledged) > KILLS


@pytest.mark.skipif(not OPENS_BELOW, reason="Windows replaces no file that is open")
@pytest.mark.parametrize("new", ["changed\n", ""])
@pytest.mark.parametrize(("when", "again"), [("before", "once"), ("after", "once"), ("after", "again")])
def test_what_a_shell_appends_to_a_note_that_is_replaced_is_kept_wherever_the_writer_is_killed(
    tmp_path: Path, when: str, again: str, new: str
) -> None:
    command = [sys.executable, "-c", REWRITER, str(tmp_path), when, new, again]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    ends = [json.loads(line) for line in told.splitlines()]
    assert len(ends) > 15 or again == "again"
    assert {text for text, _ in ends} <= {"first\nfrom a shell\n", f"{new}from a shell\n"}
    assert ends[-1][0] == (new or "first\n") + "from a shell\n"
    assert {name for _, names in ends for name in names} <= {"MEMORY.md", ".MEMORY.md.memory-core.tmp"}


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells who has a file open for writing")
def test_an_append_to_a_note_that_is_replaced_may_take_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "APPENDER_SECONDS", HANG_GUARD_SECONDS)
    note = tmp_path / "ws/MEMORY.md"
    note.write_bytes(b"first\n")
    script = "import sys; out = open(sys.argv[1], 'a'); print(flush=True); input(); print('late', file=out)"
    shell = start(script, note)
    assert shell.stdout is not None
    shell.stdout.readline()
    with ThreadPoolExecutor() as threads:
        folders = {"workspace": tmp_path / "ws", "state_dir": tmp_path / "state"}
        rewriting = threads.submit(writer.rewrite, "MEMORY.md", lambda _: b"changed\n", **folders)
        assert eventually(lambda: note.read_bytes() == b"changed\n")
        shell.communicate("\n")
        rewriting.result()
    assert note.read_bytes() == b"changed\nlate\n"


def _kill_one(base: Path, trial: int) -> list[int]:
    """Start a writer, kill it at a random moment after its first append, and tell what it had finished."""
    child = start(VICTIM, base, trial)
    assert child.stdout is not None
    first = child.stdout.readline()
    assert first == "0\n"
    wait_until = time.monotonic() + random.uniform(0, 0.05)  # a random moment is the point of the test
    while time.monotonic() < wait_until:
        select.select([], [], [], 0.0005)
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate(timeout=30)
    assert child.returncode == -signal.SIGKILL
    return [0, *(int(line) for line in rest.split("\n")[:-1])]


def _titles(path: Path) -> list[str]:
    """The paragraphs' beginnings, after a check that the note is its heading and whole paragraphs."""
    text = path.read_bytes().decode()
    head, *paragraphs = text.removesuffix("\n").split("\n\n")
    assert text.endswith("\n")
    assert head == f"# {path.stem}"
    for paragraph in paragraphs:
        title, _, body = paragraph.partition(": ")
        number = int(title.rpartition(" ")[2])
        assert body == "Ünï " * (5 + 3001 * (number % 4)) + "end."
    return [paragraph.partition(":")[0] for paragraph in paragraphs]


def test_two_processes_record_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "sessions.json"
    host = {"host": {"sessionId": "h", "queue": [1, 2], "text": "ü"}}
    path.write_text(json.dumps(host))
    run_together(RECORDER, [(path, name, 50) for name in ("a", "b")])

    sessions = read(path)
    assert sessions["shared"]["count"] == 100
    assert sessions["host"] == host["host"]
    assert [sessions[name]["memoryFlushCompactionCount"] for name in ("a", "b")] == [49, 49]
    assert next(iter(sessions)) == "host"
