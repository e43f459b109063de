"""Runs the cases of one attack in worker processes, replaces those that hang or die, and stops when the time is up."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.command import REPOSITORY
from tests.torture.attack import Attack, Finding, Kind, Outcome
from tests.torture.worker import attack_named

# What could change an answer, reveal a key or name a folder outside the run.
_FOREIGN = re.compile(
    r"MEMORY_CORE_|XDG_|HF_|LITELLM_|(OPENAI|GEMINI|GOOGLE|VOYAGE|MISTRAL|OPENROUTER|OLLAMA|ANTHROPIC)_|(HTTPS?|ALL|NO)_PROXY$"
    r"|.*_API_KEY$",
    re.IGNORECASE,
)
PROGRESS_SECONDS = 30.0  # between two lines that say how far an attack is
STARTING_SECONDS = 60.0  # granted to the first case of a worker: it imports everything and makes its templates


@dataclass(slots=True)
class Report:
    """The result of an attack."""

    name: str
    planned: int
    ran: int = 0
    seconds: float = 0.0
    figures: Counter[str] = field(default_factory=Counter)
    findings: dict[Finding, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, number: int, outcome: Outcome) -> None:
        """Count one case."""
        self.ran += 1
        self.figures.update(outcome.figures)
        for finding in {(one.kind, one.what): one for one in outcome.findings}.values():
            self.findings[finding].append(number)

    def count(self, kind: Kind) -> int:
        """In how many cases such a thing was found."""
        return len({number for finding, numbers in self.findings.items() if finding.kind == kind for number in numbers})

    def classes(self) -> Iterator[tuple[Kind, str, list[int], str]]:
        """The distinct findings: kind, what, all their cases, and what was seen in the first of these."""
        grouped: dict[tuple[Kind, str], list[tuple[int, str]]] = defaultdict(list)
        for finding, numbers in self.findings.items():
            grouped[finding.kind, finding.what] += [(number, finding.detail) for number in numbers]
        for (kind, what), cases in sorted(grouped.items(), key=lambda item: (item[0][0], -len(item[1]))):
            cases.sort()
            yield kind, what, [number for number, _ in cases], cases[0][1]


def environment(home: Path) -> Mapping[str, str]:
    """The environment of a worker: no keys, no proxies, a home of its own."""
    kept = {name: value for name, value in os.environ.items() if not _FOREIGN.match(name)}
    own = {"HOME": str(home), "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
    return {**kept, **own}


class Worker:
    """One process that runs cases, one after the other."""

    def __init__(self, kind: type[Attack], seed: int, folder: Path) -> None:
        self._kind = kind
        self._fresh = True
        home = folder / "home"
        home.mkdir(parents=True)
        self._errors = (folder / "stderr").open("w+b")
        command = [sys.executable, "-m", "tests.torture.worker", kind.name, str(seed), str(folder)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment(home),
            cwd=REPOSITORY, start_new_session=True,
        )  # fmt: skip

    def run(self, number: int) -> tuple[Outcome, bool]:
        """Return the outcome of a case, and True if the worker lives on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        limit = self._kind.limit_seconds + (STARTING_SECONDS if self._fresh else 0)
        self._fresh = False
        line = b""
        try:
            self._process.stdin.write(b"%d\n" % number)
            self._process.stdin.flush()
            if select.select([self._process.stdout], [], [], limit)[0]:
                line = self._process.stdout.readline()
        except BrokenPipeError:
            pass
        if line:
            return Outcome.loaded(line), True
        return self._dead(limit), False

    def _dead(self, limit: float) -> Outcome:
        outcome = Outcome()
        try:
            code = self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)  # faulthandler writes where every thread stands
            outcome.add("down", f"hangs: nothing came back within {limit:.0f} s", self._last_words())
        else:
            outcome.add("down", f"the process died with {code}", self._last_words())
        return outcome

    def _last_words(self) -> str:
        """The end of standard error, of a hang only the frames in our own code."""
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        frames = [
            line for line in lines if "memory_core" in line or "tests/torture" in line or line.startswith("Thread")
        ]
        return "\n".join((frames or lines)[-30:])

    def close(self) -> None:
        """End the process and all that it started."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()


def run_attack(name: str, numbers: Sequence[int], *, seed: int, seconds: float, jobs: int | None = None) -> Report:
    """Run these cases of an attack for at most so long; a case that has begun is waited for."""
    kind = attack_named(name)
    report = Report(name, len(numbers))
    begun = time.monotonic()
    chunks: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    for chunk in _grouped(numbers, kind.group):
        chunks.put(chunk)
    lock = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="torture-", dir=_in_memory(), ignore_cleanup_errors=True) as base:
        names = iter(range(10**9))

        def work() -> None:
            worker: Worker | None = None
            try:
                while True:
                    try:
                        chunk = chunks.get_nowait()
                    except queue.Empty:
                        return
                    for number in chunk:
                        if time.monotonic() - begun > seconds:
                            return
                        if worker is None:
                            with lock:
                                folder = Path(base, f"{name}-{next(names)}")
                            worker = Worker(kind, seed, folder)
                        outcome, lives = worker.run(number)
                        with lock:
                            report.add(number, outcome)
                        if not lives:
                            worker.close()
                            worker = None
            finally:
                if worker is not None:
                    worker.close()

        wanted = min(jobs or kind.jobs, max(1, len(numbers) // kind.group))
        threads = [threading.Thread(target=work, name=f"crew-{at}") for at in range(wanted)]
        for thread in threads:
            thread.start()
        for thread in threads:
            _await(thread, report)
    report.seconds = time.monotonic() - begun
    return report


def _await(thread: threading.Thread, report: Report) -> None:
    """Wait for the end of a thread, and print now and then how far all are."""
    while thread.is_alive():
        thread.join(PROGRESS_SECONDS)
        if thread.is_alive():
            print(f"{report.name}: {report.ran} of {report.planned} cases, {len(report.findings)} findings", flush=True)


def _in_memory() -> Path | None:
    """A file system in memory with some room: no attack cuts the power, and waiting for disks takes most of the time."""
    shared = Path("/dev/shm")
    try:
        return shared if shutil.disk_usage(shared).free > (1 << 30) and os.access(shared, os.W_OK) else None
    except OSError:
        return None


def _grouped(numbers: Iterable[int], size: int) -> Iterator[list[int]]:
    """Numbers in chunks that share a world."""
    chunk: list[int] = []
    for number in numbers:
        if chunk and number // size != chunk[0] // size:
            yield chunk
            chunk = []
        chunk.append(number)
    if chunk:
        yield chunk
