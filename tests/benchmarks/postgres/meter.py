"""Time of calls: of the wall, and of the processors in this process and in the server."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import psutil

from tests.servers.postgres import RealServer

Row: TypeAlias = dict[str, float | str]


class Meter:
    """Seconds of calls to one backend, while nothing else asks the server."""

    def __init__(self, server: RealServer) -> None:
        self._pid = server.pid
        self._wall: list[float] = []
        self._own = self._served = 0.0

    def add(self, call: Callable[[], object]) -> None:
        """Make a call and count it."""
        served, own, began = count_server_seconds(self._pid), time.process_time(), time.perf_counter()
        call()
        self._wall.append(time.perf_counter() - began)
        self._own += time.process_time() - own
        self._served += count_server_seconds(self._pid) - served

    def summarise(self) -> Row:
        """Return the figures of a row, all for one call."""
        count = len(self._wall) / 1000
        return {
            **summarise_wall(self._wall), "own_cpu_ms": round(self._own / count, 2),
            "server_cpu_ms": round(self._served / count, 2), "load": round(psutil.getloadavg()[0], 1),
        }  # fmt: skip


def summarise_wall(seconds: Sequence[float]) -> Row:
    """Return the number of calls, and the times that a half and 95 of 100 of them stayed below."""
    cuts = statistics.quantiles(seconds, n=20)
    return {
        "calls": len(seconds),
        "p50_ms": round(statistics.median(seconds) * 1000, 1),
        "p95_ms": round(cuts[18] * 1000, 1),
    }


def count_server_seconds(pid: int) -> float:
    """Return the processor time of a server's processes, those that it has waited for included."""
    main = psutil.Process(pid)
    times = main.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    for process in main.children():
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return float(total)


def count_all_seconds() -> float:
    """Return the processor time of all that runs on this machine."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)
