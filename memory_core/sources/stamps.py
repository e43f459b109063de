"""Sizes, times and inodes of files, cut to numbers that every index can hold."""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import attrgetter
from typing import TypeAlias

from memory_core.records import FileStamp

Stamp: TypeAlias = tuple[int, int, int, int]  # the values of a `FileStamp`, without its price

# Returns the values of a file's stamp as the system tells them; in half the time of four attributes.
read_numbers: Callable[[os.stat_result], Stamp] = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")

_LEAST, _MOST = -(2**63), 2**63 - 1  # integers of SQLite; in nanoseconds the years 1677 and 2262


def read_stamp(info: os.stat_result) -> FileStamp:
    """Return the stamp of a file; what does not fit into 64 bits becomes the nearest number that does."""
    return clamp_stamp(read_numbers(info))


def clamp_stamp(numbers: Stamp) -> FileStamp:
    """Return a stamp of these values; what does not fit into 64 bits becomes the nearest number that does."""
    return FileStamp(*map(_clamp, numbers))


def _clamp(number: int) -> int:
    return min(max(number, _LEAST), _MOST)
