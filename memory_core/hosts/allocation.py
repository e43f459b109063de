"""The C library's memory of a process that stays: how much of what is free it keeps."""

from __future__ import annotations

import gc
import sys

_ARENA_MAX = -8  # of mallopt; see https://man7.org/linux/man-pages/man3/mallopt.3.html


def use_one_arena() -> None:
    """Let all threads allocate from one arena: with one for each, a server grows by what each of them keeps free.

    They seldom wait for each other there, since most of a search holds Python's lock. Does nothing but on Linux with glibc.
    """
    _call("mallopt", _ARENA_MAX, 1)


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
