"""Run a program with a deadline, so that nothing of it outlives the call, or us. The only importer of subprocess.

Every child leads a session of its own. At its deadline, at its byte cap and after its end, the whole process group gets
SIGKILL: QMD's native code ignores SIGTERM, and a worker outlives the process that was started. Output goes to unlinked
temporary files, because an undrained pipe blocks the child and a named file can be left behind.

When *we* are killed, a warden process sees its pipe from us close and kills the groups that were still running. A
signal at a parent's death would not do: it needs code between fork and exec, follows the thread instead of the process,
and spares grandchildren.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

MAX_OUTPUT_BYTES = 8_000_000  # 100 rows of QMD are under 100 kB; native logs of a broken model are without end
SEGMENTATION_FAULT = -signal.SIGSEGV  # as `Outcome.status`
NO_PROGRAM = 127  # what a shell says when a program is not found
_LOOK_SECONDS = 0.2  # how often the size of the output is looked at
_POLL_SECONDS = 0.003  # where there is no pidfd: Popen.wait with a timeout sleeps up to 50 ms

# Reads "+<pid>" and "-<pid>" lines; at the end of its input it kills the groups that are left. The token finds a child
# that was started but not told of yet, by its environment, where there is a /proc.
_WARDEN = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
token = ("MEMORY_QMD_OWNER=" + sys.argv[1]).encode()
for entry in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
    if entry.isdigit() and int(entry) != os.getpid():
        try:
            with open("/proc/" + entry + "/environ", "rb") as environ:
                if token in environ.read().split(bytes(1)):
                    groups.add(os.getpgid(int(entry)))
        except OSError:
            pass
for group in groups - {os.getpgrp()}:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a child ended.

    Attributes:
        status: Its exit status, negative for a signal.
        ended: "exit" by itself, or killed at its "deadline", for too much "output", or because we "closed".
        stdout: At most the byte cap.
        stderr: The same.
        seconds: How long it took.
    """

    status: int
    ended: Literal["exit", "deadline", "output", "closed"]
    stdout: bytes
    stderr: bytes
    seconds: float


class Server:
    """A child that runs until it is stopped; made by `Processes.serve`."""

    def __init__(self, processes: Processes, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        self._processes = processes
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        """Its process id, which is its group's too."""
        return self._process.pid

    def running(self) -> bool:
        """Whether it still runs."""
        return not _has_ended(self._process)

    def log_tail(self) -> str:
        """The last 2,000 bytes it wrote."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), 2000, max(0, size - 2000)).decode(errors="replace")

    def stop(self) -> None:
        """End its whole group; may be called twice."""
        self._processes.end(self._process)
        self._log.close()


class Processes:
    """The children of one owner; safe to use from several threads. `close()` ends them all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._warden: subprocess.Popen[bytes] | None = None
        self._token = f"{os.getpid()}-{os.urandom(8).hex()}"
        self._closed = False

    def run(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        timeout_seconds: float,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> Outcome:
        """Run a program to its end, or to its deadline.

        Args:
            command: The program and its arguments; no shell reads them.
            env: Its whole environment.
            cwd: Its working directory, which exists.
            timeout_seconds: After which its group is killed.
            max_output_bytes: Of stdout and of stderr; with more, its group is killed.

        Returns:
            How it ended, after all of its group is dead.

        Raises:
            OSError: It cannot be started; FileNotFoundError when there is no such program.
        """
        began = time.monotonic()
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            process = self._start(command, env=env, cwd=cwd, stdout=stdout, stderr=stderr)
            try:
                ended = _wait(process, (stdout, stderr), began + timeout_seconds, max_output_bytes)
            finally:
                self.end(process)
            return Outcome(
                status=process.returncode,
                ended="closed" if ended == "exit" and self._closed else ended,
                stdout=os.pread(stdout.fileno(), max_output_bytes, 0),
                stderr=os.pread(stderr.fileno(), max_output_bytes, 0),
                seconds=time.monotonic() - began,
            )

    def serve(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> Server:
        """Start a program that stays, with its output in one unlinked file; OSError when it cannot be started."""
        log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by Server.stop
        try:
            return Server(self, self._start(command, env=env, cwd=cwd, stdout=log, stderr=log), log)
        except OSError:
            log.close()
            raise

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a child's group, whether or not the child itself has ended, and reap it; may be called twice."""
        with self._lock:
            if process not in self._running:
                return
            self._running.discard(process)
        _kill_group(process.pid)
        process.wait()
        with self._lock:
            self._tell(f"-{process.pid}\n")

    def close(self) -> None:
        """Kill all children; nothing can be started afterwards. May be called twice."""
        with self._lock:
            self._closed = True
            running, warden = tuple(self._running), self._warden
            self._warden = None
        for process in running:
            _kill_group(process.pid)
        if warden is not None:
            assert warden.stdin is not None
            with contextlib.suppress(OSError):
                warden.stdin.close()
            warden.wait()

    def _start(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, stdout: IO[bytes], stderr: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise OSError("the backend is closed")
            process = subprocess.Popen(  # noqa: S603 - a list of words that no shell reads
                command,
                env={**env, "MEMORY_QMD_OWNER": self._token},
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            self._running.add(process)
            self._tell(f"+{process.pid}\n")
            return process

    def _tell(self, line: str) -> None:
        """Tell the warden, starting it when there is none; it costs 10 ms beside the child, not before it."""
        if self._closed or not sys.executable:  # an embedded interpreter may have no program to run
            return
        if self._warden is None or self._warden.poll() is not None:
            self._warden = subprocess.Popen(  # noqa: S603 - our own Python and our own words
                [sys.executable, "-I", "-S", "-c", _WARDEN, self._token],
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            line = "".join(f"+{process.pid}\n" for process in self._running)
        assert self._warden.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it was killed; the next start makes a new one
            self._warden.stdin.write(line.encode())
            self._warden.stdin.flush()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a child has ended; it stays a zombie where the system can, so that its number is not given away."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:  # reaped by another thread in between
        return True


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says EPERM when only zombies are left
        os.killpg(pid, signal.SIGKILL)


def _wait(
    process: subprocess.Popen[bytes], outputs: Sequence[IO[bytes]], deadline: float, max_output_bytes: int
) -> Literal["exit", "deadline", "output"]:
    """Wait for the child to end without reaping it, so that its group's number is still its own when it is killed."""
    with _exit_watch(process) as exited:
        while not exited(min(_LOOK_SECONDS, max(0.0, deadline - time.monotonic()))):
            if any(os.fstat(output.fileno()).st_size > max_output_bytes for output in outputs):
                return "output"
            if time.monotonic() >= deadline:
                return "deadline"
    too_much = any(os.fstat(output.fileno()).st_size > max_output_bytes for output in outputs)
    return "output" if too_much else "exit"


@contextlib.contextmanager
def _exit_watch(process: subprocess.Popen[bytes]) -> Iterator[Callable[[float], bool]]:
    """A function that says within so many seconds whether the child has ended: by pidfd (Linux 5.3), or by looking."""
    if not hasattr(os, "pidfd_open"):
        yield lambda timeout_seconds: _poll(process, timeout_seconds)
        return
    pidfd = os.pidfd_open(process.pid)
    poller = select.poll()  # select() ends at descriptor 1023
    poller.register(pidfd, select.POLLIN)
    try:
        yield lambda timeout_seconds: bool(poller.poll(timeout_seconds * 1000))
    finally:
        os.close(pidfd)


def _poll(process: subprocess.Popen[bytes], timeout_seconds: float) -> bool:
    until = time.monotonic() + timeout_seconds
    while not _has_ended(process):
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL_SECONDS)
    return True
