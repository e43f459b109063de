"""The memory of a process that stays, beyond Python's own: what the C library keeps free, and code that only its start needed."""

from __future__ import annotations

import gc
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)

_MAPPINGS = Path("/proc/self/smaps")
_CODE = re.compile(
    r"^(?P<start>[0-9a-f]+)-(?P<end>[0-9a-f]+) r-xp [0-9a-f]+ [0-9a-f:]+ [1-9][0-9]* +/.*$(?P<figures>(\n[A-Z]\w*:.*)*)",
    re.MULTILINE,
)
_UNCHANGED = re.compile(r"^Anonymous: +0 kB$", re.MULTILINE)
_DONT_NEED = 4  # of madvise; see https://man7.org/linux/man-pages/man2/madvise.2.html
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


def unmap_code() -> None:
    """Unmap the code of all libraries. What is used from then on comes back from the system's cache of files, 64 KB at a time.

    Loading numpy, a tokenizer and pydantic maps 30 to 38 MB, of which a server goes on to use 24. The rest stays in the system's
    cache as long as nobody needs the room. Does nothing but on Linux.
    """
    if sys.platform == "linux":
        import ctypes

        try:
            mappings = _MAPPINGS.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            log.debug("code stays mapped: %s", error)
            return
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for start, length in find_code(mappings):
            # It is refused where the process has locked its memory, which then stays as it is.
            advise(start, length, _DONT_NEED)


def find_code(mappings: str) -> Iterator[tuple[int, int]]:
    """Yield (address, bytes) of each mapping of code from a file, of which the process has no pages of its own.

    Args:
        mappings: As Linux lists them; see https://man7.org/linux/man-pages/man5/proc_pid_smaps.5.html.
    """
    for found in _CODE.finditer(mappings):
        if _UNCHANGED.search(found["figures"]):
            start, end = int(found["start"], 16), int(found["end"], 16)
            yield start, end - start


def _call(name: str, *numbers: int) -> None:
    """Call a function of glibc, if this is it: musl has none of these."""
    if sys.platform == "linux":
        import ctypes

        library = ctypes.CDLL(None)
        if hasattr(library, name):
            getattr(library, name)(*numbers)
