"""Sizes, times and inodes of files, cut to numbers that every index can hold."""

from __future__ import annotations

import os

from memory_core.records import FileStamp

_LEAST, _MOST = -(2**63), 2**63 - 1  # integers of SQLite; in nanoseconds the years 1677 and 2262


def read_stamp(info: os.stat_result) -> FileStamp:
    """Return the stamp of a file; what does not fit into 64 bits becomes the nearest number that does."""
    return FileStamp(
        size_bytes=_clamp(info.st_size),
        mtime_ns=_clamp(info.st_mtime_ns),
        ctime_ns=_clamp(info.st_ctime_ns),
        inode=_clamp(info.st_ino),
    )


def _clamp(number: int) -> int:
    return min(max(number, _LEAST), _MOST)
