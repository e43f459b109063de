"""How work grows with its input: a bound that a slow or busy machine keeps as a quick one does."""

from __future__ import annotations

import time
from collections.abc import Callable

MOST_GROWTH = 9  # for four times the input


def _measure_cpu(run: Callable[[int], object], size: int) -> float:
    started = time.thread_time()
    run(size)
    return time.thread_time() - started


def measure_growth(run: Callable[[int], object], size: int, *, little_seconds: float = 0.05) -> float:
    """Return how many times as long `run(size)` takes as `run(size // 4)`, in processor time of this thread.

    Linear work gives about 4, quadratic work 16. What takes at most `little_seconds` is not measured again and gives 0.
    """
    if _measure_cpu(run, size) <= little_seconds:
        return 0.0
    times = [(_measure_cpu(run, size), _measure_cpu(run, size // 4)) for _ in range(3)]
    return min(large for large, _ in times) / min(small for _, small in times)
