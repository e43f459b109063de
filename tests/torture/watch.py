"""Side effects of a call: logs, errors of threads, memory, time."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Seen:
    """Observations while a block ran.

    Attributes:
        log: All records at INFO and above, and all of ours, as text with their tracebacks.
        stray: Errors that reached nobody: of threads, of finalizers, of tasks.
        seconds: How long it took.
        grown_bytes: By how much memory in use had grown at its highest.
    """

    log: list[str] = field(default_factory=list)
    stray: list[str] = field(default_factory=list)
    seconds: float = 0.0
    grown_bytes: int = 0

    @property
    def text(self) -> str:
        """All that was written."""
        return "\n".join([*self.log, *self.stray])


class _Handler(logging.Handler):
    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.seen = seen
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.INFO and not record.name.startswith("memory_"):
            return
        text = self.format(record)
        (self.seen.stray if record.name == "asyncio" and record.levelno >= logging.ERROR else self.seen.log).append(
            text
        )


@contextmanager
def watching() -> Iterator[Seen]:
    """Watch the block; what is seen is complete when it ends."""
    seen = Seen()
    handler = _Handler(seen)
    root, ours = logging.getLogger(), logging.getLogger("memory_core")
    levels = root.level, ours.level
    hooks = threading.excepthook, sys.unraisablehook

    def of_thread(found: threading.ExceptHookArgs) -> None:
        seen.stray.append("".join(traceback.format_exception(found.exc_type, found.exc_value, found.exc_traceback)))

    def of_finalizer(found: sys.UnraisableHookArgs) -> None:
        seen.stray.append(f"{found.err_msg or 'unraisable'}: {found.exc_value!r}")

    threading.excepthook, sys.unraisablehook = of_thread, of_finalizer
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    ours.setLevel(logging.DEBUG)
    before = _reset_peak()
    begun = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield seen
    finally:
        seen.seconds = time.monotonic() - begun
        seen.grown_bytes = max(0, _peak() - before)
        root.removeHandler(handler)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
        threading.excepthook, sys.unraisablehook = hooks


def timed(call: Callable[[], T]) -> tuple[T, float]:
    """A result and the seconds it took."""
    begun = time.monotonic()
    result = call()
    return result, time.monotonic() - begun


def told(error: BaseException) -> str:
    """All that an error and its causes say, in every way they are shown."""
    return "\n".join([str(error), repr(error), "".join(traceback.format_exception(error))])


def brief(error: BaseException) -> str:
    """An error with where in our own code it came from, and the same of its causes."""
    lines: list[str] = []
    each: BaseException | None = error
    while each is not None and len(lines) < 8:
        frames = [frame for frame in traceback.extract_tb(each.__traceback__) if "memory_" in frame.filename]
        where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
        lines.append(f"{type(each).__module__}.{type(each).__name__}: {str(each)[:300]}{where}")
        each = each.__cause__ or each.__context__
    return "\n".join(lines)


_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _reset_peak() -> int:
    """Bytes in use now, from where the highest is counted anew."""
    try:
        _CLEAR.write_text("5")  # proc(5): resets VmHWM to the present size
    except OSError:
        return _peak()
    return _in_status("VmRSS")


def _peak() -> int:
    if not _STATUS.exists():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    return _in_status("VmHWM")


def _in_status(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0
