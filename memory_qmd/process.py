"""Programs run with a deadline, of which nothing outlives the call, or this process. The only importer of subprocess.

Every child leads a session of its own. At its deadline, at its byte cap and after its end, the whole process group gets
SIGKILL: QMD's native code ignores SIGTERM, and a worker outlives the process that was started. Output goes to unlinked
temporary files, because a pipe that nobody reads blocks the child, and a named file can be left behind.

When this process is killed, a warden process sees its pipe close and kills the groups that are still running. A signal at
a parent's death would not do: it needs code between fork and exec, follows the thread instead of the process, and spares
grandchildren. A process that is forked from this one owns no children: it lets go of the warden's pipe, so that the warden
still sees the owner end, and its `close` ends nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

log = logging.getLogger(__name__)

MAX_OUTPUT_BYTES = 8_000_000  # 100 rows of QMD are under 100 kB; native logs of a broken model never end
SEGMENTATION_FAULT = -signal.SIGSEGV  # as `ProcessOutcome.status`
NO_PROGRAM = 127  # a shell's exit status for a program that is not found
REAP_SECONDS = 5.0  # a killed process ends at once, unless a disk holds it
# Between looks at a child: at first often, since QMD answers in a fifth of a second, later every fiftieth of its time.
_FIRST_POLL_SECONDS, _POLL_SHARE, _LONGEST_POLL_SECONDS = 0.002, 0.02, 0.2

# Reads "+<pid>" and "-<pid>" lines; at the end of its input it kills the groups that remain. Where there is a
# /proc, the token in their environment finds children that were started but not announced yet.
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


class ProcessesClosed(OSError):
    """A program is not started, because its owner has been closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOutcome:
    """The end of a child and its output.

    Attributes:
        status: Its exit status, negative for a signal.
        ended: "exit" if it ended by itself; else the reason it was killed: its "deadline", too much "output", or "closed".
        stdout: Up to the byte cap.
        stderr: Up to the byte cap.
        seconds: From start to end.
    """

    status: int
    ended: Literal["exit", "deadline", "output", "closed"]
    stdout: bytes
    stderr: bytes
    seconds: float


class ServerProcess:
    """A child that runs until it is stopped; made by `Processes.start_server`."""

    def __init__(self, processes: Processes, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        self._processes = processes
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        """Its process id, which is also its group's."""
        return self._process.pid

    def is_running(self) -> bool:
        """Return True if it still runs."""
        return not _has_ended(self._process)

    def read_log_end(self) -> str:
        """Return the last 2,000 bytes of its output."""
        size = os.fstat(self._log.fileno()).st_size
        return _read_at(self._log.fileno(), 2000, max(0, size - 2000)).decode(errors="replace")

    def stop(self) -> None:
        """Kill its whole group; may be called twice."""
        self._processes.end(self._process)
        self._log.close()


_owners: weakref.WeakSet[Processes] = weakref.WeakSet()


class Processes:
    """The children of one owner. All methods may be called from several threads; `close()` kills all children."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._warden: subprocess.Popen[bytes] | None = None
        self._token = _make_token()
        self._closed = False
        _owners.add(self)

    @property
    def is_closed(self) -> bool:
        """True once `close` has begun."""
        return self._closed

    def run(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        timeout_seconds: float,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> ProcessOutcome:
        """Run a program until it ends, or until its deadline.

        Args:
            command: The program and its arguments; no shell reads them.
            env: Its whole environment.
            cwd: Its working directory, which exists.
            timeout_seconds: The time after which its group is killed.
            max_output_bytes: Of stdout and of stderr each; with more, its group is killed.

        Returns:
            Its end and output, after all of its group is dead.

        Raises:
            ProcessesClosed: `close` has been called.
            OSError: It cannot be started; FileNotFoundError if there is no such program.
        """
        began = time.monotonic()
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            process = self._start(command, env=env, cwd=cwd, stdout=stdout, stderr=stderr)
            try:
                ended = _wait(process, (stdout, stderr), began + timeout_seconds, max_output_bytes)
            finally:
                self.end(process)
            return ProcessOutcome(
                status=process.returncode,
                ended="closed" if ended == "exit" and self._closed else ended,
                stdout=_read_at(stdout.fileno(), max_output_bytes, 0),
                stderr=_read_at(stderr.fileno(), max_output_bytes, 0),
                seconds=time.monotonic() - began,
            )

    def start_server(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> ServerProcess:
        """Start a program that keeps running, its output in one unlinked file; OSError if it cannot be started."""
        log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by ServerProcess.stop
        try:
            return ServerProcess(self, self._start(command, env=env, cwd=cwd, stdout=log, stderr=log), log)
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
        _reap(process)
        with self._lock:
            self._tell_warden(f"-{process.pid}\n")

    def close(self) -> None:
        """Kill all children and refuse to start others; may be called twice."""
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
            _reap(warden)

    def _disown(self) -> None:
        """Let go of all children, in a process that was forked from their owner."""
        self._lock = threading.Lock()  # another thread of the owner may have held it
        self._running = set()
        self._token = _make_token()
        warden, self._warden = self._warden, None
        if warden is not None and warden.stdin is not None:
            warden.returncode = 0  # it is not ours to wait for
            warden.stdin.close()

    def _start(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, stdout: IO[bytes], stderr: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise ProcessesClosed("the backend is closed")
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
            self._tell_warden(f"+{process.pid}\n")
            return process

    def _tell_warden(self, line: str) -> None:
        """Write a line to the warden, starting it if there is none, which costs 10 ms while the child already runs."""
        if self._closed or not sys.executable:  # an embedded interpreter may have no program to run
            return
        if self._warden is None or self._warden.poll() is not None:
            self._warden = subprocess.Popen(  # noqa: S603 - our own Python and our own words
                [sys.executable, "-I", "-S", "-c", _WARDEN, self._token],
                bufsize=0,  # no lock, which another thread could hold during a fork
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


def _make_token() -> str:
    return f"{os.getpid()}-{os.urandom(8).hex()}"


def _read_at(descriptor: int, most: int, offset: int) -> bytes:
    """Read a part of a file to which a child may be writing at a position that it shares with us."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, most, offset)
    before = os.lseek(descriptor, 0, os.SEEK_CUR)  # on Windows
    try:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, most)
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return True if a child has ended; where possible it stays a zombie, so that its process id is not reused."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:  # another thread has reaped it
        return True


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that was told to end; one that the kernel does not let go of is left to it."""
    try:
        process.wait(REAP_SECONDS)
    except subprocess.TimeoutExpired:
        log.warning("process %d was killed, but has not ended", process.pid)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says EPERM when only zombies are left
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)  # Windows: ends the process at once, and knows no groups


def _wait(
    process: subprocess.Popen[bytes], outputs: Sequence[IO[bytes]], deadline: float, max_output_bytes: int
) -> Literal["exit", "deadline", "output"]:
    """Wait for the child to end without reaping it, so that its group's id is still its own when it is killed."""
    began = time.monotonic()
    while True:
        has_ended, now = _has_ended(process), time.monotonic()
        if any(os.fstat(output.fileno()).st_size > max_output_bytes for output in outputs):
            return "output"
        if has_ended:
            return "exit"
        if now >= deadline:
            return "deadline"
        time.sleep(min(_FIRST_POLL_SECONDS + _POLL_SHARE * (now - began), _LONGEST_POLL_SECONDS, deadline - now))


def _disown_in_child() -> None:
    for owner in list(_owners):
        owner._disown()


# At once: a child that kept the pipe to the warden would hide its parent's end from it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_in_child)
