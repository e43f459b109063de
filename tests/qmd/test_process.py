"""Children end at their deadline, at their byte cap, with their owner, and take their whole group with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_qmd.process import Processes, ProcessOutcome
from tests.waiting import eventually

# Writes the process ids of itself and of a grandchild that ignores SIGTERM, as QMD's worker does, then waits.
FAMILY = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1] + ".new", "w") as ids:
    ids.write(f"{os.getpid()} {child.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def processes() -> Iterator[Processes]:
    owner = Processes()
    yield owner
    owner.close()


def run(
    processes: Processes, tmp_path: Path, code: str, *args: str, timeout: float = 60.0, cap: int = 100_000
) -> ProcessOutcome:
    return processes.run(
        [sys.executable, "-c", code, *args],
        env={"PATH": os.environ["PATH"]},
        cwd=tmp_path,
        timeout_seconds=timeout,
        max_output_bytes=cap,
    )


def alive(pid: int) -> bool:
    """Return True if a process runs; a zombie that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False


def test_gives_output_and_status(processes: Processes, tmp_path: Path) -> None:
    outcome = run(processes, tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (outcome.status, outcome.ended, outcome.stdout, outcome.stderr) == (3, "exit", b"out\n", b"err\n")


def test_arguments_are_not_read_by_a_shell(processes: Processes, tmp_path: Path) -> None:
    argument = "$(touch pwned); `id` \n 'x' \"y\" * -- -e"
    outcome = run(processes, tmp_path, "import sys; sys.stdout.write(sys.argv[1])", argument)
    assert outcome.stdout.decode() == argument
    assert list(tmp_path.iterdir()) == []


def test_a_missing_program_is_an_error(processes: Processes, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        processes.run([str(tmp_path / "none")], env={}, cwd=tmp_path, timeout_seconds=1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_deadline_kills_the_whole_group(processes: Processes, tmp_path: Path) -> None:
    for seconds in (1.5, 6.0, 24.0):  # a busy machine takes long to start both
        outcome = run(processes, tmp_path, FAMILY, str(tmp_path / "ids"), "600", timeout=seconds)
        assert outcome.ended == "deadline"
        assert outcome.seconds < 300  # the child sleeps for 600
        if (tmp_path / "ids").exists():
            break
    pids = [int(pid) for pid in (tmp_path / "ids").read_text().split()]
    assert eventually(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_a_child_leaves_behind_is_killed(processes: Processes, tmp_path: Path) -> None:
    outcome = run(processes, tmp_path, FAMILY, str(tmp_path / "ids"), "0")
    assert (outcome.ended, outcome.status) == ("exit", 0)
    pids = [int(pid) for pid in (tmp_path / "ids").read_text().split()]
    assert eventually(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_is_bounded(processes: Processes, tmp_path: Path, stream: str) -> None:
    outcome = run(processes, tmp_path, f"import sys\nwhile True: sys.{stream}.write('x' * 10000)", cap=50_000)
    assert outcome.ended == "output"
    assert len(getattr(outcome, stream)) == 50_000


def test_close_ends_a_running_call(processes: Processes, tmp_path: Path) -> None:
    started = tmp_path / "started"

    def close() -> None:
        assert eventually(started.exists)
        processes.close()

    closing = threading.Thread(target=close)
    closing.start()
    code = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"
    outcome = run(processes, tmp_path, code, str(started), timeout=300)
    closing.join()
    assert outcome.ended == "closed"
    with pytest.raises(OSError, match="closed"):
        run(processes, tmp_path, "")


def test_a_server_runs_until_stopped(processes: Processes, tmp_path: Path) -> None:
    code = "import time; print('ready', flush=True); time.sleep(600)"
    server = processes.start_server([sys.executable, "-c", code], env={}, cwd=tmp_path)
    assert eventually(lambda: server.read_log_end() == "ready\n")
    assert server.is_running()
    server.stop()
    assert not server.is_running()
    server.stop()


def test_output_is_read_where_no_part_of_a_file_can_be(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pread")
    outcome = run(processes, tmp_path, "import sys; print('x' * 10, flush=True); print('y', file=sys.stderr)")
    assert (outcome.stdout, outcome.stderr) == (b"xxxxxxxxxx\n", b"y\n")
    code = "import pathlib, time; print('one', flush=True)\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)\nprint('two')"
    server = processes.start_server([sys.executable, "-c", code], env={}, cwd=tmp_path)
    assert eventually(lambda: server.read_log_end() == "one\n")
    (tmp_path / "go").touch()
    assert eventually(lambda: server.read_log_end() == "one\ntwo\n")  # where the child writes on is left as it was
    server.stop()


def test_a_server_that_dies_is_noticed(processes: Processes, tmp_path: Path) -> None:
    server = processes.start_server([sys.executable, "-c", "pass"], env={}, cwd=tmp_path)
    assert eventually(lambda: not server.is_running())
    server.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_outlives_an_owner_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FAMILY, str(tmp_path / "ids"), "600"]
    owner = "\n".join(
        [
            "import sys; from pathlib import Path",
            f"sys.path[:] = {sys.path!r}",
            "from memory_qmd.process import Processes",
            f"Processes().run({command!r}, env={{}}, cwd=Path({str(tmp_path)!r}), timeout_seconds=600)",
        ]
    )
    victim = subprocess.Popen([sys.executable, "-c", owner])
    try:
        assert eventually((tmp_path / "ids").exists)
        pids = [int(pid) for pid in (tmp_path / "ids").read_text().split()]
        assert all(alive(pid) for pid in pids)
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    assert eventually(lambda: not any(alive(pid) for pid in pids))


def test_leaves_no_file_and_no_descriptor(processes: Processes, tmp_path: Path) -> None:
    run(processes, tmp_path, "pass")
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        run(processes, tmp_path, "print('x')")
        run(processes, tmp_path, "import time; time.sleep(600)", timeout=0.05)
    assert len(list(Path("/dev/fd").iterdir())) <= before  # fewer where garbage of another test was collected
    assert list(tmp_path.iterdir()) == []
