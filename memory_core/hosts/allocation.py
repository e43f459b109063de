"""The C library's memory of a process that stays: how much of what is free it keeps."""

from __future__ import annotations

import gc
import sys

# Of mallopt; see https://man7.org/linux/man-pages/man3/mallopt.3.html.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_LARGE_BYTES, _MOST_FREE_BYTES = 256 * 1024, 1024 * 1024


def save_memory() -> None:
    """Let a process that stays keep little memory that it does not use. Does nothing but on Linux with glibc.

    All threads allocate from one arena: with one for each, a server grows by what each of them keeps free. They seldom wait for
    each other there, since most of a search holds Python's lock. Large blocks, such as the matrices of a search, go back to the
    system when they are freed; by itself, the C library learns to keep them, and what is allocated meanwhile lies between them.
    """
    _call("mallopt", _ARENA_MAX, 1)
    _call("mallopt", _MMAP_THRESHOLD, _LARGE_BYTES)
    _call("mallopt", _TRIM_THRESHOLD, _MOST_FREE_BYTES)


def give_back() -> None:
    """Return memory to the system: of what only cycles hold, which a server at rest would not collect, and of free blocks.

    The C library of most Linux systems keeps the latter, in pages between others; elsewhere it does as it likes.
    """
    gc.collect()
    _call("malloc_trim", 0)


def _call(name: str, *numbers: int) -> None:
    """Call a function of glibc, if this is it: musl has none of these."""
    if sys.platform == "linux":
        import ctypes

        library = ctypes.CDLL(None)
        if hasattr(library, name):
            getattr(library, name)(*numbers)
